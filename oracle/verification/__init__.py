"""What a stored result claims, checked again from the file and the snapshot alone; no solver is called.

Each claim ends as one `Check`: it holds, it fails, or nothing in the file lets it be checked, and then it says why.

There is a module for each kind of document: `plans`, `admissions`, `queues`, `measurements`. All go the same way. The
data are read (`plan_file`, `stored_moves`, `certificates`). What is claimed to be possible is done: moves are played,
packings counted. What is claimed to be impossible is proved from the arguments in the file (`plan_bounds`, `frontiers`,
`rooms`, `obstacles`), or by trying everything where that is little (`enumeration`, `live_reach`). The rest follows from
both, so the document is written again and compared whole (`checks.compared`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from oracle.optimum.certificate import Certificate
from oracle.optimum.interruption import BrokenOffError, checking
from oracle.optimum.migration_certificate import MigrationCertificate
from oracle.verification.admissions import check_admission
from oracle.verification.certificates import check_certificate, check_inherent, read_certificate
from oracle.verification.checks import Check, ResultError, check_numbers, convert
from oracle.verification.measurements import check_measurement
from oracle.verification.plans import check_plan
from oracle.verification.queues import check_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.model import Snapshot

__all__ = ["Check", "ResultError", "verify"]


class _Head(msgspec.Struct):
    schema: str


def verify(data: object, snapshot: Snapshot | None = None, *, time_limit: float | None = None) -> tuple[Check, ...]:
    """Return every claim of a stored plan, admission, measurement or certificate, checked without a solver.

    A result holds if no check has `holds` False; checks where it is None rest on what cannot be checked so.

    Parameters
    ----------
    data
        What was printed as JSON, decoded; what ``to_dict()`` gives.
    snapshot
        What it was made from. Without it only what the file itself proves is checked.
    time_limit
        Seconds after which no more is checked: what is left is not rechecked, and says why. None for no limit.

    Raises
    ------
    ResultError
        The data are no such result, or have another form.
    """
    check_numbers(data)
    found: list[Check] = []
    try:
        with checking(time_limit):
            # One by one: what has been checked by the time it ends is kept.
            for check in _checks(data, snapshot):
                found.append(check)  # noqa: PERF402 - as said
    except BrokenOffError as error:
        found.append(Check.broken_off("all that is claimed besides", error))
    return tuple(found)


def _checks(data: object, snapshot: Snapshot | None) -> Iterator[Check]:
    schema = convert(data, _Head, whole=False).schema
    checkers = {
        "compass-abs/plan/2": check_plan,
        "compass-abs/admit/3": check_admission,
        "compass-abs/admit-queue/3": check_queue,
        "compass-abs/measure/1": check_measurement,
    }
    if schema in checkers:
        yield from checkers[schema](data, snapshot)
    elif schema == Certificate.SCHEMA:
        yield from check_inherent("partial nodes", read_certificate(Certificate, data))
    elif schema == MigrationCertificate.SCHEMA:
        yield check_certificate("migrations", read_certificate(MigrationCertificate, data))
    else:
        raise ResultError(f"expected a plan, an admission, a measurement or a certificate, got the schema {schema!r}")
