"""A plan at pattern level and a bound on the migrations of every other one, with the evidence for both.

Like the certificate of Φ*, it carries its problem, and `MigrationCertificate.verify` calls no solver and works in
integers only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from oracle.bounds import ArgumentError, SolverProof
from oracle.certificate import CertificateError, Status, check_packing, check_problem
from oracle.node_classes import Packing, PackingProblem, Pattern, PlacedProblem, count_partial, packing
from oracle.transport.bounds import MigrationArgument, migration_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "compass-abs/migration-certificate/1"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationCertificate:
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

    @property
    def packing(self) -> Packing:
        """What every node holds after the plan."""
        return packing_after(self.present, self.changes)

    @property
    def recheckable(self) -> bool:
        """Whether `verify` recomputes the lower bound; false if that rests on a solver's word."""
        return not isinstance(self.argument, SolverProof)

    def verify(self) -> None:
        """Check everything that can be checked without a solver; return nothing if it holds.

        A solver's own claim is the one thing that is passed over: see `recheckable`, and `holds` for both in one.

        Raises
        ------
        CertificateError
            The first thing found wrong: the problem or what is held now is malformed, the plan breaks it or has other
            numbers, the argument gives another bound, or the status does not follow from the bounds.
        """
        check_problem(self.problem)
        check_packing(self.problem, self.present)
        self._check_plan()
        proved = self._proved()
        if proved != self.lower_bound:
            raise CertificateError(f"the argument proves a lower bound of {proved}, not {self.lower_bound}")
        if self.lower_bound > self.migrations:
            raise CertificateError(f"the lower bound {self.lower_bound} is above the {self.migrations} of the plan")
        meet = self.lower_bound == self.migrations
        if self.status is not (Status.OPTIMAL if meet else Status.UNKNOWN):
            raise CertificateError(
                f"the status is {self.status.value!r} with bounds {self.lower_bound} and {self.migrations}"
            )

    def holds(self) -> bool:
        """Whether every part of the certificate was recomputed and is right; false for a solver's word."""
        try:
            self.verify()
        except CertificateError:
            return False
        return self.recheckable

    def to_json(self) -> dict[str, object]:
        """Return the certificate as data for JSON (dicts, lists, strings, integers)."""
        data = msgspec.json.decode(msgspec.json.encode(self), type=dict[str, object])
        return {"schema": SCHEMA, **data}

    @classmethod
    def from_json(cls, data: object) -> MigrationCertificate:
        """Return the certificate that `to_json` made this data from. It is not verified yet.

        Raises
        ------
        CertificateError
            The data has another form; the message names the place.
        """
        if not isinstance(data, dict) or cast("dict[object, object]", data).get("schema") != SCHEMA:
            raise CertificateError(f"expected an object with the schema {SCHEMA!r}")
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise CertificateError(str(error)) from error

    def _check_plan(self) -> None:
        keys = [(change.node_class, change.before, change.after) for change in self.changes]
        if any(former >= latter for former, latter in pairwise(keys)):
            raise CertificateError("the changes are not sorted, or one is there twice")
        for change in self.changes:
            if change.nodes < 1 or change.before == change.after:
                raise CertificateError(
                    f"{change.nodes} nodes change from {list(change.before)} to {list(change.after)}"
                )
        after = self.packing
        check_packing(self.problem, after)
        partial_nodes = count_partial(self.problem, after)
        if partial_nodes != self.partial_nodes or partial_nodes > self.max_partial_nodes:
            raise CertificateError(
                f"the plan leaves {partial_nodes} partial nodes, not {self.partial_nodes} of {self.max_partial_nodes}"
            )
        if (counted := sum(change.migrations for change in self.changes)) != self.migrations:
            raise CertificateError(f"the plan has {counted} migrations, not {self.migrations}")

    def _proved(self) -> int:
        if isinstance(self.argument, SolverProof):
            return self.argument.claim
        try:
            return migration_bound(PlacedProblem(self.problem, self.present), self.max_partial_nodes, self.argument)
        except ArgumentError as error:
            raise CertificateError(f"the lower bound has no argument: {error}") from error
