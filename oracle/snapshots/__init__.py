"""Snapshots of clusters: one model, and a reader for each format people have."""

from __future__ import annotations

from oracle.snapshots.detection import Format
from oracle.snapshots.loader import load_snapshot
from oracle.snapshots.model import (
    PendingJob,
    RunningInstance,
    RunningJob,
    Skipped,
    Snapshot,
    SnapshotError,
    SnapshotNode,
)
from oracle.snapshots.native import native_json_schema, write_native

__all__ = [
    "Format",
    "PendingJob",
    "RunningInstance",
    "RunningJob",
    "Skipped",
    "Snapshot",
    "SnapshotError",
    "SnapshotNode",
    "load_snapshot",
    "native_json_schema",
    "write_native",
]
