"""Finished cells on disk: one Parquet file each, written whole or not at all, never written twice.

A folder belongs to one trace and one set of assumptions, said in its ``sweep.json``: cells of another sweep are never
taken for those of this one. The grid may grow: what is there is kept.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from oracle.snapshots.document import decode_json, read_document
from oracle.snapshots.model import SnapshotError
from simulation.metrics import ReplayResult
from simulation.sweep.cells import SweepError
from simulation.sweep.frames import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from simulation.sweep.cells import Assumptions, Cell, Row

_SCHEMA = "compass-abs/sweep/1"
_WHOLE = ("first_day", "last_day", "peak_demand_gpus")
_TYPES = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}


@dataclass(frozen=True, slots=True)
class Store:
    """The finished cells of one sweep; make it with `open_store`."""

    folder: Path

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished."""
        return self._path(cell).exists()

    def keep(self, cell: Cell, row: Row) -> None:
        """Store a finished cell. A reader, or a run after a power cut, finds all of it or nothing."""
        path = self._path(cell)
        unfinished = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")
        try:
            with unfinished.open("wb") as file:
                pl.DataFrame([row], schema={name: _type(name) for name in row}).write_parquet(file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise SweepError(f"{path}: cannot be written: {error.strerror or error}") from error

    def read(self, cells: Iterable[Cell]) -> pl.DataFrame:
        """Return the rows of finished cells, in the order of `cells`."""
        return pl.concat([self._read(self._path(cell)) for cell in cells])

    def rows(self, cells: Iterable[Cell]) -> list[Row]:
        """Return the rows of finished cells as plain values, in the order of `cells`."""
        return [cast("Row", self._read(self._path(cell)).row(0, named=True)) for cell in cells]

    @staticmethod
    def _read(path: Path) -> pl.DataFrame:
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise SweepError(f"{path}: no cell of a sweep, expected a Parquet file: delete it and run again") from error

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.name}.parquet"


def open_store(folder: Path, trace: str, assumptions: Assumptions) -> Store:
    """Return the store in that folder, made if there is none.

    Parameters
    ----------
    folder
        Where it is.
    trace
        Fingerprint of the jobs from which all windows are taken.
    assumptions
        Those of the sweep.

    Raises
    ------
    SweepError
        The folder holds another sweep, or cannot be used.
    """
    wanted = {
        "schema": _SCHEMA,
        "trace_sha256": trace,
        "queue": assumptions.queue,
        "seed": assumptions.seed,
        "version": version("compass-abs"),
    }
    path = folder / "sweep.json"
    try:
        (folder / "cells").mkdir(parents=True, exist_ok=True)
        if path.exists():
            _check(path, wanted)
        else:
            unfinished = path.with_name(f".sweep.{socket.gethostname()}.{os.getpid()}")
            unfinished.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
            unfinished.replace(path)
    except OSError as error:
        raise SweepError(f"{folder}: cannot be used: {error.strerror or error}") from error
    return Store(folder)


def _check(path: Path, wanted: Mapping[str, object]) -> None:
    try:
        found: object = decode_json(read_document(path), object)
    except SnapshotError:
        found = None
    if not isinstance(found, dict):
        raise SweepError(f"{path}: not the description of a sweep, expected a JSON object")
    there = cast("dict[str, object]", found)
    for key, value in wanted.items():
        if there.get(key) != value:
            raise SweepError(
                f"{path}: this folder holds another sweep ({key} is {there.get(key)!r}, expected {value!r}): "
                "name a new folder"
            )


def _type(column: str) -> type[pl.DataType]:
    """Return the type of a column, the same in every file whatever the values: files can then be read together."""
    if column in _WHOLE:
        return pl.Int64
    described = ReplayResult.__dataclass_fields__.get(column)
    return pl.Float64 if described is None else _TYPES[str(described.type)]
