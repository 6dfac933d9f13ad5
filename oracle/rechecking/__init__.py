"""What a stored result claims, checked again from the file and the snapshot alone; no solver is called.

Each claim ends as one `Check`: it holds, it fails, or nothing in the file lets it be checked, and then it says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from oracle.certificate import Certificate
from oracle.evidence import CertificateError
from oracle.migration_certificate import MigrationCertificate
from oracle.rechecking.admissions import check_admission
from oracle.rechecking.checks import Check, ResultError, check_certificate, convert
from oracle.rechecking.measurements import check_measurement
from oracle.rechecking.plans import check_inherent, check_plan
from oracle.rechecking.queues import check_queue

if TYPE_CHECKING:
    from oracle.snapshots.model import Snapshot

__all__ = ["Check", "ResultError", "recheck"]


class _Head(msgspec.Struct):
    schema: str


def recheck(data: object, snapshot: Snapshot | None = None) -> tuple[Check, ...]:
    """Return every claim of a stored plan, admission, measurement or certificate, checked.

    Parameters
    ----------
    data
        What was printed as JSON, decoded.
    snapshot
        What it was made from. Without it only what the file itself proves is checked.

    Raises
    ------
    ResultError
        The data are no such result, or have another form.
    """
    schema = convert(data, _Head, whole=False).schema
    checkers = {
        "compass-abs/plan/1": check_plan,
        "compass-abs/admit/1": check_admission,
        "compass-abs/admit-queue/1": check_queue,
        "compass-abs/measure/1": check_measurement,
    }
    if schema in checkers:
        return tuple(checkers[schema](data, snapshot))
    try:
        if schema == Certificate.SCHEMA:
            return tuple(check_inherent("partial nodes", Certificate.from_json(data)))
        if schema == MigrationCertificate.SCHEMA:
            return (check_certificate("migrations", MigrationCertificate.from_json(data)),)
    except CertificateError as error:
        raise ResultError(str(error)) from error
    raise ResultError(f"expected a plan, an admission, a measurement or a certificate, got the schema {schema!r}")
