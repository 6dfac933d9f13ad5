"""The picture of a frontier: partial nodes against migrations."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from oracle.plots.drawing import FAINT, MARGIN, PALETTE, Drawing, count, number, text_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from oracle.planning.frontier import PlanFrontierPoint

_DOTS = 60


def plot_frontier(points: Sequence[PlanFrontierPoint], path: Path) -> None:
    """Write a picture of how few partial nodes can be reached with how many migrations.

    A point whose migrations are not proved to be fewest is hollow. If there are such points, or limits between points,
    a dashed line shows the bound: no plan is left of it.

    Parameters
    ----------
    points
        In any order.
    path
        The file to write; one that is there is replaced.

    Raises
    ------
    ValueError
        There are no points.
    OSError
        The file cannot be written.
    """
    if not points:
        raise ValueError("a frontier has at least one point")
    # With more migrations than one point needs and fewer than the next one does, its partial nodes are what is reached.
    ordered = sorted(points, key=lambda point: (point.migrations, -point.partial_nodes))
    first, last = ordered[0], ordered[-1]
    title = f"Φ {first.partial_nodes:,} → {last.partial_nodes:,} with {count(last.migrations, 'migration')}"
    text = "The fewest partial nodes that can be reached, against the migrations; these may stop instances first."
    chart = Chart(ordered)
    drawing = Drawing(max(800.0, chart.end + MARGIN, text_width(title, 18, bold=True) + 2 * MARGIN), title, text)
    drawing.heading(title, text)
    if chart.is_open:
        hollow = "Hollow: not proved to be the fewest migrations. " if any(map(_is_open, ordered)) else ""
        what = f"{hollow}Dashed: the bound, no plan is left of it."
        drawing.text(MARGIN, 71, what, size=12, fill=FAINT)
    chart.draw(drawing)
    drawing.write(path, 510)


def _is_open(point: PlanFrontierPoint) -> bool:
    return point.lower_bound < point.migrations


class Chart:
    """A step line: migrations to the right, partial nodes upwards."""

    _top, _bottom = 120.0, 450.0

    def __init__(self, points: Sequence[PlanFrontierPoint]) -> None:
        self._points = points
        self._x_step, self._x_end = _ticks(max(point.migrations for point in points))
        self._y_step, self._y_end = _ticks(max(point.partial_nodes for point in points))
        self._left = max(70.0, MARGIN + text_width(f"{self._y_end:,}", 11) + 8)
        self._right = self._left + 570

    def _x(self, migrations: int) -> float:
        """Return where so many migrations are."""
        return self._left + (self._right - self._left) * migrations / self._x_end

    def _y(self, partial: int) -> float:
        """Return where so many partial nodes are."""
        return self._bottom - (self._bottom - self._top) * partial / self._y_end

    @property
    def is_open(self) -> bool:
        """Whether anything is known by bounds only."""
        limits = {point.partial_nodes for point in self._points}
        return any(map(_is_open, self._points)) or len(limits) <= max(limits) - min(limits)

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """Pairs of migrations and partial nodes: with fewer migrations than that, at least so many are left.

        Numbers of partial nodes between two points take at least what the point with more of them does.
        """
        ordered = sorted(self._points, key=lambda point: -point.partial_nodes)
        between = ((one.lower_bound, other.partial_nodes + 1) for one, other in pairwise(ordered))
        at = ((point.lower_bound, point.partial_nodes) for point in ordered)
        return sorted({*at, *between}, key=lambda pair: (pair[0], -pair[1]))

    @property
    def end(self) -> float:
        """Where the labels of points end."""
        return max(x + width for x, _, width in map(self._label, range(len(self._points))))

    def draw(self, drawing: Drawing) -> None:
        """Draw axes, line, points and labels."""
        for value in range(0, self._y_end + 1, self._y_step):
            y = self._y(value)
            drawing.path(f"M{number(self._left)} {number(y)}H{number(self._right)}", stroke="#DADDE1")
            drawing.text(self._left - 8, y + 4, f"{value:,}", size=11, fill=FAINT, anchor="end")
        for value in range(0, self._x_end + 1, self._x_step):
            drawing.text(self._x(value), self._bottom + 18, f"{value:,}", size=11, fill=FAINT, anchor="middle")
        drawing.text(MARGIN, self._top - 28, "partial nodes (Φ)", size=12)
        drawing.text(self._right, self._bottom + 38, "migrations", size=12, anchor="end")
        if self.is_open:
            drawing.path(self._steps(self.bounds), stroke=FAINT, parent=drawing.group("bound"), dash="4 3")
        way = self._steps([(point.migrations, point.partial_nodes) for point in self._points])
        drawing.path(way, stroke=PALETTE[0], width="2")
        labelled = set(self._labelled())
        for k, point in enumerate(self._points):
            if k in labelled or len(self._points) <= _DOTS:
                self._draw_point(drawing, point, labelled=k in labelled)

    def _draw_point(self, drawing: Drawing, point: PlanFrontierPoint, *, labelled: bool) -> None:
        x, y = self._x(point.migrations), self._y(point.partial_nodes)
        group = drawing.group("point open" if _is_open(point) else "point")
        told = f"{count(point.partial_nodes, 'partial node')}, {count(point.migrations, 'migration')}"
        if _is_open(point):
            told += f", at least {point.lower_bound:,}"
        drawing.tooltip(group, told)
        drawing.circle(group, x, y, 3.5, PALETTE[0], ring=_is_open(point))
        if labelled:
            drawing.text(x + 5, y - 7, _label_of(point), size=11, parent=group)

    def _steps(self, corners: Sequence[tuple[int, int]]) -> str:
        """Return the way through these pairs of migrations and partial nodes, to the right first."""
        (start, height), *others = corners
        way = [f"M{number(self._x(start))} {number(self._y(height))}"]
        way += (f"H{number(self._x(migrations))}V{number(self._y(partial))}" for migrations, partial in others)
        return "".join(way)

    def _label(self, k: int) -> tuple[float, float, float]:
        """Return where the label of a point stands, its base line, and how wide it is."""
        point = self._points[k]
        return self._x(point.migrations) + 5, self._y(point.partial_nodes) - 7, text_width(_label_of(point), 11)

    def _labelled(self) -> Iterator[int]:
        """Yield the points whose label touches no other: the first and the last if they can, others in between."""
        final = len(self._points) - 1
        taken: list[tuple[float, float, float]] = []
        for k in dict.fromkeys((0, final, *range(final))):
            x, y, width = self._label(k)
            if all(abs(y - b) > 16 or x > a + wide + 4 or a > x + width + 4 for a, b, wide in taken):
                taken.append((x, y, width))
                yield k


def _label_of(point: PlanFrontierPoint) -> str:
    return f"Φ {point.partial_nodes:,}, {point.migrations:,} moved"


def _ticks(largest: int) -> tuple[int, int]:
    """Return the distance of some five to ten ticks, a whole round number, and the last of them."""
    step = next(
        base * 10**power
        for power in range(len(str(largest)) + 1)
        for base in (1, 2, 5)
        if base * 10**power * 9 >= largest
    )
    return step, max(step, math.ceil(largest / step) * step)
