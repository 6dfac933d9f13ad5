"""The COMPASS-ABS algorithm, its states and its measures: pure Python, no solver."""

from compass_core.errors import (
    CompassError,
    DuplicateJobError,
    InvalidJobError,
    InvariantViolation,
    PlacementError,
    UnknownInstanceError,
    UnknownJobError,
)
from compass_core.fragmentation import InherentUnknownError, closed_form, sif
from compass_core.invariants import check_abs, check_open_nodes, check_saturation
from compass_core.model import Instance, Job, Node, NodeKind, Slot
from compass_core.state import ClusterState

__all__ = [
    "ClusterState",
    "CompassError",
    "DuplicateJobError",
    "InherentUnknownError",
    "Instance",
    "InvalidJobError",
    "InvariantViolation",
    "Job",
    "Node",
    "NodeKind",
    "PlacementError",
    "Slot",
    "UnknownInstanceError",
    "UnknownJobError",
    "check_abs",
    "check_open_nodes",
    "check_saturation",
    "closed_form",
    "sif",
]
