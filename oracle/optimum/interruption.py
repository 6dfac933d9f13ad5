"""Letting somebody, or a clock, end a search from outside, with what has been found by then.

A search looks at its deadline again and again, and a solver is asked to stop; so what an interruption ends in is what a
time limit ends in: the best answer so far, with its bounds. A check has no answer so far: an exception breaks it off.
Nothing here knows of signals or terminals.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

from compass_core.errors import CompassError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class BrokenOffError(CompassError):
    """A check was broken off: it has neither held nor failed."""


class Interruption:
    """A request to end the searches of the context it was made current in; it is never taken back.

    Parameters
    ----------
    seconds
        When it is requested by itself, from now; never if None.
    within
        Another one, which requests this one too.
    """

    __slots__ = ("_at", "_lock", "_requested", "_stop", "_within")

    def __init__(self, seconds: float | None = None, *, within: Interruption | None = None) -> None:
        self._at = math.inf if seconds is None else time.monotonic() + seconds
        self._within = within
        self._lock = Lock()
        self._requested = False
        self._stop: Callable[[], object] | None = None

    @property
    def requested(self) -> bool:
        """Whether the searches are to end."""
        if self._requested or time.monotonic() >= self._at:
            return True
        return self._within is not None and self._within.requested

    def request(self) -> None:
        """End the searches, from any thread. A solver that runs is asked to stop, later ones are not started.

        One that is just about to start may not hear it: repeat the request until the searches have ended.
        """
        self._requested = True
        with self._lock:
            if self._stop is not None:
                self._stop()

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Generator[None, None, None]:
        """Let `stop` be called if a request comes while the block runs; it may be too early for a solver to hear it."""
        with self._lock:
            self._stop = stop
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


_CURRENT: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


def current() -> Interruption | None:
    """Return the interruption of this context; None if nobody can interrupt it."""
    return _CURRENT.get()


def is_requested() -> bool:
    """Whether the searches of this context are to end."""
    interruption = current()
    return interruption is not None and interruption.requested


_CHECKED: ContextVar[Interruption | None] = ContextVar("checked", default=None)


@contextmanager
def checking(seconds: float | None) -> Generator[None, None, None]:
    """Let the checks in the block be broken off after so many seconds, or by the interruption of this context.

    Searches use the same functions to prove what they found; they are not broken off, but end by themselves.
    """
    token = _CHECKED.set(Interruption(seconds, within=current()))
    try:
        yield
    finally:
        _CHECKED.reset(token)


def break_off_if_requested() -> None:
    """End a check whose work grows with what somebody wrote into a file; called wherever some of it has been done.

    Raises
    ------
    BrokenOffError
        It is inside `checking`, and the time is up or somebody has asked.
    """
    checked = _CHECKED.get()
    if checked is not None and checked.requested:
        raise BrokenOffError("interrupted" if is_requested() else "time ran out (--time-limit)")


@contextmanager
def interruptible(interruption: Interruption) -> Generator[None, None, None]:
    """Let the searches in the block end early once this interruption is requested."""
    token = _CURRENT.set(interruption)
    try:
        yield
    finally:
        _CURRENT.reset(token)
