"""Texts of a picture that is laid out, fitted to the room they have: none upon another, none beyond an edge."""

# Matplotlib's stubs leave keyword arguments untyped, so that strict checking knows its methods in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text

from simulation.plots.labels import spread
from simulation.plots.palette import FAINT, INK, PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from simulation.plots.model import Bars, Lines, Stack

_NAME_CHARS = 28
_GAP = 8.0  # pixels between texts


def lines_of(name: str) -> list[str]:
    """Return a long name in lines."""
    return wrap(name, _NAME_CHARS, break_on_hyphens=False) or [""]


def fit_title(title: Text, words: str, room: float) -> None:
    """Write a title in lines that have room, smaller if a single word has none."""
    lines: list[str] = []
    for part in re.findall(r"\S+?-(?=\S)|\S+\s*", words):  # a line may also end after a hyphen
        if lines and _width(title, (lines[-1] + part).rstrip()) <= room:
            lines[-1] += part
        else:
            lines.append(part)
    lines = [line.rstrip() for line in lines]
    widest = max((_width(title, line) for line in lines), default=0.0)
    title.set_text("\n".join(lines))
    if widest > room:
        title.set_fontsize(float(title.get_fontsize()) * room / widest)


def fit_bars(panels: Sequence[tuple[Axes, Bars]]) -> None:
    """Let the scale of bars go as far as their texts do; panels that are to be compared keep one scale."""
    ends = [_end(ax, panel) for ax, panel in panels]
    for (ax, panel), end in zip(panels, ends, strict=True):
        alike = [
            other
            for (_, of), other in zip(panels, ends, strict=True)
            if panel.most is not None and of.most == panel.most
        ]
        ax.set_xlim(0, max([end, *alike]))


def _end(ax: Axes, panel: Bars) -> float:
    longest = (max((*panel.values, 0.0)) if panel.most is None else panel.most) or 1.0
    room = ax.bbox.width
    texts = [text for text in ax.texts if text.get_text()]
    ends = [longest * 1.02]
    for value, text in zip(panel.values, texts, strict=False):
        ends.append(value * room / max(room - _width(text, text.get_text()) - 2 * _GAP, room / 8))
    return max(ends)


def fit_parts(ax: Axes, panel: Stack) -> None:
    """Write the value of each part upon it and its name above it, where it is wide enough; other names below."""
    starts = [0.0] * len(panel.names)
    scale = ax.bbox.width / ax.get_xlim()[1]
    unnamed: list[tuple[str, str]] = []
    for number, (name, values) in enumerate(panel.parts):
        colour = PARTS[number % len(PARTS)]
        bars = list(enumerate(zip(starts, values, strict=True)))
        for place, (start, value) in bars:
            text = ax.text(start + value / 2, place, format(value, panel.form), ha="center", va="center")
            text.set(color=_on(colour), fontsize=11)
            if _width(text, text.get_text()) + _GAP > value * scale:
                text.remove()
        label = ax.text(0, 0, name, ha="center", va="bottom", fontsize=10, color=FAINT)
        wide = [(place, bar) for place, bar in bars if _width(label, name) + _GAP <= bar[1] * scale]
        if wide:
            place, (start, value) = wide[0]
            label.set_position((start + value / 2, place - 0.36))
        else:
            label.remove()
            unnamed += [(name, colour)] if any(value > 0 for value in values) else []
        starts = [start + value for start, value in zip(starts, values, strict=True)]
    if unnamed:
        _legend(ax, unnamed)


def _legend(ax: Axes, entries: Sequence[tuple[str, str]]) -> None:
    """Name what is nowhere wide enough, below the bars, in as many columns as there is room for."""
    handles = [Patch(color=colour, label=name) for name, colour in entries]
    for columns in range(len(handles), 0, -1):
        legend = ax.legend(
            handles=handles, ncols=columns, loc="upper left", bbox_to_anchor=(0, 0), frameon=False, fontsize=10
        )
        if legend.get_window_extent().width <= ax.bbox.width:
            return


def fit_ticks(ax: Axes, panel: Lines) -> None:
    """Mark as many places of the axis as there is room for, at equal distances in the list, the last included."""
    if len(panel.x_ticks) < 2:
        return
    probe = ax.xaxis.get_ticklabels()[0]
    widest = max(_width(probe, text) for _, text in panel.x_ticks)
    probe.set_text(panel.x_ticks[0][1])
    left, right = ax.get_xlim()
    places = sorted(place for place, _ in panel.x_ticks)
    nearest = min(b - a for a, b in pairwise(places)) * ax.bbox.width / (right - left)
    every = max(1, int(-(-(widest + _GAP) // max(nearest, 1e-9))))
    kept = list(panel.x_ticks)[::-1][::every]
    ax.set_xticks([place for place, _ in kept], [text for _, text in kept])


def fit_names(ax: Axes) -> None:
    """Part the names of lines at their ends, right of the last mark: each takes as many places as it has lines."""
    names = [text for text in ax.texts if isinstance(text, Annotation)]
    if not names:
        return
    line = max(_height(name) / len(_lines(name)) for name in names) + 1
    wanted = [name.xy[1] for name in names for _ in _lines(name)]
    mark = max((_width(label, label.get_text()) for label in ax.get_xticklabels()), default=0.0) / 2
    beside = 1.0 + (mark + _GAP) / ax.bbox.width
    heights = iter(spread(wanted, line / ax.bbox.height))
    for name in names:
        taken = [next(heights) for _ in _lines(name)]
        name.set_position((beside, sum(taken) / len(taken)))


def _lines(text: Text) -> list[str]:
    return text.get_text().split("\n")


def _width(text: Text, words: str) -> float:
    """Return how wide the text would be with these words."""
    before = text.get_text()
    text.set_text(words)
    width = float(Text.get_window_extent(text).width)
    text.set_text(before)
    return width


def _height(text: Text) -> float:
    return float(Text.get_window_extent(text).height)  # an annotation's own would have its arrow too


def _on(colour: str) -> str:
    """Return the colour of text that is legible upon this one."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"
