"""Any text comes out of every form without a character that steers a terminal, and is not lost."""

from __future__ import annotations

import ast
import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.safe_text import csv_name, csv_text, json_text, printable, printable_json

# Control and C1 characters, bidirectional and invisible marks, separators, what begins a formula, and anything else.
NASTY = "\x00\a\b\t\n\r\x1b\x7f\x85\x9b\xad\u061c\u200b\u200e\u202e\u2028\u2066\ufeff\ud800\U000e0001=+-@'\"\\,é日"
TEXTS = st.text(st.sampled_from(NASTY) | st.characters(), max_size=12)
PLAIN = st.text(st.sampled_from(NASTY) | st.characters(exclude_categories=["Cs"]), max_size=12)


@given(TEXTS)
def test_printable_text_shows_every_character(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    if "\\" not in text:  # else an escape may have stood there before
        quoted = shown.replace("'", "\\'")
        assert ast.literal_eval(f"'{quoted}'") == text


@given(TEXTS.filter(str.isprintable))
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS)), st.booleans())
def test_json_is_printable_and_reads_back_equal(value: dict[str, object], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1)
    for shown in (printable_json(text), json_text(value)):
        assert all(line.isprintable() for line in shown.split("\n"))
        assert json.loads(shown) == json.loads(text)


@given(st.lists(st.tuples(PLAIN, st.floats() | st.integers() | st.booleans() | st.none()), min_size=1))
def test_cells_are_printable_and_no_formulas(rows: list[tuple[str, object]]) -> None:
    text = csv_text(rows)
    assert all(line.isprintable() for line in text.split("\n"))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert len(read) == len(rows)
    for (name, number), cells in zip(rows, read, strict=True):
        assert cells[0] == csv_name(name)
        assert cells[0].removeprefix("'") == printable(name).removeprefix("'")
        assert not cells[0].startswith(("=", "+", "-", "@", "\t", "\r"))
        assert cells[1] == ("" if number is None else str(number).lower() if isinstance(number, bool) else str(number))


@pytest.mark.parametrize(
    ("name", "cell"),
    [("=1+1", "'=1+1"), ("-x", "'-x"), ("@SUM(A1)", "'@SUM(A1)"), ("a=b", "a=b"), ("\t=1", "\\t=1"), ("'=", "'=")],
)
def test_formulas_are_text(name: str, cell: str) -> None:
    assert csv_name(name) == cell


def test_numbers_have_as_many_digits_as_asked_for() -> None:
    assert csv_text([(-1 / 3, -2, True)], digits=3) == "-0.333,-2,true\n"
