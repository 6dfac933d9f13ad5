"""Letting somebody end a search from another thread, with what has been found by then.

A search looks at its deadline again and again, and a solver is asked to stop; so what an interruption ends in is what a
time limit ends in: the best answer so far, with its bounds. Nothing here knows of signals or terminals.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class Interruption:
    """A request to end the searches of the context it was made current in; it is never taken back."""

    __slots__ = ("_lock", "_requested", "_stop")

    def __init__(self) -> None:
        self._lock = Lock()
        self._requested = False
        self._stop: Callable[[], object] | None = None

    @property
    def requested(self) -> bool:
        """Whether the searches are to end."""
        return self._requested

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


@contextmanager
def interruptible(interruption: Interruption) -> Generator[None, None, None]:
    """Let the searches in the block end early once this interruption is requested."""
    token = _CURRENT.set(interruption)
    try:
        yield
    finally:
        _CURRENT.reset(token)
