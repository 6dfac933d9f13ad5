"""Tables for people: drawn by rich on a terminal, plain text in a pipe.

Only this module and `oracle.cli.progress` import rich, and this one when a table is drawn: JSON and help need none.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from oracle.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table
    from rich.text import Text

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
        from rich.console import Console  # noqa: PLC0415 - for those who want a table

        return cls(Console().width, sys.stdout.encoding)


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, one value a row, the value of the total row, and whether the column deserves attention."""

    heading: str
    values: Sequence[str]
    total: str = ""
    attention: bool = False


def draw(columns: Sequence[Column], screen: Screen | None = None, *, total: bool = True) -> str:
    """Return the table; on a terminal too narrow for it, turned so that each row becomes a column.

    It is drawn for standard output if no other screen is given. Without `total` there is no row of totals.
    """
    from rich.text import Text  # noqa: PLC0415 - for those who want a table

    screen = Screen.of_stdout() if screen is None else screen
    bodies = [[Text(printable(value)) for value in column.values] for column in columns]
    totals = [Text(printable(of.total), style="yellow" if of.attention else "") for of in columns] if total else []
    upright = _table([Text(column.heading) for column in columns], zip(*bodies, strict=True), totals)
    if screen.width is None or _width(upright) <= screen.width:
        return _render(upright, screen)
    headings, *rows = (
        [Text(" ".join(column.heading.split())), *bodies[k], *totals[k : k + 1]] for k, column in enumerate(columns)
    )
    turned = _table(headings, rows)
    return _render(turned if _width(turned) < _width(upright) else upright, screen)


def _table(headings: Sequence[Text], rows: Iterable[Iterable[Text]], totals: Sequence[Text] = ()) -> Table:
    from rich import box  # noqa: PLC0415 - for those who want a table
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), show_footer=bool(totals))
    for i, (heading, total) in enumerate(zip_longest(headings, totals, fillvalue="")):
        table.add_column(heading, total, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _width(table: Table) -> int:
    from rich.console import Console  # noqa: PLC0415 - for those who want a table

    return Console(width=_UNLIMITED).measure(table).maximum


def _render(table: Table, screen: Screen) -> str:
    from rich.console import Console  # noqa: PLC0415 - for those who want a table

    # Through an encoding, because rich chooses the characters of the rules by that of the file it writes to.
    buffer = io.BytesIO()
    console = Console(
        file=io.TextIOWrapper(buffer, encoding=screen.encoding, errors="backslashreplace", newline="\n"),
        width=_UNLIMITED,
        force_terminal=screen.width is not None,
        no_color=None if screen.width is not None else True,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(table, soft_wrap=True)
    console.file.flush()
    lines = buffer.getvalue().decode(screen.encoding).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)
