"""Nodes in columns, at a scale that fits their number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from oracle.plots.cells import LARGE, MEDIUM, SMALL, Cells, Scale
from oracle.plots.drawing import FAINT, MARGIN, count, shortened
from oracle.plots.rows import ALL_DRAWN, about_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.plots.drawing import Drawing
    from oracle.plots.rows import Row

# So many nodes are drawn with large cells in the order of the snapshot; more are sorted by what happens to them.
_FEW_NODES = 64
_LABELLED_NODES = 250
CELLS_A_LINE = 16
_PAGE = 1240.0


def sections_of(rows: Sequence[Row]) -> list[Section]:
    """Return the nodes in sections: one of few nodes, of many those that change first."""
    if len(rows) <= _FEW_NODES:
        return [Section("", rows, LARGE, sides=2)] if rows else []
    changing = [row for row in rows if row.changes]
    others = [row for row in rows if not row.changes]
    groups = [
        ("that change", changing, 2),
        ("that stay as they are: partial, cordoned or over-committed", [row for row in others if row.is_remarkable], 1),
    ]
    if len(rows) <= ALL_DRAWN:
        plain = [row for row in others if not row.is_remarkable]
        groups.append(("that stay as they are: full or empty", plain, 1))
    return [
        Section(f"{count(len(group), 'node')} {what}", group, _scale(len(group), sides), sides)
        for what, group, sides in groups
        if group
    ]


def _scale(nodes: int, sides: int) -> Scale:
    if sides == 1:
        return MEDIUM if nodes <= _LABELLED_NODES else SMALL
    return LARGE if nodes <= _FEW_NODES // 2 else MEDIUM if nodes <= _LABELLED_NODES else SMALL


@dataclass(frozen=True)
class Section:
    """Nodes drawn at one scale, in columns; with two sides before and after, with one side once."""

    heading: str
    rows: Sequence[Row]
    scale: Scale
    sides: int

    @cached_property
    def cells_a_line(self) -> int:
        """Cells of a node beside one another."""
        return max(1, min(CELLS_A_LINE, max(row.cells for row in self.rows)))

    @cached_property
    def side_width(self) -> float:
        """Width of the cells of one side."""
        return self.cells_a_line * self.scale.cell

    @cached_property
    def label_width(self) -> float:
        """Width of the names; 0 if they are not written."""
        longest = max(len(shortened(row.node.name)) for row in self.rows)
        return longest * self.scale.font * 0.62 + 6 if self.scale.font else 0.0

    @cached_property
    def side_gap(self) -> float:
        """Space between before and after."""
        return self.scale.cell * 1.6

    @cached_property
    def column_width(self) -> float:
        """Width of a column with the space that parts it from the next."""
        between = (self.sides - 1) * self.side_gap
        return self.label_width + self.scale.cell + self.sides * self.side_width + between + 2 * self.scale.cell

    def row_height(self, row: Row) -> float:
        """Return the height of a node with the space below it."""
        return max(1, math.ceil(row.cells / self.cells_a_line)) * self.scale.cell + self.scale.below

    @cached_property
    def columns(self) -> int:
        """Number of columns."""
        room = max(1, int(_PAGE / self.column_width))
        total = sum(map(self.row_height, self.rows))
        wanted = math.ceil(total / (self.scale.rows_a_column * (self.scale.cell + self.scale.below)))
        return max(1, min(room, wanted))

    @cached_property
    def width(self) -> float:
        """Width of all columns."""
        return self.columns * self.column_width

    def draw(self, drawing: Drawing, y: float, colours: Mapping[str, str]) -> float:
        """Draw the nodes from this height on and return the height below them."""
        if self.heading:
            drawing.text(MARGIN, y + 18, self.heading, size=13, weight="bold")
            y += 26
        top = y + 16 if self.sides == 2 else y + 2
        column_height = sum(map(self.row_height, self.rows)) / self.columns
        x, y, bottom = MARGIN, top, top
        self._column_heads(drawing, x, top)
        for row in self.rows:
            if y - top >= column_height - 1e-6:
                x, y = x + self.column_width, top
                self._column_heads(drawing, x, top)
            self._draw_row(drawing, row, x, y, colours)
            y += self.row_height(row)
            bottom = max(bottom, y)
        return bottom + 8

    def _column_heads(self, drawing: Drawing, x: float, top: float) -> None:
        if self.sides == 2:
            left = x + self.label_width + self.scale.cell
            size = max(9.0, self.scale.font)
            drawing.text(left, top - 5, "before", size=size, fill=FAINT)
            drawing.text(left + self.side_width + self.side_gap, top - 5, "after", size=size, fill=FAINT)

    def _draw_row(self, drawing: Drawing, row: Row, x: float, y: float, colours: Mapping[str, str]) -> None:
        group = drawing.group("node")
        drawing.tooltip(group, about_node(row))
        if self.scale.font:
            label = shortened(row.node.name)
            middle = y + self.scale.cell / 2 + self.scale.font * 0.28
            drawing.text(x, middle, label, size=self.scale.font, parent=group)
        x += self.label_width + self.scale.cell
        for side in range(self.sides):
            cells = Cells(drawing, self.scale, self.cells_a_line, x, y)
            name = "both" if self.sides == 1 else ("before", "after")[side]
            cells.draw(group, name, row, side, colours)
            x += self.side_width + self.side_gap
