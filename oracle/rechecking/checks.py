"""What a check is, and how stored data become values that can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from compass_core.errors import CompassError
from oracle.evidence import CertificateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.certificate import Certificate
    from oracle.migration_certificate import MigrationCertificate
    from oracle.snapshots.model import Snapshot

T = TypeVar("T")

NO_SNAPSHOT: Final = "needs the snapshot it was made from (--snapshot)"
BY_SOLVER: Final = "rests on the word of a solver"


class ResultError(CompassError):
    """A file that holds no result that can be checked."""


@dataclass(frozen=True, slots=True)
class Check:
    """One claim.

    Attributes
    ----------
    claim
        What is claimed, in words.
    holds
        Whether it does; None if it could not be checked.
    detail
        Why it fails, or why it could not be checked.
    """

    claim: str
    holds: bool | None = True
    detail: str = ""

    @property
    def result(self) -> str:
        """The outcome in words."""
        return {True: "holds", False: "fails", None: "not rechecked"}[self.holds]

    def to_json(self) -> dict[str, object]:
        """Return the check as data for JSON."""
        return {"claim": self.claim, "result": self.result, "detail": self.detail}


def convert(data: object, kind: type[T]) -> T:
    """Return stored data as a value of this type.

    Raises
    ------
    ResultError
        They have another form; the message names the place.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ResultError(str(error)) from error
    except RecursionError as error:
        raise ResultError("it is nested too deep") from error


def check_certificate(claim: str, certificate: Certificate | MigrationCertificate) -> Check:
    """Return whether a certificate proves what it says."""
    try:
        certificate.verify()
    except CertificateError as error:
        return Check(claim, holds=False, detail=str(error))
    return Check(claim) if certificate.recheckable else Check(claim, None, BY_SOLVER)


def compared(claim: str, told: Mapping[str, object], counted: Mapping[str, object]) -> Check:
    """Return whether what was told is what was counted, naming the first figure that is not.

    Numbers and truth values are kept apart: JSON does so too.
    """
    for name, value in counted.items():
        if name not in told or told[name] != value or isinstance(told[name], bool) is not isinstance(value, bool):
            return Check(claim, holds=False, detail=f"{name} is {value}, not {told.get(name)}")
    return Check(claim)


def partial_and_empty(snapshot: Snapshot, pool: str | None = None) -> tuple[int, int]:
    """Return the partial and the empty nodes of a snapshot, or of one pool of it."""
    used = snapshot.used_gpus()
    nodes = [node for node in snapshot.nodes if pool in {None, node.pool}]
    partial = sum(0 < used[node.name] < node.gpus for node in nodes)
    return partial, sum(used[node.name] == 0 < node.gpus for node in nodes)
