"""What constraints cost: Φ* and every cost against all arrangements of named instances in small random clusters."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, cast

import pytest
from immutables import Map

import oracle.snapshots.contents
from oracle.measurement.constraints import Bounds, constraint_costs
from oracle.measurement.measure import measure
from oracle.optimum.certificate import Status
from oracle.optimum.solver import Deadline
from oracle.snapshots.model import NodeSet, RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.verification import verify
from oracle.verification.enumeration import fewest_partial
from tests.oracle.named_arrangements import fewest_partial_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, object]

SORTS = {"cordoned", "immovable", "distinct nodes", "partition", "feature", "cpu", "memory"}


def random_snapshot(rng: random.Random) -> Snapshot:
    """Return a cluster of at most 4 nodes and 5 instances; in a few of them rules are broken already."""
    gpus = rng.choice([2, 4, 4, 8])
    resources = [name for name in ("cpu", "memory") if rng.random() < 0.4]
    nodes = [
        SnapshotNode(
            name=f"n{i}",
            gpus=gpus,
            pool=rng.choice("aaaaab"),
            schedulable=rng.random() < 0.8,
            resources=Map({name: rng.randint(1, 2 * gpus) for name in resources}),
        )
        for i in range(rng.randint(2, 4))
    ]
    sets = [
        NodeSet(name=f"s{k}", kind=kind, nodes=frozenset(node.name for node in nodes if rng.random() < 0.5))
        for k, kind in enumerate(["partition", "partition", "feature"])
    ]
    jobs: list[RunningJob] = []
    free = {node.name: gpus + (rng.random() < 0.05) for node in nodes}
    for _ in range(rng.randint(2, 5)):
        instances: list[RunningInstance] = []
        for _ in range(rng.choice([1, 1, 2])):
            demand = rng.randint(1, gpus - 1)
            places = [name for name, left in free.items() if left >= demand]
            if places and sum(len(job.instances) for job in jobs) + len(instances) < 5:
                home = rng.choice(places)
                free[home] -= demand
                instances.append(
                    RunningInstance(
                        node=home,
                        gpus=demand,
                        movable=rng.random() < 0.8,
                        within=tuple(one.name for one in sets if rng.random() < 0.2),
                        resources=Map({name: rng.randint(0, 3) for name in resources}),
                    )
                )
        if instances:
            jobs.append(RunningJob(name=f"j{len(jobs)}", instances=tuple(instances), distinct_nodes=rng.random() < 0.5))
    return Snapshot.build(nodes=nodes, jobs=jobs, node_sets=sets)


def check_worlds(seed: int, count: int) -> Counter[str]:
    """Check Φ* and all costs of so many clusters; return how often each sort of constraint costs something."""
    costing: Counter[str] = Counter()
    rng = random.Random(seed)
    for _ in range(count):
        snapshot = random_snapshot(rng)
        measured = measure(snapshot)
        assert measured.status is Status.OPTIMAL
        for pool in measured.pools:
            inherent = fewest_partial_nodes(snapshot, pool.pool)
            assert pool.inherent_partial_nodes == inherent, snapshot
            assert fewest_partial(pool.certificate.problem) == inherent, snapshot
            told = {cost.constraint: cost for cost in pool.constraints}
            for sort in SORTS:
                cost = inherent - fewest_partial_nodes(snapshot, pool.pool, without=sort)
                found = (told[sort].partial_nodes, told[sort].partial_nodes_at_most) if sort in told else (0, 0)
                assert found == (cost, cost), (sort, snapshot)
                costing[sort] += cost > 0
            for one in pool.constraints:
                one.certificate.verify()
        assert not [check for check in verify(stored(snapshot), snapshot) if check.holds is False]
    return costing


def stored(snapshot: Snapshot) -> Json:
    """Return the measurement of a snapshot as it is read from a file."""
    return cast("Json", json.loads(json.dumps(measure(snapshot).to_dict())))


def test_costs_are_those_of_all_arrangements() -> None:
    assert set(+check_worlds(1, 150)) == SORTS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_costs_are_those_of_all_arrangements_in_many(seed: int) -> None:
    assert set(+check_worlds(100 + seed, 500)) == SORTS


def check_bounds(seed: int, count: int, time_limit: float | None = None) -> int:
    """Check that costs are within their bounds, and proved; return how many are not settled."""
    rng, unsettled = random.Random(seed), 0
    for _ in range(count):
        snapshot = random_snapshot(rng)
        for pool in snapshot.pools:
            inherent = fewest_partial_nodes(snapshot, pool)
            for one in constraint_costs(snapshot, pool, Bounds(inherent, inherent), Deadline(time_limit)):
                cost = inherent - fewest_partial_nodes(snapshot, pool, without=one.constraint)
                assert one.partial_nodes <= cost <= one.partial_nodes_at_most, (one.constraint, snapshot)
                one.certificate.verify()
                unsettled += one.partial_nodes < one.partial_nodes_at_most
    return unsettled


def test_where_kinds_leave_something_out_bounds_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle.snapshots.contents, "MAX_GROUPS", 1)
    assert check_bounds(2, 60) > 0


def test_bounds_where_there_is_no_time() -> None:
    assert check_bounds(3, 60, time_limit=0) > 0


# What verify says


def half(name: str, *, movable: bool = True, within: tuple[str, ...] = ()) -> RunningJob:
    return RunningJob(
        name=f"on {name}", instances=(RunningInstance(node=name, gpus=4, movable=movable, within=within),)
    )


def constrained() -> Snapshot:
    """Return five halves of which two are immovable and three bound to one node: Φ* is 3, and 1 without either."""
    jobs = [half(f"n{i}", movable=i not in {0, 3}, within=("labx",) if i in {1, 2, 4} else ()) for i in range(5)]
    nodes = [SnapshotNode(name=f"n{i}", gpus=8) for i in range(5)]
    return Snapshot.build(
        nodes=nodes, jobs=jobs, node_sets=[NodeSet(name="labx", kind="partition", nodes=frozenset({"n1"}))]
    )


def test_two_that_share_their_cost() -> None:
    (pool,) = measure(constrained()).pools
    assert (pool.inherent_partial_nodes, pool.ideal_partial_nodes) == (3, 1)
    assert [(one.constraint, one.partial_nodes) for one in pool.constraints] == [("immovable", 2), ("partition", 2)]


def test_nothing_is_asked_where_constraints_cost_nothing() -> None:
    snapshot = Snapshot.build(
        nodes=[SnapshotNode(name="a", gpus=8, schedulable=False)], jobs=[half("a", movable=False)]
    )
    assert measure(snapshot).pools[0].constraints == ()
    assert measure(constrained(), constraints=False).pools[0].constraints == ()


def test_what_has_one_name_is_one_sort() -> None:
    """A node set of a kind that is called as a resource is: without it there is neither."""
    snapshot = Snapshot.build(
        nodes=[SnapshotNode(name=name, gpus=8, resources=Map({"cordoned": 1})) for name in "ab"],
        jobs=[
            RunningJob(
                name=name,
                instances=(RunningInstance(node=name, gpus=4, within=("s",), resources=Map({"cordoned": 1})),),
            )
            for name in "ab"
        ],
        node_sets=[NodeSet(name="s", kind="cordoned", nodes=frozenset())],
    )
    (cost,) = measure(snapshot).pools[0].constraints
    assert (cost.constraint, cost.partial_nodes, cost.partial_nodes_at_most) == ("cordoned", 2, 2)


def costs(data: Json) -> list[Json]:
    return cast("list[Json]", cast("list[Json]", data["pools"])[0]["constraints"])


def raised(data: Json) -> None:
    costs(data)[1]["partial_nodes_at_most"] = 3


def lowered(data: Json) -> None:
    costs(data)[0]["partial_nodes"] = 1


def renamed(data: Json) -> None:
    costs(data)[1]["constraint"] = "feature"


def exchanged(data: Json) -> None:
    first, second = costs(data)
    first["constraint"], second["constraint"] = second["constraint"], first["constraint"]


def reordered(data: Json) -> None:
    costs(data).reverse()


def removed(data: Json) -> None:
    del costs(data)[0]


def all_removed(data: Json) -> None:
    costs(data).clear()


def added(data: Json) -> None:
    costs(data).append({**costs(data)[0], "constraint": "cpu"})


def of_another_problem(data: Json) -> None:
    costs(data)[0]["certificate"] = cast("list[Json]", data["pools"])[0]["certificate"]


def bound_raised(data: Json) -> None:
    certificate = cast("Json", costs(data)[0]["certificate"])
    certificate["lower_bound"] = cast("int", certificate["lower_bound"]) - 1
    certificate["status"] = "unknown"
    costs(data)[0]["partial_nodes_at_most"] = 3


LIES = [raised, lowered, renamed, exchanged, reordered, removed, all_removed, added, of_another_problem, bound_raised]


@pytest.mark.parametrize("lie", LIES)
def test_a_false_cost_is_refused(lie: Callable[[Json], None]) -> None:
    snapshot = constrained()
    data = stored(snapshot)
    assert not [check for check in verify(data, snapshot) if check.holds is False]
    lie(data)
    assert [check for check in verify(data, snapshot) if check.holds is False]


def test_without_a_snapshot_the_certificates_are_checked() -> None:
    data = stored(constrained())
    assert not [check for check in verify(data) if check.holds is False]
    bound_raised(data)
    assert [check.claim for check in verify(data) if check.holds is False] == [
        "pool default: without immovable partial nodes 0..1"
    ]
