"""The frontier of a whole snapshot: what at most so many partial nodes in all pools together cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import msgspec
import numpy as np

from oracle.optimum.certificate import Status
from oracle.optimum.migration import start_search
from oracle.optimum.node_classes import constrained_problem
from oracle.planning.frontier_evidence import PoolFrontier, all_pools
from oracle.planning.pool_frontier import descend

if TYPE_CHECKING:
    from oracle.optimum.shared_limits import Costs
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True)
class PlanFrontierPoint:
    """What at most so many partial nodes in all pools together cost.

    Attributes
    ----------
    partial_nodes
        The limit on partial nodes.
    migrations
        Those of the cheapest plan found: the fewest if `lower_bound` is equal.
    lower_bound
        Migrations of every plan within the limit, at least.
    """

    partial_nodes: int
    migrations: int
    lower_bound: int

    @property
    def status(self) -> Status:
        """OPTIMAL if the bounds meet."""
        return Status.OPTIMAL if self.migrations == self.lower_bound else Status.UNKNOWN

    def to_json(self) -> dict[str, object]:
        """Return the point as it stands in `frontier` of a plan."""
        return {"partial_nodes": self.partial_nodes, "migrations": self.migrations, "lower_bound": self.lower_bound}


@dataclass(frozen=True, slots=True)
class PlanFrontier(Sequence[PlanFrontierPoint]):
    """The points of a frontier, with the evidence for them.

    Attributes
    ----------
    points
        From the partial nodes of today down.
    evidence
        What attains and what bounds them, one a pool.
    """

    points: tuple[PlanFrontierPoint, ...]
    evidence: tuple[PoolFrontier, ...]

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> PlanFrontierPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PlanFrontierPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> PlanFrontierPoint | tuple[PlanFrontierPoint, ...]:
        return self.points[index]

    def evidence_to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return {"pools": msgspec.json.decode(msgspec.json.encode(self.evidence))}


def frontier_of_pools(snapshot: Snapshot, deadline: Deadline) -> PlanFrontier:
    """Return the frontier of all pools together: by how the limit is divided among them, the cheapest division."""
    attained: list[Costs] = []
    proved: list[Costs] = []
    evidence: list[PoolFrontier] = []
    fewest, lowest = 0, 0
    for pool, nodes in snapshot.contents.items():
        placed = constrained_problem(nodes)
        search, inherent = start_search(placed, None, deadline)
        plans = tuple(descend(search, placed, inherent.partial_nodes, deadline))
        evidence.append(PoolFrontier.of(pool, plans))
        attained.append(np.array([plan.migrations for plan in reversed(plans)], np.int64))
        # Where it is not known whether a pool can have fewer partial nodes, that may be where others save moves.
        unsettled = [plans[-1].lower_bound] * (inherent.partial_nodes - inherent.lower_bound)
        proved.append(np.array([*unsettled, *(plan.lower_bound for plan in reversed(plans))], np.int64))
        fewest += inherent.partial_nodes
        lowest += inherent.lower_bound
    rows = zip(all_pools(attained).tolist(), all_pools(proved).tolist()[fewest - lowest :], strict=True)
    points = [PlanFrontierPoint(fewest + extra, migrations, lower) for extra, (migrations, lower) in enumerate(rows)]
    return PlanFrontier(tuple(reversed(points)), tuple(evidence))
