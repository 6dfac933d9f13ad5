"""Pictures drawn with Matplotlib, in the style of ``compass.mplstyle``: only this module and `fitting` import it.

The same data give the same SVG: there is no time stamp, and identifiers come from a fixed salt.
"""

# Matplotlib's stubs leave keyword arguments untyped, so that strict checking knows its methods in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from simulation.plots.fitting import fit_bars, fit_names, fit_parts, fit_ticks, fit_title, lines_of
from simulation.plots.labels import merged
from simulation.plots.model import Bars, Figure, Lines, Panel, Stack
from simulation.plots.palette import FAINT, INK, PARTS, colour_of, has_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from simulation.plots.model import Line

_STYLE = Path(__file__).with_name("compass.mplstyle")
# In inches. A picture is higher than that where there is more to name in it.
_WIDTH, _HEIGHT = 12.0, 6.75
_TITLE, _AXIS, _NAME = 0.8, 0.5, 0.24


def draw(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write the picture as ``stem.svg`` and ``stem.png`` and return both paths."""
    with mpl.rc_context(), style.context(_STYLE):
        canvas = compose(figure)
        svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
        canvas.savefig(svg, metadata={"Date": None, "Creator": "compass-abs"})
        canvas.savefig(png, metadata={"Software": "compass-abs"})
    return svg, png


def compose(figure: Figure) -> Canvas:
    """Return the picture, laid out; texts are fitted to the room that a first layout leaves them."""
    heights = [max(map(_height, row)) for row in figure.rows]
    canvas = Canvas(figsize=(_WIDTH, max(_HEIGHT, 0.5 + sum(heights))))
    FigureCanvasAgg(canvas)
    title = canvas.suptitle("", x=0.01, ha="left")
    placed = [
        (ax, panel)
        for axes, panels in zip(_axes(canvas, figure, heights), figure.rows, strict=True)
        for ax, panel in zip(axes, panels, strict=True)
    ]
    first = [number == 0 for row in figure.rows for number in range(len(row))]
    for (ax, panel), named in zip(placed, first, strict=True):
        _draw_panel(ax, panel, named=named)
    fit_title(title, figure.title, 0.98 * canvas.bbox.width)
    fit_bars([(ax, panel) for ax, panel in placed if isinstance(panel, Bars)])
    canvas.draw_without_rendering()
    for ax, panel in placed:
        box = ax.get_tightbbox()
        fit_title(ax.set_title(""), panel.title, (ax.bbox.x1 if box is None else box.x1) - ax.bbox.x0)
        if isinstance(panel, Stack):
            fit_parts(ax, panel)
        elif isinstance(panel, Lines):
            fit_ticks(ax, panel)
    for _ in range(3):  # the names of lines stand at heights that are known once the titles are there
        canvas.draw_without_rendering()
        for ax, panel in placed:
            if isinstance(panel, Lines):
                fit_names(ax)
    fit_bars([(ax, panel) for ax, panel in placed if isinstance(panel, Bars)])
    return canvas


def _height(panel: Panel) -> float:
    """Return the height that a panel needs for what is named in it."""
    if isinstance(panel, Lines):
        return _TITLE + _AXIS + _NAME * sum(len(lines_of(line.name)) for line in merged(panel.lines))
    lines = max((len(lines_of(name)) for name in panel.names), default=1)
    if isinstance(panel, Stack):  # which names its parts above the bars, and below
        return _TITLE + _AXIS + _NAME * (lines + 1) * len(panel.names)
    return _TITLE + _NAME * lines * len(panel.names)


def _axes(canvas: Canvas, figure: Figure, heights: Sequence[float]) -> list[list[Axes]]:
    """Return the axes of each row, in columns one under another where the rows are equally long."""
    if len({len(panels) for panels in figure.rows}) == 1:
        return [
            list(row)
            for row in canvas.subplots(len(figure.rows), len(figure.rows[0]), squeeze=False, height_ratios=heights)
        ]
    parts = canvas.subfigures(len(figure.rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    return [
        list(part.subplots(1, len(panels), squeeze=False)[0]) for part, panels in zip(parts, figure.rows, strict=True)
    ]


def _draw_panel(ax: Axes, panel: Panel, *, named: bool) -> None:
    if isinstance(panel, Bars):
        _bars(ax, panel, named=named)
    elif isinstance(panel, Stack):
        _stack(ax, panel)
    else:
        _lines(ax, panel)


def _bars(ax: Axes, panel: Bars, *, named: bool) -> None:
    places = range(len(panel.names))
    ax.barh(places, panel.values, color=[colour_of(name) for name in panel.names], height=0.72)
    for place, value, text, name in zip(places, panel.values, panel.texts, panel.names, strict=True):
        weight = "bold" if has_colour(name) else "normal"
        label = ax.annotate(
            text, (value, place), (5, 0), textcoords="offset points", va="center", fontsize=11, weight=weight
        )
        label.set_in_layout(False)  # the scale makes room for it
    _rows_of_bars(ax, panel.names if named else [""] * len(panel.names))


def _stack(ax: Axes, panel: Stack) -> None:
    places = list(range(len(panel.names)))
    ends = [0.0] * len(places)
    for number, (_, values) in enumerate(panel.parts):
        ax.barh(
            places, values, left=ends, color=PARTS[number % len(PARTS)], height=0.62, edgecolor="white", linewidth=1
        )
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    ax.set_xlim(0, max(ends, default=1.0) or 1.0)
    _rows_of_bars(ax, panel.names)


def _rows_of_bars(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), ["\n".join(lines_of(name)) for name in names], color=INK)
    ax.set_ylim(len(names) - 0.4, -0.75)
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines["bottom"].set_visible(False)


def _lines(ax: Axes, panel: Lines) -> None:
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
    _name_lines(ax, [line for line in lines if line.ys])


def _name_lines(ax: Axes, lines: Sequence[Line]) -> None:
    """Write the name of each line beside its end; `fit_names` parts them."""
    bottom, top = ax.get_ylim()
    for line in sorted(lines, key=lambda line: (line.ys[-1], sum(line.ys) / len(line.ys))):
        end = (line.ys[-1] - bottom) / (top - bottom)
        ax.annotate(
            "\n".join(lines_of(line.name)),
            (1.0, end),
            (1.05, end),
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
