"""FFT: all running jobs re-placed exactly once an hour, best fit in between.

Published: a scheduler in rounds that re-places running jobs by an integer program over node patterns and migrates those
whose node changes.

Inferred: a round starts every 3,600 s; the re-placement has the fewest partial nodes that are possible (Φ*) and, among
such, moves the fewest instances (`oracle.optimum.pools`); with a limit of b moves a round it has the fewest partial
nodes that so many moves reach. Of nodes with equal contents those of the lowest index change, of equal instances those
of the oldest job leave. All moves of a round are made at one time, by checkpoint and restart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from compass_core import Instance, Migration, MoveReason
from oracle.optimum.node_classes import NodeClass, PackingProblem, PlacedProblem, packing
from oracle.optimum.pools import PoolsSearch
from oracle.optimum.solver import Deadline
from simulation.demand import GPUS_PER_NODE
from simulation.schedulers.greedy import GreedyScheduler, best_fit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.optimum.migration_certificate import Changes
    from oracle.snapshots.model import Pattern
    from simulation.cluster import Cluster

INTERVAL_S = 3_600.0


class FftScheduler(GreedyScheduler):
    """Best fit, and rounds in which everything is re-placed with the fewest moves."""

    def __init__(self, nodes: int, *, interval_s: float = INTERVAL_S, max_moves: int | None = None) -> None:
        super().__init__("fft", nodes, best_fit)
        self.interval_s = interval_s
        self._max_moves = max_moves

    def tick(self, now: float) -> tuple[Migration, ...]:
        """Re-place the running jobs and return the moves, all made at one time."""
        del now
        residents = self.cluster.residents()
        contents = {index: _pattern(self.cluster, instances) for index, instances in residents.items()}
        changes = _cheapest_changes(_placed(self.cluster, contents), self._max_moves)
        moves = tuple(_moves(self.cluster, residents, contents, changes))
        self.cluster.relocate([(move.instance.job, move.instance.index, move.destination) for move in moves])
        return moves


def _pattern(cluster: Cluster, instances: list[tuple[str, int]]) -> Pattern:
    return tuple(sorted((cluster.jobs[name].gpus for name, _ in instances), reverse=True))


def _placed(cluster: Cluster, contents: dict[int, Pattern]) -> PlacedProblem:
    """Return the present packing as the oracle reads it."""
    nodes = Counter(contents.values())
    nodes[()] = cluster.nodes - len(contents)
    demands: Counter[int] = Counter()
    for pattern, count in nodes.items():
        for gpus in pattern:
            demands[gpus] += count
    kind = NodeClass(capacity=GPUS_PER_NODE, held=0, room=GPUS_PER_NODE)
    problem = PackingProblem.build({kind: cluster.nodes}, demands)
    return PlacedProblem(problem, packing({(0, pattern): count for pattern, count in nodes.items()}))


def _cheapest_changes(placed: PlacedProblem, max_moves: int | None) -> Changes:
    """Return how the contents of nodes change: down to Φ*, or as far as so many moves reach."""
    search = PoolsSearch([placed], Deadline())
    plan = search.cheapest(search.fewest) if max_moves is None else search.fewest_partial_nodes(max_moves)[0]
    return plan.plans[0].changes


def _moves(
    cluster: Cluster,
    residents: dict[int, list[tuple[str, int]]],
    contents: dict[int, Pattern],
    changes: Changes,
) -> Iterator[Migration]:
    """Yield moves that carry out the changes: of each demand, whoever leaves goes where one arrives."""
    holding: defaultdict[Pattern, list[int]] = defaultdict(list)
    for index in sorted(contents, reverse=True):
        holding[contents[index]].append(index)
    idle = iter(cluster.levels[GPUS_PER_NODE])
    leaving: defaultdict[int, list[tuple[str, int, int]]] = defaultdict(list)
    arriving: defaultdict[int, list[int]] = defaultdict(list)
    for change in changes:
        gone = Counter(change.before) - Counter(change.after)
        come = Counter(change.after) - Counter(change.before)
        for _ in range(change.nodes):
            index = holding[change.before].pop() if change.before else next(idle)
            left = Counter(gone)
            for name, instance in residents.get(index, ()):
                gpus = cluster.jobs[name].gpus
                if left[gpus] > 0:
                    left[gpus] -= 1
                    leaving[gpus].append((name, instance, index))
            for gpus, count in come.items():
                arriving[gpus] += [index] * count
    for gpus in sorted(leaving, reverse=True):
        for (name, instance, source), destination in zip(leaving[gpus], arriving[gpus], strict=True):
            yield Migration(Instance(name, instance, gpus), source, destination, MoveReason.MERGE)
