"""What every experiment shares: where its figures come from, what it finds, and how that is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from compass_core import CompassError
from oracle.safe_text import csv_text, printable
from simulation.sweep.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from simulation.jobs import Trace
    from simulation.plots.model import Figure
    from simulation.sweep.cells import Days, Row

Value: TypeAlias = str | int | float

HOUR_S = 3600.0
_DIGITS = 7


class ExperimentError(CompassError):
    """An experiment that the chosen jobs or schedulers cannot answer; the message says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What experiments are made from.

    Attributes
    ----------
    days, trace
        The days from the first to the last, and all jobs submitted on them, for experiments on one long replay.
    daily
        The jobs day by day, perhaps of a sample of the days, for experiments on many short ones.
    etas, at
        The η of experiments that compare sizes of the cluster, and that of those on one.
    schedulers
        Names, in the order asked for.
    seed
        Of random placement.
    results
        Returns the row of each cell, in order; cells are of `days` or of days in `daily`.
    """

    days: Days
    trace: Trace
    daily: Mapping[Days, Trace]
    etas: tuple[float, ...]
    at: float
    schedulers: tuple[str, ...]
    seed: int
    results: Callable[[Sequence[Cell]], list[Row]]

    def cell(self, scheduler: str, *, eta: float | None = None, cost_s: float = 0.0) -> Cell:
        """Return the cell of the long replay; η is `at` unless given."""
        return Cell(days=self.days, eta=self.at if eta is None else eta, scheduler=scheduler, cost_s=cost_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One table with its picture.

    Attributes
    ----------
    name
        Of its files.
    title
        What is to be seen, in a sentence.
    paper
        Which table or figure of the paper it is the counterpart of, or that it has none there.
    columns, rows
        The table; units are part of the names.
    figure
        The picture.
    notes
        What a reader must know, in sentences: definitions, assumptions.
    """

    name: str
    title: str
    paper: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    figure: Figure
    notes: tuple[str, ...] = ()


class Experiment(Protocol):
    """Makes findings from what is in a laboratory."""

    def __call__(self, lab: Lab) -> Iterable[Finding]:
        """Return the findings, each of a name of its own."""
        ...


def number(row: Row, column: str) -> float:
    """Return a figure of a replay."""
    value = row[column]
    if isinstance(value, str):
        raise TypeError(f"column {column} holds no number")
    return value


def table_of(finding: Finding) -> str:
    """Return the table as CSV."""
    return csv_text([finding.columns, *finding.rows], digits=_DIGITS)


def written(value: Value) -> str:
    """Return a value as it stands in a table: whole numbers in full, others to seven digits."""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def caption_of(finding: Finding, command: str, sources: Sequence[str]) -> str:
    """Return what stands under the picture: what it shows, where it comes from, and the command that makes it."""
    sentences = printable(" ".join((*finding.notes, *sources)))
    return f"**{finding.title}** {finding.paper}. {sentences}\n\n```sh\n{printable(command)}\n```\n"


def make_folder(folder: Path) -> None:
    """Make the folder of the results: before the replays, which may take hours.

    Raises
    ------
    ExperimentError
        It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExperimentError(f"{folder}: cannot be written: {error.strerror or error}") from error


def publish(finding: Finding, folder: Path, command: str, sources: Sequence[str]) -> tuple[Path, ...]:
    """Write ``name.csv``, ``name.svg``, ``name.png`` and ``name.md`` into a folder and return their paths."""
    from simulation.plots.drawing import draw  # noqa: PLC0415 - of the extra [simulation]

    stem = folder / finding.name
    table, caption = stem.with_suffix(".csv"), stem.with_suffix(".md")
    make_folder(folder)
    try:
        table.write_text(table_of(finding), encoding="utf-8")
        caption.write_text(caption_of(finding, command, sources), encoding="utf-8")
        pictures = draw(finding.figure, stem)
    except OSError as error:
        raise ExperimentError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return (table, *pictures, caption)
