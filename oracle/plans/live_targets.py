"""The fewest relocations of each pool, as the search of live moves asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.migration import start_search
from oracle.node_classes import constrained_problem, contents_by_pool
from oracle.plans.named_moves import named_moves
from oracle.plans.result import PoolEvidence
from oracle.plans.shared_limits import further_arguments
from oracle.sequencing.live_plan import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.certificate import Certificate
    from oracle.migration_certificate import MigrationCertificate
    from oracle.snapshots.model import Snapshot
    from oracle.solver import Deadline
    from oracle.transport.search import PlanSearch


class LiveTargets:
    """What is known about the plans of each pool if instances may be stopped."""

    def __init__(self, snapshot: Snapshot, weights: Mapping[str, int], deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._weights = weights
        self._contents = contents_by_pool(snapshot)
        self._searches: dict[str, tuple[PlanSearch, Certificate]] = {
            pool: start_search(constrained_problem(nodes), None, deadline) for pool, nodes in self._contents.items()
        }

    def lower_bound(self) -> int:
        """Return how many partial nodes all pools together have at least."""
        return sum(inherent.lower_bound for _, inherent in self._searches.values())

    def find(self, pool: str, partial_nodes: int) -> Target | None:
        """Return the fewest relocations to so many partial nodes; None if no placement has so few."""
        search, inherent = self._searches[pool]
        if partial_nodes < inherent.lower_bound:
            return None
        if partial_nodes < inherent.partial_nodes:
            return Target(None, 0)
        found = search.settle(partial_nodes)
        return Target(named_moves(self._snapshot, self._contents[pool], found, self._weights), found.lower_bound)

    def evidence(self, after: Snapshot, claims: Iterable[tuple[int, int]]) -> tuple[PoolEvidence, ...]:
        """Return what is proved about the migrations to as few partial nodes as there are in this snapshot.

        With what is known to prove claims about all pools together (`oracle.plans.shared_limits.prove`).
        """
        certificates: list[tuple[Certificate, MigrationCertificate]] = []
        for pool, nodes in contents_by_pool(after).items():
            search, inherent = self._searches[pool]
            left = sum(0 < node.used < node.capacity for node in nodes)
            reached = search.settle(max(left, inherent.partial_nodes))
            certificates.append((inherent, reached))
        further = further_arguments(certificates, claims, self._known)
        return tuple(
            PoolEvidence(pool=pool, inherent=inherent, migrations=migrations, further=more)
            for pool, (inherent, migrations), more in zip(self._contents, certificates, further, strict=True)
        )

    def _known(self, p: int, limit: int) -> MigrationCertificate:
        search, inherent = list(self._searches.values())[p]
        return search.certificate(max(limit, inherent.partial_nodes))
