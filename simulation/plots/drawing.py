"""Pictures drawn with Matplotlib, in the style of ``compass.mplstyle``: the only module that imports it.

The same data give the same SVG: there is no time stamp, and identifiers come from a fixed salt.
"""

# Matplotlib's stubs leave keyword arguments untyped, so that strict checking knows its methods in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from simulation.plots.labels import merged, spread
from simulation.plots.model import Bars, Figure, Lines, Panel, Stack
from simulation.plots.palette import FAINT, INK, PARTS, colour_of, has_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from simulation.plots.model import Line

_STYLE = Path(__file__).with_name("compass.mplstyle")
_LABEL_GAP = 0.058  # of the height of a panel in a single row: the height of a line of text
_TITLE_CHARS = 100  # so many fit side by side
_ROOM_FOR_TEXT = 1.28  # the scale of bars goes so far beyond the longest one
_NARROW = 0.035  # a part of a bar below this share of it has no room for its value
_VISIBLE = 0.005


def draw(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write the picture as ``stem.svg`` and ``stem.png`` and return both paths."""
    with mpl.rc_context(), style.context(_STYLE):
        canvas = Canvas()
        FigureCanvasAgg(canvas)
        canvas.suptitle(figure.title, x=0.01, ha="left")
        for axes, panels in zip(_axes(canvas, figure), figure.rows, strict=True):
            for number, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
                ax.set_title(fill(panel.title, _TITLE_CHARS // len(panels)))
                _panel(ax, panel, first=number == 0, rows=len(figure.rows))
        svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
        canvas.savefig(svg, metadata={"Date": None, "Creator": "compass-abs"})
        canvas.savefig(png, metadata={"Software": "compass-abs"})
    return svg, png


def _axes(canvas: Canvas, figure: Figure) -> list[list[Axes]]:
    """Return the axes of each row, in columns one under another where the rows are equally long."""
    if len({len(panels) for panels in figure.rows}) == 1:
        return [list(row) for row in canvas.subplots(len(figure.rows), len(figure.rows[0]), squeeze=False)]
    parts = canvas.subfigures(len(figure.rows), 1, squeeze=False)[:, 0]
    return [
        list(part.subplots(1, len(panels), squeeze=False)[0]) for part, panels in zip(parts, figure.rows, strict=True)
    ]


def _panel(ax: Axes, panel: Panel, *, first: bool, rows: int) -> None:
    if isinstance(panel, Bars):
        _bars(ax, panel, named=first)
    elif isinstance(panel, Stack):
        _stack(ax, panel)
    else:
        _lines(ax, panel, gap=_LABEL_GAP * rows)


def _bars(ax: Axes, panel: Bars, *, named: bool) -> None:
    places = range(len(panel.names))
    longest = max((*panel.values, 0.0)) if panel.most is None else panel.most
    ax.barh(places, panel.values, color=[colour_of(name) for name in panel.names], height=0.72)
    for place, value, text, name in zip(places, panel.values, panel.texts, panel.names, strict=True):
        weight = "bold" if has_colour(name) else "normal"
        ax.annotate(text, (value, place), (5, 0), textcoords="offset points", va="center", fontsize=11, weight=weight)
    ax.set_xlim(0, (longest or 1.0) * _ROOM_FOR_TEXT)
    _rows_of_bars(ax, panel.names if named else [""] * len(panel.names))


def _stack(ax: Axes, panel: Stack) -> None:
    places = list(range(len(panel.names)))
    ends = [0.0] * len(places)
    whole = max((sum(values) for values in zip(*(values for _, values in panel.parts), strict=True)), default=1.0)
    for number, (name, values) in enumerate(panel.parts):
        colour = PARTS[number % len(PARTS)]
        ax.barh(places, values, left=ends, color=colour, height=0.62, edgecolor="white", linewidth=1)
        for place, value, end in zip(places, values, ends, strict=True):
            if value >= _NARROW * whole:
                text = format(value, panel.form)
                ax.text(end + value / 2, place, text, ha="center", va="center", color=_on(colour), fontsize=11)
        _name_part(ax, name, ends, values, whole)
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    ax.set_xlim(0, whole)
    _rows_of_bars(ax, panel.names)


def _name_part(ax: Axes, name: str, ends: Sequence[float], values: Sequence[float], whole: float) -> None:
    """Write the name of a part above a bar; one that is narrow everywhere only where it is the last, with its value."""
    wide = [place for place, value in enumerate(values) if value >= _NARROW * whole]
    place = wide[0] if wide else max(range(len(values)), key=lambda place: values[place])
    if wide:
        middle = ends[place] + values[place] / 2
        ax.text(middle, place - 0.36, name, ha="center", va="bottom", fontsize=10, color=FAINT)
    elif ends[place] + values[place] >= (1 - _NARROW) * whole and values[place] >= _VISIBLE * whole:
        text = f"{name}: {values[place]:.1%}"
        ax.text(whole, place - 0.36, text, ha="right", va="bottom", fontsize=10, color=FAINT)


def _rows_of_bars(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), list(names), color=INK)
    ax.set_ylim(len(names) - 0.4, -0.75)
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines["bottom"].set_visible(False)


def _lines(ax: Axes, panel: Lines, *, gap: float) -> None:
    lines = merged(panel.lines)
    marker = "o" if panel.markers else ""
    for line in sorted(lines, key=lambda line: has_colour(line.name)):  # grey ones below
        wide = 2.4 if has_colour(line.name) else 1.3
        how = "steps-post" if panel.steps else "default"
        ax.plot(
            line.xs, line.ys, color=colour_of(line.name), marker=marker, linewidth=wide, drawstyle=how, clip_on=False
        )
    ax.set_xlabel(panel.x_label)
    if panel.x_ticks:
        ax.set_xticks([place for place, _ in panel.x_ticks], [text for _, text in panel.x_ticks])
    low = min((y for line in lines for y in line.ys), default=0.0)
    high = max((y for line in lines for y in line.ys), default=0.0)
    room = (high - low) * 0.04 or 0.5
    ax.set_ylim(low - room, high + room)
    _name_lines(ax, [line for line in lines if line.ys], gap)


def _name_lines(ax: Axes, lines: Sequence[Line], gap: float) -> None:
    """Write the name of each line beside its end, joined to it where it had to move."""
    lines = sorted(lines, key=lambda line: (line.ys[-1], sum(line.ys) / len(line.ys)))
    bottom, top = ax.get_ylim()
    ends = [(line.ys[-1] - bottom) / (top - bottom) for line in lines]
    for line, end, height in zip(lines, ends, spread(ends, gap), strict=True):
        ax.annotate(
            line.name,
            (1.0, end),
            (1.05, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            color=colour_of(line.name) if has_colour(line.name) else FAINT,
            fontsize=11,
            weight="bold" if has_colour(line.name) else "normal",
            arrowprops={"arrowstyle": "-", "color": colour_of(line.name), "linewidth": 0.8, "relpos": (0, 0.5)},
            annotation_clip=False,
        )
    ax.margins(x=0.0)


def _on(colour: str) -> str:
    """Return the colour of text that is legible upon this one."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"
