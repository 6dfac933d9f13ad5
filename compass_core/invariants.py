"""Membership in ABS (Σ) and the saturation invariant, as checks that name the node and the clause (theory §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core.errors import InvariantViolation
from compass_core.model import NodeKind

if TYPE_CHECKING:
    from compass_core.state import ClusterState


def check_abs(state: ClusterState) -> None:
    """Check that every node is empty, slotted or pool.

    Raises
    ------
    InvariantViolation
        Names a mixed node, or one whose slots ask for more than it has.
    """
    for shape, indexes in state.shapes.items():
        if shape.reserved > shape.capacity:
            problem = f"slots and ones reserve {shape.reserved} of {shape.capacity} GPUs"
            raise InvariantViolation(f"node {indexes.lowest}: {problem}")
        if shape.kind is NodeKind.MIXED:
            raise InvariantViolation(f"node {indexes.lowest} holds slots and {shape.ones} ones outside them")


def check_saturation(state: ClusterState) -> None:
    """Check invariant I: while a 1-GPU instance stands outside every slot, no slot has a vacancy.

    Nodes outside Σ⁺, whose slots ask for more than the node has, are left out: nothing is added to them.

    Raises
    ------
    InvariantViolation
        Names a node with a vacancy and one with a one.
    """
    vacant = [indexes.lowest for shape, indexes in state.shapes.items() if shape.fillable]
    with_ones = [indexes.lowest for shape, indexes in state.shapes.items() if shape.ones]
    if vacant and with_ones:
        raise InvariantViolation(
            f"node {min(vacant)} has a vacancy while node {min(with_ones)} holds a 1-GPU instance outside slots"
        )


def check_open_nodes(state: ClusterState, *, at_most: int) -> None:
    """Check that at most so many nodes are open: neither empty nor closed to new slots and ones (C3, C6).

    Raises
    ------
    InvariantViolation
        Names them.
    """
    opened = sorted(index for shape, indexes in state.shapes.items() if shape.open for index in indexes)
    if len(opened) > at_most:
        raise InvariantViolation(f"expected at most {at_most} open nodes, got {len(opened)}: {opened}")
