"""Pictures: both files are there, the same data give the same SVG, and everything that is named can be read in it."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from itertools import combinations
from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest

from simulation.plots.drawing import draw
from simulation.plots.model import Bars, Figure, Line, Lines, Stack
from simulation.plots.palette import GREY, PARTS, colour_of
from simulation.schedulers.registry import SCHEDULERS

if TYPE_CHECKING:
    from pathlib import Path

    from simulation.plots.model import Panel

BARS = Bars(title="AFR, %", names=["exact", "gfs"], values=[0.0, 5.0], texts=["none", "five"])
EMPTY_BARS = Bars(title="nothing", names=["exact"], values=[0.0], texts=["0"])
STACK = Stack(title="shares", names=["jobs", "GPU-hours"], parts=[("one", [0.7, 0.01]), ("eight", [0.3, 0.99])])
LINES = Lines(
    title="over time",
    x_label="day",
    lines=[Line(name="exact", xs=[0, 1, 2], ys=[0, 0, 0]), Line(name="gfs", xs=[0, 1, 2], ys=[1, 5, 2])],
    x_ticks=[(0, "first"), (2, "last")],
)
FLAT = Lines(title="flat", x_label="day", lines=[Line(name="gfs", xs=[0, 1], ys=[3, 3])], steps=True, markers=True)


@pytest.mark.parametrize(
    "rows",
    [[[BARS, EMPTY_BARS]], [[STACK]], [[LINES], [FLAT]], [[STACK], [BARS, BARS, LINES]]],
    ids=["bars", "stack", "lines", "mixed"],
)
def test_both_forms(tmp_path: Path, rows: list[list[Panel]]) -> None:
    svg, png = draw(Figure(title="A title", rows=rows), tmp_path / "picture")
    assert ET.fromstring(svg.read_text("utf-8")).tag.endswith("svg")  # noqa: S314 - our own file
    head = png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert struct.unpack(">II", head[16:]) == (1440, 810)


def test_the_same_data_give_the_same_picture(tmp_path: Path) -> None:
    figure = Figure(title="A title", rows=[[BARS, LINES]])
    first, second = (draw(figure, tmp_path / name)[0].read_bytes() for name in ("a", "b"))
    assert first == second
    changed = Figure(title="A title", rows=[[BARS, FLAT]])
    assert draw(changed, tmp_path / "c")[0].read_bytes() != first


def test_what_is_named_is_written(tmp_path: Path) -> None:
    """Text is drawn as outlines, which keep what they say in a comment."""
    svg, _ = draw(Figure(title="A title", rows=[[BARS, STACK, LINES]]), tmp_path / "picture")
    text = svg.read_text("utf-8")
    for word in ("A title", "AFR, %", "exact", "gfs", "none", "five", "one", "eight", "70%", "99%", "first", "last"):
        assert f"<!-- {word} -->" in text, word


def test_the_settings_of_others_stay(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    draw(Figure(title="A title", rows=[[BARS]]), tmp_path / "picture")
    assert dict(mpl.rcParams) == before


def luminance(colour: str) -> float:
    """Return relative luminance as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def without_red_or_green(colour: str) -> tuple[float, float]:
    """Return what is left of a colour where red and green look alike: how light it is, and how blue."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return luminance(colour), blue - (red + green) / 2


def test_colours_are_told_apart_without_red_and_green() -> None:
    for palette in (sorted({colour_of(name) for name in SCHEDULERS}), list(PARTS)):
        for one, other in combinations(palette, 2):
            (light, blue), (light_2, blue_2) = without_red_or_green(one), without_red_or_green(other)
            assert max(abs(light - light_2), abs(blue - blue_2) / 2) > 0.05, (one, other)


def test_ours_have_colours_of_their_own() -> None:
    ours = [colour_of(name) for name in ("exact", "compass", "printed", "sifopt")]
    assert len({*ours, GREY}) == 5
    assert colour_of("exact, sifopt") == colour_of("exact")
