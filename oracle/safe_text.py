"""Text from a snapshot or a trace as it may be printed: names there are whatever somebody wrote into them.

Control characters steer a terminal, C1 characters and bidirectional marks too, and others are not seen at all. Each
form of output has its own way to show them without sending them; none loses what was there.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# What makes a spreadsheet take a cell for a formula. Behind a quote it is text, and the quote is not shown.
_FORMULA = ("=", "+", "-", "@")


def printable(text: str) -> str:
    """Return `text` with what could steer a terminal or break a line written as a Python escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_json(text: str) -> str:
    """Return JSON with the same characters written as its own escapes: the same value, to whoever reads it."""
    if text.isascii() and "\x7f" not in text:  # JSON has no other control characters inside its strings
        return text
    return "\n".join(line if line.isprintable() else "".join(map(_in_json, line)) for line in text.split("\n"))


def json_text(value: object) -> str:
    """Return a value as JSON for people and programs: indented, ASCII only, with a line end."""
    return printable_json(json.dumps(value, indent=2)) + "\n"


def csv_text(rows: Iterable[Iterable[object]], *, digits: int | None = None) -> str:
    """Return rows as CSV: texts as `csv_name` has them, truth values as in JSON, nothing for None.

    Numbers stay as they are, negative ones too; with `digits` those with a fraction have so many.
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([_cell(value, digits) for value in row] for row in rows)
    return text.getvalue()


def csv_name(text: str) -> str:
    """Return a text as a cell: printable, and with an apostrophe before what a spreadsheet would take for a formula."""
    text = printable(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cell(value: object, digits: int | None) -> str:
    if isinstance(value, str):
        return csv_name(value)
    if value is None:
        return ""
    if isinstance(value, float) and digits is not None:
        return f"{value:.{digits}g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_json(char: str) -> str:
    if char.isprintable():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
