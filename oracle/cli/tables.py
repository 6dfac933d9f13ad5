"""Tables for people: drawn by rich on a terminal, plain text in a pipe.

Only this module and `oracle.cli.progress` import rich.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oracle.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

# Wider than any table: values are never cut and never wrapped, and a program that reads a pipe finds one row a line.
_UNLIMITED = 100_000


@dataclass(frozen=True, slots=True)
class Screen:
    """What the text is for: a terminal and its width, or a pipe (`width` None)."""

    width: int | None
    encoding: str = "utf-8"

    @classmethod
    def of_stdout(cls) -> Screen:
        """Return the screen standard output is."""
        if sys.stdout is None or not sys.stdout.isatty():
            return cls(None, getattr(sys.stdout, "encoding", None) or "utf-8")
        return cls(Console().width, sys.stdout.encoding)


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, one value a row, the value of the total row, and whether the column deserves attention."""

    heading: str
    values: Sequence[str]
    total: str = ""
    attention: bool = False


def draw(columns: Sequence[Column], screen: Screen, *, total: bool = True) -> str:
    """Return the table; on a terminal too narrow for it, turned so that each row becomes a column.

    Without `total` there is no row of totals.
    """
    table = _upright(columns, total=total)
    upright = _render(table, screen)
    if screen.width is None or _width(table) <= screen.width:
        return upright
    turned = _turned(columns, total=total)
    return _render(turned, screen) if _width(turned) < _width(table) else upright


def _upright(columns: Sequence[Column], *, total: bool) -> Table:
    table = _table(footer=total)
    for i, column in enumerate(columns):
        style = "yellow" if column.attention else ""
        table.add_column(
            Text(column.heading),
            footer=_cell(column.total, style),
            justify="right" if i else "left",
            no_wrap=True,
        )
    for row in zip(*(column.values for column in columns), strict=True):
        table.add_row(*map(_cell, row))
    return table


def _turned(columns: Sequence[Column], *, total: bool) -> Table:
    first, *others = columns
    table = _table(footer=False)
    headings = (first.heading, *first.values, first.total) if total else (first.heading, *first.values)
    for i, heading in enumerate(headings):
        table.add_column(_cell(heading), justify="right" if i else "left", no_wrap=True)
    for column in others:
        style = "yellow" if column.attention else ""
        heading = " ".join(column.heading.split())
        totals = [_cell(column.total, style)] if total else []
        table.add_row(heading, *map(_cell, column.values), *totals)
    return table


def _table(*, footer: bool) -> Table:
    return Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), show_footer=footer)


def _cell(value: str, style: str = "") -> Text:
    return Text(printable(value), style=style)


def _width(table: Table) -> int:
    return Console(width=_UNLIMITED).measure(table).maximum


def _render(table: Table, screen: Screen) -> str:
    # Through an encoding, because rich chooses the characters of the rules by that of the file it writes to.
    buffer = io.BytesIO()
    file = io.TextIOWrapper(buffer, encoding=screen.encoding, errors="backslashreplace", newline="\n")
    console = Console(
        file=file,
        width=_UNLIMITED,
        force_terminal=screen.width is not None,
        no_color=None if screen.width is not None else True,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(table, soft_wrap=True)
    file.flush()
    lines = buffer.getvalue().decode(screen.encoding).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)
