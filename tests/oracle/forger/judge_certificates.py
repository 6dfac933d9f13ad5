"""Whether a certificate, alone or inside a document, says something false: its problem is solved by trying all."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import msgspec

from tests.oracle.forger.truth import Falsehood

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracle.brute_moves import World

NEVER = 10**6

LARGEST = 12
"""Nodes, and instances, of problems that are tried. Those of our scenes have fewer; about others nothing is said."""


class Class(msgspec.Struct, frozen=True):
    capacity: int
    held: int
    room: int
    own: tuple[int, ...] = ()


class Problem(msgspec.Struct, frozen=True):
    classes: tuple[Class, ...]
    nodes: tuple[int, ...]
    demands: tuple[tuple[int, int], ...]


class Packed(msgspec.Struct, frozen=True):
    node_class: int
    pattern: tuple[int, ...]
    nodes: int


class Changed(msgspec.Struct, frozen=True):
    node_class: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    nodes: int


class Certificate(msgspec.Struct, frozen=True):
    problem: Problem
    packing: tuple[Packed, ...]
    partial_nodes: int
    lower_bound: int
    status: str


class Migrations(msgspec.Struct, frozen=True):
    problem: Problem
    present: tuple[Packed, ...]
    max_partial_nodes: int
    changes: tuple[Changed, ...]
    partial_nodes: int
    migrations: int
    lower_bound: int
    status: str


def judge_certificate(data: object, at: str = "") -> Iterator[Falsehood]:
    """Yield what a certificate of partial nodes says that is false of its own problem."""
    told = msgspec.convert(data, Certificate)
    if _is_large(told.problem):
        return
    words = "partial nodes"
    table = _costs(told.problem, ((),) * sum(told.problem.nodes))
    fewest = next((k for k, cost in enumerate(table) if cost < NEVER), NEVER)
    if told.lower_bound > fewest:
        yield Falsehood(f"{at}lower_bound", words)
    if not _solves(told.problem, told.packing):
        yield Falsehood(f"{at}packing", words)
    elif not fewest <= told.partial_nodes == _partial(told.problem, told.packing):
        yield Falsehood(f"{at}partial_nodes", words)
    if told.status != ("optimal" if told.lower_bound == told.partial_nodes else "unknown"):
        yield Falsehood(f"{at}status", words)


def judge_migrations(data: object, at: str = "") -> Iterator[Falsehood]:
    """Yield what a certificate of migrations says that is false of its own problem and of what is held now."""
    told = msgspec.convert(data, Migrations)
    if _is_large(told.problem) or sum(one.nodes for one in told.present) > LARGEST:
        return
    words = "migrations"
    if not all(0 <= one.node_class < len(told.problem.classes) for one in told.present):
        yield Falsehood(f"{at}present", words)
        return
    held = [one.pattern for one in told.present for _ in range(one.nodes)]
    table = _costs(_one_by_one(told.problem, told.present), tuple(held))
    least = min((cost for cost in table[: told.max_partial_nodes + 1]), default=NEVER)
    if told.lower_bound > least:
        yield Falsehood(f"{at}lower_bound", words)
    after = Counter({(one.node_class, one.pattern): one.nodes for one in told.present})
    arrived = 0
    for change in told.changes:
        after[change.node_class, change.before] -= change.nodes
        after[change.node_class, change.after] += change.nodes
        arrived += change.nodes * (Counter(change.after) - Counter(change.before)).total()
    packed = tuple(Packed(c, pattern, nodes) for (c, pattern), nodes in after.items() if nodes)
    if any(one.nodes < 0 for one in packed) or not _solves(told.problem, packed):
        yield Falsehood(f"{at}changes", words)
        return
    if told.migrations != arrived:
        yield Falsehood(f"{at}migrations", words)
    if told.partial_nodes != _partial(told.problem, packed):
        yield Falsehood(f"{at}partial_nodes", words)
    if told.partial_nodes > told.max_partial_nodes:
        yield Falsehood(f"{at}max_partial_nodes", words)
    if told.status != ("optimal" if told.lower_bound == told.migrations else "unknown"):
        yield Falsehood(f"{at}status", words)


def judge_problem(data: object, world: World, *, ideal: bool = False) -> bool:
    """Return whether a problem is that of a pool, as far as its nodes and instances can be counted."""
    problem = msgspec.convert(data, Problem)
    used = world.used(world.start)
    nodes: Counter[tuple[int, int, int]] = Counter()
    for n, node in enumerate(world.nodes):
        fixed = 0 if ideal else sum(one.gpus for one in world.instances if one.home == n and not one.movable)
        takes = ideal or (node.schedulable and used[n] <= node.gpus)
        nodes[node.gpus, fixed, node.gpus - fixed if takes else 0] += 1
    told: Counter[tuple[int, int, int]] = Counter()
    if len(problem.classes) != len(problem.nodes):
        return False
    for kind, count in zip(problem.classes, problem.nodes, strict=True):
        told[kind.capacity, kind.held, kind.room] += count
    demands = Counter(one.gpus for one in world.instances if ideal or one.movable)
    return told == nodes and dict(problem.demands) == dict(demands)


def _is_large(problem: Problem) -> bool:
    counts = [count for _, count in problem.demands]
    if len(problem.nodes) != len(problem.classes) or min((*problem.nodes, *counts), default=0) < 0:
        return True
    return max(sum(problem.nodes), sum(counts)) > LARGEST


def _one_by_one(problem: Problem, present: Sequence[Packed]) -> Problem:
    """Return the problem with a class for every node, in the order of what they hold."""
    kinds = [problem.classes[one.node_class] for one in present for _ in range(one.nodes)]
    return Problem(tuple(kinds), (1,) * len(kinds), problem.demands)


def _partial(problem: Problem, packed: Sequence[Packed]) -> int:
    return sum(one.nodes for one in packed if _is_partial(problem.classes[one.node_class], sum(one.pattern)))


def _is_partial(kind: Class, load: int) -> bool:
    return 0 < kind.held + load < kind.capacity


def _may_hold(kind: Class, pattern: Sequence[int]) -> bool:
    return sum(pattern) <= kind.room or not Counter(pattern) - Counter(kind.own)


def _solves(problem: Problem, packed: Sequence[Packed]) -> bool:
    nodes: Counter[int] = Counter()
    instances: Counter[int] = Counter()
    for one in packed:
        if not 0 <= one.node_class < len(problem.classes) or not _may_hold(
            problem.classes[one.node_class], one.pattern
        ):
            return False
        nodes[one.node_class] += one.nodes
        for gpus in one.pattern:
            instances[gpus] += one.nodes
    return [nodes[c] for c in range(len(problem.nodes))] == list(problem.nodes) and instances == dict(problem.demands)


@cache
def _costs(problem: Problem, held: tuple[tuple[int, ...], ...]) -> list[int]:
    """Return the fewest arrivals that leave exactly k partial nodes, for every k; `NEVER` where nothing does."""
    sizes = [gpus for gpus, _ in problem.demands]
    kinds = [kind for kind, count in zip(problem.classes, problem.nodes, strict=True) for _ in range(count)]
    table = {(tuple(count for _, count in problem.demands), 0): 0}
    for kind, now in zip(kinds, held, strict=True):
        after: dict[tuple[tuple[int, ...], int], int] = {}
        for (left, partial), cost in table.items():
            for counts in product(*(range(count + 1) for count in left)):
                pattern = [gpus for gpus, count in zip(sizes, counts, strict=True) for _ in range(count)]
                if not _may_hold(kind, pattern):
                    continue
                key = (
                    tuple(a - b for a, b in zip(left, counts, strict=True)),
                    partial + _is_partial(kind, sum(pattern)),
                )
                arrived = (Counter(pattern) - Counter(now)).total()
                after[key] = min(after.get(key, NEVER), cost + arrived)
        table = after
    nothing = (0,) * len(sizes)
    return [table.get((nothing, k), NEVER) for k in range(len(kinds) + 1)]
