"""What is stored with the verdict on a waiting job so that it can be checked again without a solver."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from oracle.optimum.weights import Weights  # noqa: TC001 - msgspec reads the annotation


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEvidence:
    """Weights about one pool, the instances that wait counted among those that run there.

    Attributes
    ----------
    pool
        Its name.
    argument
        Why the job does not fit, however instances are moved, or why it takes several moves before it fits; None if
        neither is so, or if that rests on a solver's word.
    """

    pool: str
    argument: Weights | None = None

    def to_json(self) -> dict[str, object]:
        """Return the evidence as data for JSON."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, object])
