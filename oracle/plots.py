"""Pictures of plans and frontiers, as SVG written with the standard library alone.

The same values give the same bytes: there is no time stamp, and colours follow the sorted names of the jobs.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET  # written with, never read with
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from oracle.moves import MoveError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from oracle.moves import Move
    from oracle.snapshots.model import Snapshot, SnapshotNode

# Okabe and Ito's colours without black, which is for outlines; their yellow is darkened to stand out from free cells.
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D9C400", "#8A5A2B")
_FREE = "#E9EBEE"
_INK = "#1A1A1A"
_FAINT = "#5A5F66"
_PARTIAL = "#D55E00"
_OVER = "#C00020"
_FONT = "sans-serif"
_HATCH = "sifopt-hatch"

# So many nodes are drawn with large cells in the order of the snapshot; more are sorted by what happens to them.
_FEW_NODES = 64
_LABELLED_NODES = 250
# Of more nodes than these, those that are full or empty and stay so are counted and not drawn.
_ALL_DRAWN = 2000
_CELLS_A_LINE = 16
_PAGE = 1240.0
_NARROWEST_PAGE = 640.0
_MARGIN = 20.0
_LABEL_CHARS = 24
_JOBS_IN_LEGEND = len(_PALETTE)
_DOTS = 60

_Box: TypeAlias = "tuple[float, float, float, float]"
"""Left, top, width, height."""


def plot_plan(snapshot: Snapshot, moves: Sequence[Move], path: Path) -> None:
    """Write a picture of a cluster before and after the moves.

    Up to 64 nodes stand in the order of the snapshot, before on the left, after on the right, a cell a GPU. Of more
    nodes, those that change come first; the others are drawn once, partial, cordoned and over-committed ones apart from
    full and empty ones; beyond 2,000 nodes, the latter are only counted. Names that do not fit are in the tooltips. A
    snapshot says nothing of which GPU of a node an instance has: those that stay stand first.

    Parameters
    ----------
    snapshot
        The cluster before the moves.
    moves
        In any order. Of an instance that is parked on the way, the last destination counts.
    path
        The file to write; one that is there is replaced.

    Raises
    ------
    MoveError
        A move of an instance, or to a node, that the snapshot does not have.
    """
    rows = _rows(snapshot, moves)
    title = _plan_title(rows)
    sections = _sections(rows)
    text = _plan_description(rows)
    width = max([_NARROWEST_PAGE, len(text) * 6.6, *(section.width for section in sections)]) + 2 * _MARGIN
    drawing = _Drawing(width, title, text)
    names = sorted(job.name for job in snapshot.jobs)
    colours = {name: _PALETTE[i % len(_PALETTE)] for i, name in enumerate(names)}
    drawing.hatching()
    drawing.text(_MARGIN, 34, title, size=18, weight="bold")
    drawing.text(_MARGIN, 54, text, size=12, fill=_FAINT)
    y = _legend(drawing, colours, rows, 74)
    for section in sections:
        y = section.draw(drawing, y, colours)
    drawing.write(path, y + _MARGIN)


def plot_frontier(points: Sequence[tuple[int, int]], path: Path) -> None:
    """Write a picture of how few partial nodes can be reached with how many migrations.

    Parameters
    ----------
    points
        Pairs of partial nodes and the fewest migrations that reach them, in any order.
    path
        The file to write; one that is there is replaced.

    Raises
    ------
    ValueError
        There are no points.
    """
    if not points:
        raise ValueError("a frontier has at least one point")
    # With more migrations than one point needs and fewer than the next one does, its partial nodes are what is reached.
    ordered = sorted(points, key=lambda point: (point[1], -point[0]))
    first, last = ordered[0], ordered[-1]
    title = f"Φ {first[0]} → {last[0]} with {_count(last[1], 'migration')}"
    text = "The fewest partial nodes that can be reached, against the number of migrations."
    drawing = _Drawing(800, title, text)
    drawing.text(_MARGIN, 34, title, size=18, weight="bold")
    drawing.text(_MARGIN, 54, text, size=12, fill=_FAINT)
    _Chart(ordered).draw(drawing)
    drawing.write(path, 510)


# --- what is drawn ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Placed:
    """An instance on a node, before or after."""

    job: str
    instance: int
    gpus: int
    other_node: str | None  # where it goes to or comes from, if it moves


@dataclass(frozen=True, slots=True)
class _Row:
    """A node and what it holds before and after; what stays comes first in both, in one order."""

    node: SnapshotNode
    before: tuple[_Placed, ...]
    after: tuple[_Placed, ...]

    @property
    def used(self) -> tuple[int, int]:
        """GPUs in use before and after."""
        return sum(item.gpus for item in self.before), sum(item.gpus for item in self.after)

    @property
    def partial(self) -> tuple[bool, bool]:
        before, after = self.used
        return 0 < before < self.node.gpus, 0 < after < self.node.gpus

    @property
    def cells(self) -> int:
        """Cells a side needs: those of the node, and more if it holds more than it offers."""
        return max(self.node.gpus, *self.used)

    @property
    def changes(self) -> bool:
        return any(item.other_node is not None for item in (*self.before, *self.after))

    @property
    def is_remarkable(self) -> bool:
        return self.partial[0] or self.overcommitted or not self.node.schedulable

    @property
    def overcommitted(self) -> bool:
        return self.cells > self.node.gpus


def _rows(snapshot: Snapshot, moves: Sequence[Move]) -> list[_Row]:
    nodes = {node.name for node in snapshot.nodes}
    where = {(job.name, i): item.node for job in snapshot.jobs for i, item in enumerate(job.instances)}
    for move in sorted(moves, key=attrgetter("step")):
        key = move.job, move.instance
        if key not in where:
            raise MoveError(f"there is no instance {move.instance} of job {move.job!r} that could be drawn moving")
        if move.destination not in nodes:
            raise MoveError(f"instance {move.instance} of job {move.job!r} moves to {move.destination!r}: no such node")
        where[key] = move.destination
    stay: defaultdict[str, list[_Placed]] = defaultdict(list)
    leave: defaultdict[str, list[_Placed]] = defaultdict(list)
    arrive: defaultdict[str, list[_Placed]] = defaultdict(list)
    for job in snapshot.jobs:
        for i, item in enumerate(job.instances):
            destination = where[job.name, i]
            if destination == item.node:
                stay[item.node].append(_Placed(job.name, i, item.gpus, None))
            else:
                leave[item.node].append(_Placed(job.name, i, item.gpus, destination))
                arrive[destination].append(_Placed(job.name, i, item.gpus, item.node))
    return [
        _Row(node, (*stay[node.name], *leave[node.name]), (*stay[node.name], *arrive[node.name]))
        for node in snapshot.nodes
    ]


def _plan_title(rows: Sequence[_Row]) -> str:
    before, after = (sum(row.partial[side] for row in rows) for side in (0, 1))
    moved = [item for row in rows for item in row.before if item.other_node is not None]
    if not moved:
        return f"Φ {before} → {after}: nothing moves"
    jobs = len({item.job for item in moved})
    return f"Φ {before} → {after}: {_count(len(moved), 'migration')} of {_count(jobs, 'job')}"


def _plan_description(rows: Sequence[_Row]) -> str:
    gpus = sum(row.node.gpus for row in rows)
    empty = [sum(row.node.gpus > 0 and row.used[side] == 0 for row in rows) for side in (0, 1)]
    changing = sum(row.changes for row in rows)
    nodes = f"{_count(len(rows), 'node')} with {_count(gpus, 'GPU')}"
    change = f"{_count(changing, 'node')} {'changes' if changing == 1 else 'change'}"
    text = f"{nodes}; {change}; empty nodes {empty[0]:,} → {empty[1]:,}; Φ counts partial nodes"
    left_out = 0 if len(rows) <= _ALL_DRAWN else sum(not (row.changes or row.is_remarkable) for row in rows)
    return f"{text}; not drawn: {left_out:,} that stay full or empty" if left_out else text


# --- layout ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """Sizes in pixels: a cell with its gap, the space below a line of cells, the font of labels (0: none)."""

    cell: float
    gap: float
    below: float
    font: float
    rows_a_column: int


_LARGE = _Scale(cell=15, gap=2.5, below=6, font=11, rows_a_column=32)
_MEDIUM = _Scale(cell=9, gap=1.5, below=4, font=8, rows_a_column=16)
_SMALL = _Scale(cell=6, gap=1.2, below=2.5, font=0, rows_a_column=16)


def _sections(rows: Sequence[_Row]) -> list[_Section]:
    if len(rows) <= _FEW_NODES:
        return [_Section("", rows, _LARGE, sides=2)] if rows else []
    changing = [row for row in rows if row.changes]
    others = [row for row in rows if not row.changes]
    groups = [
        ("that change", changing, 2),
        ("that stay as they are: partial, cordoned or over-committed", [row for row in others if row.is_remarkable], 1),
    ]
    if len(rows) <= _ALL_DRAWN:
        plain = [row for row in others if not row.is_remarkable]
        groups.append(("that stay as they are: full or empty", plain, 1))
    return [
        _Section(f"{_count(len(group), 'node')} {what}", group, _scale(len(group), sides), sides)
        for what, group, sides in groups
        if group
    ]


def _scale(nodes: int, sides: int) -> _Scale:
    if sides == 1:
        return _MEDIUM if nodes <= _LABELLED_NODES else _SMALL
    return _LARGE if nodes <= _FEW_NODES // 2 else _MEDIUM if nodes <= _LABELLED_NODES else _SMALL


@dataclass(frozen=True)
class _Section:
    """Nodes drawn at one scale, in columns; with two sides before and after, with one side once."""

    heading: str
    rows: Sequence[_Row]
    scale: _Scale
    sides: int

    @cached_property
    def cells_a_line(self) -> int:
        return max(1, min(_CELLS_A_LINE, max(row.cells for row in self.rows)))

    @cached_property
    def side_width(self) -> float:
        return self.cells_a_line * self.scale.cell

    @cached_property
    def label_width(self) -> float:
        longest = max(len(_shortened(row.node.name)) for row in self.rows)
        return longest * self.scale.font * 0.62 + 6 if self.scale.font else 0.0

    @cached_property
    def side_gap(self) -> float:
        return self.scale.cell * 1.6

    @cached_property
    def column_width(self) -> float:
        """Width of a column with the space that parts it from the next."""
        between = (self.sides - 1) * self.side_gap
        return self.label_width + self.scale.cell + self.sides * self.side_width + between + 2 * self.scale.cell

    def row_height(self, row: _Row) -> float:
        return max(1, math.ceil(row.cells / self.cells_a_line)) * self.scale.cell + self.scale.below

    @cached_property
    def columns(self) -> int:
        room = max(1, int(_PAGE / self.column_width))
        total = sum(map(self.row_height, self.rows))
        wanted = math.ceil(total / (self.scale.rows_a_column * (self.scale.cell + self.scale.below)))
        return max(1, min(room, wanted))

    @cached_property
    def width(self) -> float:
        return self.columns * self.column_width

    def draw(self, drawing: _Drawing, y: float, colours: Mapping[str, str]) -> float:
        """Draw the nodes from this height on and return the height below them."""
        if self.heading:
            drawing.text(_MARGIN, y + 18, self.heading, size=13, weight="bold")
            y += 26
        top = y + 16 if self.sides == 2 else y + 2
        column_height = sum(map(self.row_height, self.rows)) / self.columns
        x, y, bottom = _MARGIN, top, top
        self._column_heads(drawing, x, top)
        for row in self.rows:
            if y - top >= column_height - 1e-6:
                x, y = x + self.column_width, top
                self._column_heads(drawing, x, top)
            self._draw_row(drawing, row, x, y, colours)
            y += self.row_height(row)
            bottom = max(bottom, y)
        return bottom + 8

    def _column_heads(self, drawing: _Drawing, x: float, top: float) -> None:
        if self.sides == 2:
            left = x + self.label_width + self.scale.cell
            size = max(9.0, self.scale.font)
            drawing.text(left, top - 5, "before", size=size, fill=_FAINT)
            drawing.text(left + self.side_width + self.side_gap, top - 5, "after", size=size, fill=_FAINT)

    def _draw_row(self, drawing: _Drawing, row: _Row, x: float, y: float, colours: Mapping[str, str]) -> None:
        group = drawing.group("node")
        drawing.tooltip(group, _about_node(row))
        if self.scale.font:
            label = _shortened(row.node.name)
            middle = y + self.scale.cell / 2 + self.scale.font * 0.28
            drawing.text(x, middle, label, size=self.scale.font, parent=group)
        x += self.label_width + self.scale.cell
        for side in range(self.sides):
            cells = _Cells(drawing, self.scale, self.cells_a_line, x, y)
            name = "both" if self.sides == 1 else ("before", "after")[side]
            cells.draw(group, name, row, side, colours)
            x += self.side_width + self.side_gap


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of one node on one side, with its top left corner."""

    drawing: _Drawing
    scale: _Scale
    cells_a_line: int
    x: float
    y: float

    def draw(self, parent: ET.Element, name: str, row: _Row, side: int, colours: Mapping[str, str]) -> None:
        group = self.drawing.group(name, parent=parent)
        gpus, used = row.node.gpus, row.used[side]
        if row.partial[side]:
            self._bar(group)
        start = 0
        for item in row.after if side else row.before:
            self._instance(group, item, start, colours[item.job], leaving=not side)
            start += item.gpus
        if used < gpus:
            free = self.drawing.group(parent=group, fill=_FREE)
            for k in range(used, gpus):
                self._cell(free, k, last=True)
        if not row.node.schedulable and gpus:
            self._frame(group, 0, max(gpus, used), outset=1, stroke=_INK, dash=True, name="cordoned")
        if used > gpus:
            self._frame(group, gpus, used, outset=0.5, stroke=_OVER, dash=False, name="overcommitted")

    def _instance(self, parent: ET.Element, item: _Placed, start: int, colour: str, *, leaving: bool) -> None:
        moved = item.other_node is not None
        group = self.drawing.group("instance moved" if moved else "instance", parent=parent, fill=colour)
        self.drawing.tooltip(group, _about_instance(item, leaving=leaving))
        for k in range(start, start + item.gpus):
            self._cell(group, k, last=k == start + item.gpus - 1)
        if not moved:
            return
        fill = f"url(#{_HATCH})" if leaving else "none"
        self._frame(group, start, start + item.gpus, outset=0, stroke=_INK, dash=False, name="mark", fill=fill)

    def _cell(self, parent: ET.Element, k: int, *, last: bool) -> None:
        """Draw a cell. Those of an instance are closer to one another than to the next instance."""
        line, place = divmod(k, self.cells_a_line)
        gap = self.scale.gap if last else self.scale.gap / 5
        size = self.scale.cell
        x, y = self.x + place * size, self.y + line * size
        self.drawing.rect(parent, (x, y, size - gap, size - self.scale.gap), {"class": "cell"})

    def _bar(self, parent: ET.Element) -> None:
        width = max(2.0, self.scale.cell / 5)
        x, height = self.x - width - self.scale.cell / 6, self.scale.cell - self.scale.gap
        self.drawing.rect(parent, (x, self.y, width, height), {"class": "partial", "fill": _PARTIAL})

    def _frame(
        self,
        parent: ET.Element,
        start: int,
        end: int,
        *,
        outset: float,
        stroke: str,
        dash: bool,
        name: str,
        fill: str = "none",
    ) -> None:
        """Draw a frame round these cells, one a line."""
        size, gap, stroke_width = self.scale.cell, self.scale.gap, max(1.0, self.scale.cell / 9)
        for line in range(start // self.cells_a_line, (end - 1) // self.cells_a_line + 1):
            first = max(start - line * self.cells_a_line, 0)
            last = min(end - line * self.cells_a_line, self.cells_a_line)
            inset = stroke_width / 2 - outset * (stroke_width + 0.5)
            box = (
                self.x + first * size + inset,
                self.y + line * size + inset,
                (last - first) * size - gap - 2 * inset,
                size - gap - 2 * inset,
            )
            extra = {"stroke-dasharray": "2 1.5"} if dash else {}
            extra |= {"class": name, "fill": fill, "stroke": stroke, "stroke-width": _number(stroke_width)}
            self.drawing.rect(parent, box, extra)


def _legend(drawing: _Drawing, colours: Mapping[str, str], rows: Sequence[_Row], y: float) -> float:
    """Explain the marks that occur, and the colours if they are few; return the height below."""
    left, size = _MARGIN, 12.0
    entries: list[tuple[str, dict[str, str], str]] = [("free GPU", {"fill": _FREE}, "")]
    if any(row.changes for row in rows):
        entries.append(("leaves", {"fill": "#8A9099", "stroke": _INK}, f"url(#{_HATCH})"))
        entries.append(("has arrived", {"fill": "#8A9099", "stroke": _INK}, ""))
    if any(any(row.partial) for row in rows):
        entries.append(("partial node", {"fill": _PARTIAL, "width": "3"}, ""))
    if any(not row.node.schedulable for row in rows):
        entries.append(("cordoned", {"fill": "none", "stroke": _INK, "stroke-dasharray": "2 1.5"}, ""))
    if any(row.overcommitted for row in rows):
        entries.append(("more than the node offers", {"fill": "none", "stroke": _OVER}, ""))
    if len(colours) <= _JOBS_IN_LEGEND:
        entries += [(_shortened(name), {"fill": colour}, "") for name, colour in colours.items()]
    else:
        entries.append((f"colours: {len(colours)} jobs, colours repeat", {}, ""))
    x = left
    for label, look, over in entries:
        width = (size + 6 if look else 0) + len(label) * 7 + 18
        if x > left and x + width > drawing.width - _MARGIN:
            x, y = left, y + 20
        if look:
            drawing.rect(drawing.root, (x, y, float(look.pop("width", "12")), size), look)
            if over:
                drawing.rect(drawing.root, (x, y, size, size), {"fill": over})
        drawing.text(x + (size + 6 if look else 0), y + 10, label, size=11)
        x += width
    return y + 24


def _about_node(row: _Row) -> str:
    before, after = row.used
    used = f"{before}" if before == after else f"{before} → {after}"
    marks = (", cordoned" if not row.node.schedulable else "") + (", over-committed" if row.overcommitted else "")
    return f"{row.node.name} (pool {row.node.pool}): {used} of {_count(row.node.gpus, 'GPU')} in use{marks}"


def _about_instance(item: _Placed, *, leaving: bool) -> str:
    way = "" if item.other_node is None else f", {'to' if leaving else 'from'} {item.other_node}"
    return f"{item.job} [{item.instance}], {_count(item.gpus, 'GPU')}{way}"


# --- the frontier ----------------------------------------------------------------------------------------------------


class _Chart:
    """A step line: migrations to the right, partial nodes upwards."""

    left, right, top, bottom = 70.0, 640.0, 120.0, 450.0

    def __init__(self, points: Sequence[tuple[int, int]]) -> None:
        self.points = points
        self.x_step, self.x_end = _ticks(max(migrations for _, migrations in points))
        self.y_step, self.y_end = _ticks(max(partial for partial, _ in points))

    def x(self, migrations: int) -> float:
        return self.left + (self.right - self.left) * migrations / self.x_end

    def y(self, partial: int) -> float:
        return self.bottom - (self.bottom - self.top) * partial / self.y_end

    def draw(self, drawing: _Drawing) -> None:
        for value in range(0, self.y_end + 1, self.y_step):
            y = self.y(value)
            drawing.path(f"M{_number(self.left)} {_number(y)}H{_number(self.right)}", stroke="#DADDE1")
            drawing.text(self.left - 8, y + 4, f"{value:,}", size=11, fill=_FAINT, anchor="end")
        for value in range(0, self.x_end + 1, self.x_step):
            drawing.text(self.x(value), self.bottom + 18, f"{value:,}", size=11, fill=_FAINT, anchor="middle")
        drawing.text(_MARGIN, self.top - 28, "partial nodes (Φ)", size=12)
        drawing.text(self.right, self.bottom + 38, "migrations", size=12, anchor="end")
        drawing.path(self._steps(), stroke=_PALETTE[0], width="2")
        labelled = set(self._labelled())
        for k, (partial, migrations) in enumerate(self.points):
            if k not in labelled and len(self.points) > _DOTS:
                continue
            group = drawing.group("point")
            drawing.tooltip(group, f"{_count(partial, 'partial node')}, {_count(migrations, 'migration')}")
            drawing.circle(group, self.x(migrations), self.y(partial), 3.5, _PALETTE[0])
            if k in labelled:
                self._label(drawing, group, partial, migrations)

    def _label(self, drawing: _Drawing, group: ET.Element, partial: int, migrations: int) -> None:
        x, y = self.x(migrations), self.y(partial)
        label = f"Φ {partial:,}, {migrations:,} moved"
        drawing.text(x + 5, y - 7, label, size=11, parent=group)

    def _steps(self) -> str:
        start = self.points[0]
        way = [f"M{_number(self.x(start[1]))} {_number(self.y(start[0]))}"]
        for partial, migrations in self.points[1:]:
            way.append(f"H{_number(self.x(migrations))}V{_number(self.y(partial))}")
        return "".join(way)

    def _labelled(self) -> Iterator[int]:
        """Yield the points whose label touches no other: the first and the last always, others as there is room."""
        final = len(self.points) - 1
        boxes: list[tuple[float, float]] = []
        for k in dict.fromkeys((0, final, *range(final))):
            partial, migrations = self.points[k]
            x, y = self.x(migrations), self.y(partial)
            if k in {0, final} or all(abs(x - a) > 110 or abs(y - b) > 16 for a, b in boxes):
                boxes.append((x, y))
                yield k


def _ticks(largest: int) -> tuple[int, int]:
    """Return the distance of some five to ten ticks, a whole round number, and the last of them."""
    step = next(
        base * 10**power
        for power in range(len(str(largest)) + 1)
        for base in (1, 2, 5)
        if base * 10**power * 9 >= largest
    )
    return step, max(step, math.ceil(largest / step) * step)


# --- SVG -------------------------------------------------------------------------------------------------------------


class _Drawing:
    """An SVG under construction: shapes in absolute places."""

    def __init__(self, width: float, title: str, description: str) -> None:
        self.width = width
        attributes = {"xmlns": "http://www.w3.org/2000/svg", "font-family": _FONT, "fill": _INK, "role": "img"}
        self.root = ET.Element("svg", attributes)
        self.tooltip(self.root, title)
        ET.SubElement(self.root, "desc").text = _legal(description)
        ET.SubElement(self.root, "rect", {"width": "100%", "height": "100%", "fill": "#FFFFFF"})

    def hatching(self) -> None:
        size = {"width": "4", "height": "4", "patternUnits": "userSpaceOnUse"}
        pattern = ET.SubElement(ET.SubElement(self.root, "defs"), "pattern", {"id": _HATCH, **size})
        way = {"d": "M-1 1L1 -1M0 4L4 0M3 5L5 3", "stroke": "#FFFFFF", "stroke-width": "1.4"}
        ET.SubElement(pattern, "path", way)

    def group(self, kind: str = "", *, parent: ET.Element | None = None, fill: str = "") -> ET.Element:
        attributes = {name: value for name, value in (("class", kind), ("fill", fill)) if value}
        return ET.SubElement(self.root if parent is None else parent, "g", attributes)

    @staticmethod
    def tooltip(parent: ET.Element, text: str) -> None:
        ET.SubElement(parent, "title").text = _legal(text)

    @staticmethod
    def rect(parent: ET.Element, box: _Box, attributes: dict[str, str]) -> None:
        place = {name: _number(value) for name, value in zip(("x", "y", "width", "height"), box, strict=True)}
        ET.SubElement(parent, "rect", place | attributes)

    @staticmethod
    def circle(parent: ET.Element, x: float, y: float, radius: float, fill: str) -> None:
        place = {"cx": _number(x), "cy": _number(y), "r": _number(radius)}
        ET.SubElement(parent, "circle", {**place, "fill": fill})

    def path(self, way: str, *, stroke: str, width: str = "1") -> None:
        ET.SubElement(self.root, "path", {"d": way, "fill": "none", "stroke": stroke, "stroke-width": width})

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        fill: str = _INK,
        weight: str = "normal",
        anchor: str = "start",
        parent: ET.Element | None = None,
    ) -> None:
        attributes = {"x": _number(x), "y": _number(y), "font-size": _number(size), "fill": fill}
        attributes |= {"font-weight": weight} if weight != "normal" else {}
        attributes |= {"text-anchor": anchor} if anchor != "start" else {}
        ET.SubElement(self.root if parent is None else parent, "text", attributes).text = _legal(text)

    def write(self, path: Path, height: float) -> None:
        width, tall = _number(self.width), _number(height)
        for name, value in (("width", width), ("height", tall), ("viewBox", f"0 0 {width} {tall}")):
            self.root.set(name, value)
        path.write_bytes(ET.tostring(self.root, encoding="utf-8", xml_declaration=True) + b"\n")


def _number(value: float) -> str:
    """Return a number with at most two decimals, the same on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _legal(text: str) -> str:
    """Return the text with what XML cannot hold, even escaped, replaced."""
    return "".join(char if _is_legal(ord(char)) else "\N{REPLACEMENT CHARACTER}" for char in text)


def _is_legal(code: int) -> bool:
    return (code >= 0x20 and not 0xD800 <= code <= 0xDFFF and code not in {0xFFFE, 0xFFFF}) or code in {0x9, 0xA, 0xD}


def _shortened(name: str) -> str:
    """Return the end of a long name: the beginning is what names have in common."""
    return name if len(name) <= _LABEL_CHARS else "…" + name[1 - _LABEL_CHARS :]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
