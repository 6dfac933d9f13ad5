"""A solve that shows how it goes and can be interrupted: it runs in a thread, and the main thread waits for it.

Solvers let other threads run, so a signal reaches the main thread at once. The first Ctrl-C asks the solve to end with
what it has; the second one ends the process, as it would any other program.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from oracle.optimum.interruption import Interruption, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from types import FrameType

    from oracle.cli.progress import Progress

T = TypeVar("T")

# What takes less is over before anybody has read that it runs.
_QUIET_SECONDS = 1.0
_TICK_SECONDS = 0.05

# Threads get less than a main thread has, on some systems half a megabyte. Solvers recurse.
_STACK_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Solved(Generic[T]):
    """What a solve returned, and whether somebody ended it early."""

    value: T
    interrupted: bool


def solve(work: Callable[[Callable[[str], None]], T]) -> Solved[T]:
    """Return what `work` returns; it is given a function to say what it is doing. What it raises is raised here.

    On a terminal a line on standard error says what goes on, once that has taken a second.
    """
    interruption = Interruption()
    task: Future[T] = Future()
    told = [""]

    def run() -> None:
        try:
            with interruptible(interruption):
                task.set_result(work(told.append))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that asks
            task.set_exception(error)

    if threading.current_thread() is not threading.main_thread():  # no signal ever comes here
        run()
    else:
        with _pressed_once() as pressed:
            _start(run)
            _wait(task, told, interruption, pressed)
    return Solved(task.result(), interruption.requested)


def _start(run: Callable[[], None]) -> None:
    size = threading.stack_size(_STACK_BYTES)
    try:
        threading.Thread(target=run, name="solve", daemon=True).start()
    finally:
        threading.stack_size(size)


def _wait(task: Future[T], told: Sequence[str], interruption: Interruption, pressed: threading.Event) -> None:
    """Wait until the task is done; meanwhile say what was told last, and pass on that Ctrl-C was pressed."""
    started = time.monotonic()
    progress: Progress | None = None
    try:
        while wait([task], _TICK_SECONDS).not_done:
            if pressed.is_set():
                _stop(progress)
                progress = None
                # Again and again: a solver that was about to start did not hear it.
                interruption.request()
            elif progress is not None:
                progress.show(told[-1])
            elif time.monotonic() - started >= _QUIET_SECONDS and sys.stderr is not None and sys.stderr.isatty():
                from oracle.cli.progress import Progress  # noqa: PLC0415 - rich is for those who wait

                progress = Progress(told[-1])
    finally:
        _stop(progress)


def _stop(progress: Progress | None) -> None:
    if progress is not None:
        progress.stop()


@contextmanager
def _pressed_once() -> Generator[threading.Event, None, None]:
    """Yield what the first Ctrl-C sets; the second one ends the process, whatever that is busy with."""
    pressed = threading.Event()

    def press(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        pressed.set()

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as under nohup, or somebody else's
        yield pressed
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
