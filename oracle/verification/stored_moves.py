"""The moves of a stored answer about waiting jobs, checked as far as that needs neither job nor placement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from oracle.admission.question import Question
from oracle.moves.move import MoveError, MoveMode, MoveOrder
from oracle.moves.replay import replay
from oracle.planning.resumption import read_moves
from oracle.verification.checks import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.moves.move import Move, Stop
    from oracle.snapshots.model import Snapshot


def asked(mode: MoveMode, protected: Sequence[str], max_per_job_at_once: int | None) -> Question:
    """Return what was asked about waiting jobs.

    Raises
    ------
    ResultError
        Nobody can have asked that.
    """
    try:
        return Question.of(mode, protected, max_per_job_at_once)
    except ValueError as error:
        raise ResultError(str(error)) from error


@dataclass(frozen=True, slots=True)
class StoredMoves:
    """What an answer says is to be done before a job starts, and what it was asked.

    Attributes
    ----------
    data
        The answer as it was stored.
    moves, stops
        Those in it.
    question
        What was asked.
    """

    data: dict[str, object]
    moves: tuple[Move, ...]
    stops: tuple[Stop, ...]
    question: Question

    @classmethod
    def read(cls, told: msgspec.Struct, question: Question) -> StoredMoves:
        """Return the moves of an answer.

        Raises
        ------
        ResultError
            The data have another form.
        """
        data = msgspec.to_builtins(told)
        try:
            moves, stops = read_moves(data)
        except MoveError as error:
            raise ResultError(str(error)) from error
        return cls(data, moves, stops, question)

    @property
    def order(self) -> MoveOrder:
        """The moves as an answer has them: sorted by step."""
        return MoveOrder(moves=tuple(sorted(self.moves)), stops=tuple(sorted(self.stops)))

    def faults(self) -> Iterator[str]:
        """Yield what was not allowed, wherever the moves are played."""
        if self.question.mode is MoveMode.LIVE and self.stops:
            yield "an instance is stopped first, and the moves should be live"
        if any(stop.before_step < 1 for stop in self.stops):
            yield "steps count from 1"

    def play(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot after the moves.

        Raises
        ------
        MoveError
            They cannot be made.
        """
        return replay(snapshot, self.moves, self.stops, max_per_job_at_once=self.question.max_per_job_at_once)
