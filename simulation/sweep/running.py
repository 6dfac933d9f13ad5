"""A sweep from grid to rows: skip what is finished, run the rest, keep each cell as it comes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from simulation.sweep.cells import tasks_of
from simulation.sweep.local import run_locally

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from simulation.jobs import Trace
    from simulation.sweep.cells import Assumptions, Cell, Days, Row, Task
    from simulation.sweep.store import Store


def complete(
    store: Store,
    cells: Iterable[Cell],
    traces: Mapping[Days, Trace],
    assumptions: Assumptions,
    *,
    processes: int = 1,
    dask: str | None = None,
    done: Callable[[Cell], None] = lambda _: None,
) -> int:
    """Run the cells that are not in the store, put them there, and return how many were run.

    Parameters
    ----------
    store, cells, traces, assumptions
        Where to keep them, the grid, the jobs by days, and what the cells have in common.
    processes
        How many on this machine, or workers of a local Dask cluster.
    dask
        Address of a Dask scheduler, or "local".
    done
        Is told of each cell once it is kept.

    Raises
    ------
    SweepError
        It cannot go on; what is finished is kept.
    """
    missing = [cell for cell in dict.fromkeys(cells) if not store.has(cell)]
    ran = 0
    if missing:
        # Closed here and now, not when it is collected: an interrupt while workers end would be lost there.
        with closing(_run(tasks_of(missing, traces, assumptions), processes, dask)) as results:
            for cell, row in results:
                store.keep(cell, row)
                ran += 1
                done(cell)
    return ran


def _run(tasks: Sequence[Task], processes: int, dask: str | None) -> Generator[tuple[Cell, Row]]:
    if dask is None:
        return run_locally(tasks, processes)
    from simulation.sweep.distributed import run_on_dask  # noqa: PLC0415 - of the extra [cluster]

    return run_on_dask(tasks, dask, processes)
