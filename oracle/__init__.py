"""Exact optima of GPU-cluster fragmentation: read a cluster's snapshot, measure it, prove the result.

Importing this package loads no solver; solving does. `plan`, `admit` and `verify` are loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.measurement.measure import Measurement, PoolMeasurement, measure
from oracle.optimum.certificate import Certificate, CertificateError, Status
from oracle.optimum.exact import inherent_partial_nodes
from oracle.snapshots import Snapshot, SnapshotError, load_snapshot

if TYPE_CHECKING:
    from oracle.admission.jobs import admit
    from oracle.planning.planner import plan
    from oracle.verification import verify

__all__ = [
    "Certificate",
    "CertificateError",
    "Measurement",
    "PoolMeasurement",
    "Snapshot",
    "SnapshotError",
    "Status",
    "admit",
    "inherent_partial_nodes",
    "load_snapshot",
    "measure",
    "plan",
    "verify",
]


def __getattr__(name: str) -> object:
    if name == "plan":
        from oracle.planning.planner import plan  # noqa: PLC0415 - numpy and the searches are for those who plan

        return plan
    if name == "admit":
        from oracle.admission.jobs import admit  # noqa: PLC0415 - as above

        return admit
    if name == "verify":
        from oracle.verification import verify  # noqa: PLC0415 - as above

        return verify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
