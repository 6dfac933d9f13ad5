"""What a format of traces is: its name, its columns, and what makes a reader of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.traces.rows import Fractions
from simulation.traces.shapes import ShapeRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.traces.rows import RowReader
    from simulation.traces.table import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What the user decides about reading: how (w, g) is told, and what becomes of parts of a GPU."""

    shape: ShapeRule = ShapeRule.RECORDED
    fractions: Fractions = Fractions.LEAVE_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    """A published CSV format.

    Attributes
    ----------
    name
        What ``--trace-format`` calls it.
    title
        What it is, for people.
    columns
        The columns that are needed; others are ignored.
    reader
        Makes the reader of a row from the places of the columns. A reader may keep what it has to know of the rows
        before, so that each table gets its own.
    calendar
        Whether times are dates. They are then counted from the midnight before the first submission, by the trace's
        own clock, so that days are calendar days.
    headerless
        Whether files without a header are in circulation: the columns are then those of `columns`, in this order.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    reader: Callable[[Columns, ReadOptions], RowReader]
    calendar: bool = False
    headerless: bool = False
