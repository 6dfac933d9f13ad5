"""A bound from above and one from below on the partial nodes of a packing problem, with the evidence for both.

A certificate carries its problem, so it can be stored and checked later by whoever doubts it: `Certificate.verify`
calls no solver and works in integers only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import msgspec

from compass_core.errors import CompassError
from oracle.bounds import Argument, ArgumentError, LoadBound, SolverProof, load_bound, tree_bound
from oracle.node_classes import Packing, PackingProblem, count_partial
from oracle.reductions import Reductions, reductions_bound
from oracle.snapshots.model import MAX_GPUS_PER_NODE

if TYPE_CHECKING:
    from oracle.node_classes import NodeClass

SCHEMA = "compass-abs/certificate/1"


class CertificateError(CompassError):
    """A certificate that proves nothing; the message is one line that says what is wrong with it."""


class Status(StrEnum):
    """Whether a value is settled. UNKNOWN claims nothing beyond its two bounds."""

    OPTIMAL = "optimal"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Why a packing problem needs at least `lower_bound` and at most `partial_nodes` partial nodes.

    Attributes
    ----------
    problem
        The node classes with multiplicities and the movable instances.
    packing
        The witness: what every node holds so that `partial_nodes` of them are partial.
    partial_nodes
        Partial nodes of the witness: the upper bound.
    lower_bound
        Partial nodes of every packing, at least; exactly what `argument` gives.
    argument
        How the lower bound is reached.
    status
        OPTIMAL if the bounds meet, otherwise UNKNOWN.
    """

    problem: PackingProblem
    packing: Packing
    partial_nodes: int
    lower_bound: int
    argument: Argument | Reductions
    status: Status

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
            The first thing found wrong: the problem is malformed, the packing breaks it or has another number of
            partial nodes, the argument gives another bound, or the status does not follow from the bounds.
        """
        check_problem(self.problem)
        check_packing(self.problem, self.packing)
        counted = count_partial(self.problem, self.packing)
        if counted != self.partial_nodes:
            raise CertificateError(f"the packing has {counted} partial nodes, not {self.partial_nodes}")
        proved = self._proved()
        if proved != self.lower_bound:
            raise CertificateError(f"the argument proves a lower bound of {proved}, not {self.lower_bound}")
        if self.lower_bound > self.partial_nodes:
            raise CertificateError(f"the lower bound {self.lower_bound} is above the {self.partial_nodes} attained")
        meet = self.lower_bound == self.partial_nodes
        if self.status is not (Status.OPTIMAL if meet else Status.UNKNOWN):
            raise CertificateError(
                f"the status is {self.status.value!r} with bounds {self.lower_bound} and {self.partial_nodes}"
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
    def from_json(cls, data: object) -> Certificate:
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
        except RecursionError as error:
            raise CertificateError("the branch tree is nested too deep") from error

    def _proved(self) -> int:
        if isinstance(self.argument, SolverProof):
            return self.argument.claim
        if isinstance(self.argument, LoadBound):
            return load_bound(self.problem)
        try:
            if isinstance(self.argument, Reductions):
                return reductions_bound(self.problem, self.argument)
            return tree_bound(self.problem, self.argument)
        except ArgumentError as error:
            raise CertificateError(f"the lower bound has no argument: {error}") from error


def check_problem(problem: PackingProblem) -> None:
    """Check that a packing problem means something.

    Raises
    ------
    CertificateError
        A number is out of range, a list is out of order or has something twice.
    """
    if len(problem.classes) != len(problem.nodes) or any(nodes < 1 for nodes in problem.nodes):
        raise CertificateError("every node class needs its number of nodes, at least 1")
    if any(former >= latter for former, latter in pairwise(problem.classes)):
        raise CertificateError("the node classes are not sorted and distinct")
    if any(demand < 1 or count < 1 for demand, count in problem.demands):
        raise CertificateError("a demand is below 1 GPU, or has no instance")
    if any(former <= latter for (former, _), (latter, _) in pairwise(problem.demands)):
        raise CertificateError("the demands do not descend")
    kept: Counter[int] = Counter()
    for c, (kind, nodes) in enumerate(zip(problem.classes, problem.nodes, strict=True)):
        _check_class(c, kind)
        for demand in kind.own:
            kept[demand] += nodes
    if kept - Counter(dict(problem.demands)):
        raise CertificateError("the nodes' own instances are more than there are")


def check_packing(problem: PackingProblem, packed: Packing) -> None:
    """Check that a packing solves its problem: every node used once, every instance packed once, nothing illegal.

    Raises
    ------
    CertificateError
        What is wrong, with the class, pattern or demand.
    """
    nodes = [0] * len(problem.classes)
    packs: Counter[int] = Counter()
    if any(former >= latter for former, latter in pairwise((group.node_class, group.pattern) for group in packed)):
        raise CertificateError("the packing is not sorted, or has a class and pattern twice")
    for group in packed:
        if not 0 <= group.node_class < len(nodes) or group.nodes < 1:
            raise CertificateError(f"the packing has {group.nodes} nodes of class {group.node_class}")
        if not _descending(group.pattern) or not problem.classes[group.node_class].allows(group.pattern):
            raise CertificateError(f"a node of class {group.node_class} may not hold {list(group.pattern)}")
        nodes[group.node_class] += group.nodes
        for demand in group.pattern:
            packs[demand] += group.nodes
    for c, (packed_nodes, expected) in enumerate(zip(nodes, problem.nodes, strict=True)):
        if packed_nodes != expected:
            raise CertificateError(f"class {c} has {expected} nodes, the packing {packed_nodes}")
    if packs != Counter(dict(problem.demands)):
        raise CertificateError("the packing does not hold each instance exactly once")


def _check_class(c: int, kind: NodeClass) -> None:
    if not 0 <= kind.capacity <= MAX_GPUS_PER_NODE or kind.held < 0:
        raise CertificateError(f"class {c} offers {kind.capacity} GPUs and holds {kind.held}")
    if not 0 <= kind.room <= max(kind.capacity - kind.held, 0):
        raise CertificateError(f"class {c} has room for {kind.room} GPUs of {kind.capacity}, {kind.held} held")
    if not _descending(kind.own):
        raise CertificateError(f"the own instances of class {c} do not descend, or are below 1 GPU")


def _descending(pattern: tuple[int, ...]) -> bool:
    return all(demand >= 1 for demand in pattern) and all(former >= latter for former, latter in pairwise(pattern))
