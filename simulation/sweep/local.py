"""Cells run by the processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

from simulation.sweep.cells import SweepError, run_cell

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from multiprocessing.process import BaseProcess
    from types import FrameType

    from simulation.sweep.cells import Cell, Row, Task

# A worker that ends a cell finds the next one waiting; more would only hold copies of jobs in memory.
_AHEAD = 2


def run_locally(tasks: Sequence[Task], processes: int) -> Generator[tuple[Cell, Row]]:
    """Yield each cell with its row as soon as it is done; with one process in this very process.

    Raises
    ------
    SweepError
        A worker process died.
    """
    if processes == 1 or len(tasks) <= 1:
        yield from ((task.cell, run_cell(task)) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks, such as a progress bar's
    with ProcessPoolExecutor(min(processes, len(tasks)), context, initializer=_live_and_die_with_parent) as pool:
        coming = iter(tasks)
        pending: dict[Future[Row], Cell] = {}

        def submit(number: int) -> None:
            with _held_back():  # this starts workers
                for task in islice(coming, number):
                    pending[pool.submit(run_cell, task)] = task.cell

        try:
            submit(_AHEAD * processes)
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
                submit(len(done))
        except BrokenProcessPool as error:
            message = "a worker process died, for want of memory perhaps: run again, or with fewer --processes"
            raise SweepError(f"{message}; finished cells are kept") from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _held_back() -> Generator[None]:
    """Hold SIGINT back, here and in the processes that are started meanwhile, until they are ready to leave quietly.

    A worker that Ctrl-C finds while it imports what it needs would print where it was.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _live_and_die_with_parent() -> None:
    """End this worker without a word on Ctrl-C, and when the process that started it is gone, killed perhaps."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # ignored in the background; so it stays for all
        signal.signal(signal.SIGINT, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # held back since the parent started it
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_leave_after, args=(parent,), daemon=True).start()


def _leave_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(1)
