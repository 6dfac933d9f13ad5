"""Rows of a CSV file with the lines they stand on.

The standard library's reader, not polars: it gives every row its line number, so that a bad row is named and the others
are kept, where polars gives nulls or refuses the file; it needs no extra; and 125,303 rows are read in a fraction of a
second. `docs/traces.md` has the figures.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.snapshots.document import Document, read_document
from oracle.snapshots.model import SnapshotError, shown
from oracle.snapshots.source import MAX_INPUT
from simulation.jobs import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_TAR_MAGIC_AT = 257
_TAR_MAGIC = b"ustar"


def read_source(source: str | Path, max_input: int = MAX_INPUT) -> Document:
    """Return the content of a file, or of standard input for ``-``; gzip is unpacked and a BOM removed.

    Raises
    ------
    TraceError
        The file cannot be read, is damaged, empty, too large, or a tar archive.
    """
    try:
        document = read_document(source, max_input=max_input)
    except SnapshotError as error:
        raise TraceError(str(error)) from error
    if not document.content.strip():
        raise TraceError(f"{document.name}: empty, expected a trace")
    if document.content[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        raise TraceError(f"{document.name}: a tar archive, expected one file: unpack it with tar -xf")
    return document


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file whose header has been looked at.

    Attributes
    ----------
    name
        The file, for messages.
    header
        Names of the columns, or None where the file has none.
    text
        The whole content.
    """

    name: str
    header: tuple[str, ...] | None
    text: str

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row below the header with its line, counted from 1; blank lines are none.

        A row that no CSV reader can split comes as an empty list.

        Raises
        ------
        TraceError
            A row that goes over several lines. No trace has line ends in its fields: a quote that is not closed has
            swallowed what follows, and rows would be lost.
        """
        # Strict, because the lenient reader takes a stray quote as a licence to join lines.
        reader = csv.reader(io.StringIO(self.text, newline=""), strict=True)
        at_header = self.header is not None
        while True:
            line = reader.line_num + 1
            fields: list[str] = []
            try:
                fields = next(reader)
                blank = not fields
            except StopIteration:
                return
            except csv.Error:
                blank = False
            if reader.line_num > line:
                raise self.error(line, "a quote is opened, expected it closed on the same line")
            if blank:
                continue
            if at_header:
                at_header = False
            else:
                yield line, fields

    def error(self, line: int, problem: str) -> TraceError:
        """Return the error for a problem on a line."""
        return TraceError(f"{self.name}:{line}: {problem}")


def first_row(document: Document) -> tuple[str, tuple[str, ...]]:
    """Return the text of a CSV file and its first row, stripped of spaces.

    Raises
    ------
    TraceError
        Not UTF-8, or a first line that is no CSV.
    """
    try:
        text = document.content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = document.content.count(b"\n", 0, error.start) + 1
        raise TraceError(f"{document.name}:{line}: {error.reason} at byte {error.start}, expected UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        row: Sequence[str] = next((fields for fields in reader if fields), ())
    except csv.Error as error:
        raise TraceError(f"{document.name}:1: expected the header of a CSV file ({error})") from error
    return text, tuple(field.strip() for field in row)


class Columns:
    """Where the columns of a table stand."""

    __slots__ = ("_places", "width")

    def __init__(self, names: Sequence[str]) -> None:
        self.width = len(names)
        self._places = {name: i for i, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        return self._places[name]

    def get(self, name: str) -> int | None:
        """Return the place of a column that a table may lack."""
        return self._places.get(name)


def check_header(table: Table, expected: Sequence[str]) -> None:
    """Raise unless the header names each of the expected columns once.

    Raises
    ------
    TraceError
        A column is missing, or there twice.
    """
    header = table.header or ()
    missing = [name for name in expected if name not in header]
    if missing:
        raise table.error(1, f"no column {', '.join(missing)}; expected {', '.join(expected)}")
    twice = sorted({name for name in expected if header.count(name) > 1})
    if twice:
        raise table.error(1, f"column {shown(twice[0])} stands there twice, expected it once")
