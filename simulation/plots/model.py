"""What a picture shows, as plain data: panels in rows. Nothing here knows how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Horizontal bars, the first on top, each with its value in words at its end.

    Attributes
    ----------
    title
        What is measured, with its unit.
    names
        One a bar; the name of a scheduler decides the colour.
    values, texts
        Lengths, and how each is written.
    most
        Where the scale ends, if not at the longest bar: for panels to be compared with one another.
    """

    title: str
    names: Sequence[str]
    values: Sequence[float]
    texts: Sequence[str]
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Horizontal bars of several parts; each is named above the first bar in which it is wide enough.

    Attributes
    ----------
    title
        What is measured, with its unit.
    names
        One a bar.
    parts
        Name of each part and its length in each bar.
    form
        How lengths are written, as for `format`.
    """

    title: str
    names: Sequence[str]
    parts: Sequence[tuple[str, Sequence[float]]]
    form: str = ".0%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line, named at its right end."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Lines over one axis.

    Attributes
    ----------
    title, x_label
        What is measured, and over what, with units.
    lines
        What is drawn; the name of a scheduler decides the colour.
    x_ticks
        Where the axis is marked, and how; everywhere if none.
    markers
        Whether the points themselves are marked, as where there are few.
    steps
        Whether a value holds until the next one.
    """

    title: str
    x_label: str
    lines: Sequence[Line]
    x_ticks: Sequence[tuple[float, str]] = ()
    markers: bool = False
    steps: bool = False


Panel: TypeAlias = Bars | Stack | Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture: a title that says what is to be seen, and rows of panels."""

    title: str
    rows: Sequence[Sequence[Panel]]
