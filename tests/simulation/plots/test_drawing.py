"""Pictures: both files are there, the same data give the same SVG, and everything that is named can be read in it."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from itertools import combinations
from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import RendererAgg

from simulation.plots.drawing import compose, draw
from simulation.plots.model import Bars, Figure, Line, Lines, Stack
from simulation.plots.palette import GREY, PARTS, colour_of
from simulation.schedulers.registry import SCHEDULERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.font_manager import FontProperties

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


@pytest.mark.long
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


NAMES = [*SCHEDULERS, "my.own.schedulers:PreemptiveBestFitWithHoldback"]
LONG = "Jobs that waited although enough GPUs were free, of all the jobs of a long trace (1,000,105 nodes of 8 GPUs)"


def bars(title: str, *, names: Sequence[str] = NAMES, step: float = 123_456, shared: bool = True) -> Bars:
    values = [step * place for place in range(len(names))]
    return Bars(
        title=title,
        names=names,
        values=values,
        texts=[f"{value:,.1f}" for value in values],
        most=max(values) if shared else None,
    )


def lines(*ends: float, ticks: int = 3, names: Sequence[str] = NAMES) -> Lines:
    """Return lines that end at these heights, one after another."""
    return Lines(
        title="mean completion time of all jobs, h",
        x_label="η (tighter →)",
        lines=[
            Line(name=name, xs=range(ticks), ys=[0.5 + place / 100] * (ticks - 1) + [ends[place % len(ends)]])
            for place, name in enumerate(names)
        ],
        x_ticks=[(place, f"0.{place + 1:03}") for place in range(ticks)],
        markers=True,
    )


def stack(parts: int, *, even: bool) -> Stack:
    whole = float(sum(range(parts + 1)))
    shares = [1 / parts if even else (place + 1) / whole for place in range(parts)]
    return Stack(
        title="share of GPU-time by GPUs an instance",
        names=["day 108: most 1 GPU", "a long name of a day, longer than that of any other one"],
        parts=[(f"{k}, {k + 1}, {k + 2} GPUs", [shares[k], shares[-1 - k]]) for k in range(parts)],
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[bars("jobs in all"), bars("fragmentation-blocked, h", shared=False)]], id="two"),
        pytest.param([[bars(f"fragmentation-blocked jobs of kind {k}") for k in range(7)]], id="seven"),
        pytest.param([[bars(f"η = {k}: AFR, %", names=NAMES[:4])] * 4 for k in range(9)], id="grid"),
        pytest.param([[lines(0.0)] * 3], id="lines that meet"),
        pytest.param([[lines(0.0, 1.0)], [lines(1.0)], [lines(0.1, 0.2, 0.7)]], id="lines one under another"),
        pytest.param([[lines(3.0, ticks=40)] * 3], id="many ticks"),
        pytest.param([[lines(*range(20))], [bars("A"), lines(0.0, names=NAMES[:3])]], id="mixed"),
        pytest.param(
            [[Lines(title="one line", x_label="day", lines=[Line(name=n, xs=[0, 1], ys=[1, 2]) for n in NAMES])]]
        ),
        *(
            pytest.param([[stack(parts, even=even)]], id=f"{parts} parts")
            for parts in (1, 3, 9, 25)
            for even in (False, True)
        ),
        pytest.param([[stack(5, even=True)], [bars(f"AFR on day {k}, %") for k in range(4)]], id="stack and bars"),
    ],
)
@pytest.mark.parametrize("title", ["Short", LONG])
def test_no_text_upon_another_or_beyond_an_edge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[list[Panel]], title: str
) -> None:
    """Held against what the renderer is told to write, line by line."""
    written: list[tuple[str, float, float, float, float]] = []
    draw_text: Callable[..., None] = RendererAgg.draw_text
    measure: Callable[..., tuple[float, float, float]] = RendererAgg.get_text_width_height_descent

    def write(  # noqa: PLR0917 - as Matplotlib calls it
        self: RendererAgg, gc: object, x: float, y: float, text: str, font: FontProperties, angle: float, **more: object
    ) -> None:
        width, height, descent = measure(self, text, font, ismath=False)
        assert angle == 0
        written.append((text, x, y - height + descent, x + width, y + descent))
        draw_text(self, gc, x, y, text, font, angle, **more)

    monkeypatch.setattr(RendererAgg, "draw_text", write)
    _, png = draw(Figure(title=title, rows=rows), tmp_path / "picture")
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    said = " ".join(text for text, *_ in written)
    assert set(title.split()) <= set(said.split())
    last = list(dict.fromkeys(written))
    for text, left, top, right, bottom in last:
        assert left >= 5, text
        assert top >= 5, text
        assert right <= width - 5, text
        assert bottom <= height - 5, text
    for one, other in combinations(last, 2):
        apart = one[1] >= other[3] or other[1] >= one[3] or one[2] >= other[4] or other[2] >= one[4]
        assert apart, (one, other)


def test_every_part_is_named(tmp_path: Path) -> None:
    """One that is nowhere wide enough stands below the bars."""
    panel = stack(25, even=False)
    svg, _ = draw(Figure(title="A title", rows=[[panel]]), tmp_path / "picture")
    text = svg.read_text("utf-8")
    assert all(text.count(f"<!-- {name} -->") == 1 for name, _ in panel.parts)


def test_panels_to_compare_keep_one_scale() -> None:
    small = Bars(title="b", names=["gfs"], values=[1.0], texts=["a long text of a short bar"], most=100.0)
    large = Bars(title="a", names=["gfs"], values=[100.0], texts=["100"], most=100.0)
    first, second = compose(Figure(title="A title", rows=[[large, small]])).axes
    assert first.get_xlim() == second.get_xlim()


def test_panels_of_different_measures_have_scales_of_their_own() -> None:
    """The longest bar of each fills its panel, but for its text."""
    measures = [
        Bars(title=f"{most:g}", names=["gfs"], values=[most], texts=["1.5"], most=most) for most in (0.01, 1.5, 1_548.0)
    ]
    for ax, panel in zip(compose(Figure(title="A title", rows=[measures])).axes, measures, strict=True):
        assert 1 < ax.get_xlim()[1] / panel.values[0] < 1.4


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
