"""What a reader did with a file: every row is a job, left out by a rule, or bad; the three add up to the rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.traces.rows import Note
from simulation.traces.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simulation.traces.rows import Draft, Exclusion

# Enough to see what kind of thing it is.
_MAX_LISTED = 5


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A row: its file, and its line there (its item in JSON), counted from 1."""

    source: str
    number: int
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.source}:{self.number}" if self.unit == "line" else f"{self.source}: {self.unit} {self.number}"


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read, and why: what stood there and what was expected."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What became of the rows of a trace.

    Attributes
    ----------
    format, title
        The format read, as ``--trace-format`` calls it and in words.
    sources
        The files, in the order given.
    rows
        Rows of jobs read: `jobs`, all of `excluded` and all of `bad` together.
    jobs
        Jobs made.
    shapes
        How many jobs had their (w, g) told in which way.
    excluded
        Rows left out, by rule, each with its place.
    bad
        Rows that could not be read.
    notes
        How many jobs something had to be assumed of, by what.
    states
        How many jobs ended in which state, in the words of the trace.
    day_zero
        The date of day 0 of a trace with calendar times, else None: its own 0.
    """

    format: str
    title: str
    sources: tuple[str, ...]
    rows: int
    jobs: int
    shapes: Mapping[Shape, int]
    excluded: Mapping[Exclusion, tuple[Place, ...]]
    bad: tuple[BadRow, ...]
    notes: Mapping[Note, int]
    states: Mapping[str, int]
    day_zero: str | None = None

    @property
    def rule(self) -> str:
        """How (w, g) was told, in words; empty where the trace itself says both."""
        told = [(shape, count) for shape, count in self.shapes.items() if shape is not Shape.GIVEN]
        return "; ".join(f"{shape.label} for {_count(count, 'job')}: {shape.description}" for shape, count in told)

    def lines(self, *, verbose: bool = False) -> list[str]:
        """Return the report as sentences; with `verbose` every row that gave no job is named."""
        made = (
            f"{_count(self.jobs, 'job')} from {_count(self.rows, 'row')} of {', '.join(self.sources)} ({self.title})."
        )
        lines = [made]
        if self.rule:
            lines.append(f"Instances and GPUs told {self.rule}.")
        for note, count in self.notes.items():
            lines.append(f"Note: {note.value} ({_count(count, 'job')}).")
        for exclusion, places in self.excluded.items():
            lines.append(
                f"Left out: {exclusion.value} ({_count(len(places), 'row')}{_where(places, verbose=verbose)})."
            )
        lines.extend(_bad_lines(self.bad, verbose=verbose))
        return lines

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain data for JSON."""
        return {
            "format": self.format,
            "sources": list(self.sources),
            "rows": self.rows,
            "jobs": self.jobs,
            "shapes": {shape.label: count for shape, count in self.shapes.items()},
            "left_out": {exclusion.name.lower(): len(places) for exclusion, places in self.excluded.items()},
            "bad_rows": [str(row) for row in self.bad],
            "notes": {note.name.lower(): count for note, count in self.notes.items()},
            "states": dict(self.states),
            "day_zero": self.day_zero,
        }


class Tally:
    """Collects what becomes of rows while they are read; `report` closes it."""

    __slots__ = ("_bad", "_excluded", "_notes", "_shapes", "_states", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._shapes: Counter[Shape] = Counter()
        self._excluded: dict[Exclusion, list[Place]] = {}
        self._bad: list[BadRow] = []
        self._notes: Counter[Note] = Counter()
        self._states: Counter[str] = Counter()

    def exclude(self, exclusion: Exclusion, place: Place) -> None:
        """Count a row that a rule leaves out."""
        self._excluded.setdefault(exclusion, []).append(place)

    def bad(self, row: BadRow) -> None:
        """Count a row that cannot be read."""
        self._bad.append(row)

    def jobs(self, drafts: Sequence[Draft]) -> None:
        """Count the jobs that were made."""
        self._shapes.update(draft.shape for draft in drafts)
        self._states.update(draft.state for draft in drafts if draft.state)
        self._notes.update(note for draft in drafts for note in draft.notes)
        self._notes.update(Note.ZERO_DURATION for draft in drafts if draft.duration_s == 0)

    def report(self, *, format_: str, title: str, sources: Sequence[str], day_zero: str | None) -> LoadReport:
        """Return what was collected."""
        return LoadReport(
            format=format_,
            title=title,
            sources=tuple(sources),
            rows=self.rows,
            jobs=self._shapes.total(),
            shapes=dict(self._shapes),
            excluded={exclusion: tuple(places) for exclusion, places in self._excluded.items()},
            bad=tuple(self._bad),
            notes=dict(self._notes),
            states=dict(self._states.most_common()),
            day_zero=day_zero,
        )


def _bad_lines(bad: Sequence[BadRow], *, verbose: bool) -> list[str]:
    if not bad:
        return []
    shown = bad if verbose else bad[:_MAX_LISTED]
    hidden = len(bad) - len(shown)
    rest = [f"  and {hidden} more (-v lists them)"] if hidden else []
    return [f"Bad: {_count(len(bad), 'row')}, not read:", *(f"  {row}" for row in shown), *rest]


def _where(places: Sequence[Place], *, verbose: bool) -> str:
    return f": {', '.join(map(str, places))}" if verbose else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
