"""The cells of one node: a GPU each, with the marks of what moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.plots.drawing import FREE, HATCH, INK, OVER, PARTIAL, number
from oracle.plots.rows import about_instance

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Mapping

    from oracle.plots.drawing import Drawing
    from oracle.plots.rows import Placed, Row


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes in pixels: a cell with its gap, the space below a line of cells, the font of labels (0: none)."""

    cell: float
    gap: float
    below: float
    font: float
    rows_a_column: int


LARGE = Scale(cell=15, gap=2.5, below=6, font=11, rows_a_column=32)
MEDIUM = Scale(cell=9, gap=1.5, below=4, font=8, rows_a_column=16)
SMALL = Scale(cell=6, gap=1.2, below=2.5, font=0, rows_a_column=16)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one node on one side, with its top left corner."""

    drawing: Drawing
    scale: Scale
    cells_a_line: int
    x: float
    y: float

    def draw(self, parent: ET.Element, name: str, row: Row, side: int, colours: Mapping[str, str]) -> None:
        """Draw the cells of a side, 0 before and 1 after, with their marks, as a group of this class."""
        group = self.drawing.group(name, parent=parent)
        gpus, used = row.node.gpus, row.used[side]
        if row.partial[side]:
            self._bar(group)
        start = 0
        for item in row.after if side else row.before:
            self._instance(group, item, start, colours[item.job], leaving=not side)
            start += item.gpus
        if used < gpus:
            free = self.drawing.group(parent=group, fill=FREE)
            for k in range(used, gpus):
                self._cell(free, k, last=True)
        if not row.node.schedulable and gpus:
            self._frame(group, "cordoned", 0, max(gpus, used), INK, outset=1, dash="2 1.5")
        if used > gpus:
            self._frame(group, "overcommitted", gpus, used, OVER, outset=0.5)

    def _instance(self, parent: ET.Element, item: Placed, start: int, colour: str, *, leaving: bool) -> None:
        moved = item.other_node is not None
        group = self.drawing.group("instance moved" if moved else "instance", parent=parent, fill=colour)
        self.drawing.tooltip(group, about_instance(item, leaving=leaving))
        for k in range(start, start + item.gpus):
            self._cell(group, k, last=k == start + item.gpus - 1)
        if moved:
            self._frame(group, "mark", start, start + item.gpus, INK, fill=f"url(#{HATCH})" if leaving else "none")

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
        self.drawing.rect(parent, (x, self.y, width, height), {"class": "partial", "fill": PARTIAL})

    def _frame(
        self,
        parent: ET.Element,
        name: str,
        start: int,
        end: int,
        stroke: str,
        *,
        outset: float = 0,
        dash: str = "",
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
            look = {"stroke-dasharray": dash} if dash else {}
            look |= {"class": name, "fill": fill, "stroke": stroke, "stroke-width": number(stroke_width)}
            self.drawing.rect(parent, box, look)
