"""What schedulers keep their placement in, read the way the engine asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import ClusterState, RefusalKind
from simulation.cluster import Cluster
from simulation.schedulers.protocol import LEFT, Answer, Cause, Farewell, Left, Placed, Refused

if TYPE_CHECKING:
    from compass_core import Outcome
    from oracle.sifopt import SifOptOutcome

_CAUSES = {
    RefusalKind.CAPACITY: Refused(Cause.CAPACITY),
    RefusalKind.FRAGMENTATION: Refused(Cause.FRAGMENTATION),
    RefusalKind.STRUCTURE: Refused(Cause.STRUCTURE),
}


class OnCluster:
    """The part of a scheduler that places on a `Cluster`.

    Attributes
    ----------
    cluster
        The nodes at present.
    """

    def __init__(self, nodes: int) -> None:
        self.cluster = Cluster(nodes)

    @property
    def nodes(self) -> int:
        """N, number of nodes."""
        return self.cluster.nodes

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        return self.cluster.partial_nodes

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        return self.cluster.empty_nodes


class OnState:
    """The part of a scheduler that goes from one immutable state to the next.

    Attributes
    ----------
    nodes
        N, number of 8-GPU nodes.
    state
        The cluster at present.
    """

    __slots__ = ("nodes", "state")

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.state = ClusterState.empty(nodes)

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        return self.state.partial_nodes

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        return self.state.empty_nodes

    def arrived(self, outcome: Outcome | SifOptOutcome) -> Answer:
        """Take over the state after an arrival, and return the answer."""
        if outcome.reason is not None:
            return _CAUSES[outcome.reason.kind]
        self.state = outcome.state
        return Placed(tuple(placement.node for placement in outcome.placements), outcome.migrations)

    def departed(self, outcome: Outcome | SifOptOutcome) -> Farewell:
        """Take over the state after a departure, and return what moved."""
        self.state = outcome.state
        return Left(outcome.migrations) if outcome.migrations else LEFT
