"""The COMPASS-ABS algorithm, its states and its measures: pure Python, no solver."""

from compass_core.errors import (
    CompassError,
    DuplicateJobError,
    InvalidJobError,
    InvariantViolation,
    PlacementError,
    UnknownInstanceError,
    UnknownJobError,
    VariantError,
)
from compass_core.fragmentation import InherentUnknownError, closed_form, sif
from compass_core.invariants import check_abs, check_open_nodes, check_saturation
from compass_core.model import Instance, Job, Node, NodeKind, Slot
from compass_core.node_events import NodeOutcome, add_node, drain_node, fail_node, return_node
from compass_core.operators import compact, place, remove
from compass_core.outcome import Outcome
from compass_core.place import NoHostError
from compass_core.printed import PrintedUndefinedError
from compass_core.refusal import Refusal, RefusalKind
from compass_core.scheduler import arrive, depart
from compass_core.state import ClusterState
from compass_core.steps import Migration, MoveReason, Placement, apply
from compass_core.variant import Variant

__all__ = [
    "ClusterState",
    "CompassError",
    "DuplicateJobError",
    "InherentUnknownError",
    "Instance",
    "InvalidJobError",
    "InvariantViolation",
    "Job",
    "Migration",
    "MoveReason",
    "NoHostError",
    "Node",
    "NodeKind",
    "NodeOutcome",
    "Outcome",
    "Placement",
    "PlacementError",
    "PrintedUndefinedError",
    "Refusal",
    "RefusalKind",
    "Slot",
    "UnknownInstanceError",
    "UnknownJobError",
    "Variant",
    "VariantError",
    "add_node",
    "apply",
    "arrive",
    "check_abs",
    "check_open_nodes",
    "check_saturation",
    "closed_form",
    "compact",
    "depart",
    "drain_node",
    "fail_node",
    "place",
    "remove",
    "return_node",
    "sif",
]
