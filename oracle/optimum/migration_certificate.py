"""A plan at pattern level and a bound on the migrations of every other one, with the evidence for both.

Like the certificate of Φ*, it carries its problem, and `MigrationCertificate.verify` calls no solver and works in
integers only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from oracle.optimum.certificate import check_packing, check_problem
from oracle.optimum.evidence import CertificateError, Evidence, Status
from oracle.optimum.model import Change, NodeKind, Pool
from oracle.optimum.node_classes import Packing, PackingProblem, PlacedProblem, count_partial, packing
from oracle.optimum.proof import Proof
from oracle.optimum.weights import SolverProof, Tree
from oracle.snapshots.model import Pattern  # noqa: TC001 - msgspec reads the annotation
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Mapping


MigrationArgument: TypeAlias = Tree | SolverProof


@dataclass(frozen=True, slots=True, order=True)
class ChangedNodes:
    """So many nodes of one class that hold `before` now and `after` in the end."""

    node_class: int
    before: Pattern
    after: Pattern
    nodes: int

    @property
    def migrations(self) -> int:
        """Instances that arrive on all these nodes."""
        return self.nodes * (Counter(self.after) - Counter(self.before)).total()


Changes: TypeAlias = tuple[ChangedNodes, ...]
"""Which nodes change and how, sorted, no class and pair of patterns twice. Nodes not named stay as they are."""


def changes(nodes: Mapping[tuple[int, Pattern, Pattern], int]) -> Changes:
    """Return the changes in which `nodes[c, p, q]` nodes of class c go from pattern p to q, unchanged ones left out."""
    return tuple(ChangedNodes(*key, nodes[key]) for key in sorted(nodes) if nodes[key] and key[1] != key[2])


def by_class(problem: PackingProblem, counted: Mapping[Change, int]) -> Changes:
    """Return the changes of a pool's nodes, counted by kind of node; `MigrationCertificate.by_kind` is the way back."""
    index = {kind: c for c, kind in enumerate(problem.classes)}
    return changes({(index[one.kind.node_class], one.kind.holds, one.after): n for one, n in counted.items()})


def packing_after(present: Packing, changed: Changes) -> Packing:
    """Return what every node holds after the changes.

    Raises
    ------
    CertificateError
        More nodes change than there are.
    """
    nodes = Counter({(group.node_class, group.pattern): group.nodes for group in present})
    for change in changed:
        nodes[change.node_class, change.before] -= change.nodes
    if lacking := sorted(key for key, count in nodes.items() if count < 0):
        c, pattern = lacking[0]
        raise CertificateError(f"more nodes of class {c} with {list(pattern)} change than there are")
    for change in changed:
        nodes[change.node_class, change.after] += change.nodes
    return packing(nodes)


def check_changes(problem: PackingProblem, present: Packing, changed: Changes) -> tuple[int, int]:
    """Check that a plan can be carried out on what is held now; return its partial nodes and its migrations.

    Raises
    ------
    CertificateError
        The changes are out of order, or lead to what is no packing of the problem.
    """
    keys = [(change.node_class, change.before, change.after) for change in changed]
    if any(former >= latter for former, latter in pairwise(keys)):
        raise CertificateError("the changes are not sorted, or one is there twice")
    for change in changed:
        if change.nodes < 1 or change.before == change.after:
            raise CertificateError(
                f"{count(change.nodes, 'node', 'change')} from {list(change.before)} to {list(change.after)}"
            )
    after = packing_after(present, changed)
    check_packing(problem, after)
    return count_partial(problem, after), sum(change.migrations for change in changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationCertificate(Evidence[Tree]):
    """Why at most `max_partial_nodes` partial nodes cost at least `lower_bound` and at most `migrations` migrations.

    Attributes
    ----------
    problem
        The node classes with multiplicities and the movable instances.
    present
        What every node holds now.
    max_partial_nodes
        Partial nodes that a plan may leave.
    changes
        The plan: which nodes change and how.
    partial_nodes
        Partial nodes after the plan.
    migrations
        Instances whose node changes under the plan: the upper bound.
    lower_bound
        Migrations of every plan within the limit, at least; exactly what `argument` gives.
    argument
        How the lower bound is reached.
    status
        OPTIMAL if the bounds meet, otherwise UNKNOWN.
    """

    problem: PackingProblem
    present: Packing
    max_partial_nodes: int
    changes: Changes
    partial_nodes: int
    migrations: int
    lower_bound: int
    argument: MigrationArgument
    status: Status

    SCHEMA: ClassVar[str] = "compass-abs/migration-certificate/2"

    @property
    def packing(self) -> Packing:
        """What every node holds after the plan."""
        return packing_after(self.present, self.changes)

    def by_kind(self) -> Counter[Change]:
        """Return how many nodes change in which way, by kind of node."""
        counted: Counter[Change] = Counter()
        for change in self.changes:
            kind = NodeKind(self.problem.classes[change.node_class], change.before)
            counted[Change(kind, change.after)] += change.nodes
        return counted

    def _attained(self) -> int:
        check_problem(self.problem)
        check_packing(self.problem, self.present, present=True)
        partial_nodes, migrations = check_changes(self.problem, self.present, self.changes)
        if partial_nodes != self.partial_nodes or partial_nodes > self.max_partial_nodes:
            raise CertificateError(
                f"the plan leaves {count(partial_nodes, 'partial node')}, not {self.partial_nodes} "
                f"of {self.max_partial_nodes}"
            )
        if migrations != self.migrations:
            raise CertificateError(f"the plan has {count(migrations, 'migration')}, not {self.migrations}")
        return migrations

    def _proved(self, argument: Tree) -> int:
        pool = Pool.of(PlacedProblem(self.problem, self.present))
        return Proof(pool, argument).arrivals(self.max_partial_nodes)
