"""What can go wrong, as types a caller can tell apart."""

from __future__ import annotations


class CompassError(Exception):
    """Base of every error this project raises on purpose.

    The message is one line that says which value was wrong and what was expected.
    """


class InvalidJobError(CompassError):
    """A job asks for what no job can have: fewer than one instance, or a demand no node can hold."""


class UnknownJobError(CompassError):
    """No running job has this name."""


class DuplicateJobError(CompassError):
    """A running job already has this name."""


class UnknownInstanceError(CompassError):
    """No running instance is this one."""


class PlacementError(CompassError):
    """A placement or a move that a node cannot take: unknown node, or more than its room."""


class InvariantViolation(CompassError):  # noqa: N818 - the name is fixed by the public contract
    """A state breaks a clause of its definition; the message names the node and the clause."""


class VariantError(CompassError):
    """No variant of the algorithm, or one that does not know this event."""
