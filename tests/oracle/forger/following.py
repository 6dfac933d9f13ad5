"""Other changes that make a false document consistent again: sums, statuses, certificates, words, figures of moves.

Each of them looks at one thing only; which of them together make a document pass is for the forger to find.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, cast

from tests.oracle.forger.judge_start import as_it_was, name_of
from tests.oracle.forger.trees import at, copied, integer, item, items, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.oracle.forger.scenes import Data, Scene

Following: TypeAlias = "Callable[[Data, Scene], None]"
"""Changes the data."""


def following(data: Data, scene: Scene, only: str | None = None) -> Iterator[Data]:
    """Yield what each of the changes, or one of them, makes of the data, where it makes a difference."""
    for name, follow in _BY_SCHEMA.get(str(data.get("schema")), {}).items():
        if only not in {None, name}:
            continue
        other = cast("Data", copied(data))
        try:
            follow(other, scene)
        except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
            continue  # a lie took away what it looks at
        if other != data:
            yield other


# Instances that are placed; a lie may ask for as many as there are numbers.
_MOST = 20


def _word_of_a_solver(certificate: Data) -> None:
    certificate["argument"] = {
        "argument": "solver proof", "solver": "HiGHS 1.7", "claim": integer(certificate, "lower_bound"),
    }  # fmt: skip


def _met(data: Data, *bounds: tuple[str, str]) -> str:
    return "optimal" if all(data[lower] == data[upper] for lower, upper in bounds) else "unknown"


# Measurements

_OPTIMA = (("inherent_lower_bound", "inherent_partial_nodes"), ("ideal_lower_bound", "ideal_partial_nodes"))


def _parts(data: Data) -> list[Data]:
    return [data, *items(data, "pools")]


def _avoidable(data: Data, _: Scene) -> None:
    for part in _parts(data):
        avoidable = integer(part, "partial_nodes") - integer(part, "inherent_partial_nodes")
        part["avoidable_partial_nodes"] = avoidable
        part["sif"] = avoidable / integer(part, "nodes")
        part["status"] = _met(part, *_OPTIMA)


def _sums(data: Data, _: Scene) -> None:
    _sum_up(data, items(data, "pools"))


def _sum_up(total: Data, parts: list[Data]) -> None:
    for key, value in total.items():
        if isinstance(value, int) and not isinstance(value, bool) and all(key in part for part in parts):
            numbers = [integer(part, key) for part in parts]
            total[key] = max(numbers, default=0) if key == "largest_free_block" else sum(numbers)


def _to_pools(data: Data, _: Scene) -> None:
    """Make a pool say what is said of all, less what the others have."""
    pools = items(data, "pools")
    _from_total(data, pools)


def _from_total(total: Data, parts: list[Data]) -> None:
    for key, value in total.items():
        if key in parts[-1] and key != "pools":
            number = isinstance(value, int) and not isinstance(value, bool) and key != "largest_free_block"
            rest = sum(integer(part, key) for part in parts[:-1]) if number else 0
            parts[-1][key] = cast("int", value) - rest if number else copied(value)


def _certified(data: Data, _: Scene) -> None:
    for pool in items(data, "pools"):
        for name, key in (("inherent", "certificate"), ("ideal", "ideal_certificate")):
            certificate = item(pool, key)
            certificate["lower_bound"] = pool[f"{name}_lower_bound"]
            certificate["partial_nodes"] = pool[f"{name}_partial_nodes"]
            certificate["status"] = _met(certificate, ("lower_bound", "partial_nodes"))


def _solved(data: Data, _: Scene) -> None:
    for pool in items(data, "pools"):
        _word_of_a_solver(item(pool, "certificate"))
        _word_of_a_solver(item(pool, "ideal_certificate"))


def _from_certificates(data: Data, _: Scene) -> None:
    for pool in items(data, "pools"):
        for name, key in (("inherent", "certificate"), ("ideal", "ideal_certificate")):
            pool[f"{name}_lower_bound"] = at(pool, key, "lower_bound")
            pool[f"{name}_partial_nodes"] = at(pool, key, "partial_nodes")


def _costs(data: Data, _: Scene) -> None:
    """Make costs those of Φ* as it is told, with and without each constraint."""
    for pool in items(data, "pools"):
        for cost in items(pool, "constraints"):
            attained = min(integer(pool, "inherent_partial_nodes"), integer(cost, "certificate", "partial_nodes"))
            lower = integer(cost, "certificate", "lower_bound")
            cost["partial_nodes"] = max(0, integer(pool, "inherent_lower_bound") - attained)
            cost["partial_nodes_at_most"] = max(0, integer(pool, "inherent_partial_nodes") - lower)


def _costs_certified(data: Data, _: Scene) -> None:
    """Make the certificates without each constraint prove the costs, by the word of a solver."""
    for pool in items(data, "pools"):
        for cost in items(pool, "constraints"):
            certificate = item(cost, "certificate")
            certificate["lower_bound"] = integer(pool, "inherent_partial_nodes") - integer(
                cost, "partial_nodes_at_most"
            )
            certificate["partial_nodes"] = integer(pool, "inherent_lower_bound") - integer(cost, "partial_nodes")
            certificate["status"] = _met(certificate, ("lower_bound", "partial_nodes"))
            _word_of_a_solver(certificate)


def _no_costs(data: Data, _: Scene) -> None:
    for pool in items(data, "pools"):
        pool["constraints"] = []


def _one_pool(data: Data, _: Scene) -> None:
    data["pools"] = items(data, "pools")[:1]
    if "domains" in data:
        item(data, "domains")["pools"] = items(data, "domains", "pools")[:1]


def _as_one_pool(data: Data, scene: Scene) -> None:
    """Make a measurement one of its first pool, all its figures too."""
    _one_pool(data, scene)
    data.update({key: copied(value) for key, value in items(data, "pools")[0].items() if key in data})


def _domain_sums(data: Data, _: Scene) -> None:
    _sum_up(item(data, "domains"), items(data, "domains", "pools"))


def _domain_pools(data: Data, _: Scene) -> None:
    _from_total(item(data, "domains"), items(data, "domains", "pools"))


def _domains_avoidable(data: Data, _: Scene) -> None:
    for part in _parts(item(data, "domains")):
        avoidable = integer(part, "partial_domains") - integer(part, "inherent_partial_domains")
        part["avoidable_partial_domains"] = avoidable
        part["sif"] = avoidable / integer(part, "domains")
        part["status"] = _met(part, ("inherent_lower_bound", "inherent_partial_domains"))


def _domain_bounds(data: Data, _: Scene) -> None:
    for part in _parts(item(data, "domains")):
        part["inherent_lower_bound"] = part["inherent_partial_domains"]


def _empty_unknown(data: Data, _: Scene) -> None:
    for part in _parts(data):
        part["empty_nodes_after_status"] = "unknown"


# Moves


def _moves(data: Data) -> list[Data]:
    return items(data, "moves")


def places_after(scene: Scene, moves: Iterable[Data]) -> tuple[int, ...]:
    """Return where moves lead if no rule is looked at."""
    where = {scene.world.key(i): one.home for i, one in enumerate(scene.world.instances)}
    for move in moves:
        where[text(move, "job"), integer(move, "instance")] = int(text(move, "to").removeprefix("n"))
    return tuple(where[scene.world.key(i)] for i in range(len(scene.world.instances)))


def _numbers(data: Data, _: Scene) -> None:
    moves = _moves(data)
    jobs = {text(move, "job") for move in moves}
    data["migrations"] = len(moves)
    data["jobs_disturbed"] = len(jobs)
    data["gpus_copied"] = sum({(text(m, "job"), integer(m, "instance")): integer(m, "gpus") for m in moves}.values())
    data["disturbance"] = sum(cast("dict[str, int]", data["weights"]).get(job, 1) for job in jobs)
    data["live"] = not data["stopped_first"]


def _after(data: Data, scene: Scene) -> None:
    used = scene.world.used(places_after(scene, _moves(data)))
    nodes = [
        (held, node.gpus)
        for held, node in zip(used, scene.world.nodes, strict=True)
        if data["pool"] in {None, node.pool}
    ]
    data["partial_nodes_after"] = sum(0 < held < gpus for held, gpus in nodes)
    data["empty_nodes_after"] = sum(held == 0 < gpus for held, gpus in nodes)


def _as_it_was(data: Data, scene: Scene) -> None:
    """Make what ran be that of the jobs of the moves, and name their instances."""
    data["jobs_at_start"] = as_it_was(scene, (text(move, "job") for move in _moves(data)))
    for one in (*_moves(data), *items(data, "stopped_first")):
        one.pop("name", None)
        name = name_of(scene, one)
        if name is not None:
            one["name"] = name


def _from_moves(data: Data, scene: Scene) -> None:
    """Make everything say what the moves come to, and that nothing is better."""
    _as_it_was(data, scene)
    _numbers(data, scene)
    _after(data, scene)
    _bounds_met(data, scene)


def _bounds_met(data: Data, _: Scene) -> None:
    for key in ("partial_nodes", "migrations", "jobs_disturbed", "disturbance"):
        data[f"{key}_lower_bound"] = data["partial_nodes_after" if key == "partial_nodes" else key]
    data["status"] = "optimal"


def _low_bounds(data: Data, _: Scene) -> None:
    for key in ("partial_nodes", "migrations", "jobs_disturbed", "disturbance"):
        data[f"{key}_lower_bound"] = 0
    data["status"] = "unknown"


def _status(data: Data, _: Scene) -> None:
    data["status"] = _met(
        data, ("partial_nodes_lower_bound", "partial_nodes_after"), ("migrations_lower_bound", "migrations")
    )


def _no_limits(data: Data, _: Scene) -> None:
    limits = ("partial_nodes", "migrations", "jobs_disturbed", "per_job_at_once", "per_budget", "priority")
    data |= dict.fromkeys(f"max_{limit}" for limit in limits)


def _limits_kept(data: Data, _: Scene) -> None:
    data["max_migrations"], data["max_jobs_disturbed"] = data["migrations"], data["jobs_disturbed"]


def _no_question(data: Data, _: Scene) -> None:
    data["protected"], data["mode"], data["max_per_job_at_once"] = [], "checkpoint", None
    data["max_per_budget"], data["max_priority"] = None, None


def _plan_certificates(data: Data, _: Scene) -> None:
    """Make the certificates of the last pool prove what the plan says, by the word of a solver."""
    pool = items(data, "certificate", "pools")[-1]
    inherent, migrations = item(pool, "inherent"), item(pool, "migrations")
    others = items(data, "certificate", "pools")[:-1]
    inherent["lower_bound"] = integer(data, "partial_nodes_lower_bound") - sum(
        integer(one, "inherent", "lower_bound") for one in others
    )
    migrations["lower_bound"] = integer(data, "migrations_lower_bound") - sum(
        integer(one, "migrations", "lower_bound") for one in others
    )
    inherent["status"] = _met(inherent, ("lower_bound", "partial_nodes"))
    migrations["status"] = _met(migrations, ("lower_bound", "migrations"))
    _word_of_a_solver(inherent)
    _word_of_a_solver(migrations)


def _solved_plan(data: Data, _: Scene) -> None:
    for pool in items(data, "certificate", "pools"):
        _word_of_a_solver(item(pool, "inherent"))
        _word_of_a_solver(item(pool, "migrations"))


def _no_further(data: Data, _: Scene) -> None:
    for pool in items(data, "certificate", "pools"):
        pool["further"] = []


# Frontiers


def _no_stored_plans(data: Data, _: Scene) -> None:
    for pool in items(data, "certificate", "frontier", "pools"):
        pool["plans"] = []


def _plans_left_out(data: Data, _: Scene) -> None:
    for pool in items(data, "certificate", "frontier", "pools"):
        pool["plans"] = None


def _first_plans(data: Data, _: Scene) -> None:
    for pool in items(data, "certificate", "frontier", "pools"):
        pool["plans"] = cast("list[object]", pool["plans"])[:-1]


def _no_frontier_evidence(data: Data, _: Scene) -> None:
    del item(data, "certificate")["frontier"]


def _no_arguments(data: Data, _: Scene) -> None:
    for pool in items(data, "certificate", "frontier", "pools"):
        pool["arguments"] = []


def _points_alike(data: Data, _: Scene) -> None:
    """Make all points with a move as dear as the dearest."""
    points = items(data, "frontier")
    dearest = max(integer(point, "migrations") for point in points)
    for point in points[1:]:
        point["migrations"] = dearest


def _point_bounds(data: Data, _: Scene) -> None:
    for point in items(data, "frontier"):
        point["lower_bound"] = point["migrations"]


def _no_point_bounds(data: Data, _: Scene) -> None:
    for point in items(data, "frontier"):
        point["lower_bound"] = 0


# Answers about waiting jobs


def _answers(data: Data) -> list[Data]:
    if "passed_over" not in data:
        return [data]
    return [*items(data, "passed_over"), *([item(data, "first")] if data["first"] is not None else [])]


def _each(follow: Callable[[Data, Data, Scene], None]) -> Following:
    def all_(data: Data, scene: Scene) -> None:
        for answer in _answers(data):
            follow(answer, data, scene)

    return all_


def _asked(answer: Data, data: Data) -> Data:
    if "job" in data:
        return item(data, "job")
    return {job["name"]: job for job in items(data, "jobs")}[answer["name"]]


def _count_moves(answer: Data, _: Data, __: Scene) -> None:
    if answer["verdict"] in {"fits_now", "fits_after"}:
        answer["migrations"] = len(_moves(answer))
        answer["verdict"] = "fits_after" if _moves(answer) else "fits_now"


def _bound_met(answer: Data, _: Data, __: Scene) -> None:
    answer["lower_bound"] = answer["migrations"] or 0
    answer["status"] = "optimal" if answer["verdict"] != "unknown" else "unknown"


def _answer_status(answer: Data, _: Data, __: Scene) -> None:
    settled = answer["verdict"] == "cannot" or answer["migrations"] == answer["lower_bound"]
    answer["status"] = "optimal" if settled and answer["verdict"] != "unknown" else "unknown"


def _nothing_done(answer: Data, _: Data, __: Scene) -> None:
    if answer["verdict"] in {"cannot", "unknown"}:
        answer |= {"pool": None, "migrations": None, "moves": [], "stopped_first": [], "placements": []}


def _no_words(answer: Data, _: Data, __: Scene) -> None:
    answer["proof"] = ""


def _no_blockers(answer: Data, _: Data, __: Scene) -> None:
    answer["blockers"] = []


def _no_weights(answer: Data, _: Data, __: Scene) -> None:
    answer["certificate"] = {"pools": []}


def _no_bound(answer: Data, _: Data, __: Scene) -> None:
    answer["lower_bound"] = 0


def _right_words(answer: Data, data: Data, scene: Scene) -> None:
    job = _asked(answer, data)
    instances, gpus = integer(job, "instances"), integer(job, "gpus_per_instance")
    pool = text(answer, "pool") if answer["pool"] else text(job, "pool") if job["pool"] else scene.pools[0]
    free = scene.world.free(scene.world.start, pool)
    if answer["verdict"] == "cannot":
        fit = f"{max(0, instances - 1)} of {instances} instances of {gpus} GPUs fit"
        answer["reason"] = (
            f"at most {fit} on the nodes of pool {pool} that take new ones, however running instances are moved"
        )
        return
    fit = str(min(instances, sum(room // gpus for room in free)))
    count = len(_moves(answer))
    after = f", {'it does' if instances == 1 else 'all do'} after {count} move{'s' * (count > 1)}" if count else ""
    answer["reason"] = f"{fit} of {instances} instances fit in pool {pool} as it is{after}"


def _place(answer: Data, data: Data, scene: Scene) -> None:
    """Put the instances where room is if no rule is looked at but that nodes hold what they offer."""
    job = _asked(answer, data)
    pool = answer["pool"] or job["pool"] or scene.pools[0]
    nodes = _room_left(scene, _moves(answer), Counter())
    placed = [
        name
        for name, (room, of) in nodes.items()
        if of == pool
        for _ in range(room // max(1, integer(job, "gpus_per_instance")))
    ][: integer(job, "instances")]
    answer["pool"] = pool
    answer["placements"] = [{"instance": i, "node": name} for i, name in enumerate(placed)]


def _room_left(scene: Scene, moves: list[Data], taken: Counter[str]) -> dict[str, tuple[int, str]]:
    used = scene.world.used(places_after(scene, moves))
    return {
        f"n{n}": (max(0, node.gpus - used[n] - taken[f"n{n}"]), node.pool) for n, node in enumerate(scene.world.nodes)
    }


def _together_placed(data: Data, scene: Scene) -> None:
    together = item(data, "together")
    jobs = {text(job, "name"): job for job in items(data, "jobs")}
    taken: Counter[str] = Counter()
    placed: list[Data] = []
    for name in cast("list[str]", together["jobs"]):
        gpus = integer(jobs[name], "gpus_per_instance")
        for i in range(min(_MOST, integer(jobs[name], "instances"))):
            nodes = _room_left(scene, _moves(together), taken)
            fitting = [
                node for node, (room, pool) in nodes.items() if room >= gpus and jobs[name]["pool"] in {None, pool}
            ]
            if fitting:
                taken[fitting[0]] += gpus
                placed.append({"job": name, "instance": i, "node": fitting[0]})
    together["placements"] = placed


def _together_numbers(data: Data, _: Scene) -> None:
    together = item(data, "together")
    together["migrations"] = len(_moves(together))
    together["most"] = len(cast("list[str]", together["jobs"]))
    together["moves_lower_bound"] = together["migrations"]
    together["status"] = "optimal"


def _together_unknown(data: Data, _: Scene) -> None:
    item(data, "together").update(status="unknown", moves_lower_bound=0, most=len(items(data, "jobs")))


def _alone_as_together(data: Data, _: Scene) -> None:
    first = item(data, "first")
    together = item(data, "together")
    together["jobs"] = [first["name"]]
    for key in ("moves", "stopped_first", "migrations"):
        together[key] = copied(first[key])
    together["placements"] = [{"job": first["name"], **one} for one in items(first, "placements")]


def _nobody_together(data: Data, _: Scene) -> None:
    item(data, "together").update(jobs=[], moves=[], stopped_first=[], placements=[], migrations=0)


_MEASUREMENT: tuple[Following, ...] = (
    _avoidable, _sums, _to_pools, _certified, _solved, _from_certificates, _one_pool, _as_one_pool, _domain_sums,
    _domain_pools, _domains_avoidable, _domain_bounds, _empty_unknown, _costs, _costs_certified, _no_costs,
)  # fmt: skip
_PLAN: tuple[Following, ...] = (
    _as_it_was, _numbers, _after, _from_moves, _bounds_met, _low_bounds, _status, _no_limits, _limits_kept,
    _no_question, _plan_certificates, _solved_plan, _no_further, _no_stored_plans, _plans_left_out, _first_plans,
    _no_frontier_evidence, _no_arguments, _points_alike, _point_bounds, _no_point_bounds,
)  # fmt: skip
_EACH: tuple[Callable[[Data, Data, Scene], None], ...] = (
    _count_moves, _bound_met, _answer_status, _nothing_done, _no_words, _no_blockers, _no_weights, _no_bound,
    _right_words, _place,
)  # fmt: skip
_TOGETHER: tuple[Following, ...] = (
    _together_placed, _together_numbers, _together_unknown, _alone_as_together, _nobody_together,
)  # fmt: skip


def _alone_solved(data: Data, _: Scene) -> None:
    _word_of_a_solver(data)


def _alone_met(data: Data, _: Scene) -> None:
    upper = "migrations" if "migrations" in data else "partial_nodes"
    data["status"] = _met(data, ("lower_bound", upper))


_CERTIFICATE: tuple[Following, ...] = (_alone_solved, _alone_met)
_ANSWER = {follow.__name__: _each(follow) for follow in _EACH} | {"_no_question": _no_question}
_QUEUE = _ANSWER | {follow.__name__: follow for follow in _TOGETHER}
_BY_SCHEMA: dict[str, dict[str, Following]] = {
    "compass-abs/measure/1": {follow.__name__: follow for follow in _MEASUREMENT},
    "compass-abs/plan/2": {follow.__name__: follow for follow in _PLAN},
    "compass-abs/admit/3": _ANSWER | {"_as_it_was": _as_it_was},
    "compass-abs/admit-queue/3": _QUEUE,
    "compass-abs/certificate/2": {follow.__name__: follow for follow in _CERTIFICATE},
    "compass-abs/migration-certificate/2": {follow.__name__: follow for follow in _CERTIFICATE},
}
