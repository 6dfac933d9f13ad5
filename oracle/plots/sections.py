"""Nodes in columns, at a scale that fits their number; of many, pool by pool."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from oracle.plots.cells import LARGE, MEDIUM, SMALL, Cells, Scale
from oracle.plots.drawing import FAINT, MARGIN, count, shortened, text_width
from oracle.plots.rows import ALL_DRAWN, about_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.plots.drawing import Drawing
    from oracle.plots.rows import Row

# So many nodes are drawn with large cells in the order of the snapshot; more are sorted by what happens to them.
_FEW_NODES = 64
_LABELLED_NODES = 250
_CELLS_A_LINE = 16
_PAGE = 1240.0
_HEADING, _SUBHEADING = 13.0, 11.0
_POOL_EMS = 30.0  # a heading has more room than a name beside cells


def sections_of(rows: Sequence[Row]) -> list[Section]:
    """Return the nodes in sections: one of few nodes, of many those that change first."""
    if len(rows) <= _FEW_NODES:
        return [Section("", [Block("", rows, LARGE, sides=2)])] if rows else []
    changing = [row for row in rows if row.changes]
    others = [row for row in rows if not row.changes]
    groups = [
        ("that change", changing, 2),
        ("that stay as they are: partial, cordoned or over-committed", [row for row in others if row.is_remarkable], 1),
    ]
    if len(rows) <= ALL_DRAWN:
        plain = [row for row in others if not row.is_remarkable]
        groups.append(("that stay as they are: full or empty", plain, 1))
    pools = list(dict.fromkeys(row.node.pool for row in rows))
    return [
        Section(f"{count(len(group), 'node')} {what}", _blocks(group, sides, pools))
        for what, group, sides in groups
        if group
    ]


def _blocks(rows: Sequence[Row], sides: int, pools: Sequence[str]) -> list[Block]:
    """Return the nodes of each pool, under its name where there are several."""
    scale = _scale(len(rows), sides)
    if len(pools) == 1:
        return [Block("", rows, scale, sides)]
    of: dict[str, list[Row]] = {pool: [] for pool in pools}
    for row in rows:
        of[row.node.pool].append(row)
    return [Block(pool, its, scale, sides) for pool, its in of.items() if its]


def _scale(nodes: int, sides: int) -> Scale:
    if sides == 1:
        return MEDIUM if nodes <= _LABELLED_NODES else SMALL
    return LARGE if nodes <= _FEW_NODES // 2 else MEDIUM if nodes <= _LABELLED_NODES else SMALL


@dataclass(frozen=True)
class Section:
    """Nodes to which the same happens, in blocks beside one another as far as the page is wide."""

    heading: str
    blocks: Sequence[Block]

    @cached_property
    def _lines(self) -> list[list[Block]]:
        """The blocks, line by line."""
        lines: list[list[Block]] = []
        left = 0.0
        for block in self.blocks:
            if not lines or left + block.width > _PAGE:
                lines.append([])
                left = 0.0
            lines[-1].append(block)
            left += block.width
        return lines

    @cached_property
    def width(self) -> float:
        """Width of the widest line, or of the heading."""
        widest = max(sum(block.width for block in line) for line in self._lines)
        return max(widest, text_width(self.heading, _HEADING, bold=True))

    def draw(self, drawing: Drawing, y: float, colours: Mapping[str, str]) -> float:
        """Draw the nodes from this height on and return the height below them."""
        if self.heading:
            drawing.text(MARGIN, y + 18, self.heading, size=_HEADING, weight="bold")
            y += 26
        for line in self._lines:
            x, bottom = MARGIN, y
            for block in line:
                bottom = max(bottom, block.draw(drawing, x, y, colours))
                x += block.width
            y = bottom + 8
        return y


@dataclass(frozen=True)
class Block:
    """Nodes drawn at one scale, in columns; with two sides before and after, with one side once.

    The pool stands above them, if it is named.
    """

    pool: str
    rows: Sequence[Row]
    scale: Scale
    sides: int

    @property
    def _heading(self) -> str:
        """The pool and how many nodes of it these are."""
        return f"{shortened(self.pool, _POOL_EMS)}: {count(len(self.rows), 'node')}" if self.pool else ""

    @cached_property
    def _cells_a_line(self) -> int:
        """Cells of a node beside one another."""
        return max(1, min(_CELLS_A_LINE, max(row.cells for row in self.rows)))

    @cached_property
    def _side_width(self) -> float:
        """Width of the cells of one side."""
        return self._cells_a_line * self.scale.cell

    @cached_property
    def _label_width(self) -> float:
        """Width of the names; 0 if they are not written."""
        if not self.scale.font:
            return 0.0
        return max(text_width(shortened(row.node.name), self.scale.font) for row in self.rows) + 6

    @cached_property
    def _side_gap(self) -> float:
        """Space between before and after, which have a word above each."""
        return max(self.scale.cell * 1.6, text_width("before", self._heads_font) + 6 - self._side_width)

    @property
    def _heads_font(self) -> float:
        """Size of the words above the sides."""
        return max(9.0, self.scale.font)

    @cached_property
    def _column_width(self) -> float:
        """Width of a column with the space that parts it from the next."""
        between = (self.sides - 1) * self._side_gap
        last = self._side_width if self.sides == 1 else max(self._side_width, text_width("after", self._heads_font))
        cells = (self.sides - 1) * self._side_width + between + last
        return self._label_width + self.scale.cell + cells + 2 * self.scale.cell

    def _row_height(self, row: Row) -> float:
        """Return the height of a node with the space below it."""
        return max(1, math.ceil(row.cells / self._cells_a_line)) * self.scale.cell + self.scale.below

    @cached_property
    def _columns(self) -> int:
        """Number of columns."""
        room = max(1, int(_PAGE / self._column_width))
        total = sum(map(self._row_height, self.rows))
        wanted = math.ceil(total / (self.scale.rows_a_column * (self.scale.cell + self.scale.below)))
        return max(1, min(room, wanted))

    @cached_property
    def width(self) -> float:
        """Width of all columns, or of the heading, with the space that parts them from the next block."""
        heading = text_width(self._heading, _SUBHEADING, bold=True) + 12 if self._heading else 0.0
        return max(self._columns * self._column_width, heading)

    def draw(self, drawing: Drawing, x: float, y: float, colours: Mapping[str, str]) -> float:
        """Draw the nodes from this corner on and return the height below them."""
        if self._heading:
            group = drawing.group("pool")
            drawing.tooltip(group, self.pool)
            drawing.text(x, y + 12, self._heading, size=_SUBHEADING, weight="bold", fill=FAINT, parent=group)
            y += 18
        top = y + 16 if self.sides == 2 else y + 2
        column_height = sum(map(self._row_height, self.rows)) / self._columns
        y = bottom = top
        self._column_heads(drawing, x, top)
        for row in self.rows:
            if y - top >= column_height - 1e-6:
                x, y = x + self._column_width, top
                self._column_heads(drawing, x, top)
            self._draw_row(drawing, row, x, y, colours)
            y += self._row_height(row)
            bottom = max(bottom, y)
        return bottom

    def _column_heads(self, drawing: Drawing, x: float, top: float) -> None:
        if self.sides == 2:
            left = x + self._label_width + self.scale.cell
            right = left + self._side_width + self._side_gap
            drawing.text(left, top - 5, "before", size=self._heads_font, fill=FAINT)
            drawing.text(right, top - 5, "after", size=self._heads_font, fill=FAINT)

    def _draw_row(self, drawing: Drawing, row: Row, x: float, y: float, colours: Mapping[str, str]) -> None:
        group = drawing.group("node")
        drawing.tooltip(group, about_node(row))
        if self.scale.font:
            label = shortened(row.node.name)
            middle = y + self.scale.cell / 2 + self.scale.font * 0.28
            drawing.text(x, middle, label, size=self.scale.font, parent=group)
        x += self._label_width + self.scale.cell
        for side in range(self.sides):
            cells = Cells(drawing, self.scale, self._cells_a_line, x, y)
            name = "both" if self.sides == 1 else ("before", "after")[side]
            cells.draw(group, name, row, side, colours)
            x += self._side_width + self._side_gap
