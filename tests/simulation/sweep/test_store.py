"""Finished cells on disk: kept whole, found again, never mistaken for those of another sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from simulation.sweep.cells import Assumptions, Cell, SweepError, grid, run_cell, tasks_of, windows_of
from simulation.sweep.running import complete
from simulation.sweep.store import open_store
from tests.simulation.sweep.small import made_up

if TYPE_CHECKING:
    from pathlib import Path

JOBS = made_up(60, seed=3, days=3)
TRACES = windows_of(JOBS)
CELLS = grid(TRACES, [0.5, 0.9], ["exact", "gfs", "printed"], [0.0, 5.0])
ASSUMPTIONS = Assumptions()


def without_time(row: dict[str, str | int | float]) -> dict[str, str | int | float]:
    return {name: value for name, value in row.items() if name != "wall_s"}


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    rows = {task.cell: run_cell(task) for task in tasks_of(CELLS, TRACES, ASSUMPTIONS)}
    for cell in reversed(CELLS):
        assert not store.has(cell)
        store.keep(cell, rows[cell])
        assert store.has(cell)
    again = open_store(tmp_path, "x", ASSUMPTIONS)
    assert again.rows(CELLS) == [rows[cell] for cell in CELLS]
    table = again.read(CELLS)
    assert table.to_dicts() == [rows[cell] for cell in CELLS]
    assert table.columns == list(rows[CELLS[0]])


def test_columns_have_one_type_whatever_the_values(tmp_path: Path) -> None:
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    cells = [replace(CELLS[0], eta=eta, cost_s=cost) for eta, cost in ((1, 0), (0.5, 0.5))]
    for task in tasks_of(cells, TRACES, ASSUMPTIONS):
        store.keep(task.cell, run_cell(task))
    assert store.read(cells).height == 2


def test_a_finished_cell_is_not_run_again(tmp_path: Path) -> None:
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    (task,) = tasks_of(CELLS[:1], TRACES, ASSUMPTIONS)
    store.keep(task.cell, run_cell(task) | {"afr": 0.125})
    told: list[Cell] = []
    assert complete(store, CELLS, TRACES, ASSUMPTIONS, done=told.append) == len(CELLS) - 1
    assert told == list(CELLS[1:])
    assert store.rows(CELLS[:1])[0]["afr"] == 0.125
    assert complete(store, CELLS, TRACES, ASSUMPTIONS, done=told.append) == 0


def test_a_cell_asked_for_twice_is_run_once(tmp_path: Path) -> None:
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    assert complete(store, [*CELLS[:2], *CELLS[:2]], TRACES, ASSUMPTIONS) == 2


def test_processes_give_the_same(tmp_path: Path) -> None:
    one, many = (open_store(tmp_path / name, "x", ASSUMPTIONS) for name in ("one", "many"))
    assert complete(one, CELLS, TRACES, ASSUMPTIONS) == complete(many, CELLS, TRACES, ASSUMPTIONS, processes=2)
    assert list(map(without_time, one.rows(CELLS))) == list(map(without_time, many.rows(CELLS)))


def test_what_was_not_finished_is_no_cell(tmp_path: Path) -> None:
    """A process that died while it wrote leaves a file of another name."""
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    (tmp_path / "cells" / f".{CELLS[0].name}.parquet.host.1").write_bytes(b"PAR1")
    assert not store.has(CELLS[0])
    complete(store, CELLS[:1], TRACES, ASSUMPTIONS)
    assert store.read(CELLS[:1]).height == 1


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    (task,) = tasks_of(CELLS[:1], TRACES, ASSUMPTIONS)
    (tmp_path / "cells" / f"{task.cell.name}.parquet").mkdir()  # so that it cannot be put in its place
    with pytest.raises(SweepError, match="cannot be written"):
        store.keep(task.cell, run_cell(task))
    assert [path.name for path in (tmp_path / "cells").iterdir()] == [f"{task.cell.name}.parquet"]


def test_a_spoilt_cell_is_named(tmp_path: Path) -> None:
    store = open_store(tmp_path, "x", ASSUMPTIONS)
    complete(store, CELLS[:1], TRACES, ASSUMPTIONS)
    path = tmp_path / "cells" / f"{CELLS[0].name}.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(SweepError, match=r"parquet: no cell of a sweep, expected a Parquet file: delete it") as caught:
        store.rows(CELLS[:1])
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("trace", "assumptions", "key"),
    [
        ("y", ASSUMPTIONS, "trace_sha256"),
        ("x", Assumptions(seed=1), "seed"),
        ("x", Assumptions(queue="backfill"), "queue"),
    ],
)
def test_another_sweep_is_refused(tmp_path: Path, trace: str, assumptions: Assumptions, key: str) -> None:
    open_store(tmp_path, "x", ASSUMPTIONS)
    with pytest.raises(SweepError, match=rf"holds another sweep \({key} is .*\): name a new folder"):
        open_store(tmp_path, trace, assumptions)


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_description_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(SweepError, match=r"sweep\.json: "):
        open_store(tmp_path, "x", ASSUMPTIONS)


def test_a_folder_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="cannot be used"):
        open_store(tmp_path / "file", "x", ASSUMPTIONS)
