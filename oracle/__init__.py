"""Exact optima of GPU-cluster fragmentation: read a cluster's snapshot, measure it, prove the result.

Importing this package loads no solver; solving does.
"""

from __future__ import annotations

from oracle.certificate import Certificate, CertificateError, Status
from oracle.exact import inherent_partial_nodes
from oracle.measurement import Measurement, PoolMeasurement, measure
from oracle.snapshots import Snapshot, SnapshotError, load_snapshot

__all__ = [
    "Certificate",
    "CertificateError",
    "Measurement",
    "PoolMeasurement",
    "Snapshot",
    "SnapshotError",
    "Status",
    "inherent_partial_nodes",
    "load_snapshot",
    "measure",
]
