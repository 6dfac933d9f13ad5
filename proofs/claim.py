"""What an entry of the register is made of: a claim, how far it was settled, and the counterexample if it fell.

Modules that settle claims import from here; `proofs.register` imports those modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Status(Enum):
    """How far a claim is settled (theory §5). Nothing is called proved for less than every N and every history."""

    PROVED = "proved"  # for every N and every event sequence, by an argument that z3 checks
    CHECKED = "checked"  # exhaustively, up to the stated bound
    TESTED = "tested"  # on random inputs
    REFUTED = "refuted"  # with a counterexample
    UNKNOWN = "unknown"  # gave up, or not attempted; never "false"


class Effort(Enum):
    """How much time a settling function may take: all claims together some minutes, or under an hour."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """Where a claim fails.

    Attributes
    ----------
    text
        One line for people: the state or the model, and which clause fails.
    nodes
        Nodes of the cluster on which the events run, where the counterexample is a list of events.
    events
        The events, in the notation of `proofs.events.parse_events`.
    """

    text: str
    nodes: int | None = None
    events: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What settling a claim came to.

    Attributes
    ----------
    status
        How far.
    method
        How it was found, in a phrase; the same on every run.
    bound
        The range that was looked at, such as ``"N ≤ 3"``; None where there is none.
    counterexample
        Only for what is refuted.
    details
        Figures worth keeping, one line each, the same on every run: states seen, queries, the measured maximum.
    """

    status: Status
    method: str
    bound: str | None = None
    counterexample: Counterexample | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An entry of the register.

    Attributes
    ----------
    id
        C for claims of this project, P for claims of the paper (theory §5).
    title
        What it is about, in a few words.
    statement
        What is claimed, in one sentence.
    source
        Where: a section of the paper, or of the docs.
    settle
        Finds out. It is called with the effort allowed and raises only for faults of the program itself.
    """

    id: str
    title: str
    statement: str
    source: str
    settle: Callable[[Effort], Finding]
