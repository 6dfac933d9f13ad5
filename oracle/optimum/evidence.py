"""What all certificates share: two bounds, an argument for the lower one, a check without a solver, a form in JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

import msgspec

from compass_core.errors import CompassError
from oracle.optimum.weights import ArgumentError, SolverProof
from oracle.snapshots.model import MAX_NODES, shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from oracle.optimum.node_classes import PackingProblem

A = TypeVar("A")
T = TypeVar("T")


def check_size(nodes: Iterable[int]) -> None:
    """Check the numbers of nodes that somebody states: memory in proportion to them is used later.

    Raises
    ------
    CertificateError
        They are more together than a cluster has.
    """
    if (total := sum(nodes)) > MAX_NODES:
        raise CertificateError(f"expected certificates about {MAX_NODES} nodes at most, got {shown(total)}")


class CertificateError(CompassError):
    """A certificate that proves nothing; the message is one line that says what is wrong with it."""


def read_whole(data: object, kind: type[T]) -> T:
    """Return stored data as a value of this type: what the value would not write again is refused, never dropped.

    Raises
    ------
    msgspec.ValidationError
        The data have another form, or a key that the type does not know; the message names the place.
    RecursionError
        They are nested too deep.
    """
    value = msgspec.convert(data, kind, str_keys=True)
    _refuse_more(data, msgspec.to_builtins(value, str_keys=True), "$")
    return value


def _refuse_more(data: object, known: object, path: str) -> None:
    if isinstance(data, dict) and isinstance(known, dict):
        keys = cast("dict[str, object]", known)
        for name, value in cast("dict[str, object]", data).items():
            if name not in keys:
                raise msgspec.ValidationError(f"Object contains unknown field `{name}` - at `{path}`")
            _refuse_more(value, keys[name], f"{path}.{name}")
    elif isinstance(data, list) and isinstance(known, list | tuple):
        items, others = cast("list[object]", data), cast("list[object]", known)
        for i, (value, other) in enumerate(zip(items, others, strict=False)):
            _refuse_more(value, other, f"{path}[{i}]")


class Status(StrEnum):
    """Whether a value is settled. UNKNOWN claims nothing beyond its two bounds."""

    OPTIMAL = "optimal"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, lower_bound: int, attained: int) -> Status:
        """Return OPTIMAL if the bounds meet."""
        return cls.OPTIMAL if lower_bound == attained else cls.UNKNOWN


class Evidence(ABC, Generic[A]):
    """A value attained, a lower bound on it with its argument, and whether the two meet.

    Attributes
    ----------
    SCHEMA
        What the form in JSON is called.
    problem
        What it is about.
    lower_bound
        Exactly what `argument` gives.
    argument
        How the lower bound is reached.
    status
        OPTIMAL if the bounds meet, otherwise UNKNOWN.
    """

    __slots__ = ()

    SCHEMA: ClassVar[str]

    problem: PackingProblem
    lower_bound: int
    argument: A | SolverProof
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
            The first thing found wrong: the problem or the solution is malformed, the solution breaks the problem or
            has another value, the argument gives another bound, or the status does not follow from the bounds.
        """
        attained, proved = self._attained(), self._claimed()
        if proved != self.lower_bound:
            raise CertificateError(f"the argument proves a lower bound of {proved}, not {self.lower_bound}")
        if self.lower_bound < 0:
            raise CertificateError(f"the lower bound {self.lower_bound} is below 0")
        if self.lower_bound > attained:
            raise CertificateError(f"the lower bound {self.lower_bound} is above the {attained} attained")
        if self.status is not Status.of(self.lower_bound, attained):
            raise CertificateError(f"the status is {self.status.value!r} with bounds {self.lower_bound} and {attained}")

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
        return {"schema": self.SCHEMA, **data}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Return the certificate that `to_json` made this data from. It is not verified yet.

        Raises
        ------
        CertificateError
            The data has another form, or is about more nodes than a cluster has; the message names the place.
        """
        if not isinstance(data, dict) or cast("dict[object, object]", data).get("schema") != cls.SCHEMA:
            raise CertificateError(f"expected an object with the schema {cls.SCHEMA!r}")
        fields = {name: value for name, value in cast("dict[str, object]", data).items() if name != "schema"}
        try:
            found = read_whole(fields, cls)
        except msgspec.ValidationError as error:
            raise CertificateError(str(error)) from error
        except RecursionError as error:
            raise CertificateError("the branch tree is nested too deep") from error
        check_size(found.problem.nodes)
        return found

    def _claimed(self) -> int:
        """Return the lower bound that the argument proves, or that a solver claims."""
        if isinstance(self.argument, SolverProof):
            return self.argument.claim
        try:
            return self._proved(self.argument)
        except ArgumentError as error:
            raise CertificateError(f"the lower bound has no argument: {error}") from error

    @abstractmethod
    def _attained(self) -> int:
        """Return the value of the solution, once it has been checked."""

    @abstractmethod
    def _proved(self, argument: A) -> int:
        """Return the lower bound that an argument proves, no solver being asked."""
