"""Cells run on a Dask cluster: the only module that imports Dask.

A cell depends on nothing but its task, which the client and the scheduler keep until the result has come home. So a
worker may be lost at any time: what it was doing, and what it had done but not delivered, is done again by another one,
and each result is delivered once. While no worker is left the sweep waits for one to join.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Protocol, cast

from simulation.sweep.cells import SweepError, run_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from simulation.sweep.cells import Cell, Row, Task

# For a connection, and for a first worker. Dask waits as long for a connection by default.
_PATIENCE_S = 30
# A worker that ends a cell finds the next one waiting; more would only fill the scheduler's memory with jobs.
_AHEAD = 4


class Future(Protocol):
    """What is used of a future of Dask, which says of its types too little to be checked."""

    key: str

    def result(self) -> Row:
        """Return what the cell gave, or raise what it raised."""
        ...

    def release(self) -> None:
        """Let the cluster forget the result."""
        ...


class Client(Protocol):
    """What is used of a connection to a scheduler."""

    def submit(self, function: Callable[[Task], Row], task: Task, *, key: str, pure: bool) -> Future:
        """Hand over a call to the cluster."""
        ...

    def nthreads(self) -> Mapping[str, int]:
        """Return the threads of each worker."""
        ...

    def wait_for_workers(self, n_workers: int, timeout: float) -> None:
        """Return when so many workers are there."""
        ...


class Completed(Protocol):
    """Futures in the order in which they end; further ones may be added meanwhile."""

    def __iter__(self) -> Iterator[Future]: ...

    def add(self, future: Future) -> None:
        """Wait for that one, too."""
        ...


class Library(Protocol):
    """What is used of the package."""

    KilledWorker: type[Exception]

    def Client(self, address: object, *, timeout: float) -> AbstractContextManager[Client]:  # noqa: N802 - Dask's name
        """Connect to a scheduler."""
        ...

    def LocalCluster(  # noqa: N802 - Dask's name
        self, *, n_workers: int, threads_per_worker: int, dashboard_address: None
    ) -> AbstractContextManager[object]:
        """Start a scheduler and workers on this machine."""
        ...

    def as_completed(self, futures: list[Future]) -> Completed:
        """Return what yields the futures as they end."""
        ...


def run_on_dask(tasks: Sequence[Task], where: str, processes: int) -> Generator[tuple[Cell, Row]]:
    """Yield each cell with its row as soon as it is done.

    Parameters
    ----------
    tasks
        What to run. This package must be installed on the workers, in the same version.
    where
        Address of a scheduler, such as ``tcp://host:8786``, or "local" for a cluster of processes on this machine.
    processes
        Workers of a local cluster.

    Raises
    ------
    SweepError
        The scheduler cannot be reached, has no worker, or a cell has been on several workers when they died.
    """
    dask = cast("Library", import_module("distributed"))
    run = uuid.uuid4().hex  # the scheduler may remember results of an earlier sweep by the name of the cell
    with _client(dask, where, processes) as client:
        coming = iter(tasks)
        cells: dict[str, Cell] = {}

        def submitted(number: int) -> Iterator[Future]:
            for task in islice(coming, number):
                key = f"{task.cell.name}-{run}"
                cells[key] = task.cell
                yield client.submit(run_cell, task, key=key, pure=False)

        completed = dask.as_completed(list(submitted(_AHEAD * max(1, sum(client.nthreads().values())))))
        for future in completed:
            cell = cells.pop(future.key)
            try:
                row = future.result()
            except dask.KilledWorker as error:
                message = f"cell {cell.name}: each worker it ran on died, for want of memory perhaps"
                raise SweepError(f"{message}; finished cells are kept") from error
            yield cell, row
            future.release()
            for another in submitted(1):
                completed.add(another)


@contextmanager
def _client(dask: Library, where: str, processes: int) -> Generator[Client]:
    if where == "local":
        with (
            dask.LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=None) as cluster,
            dask.Client(cluster, timeout=_PATIENCE_S) as client,
        ):
            yield client
        return
    try:
        connection = dask.Client(where, timeout=_PATIENCE_S)
    except (OSError, ValueError) as error:
        raise SweepError(f"--dask {where}: no Dask scheduler answers there, expected tcp://HOST:PORT") from error
    with connection as client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE_S)
        except TimeoutError as error:
            raise SweepError(f"--dask {where}: the scheduler has no worker, expected one in {_PATIENCE_S} s") from error
        yield client
