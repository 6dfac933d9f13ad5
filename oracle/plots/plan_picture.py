"""The picture of a plan: a cluster before and after the moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.plots.drawing import (
    FREE,
    HATCH,
    INK,
    MARGIN,
    OVER,
    PALETTE,
    PARTIAL,
    Drawing,
    count,
    mixed,
    shortened,
    text_width,
)
from oracle.plots.rows import description_of, rows_of, title_of
from oracle.plots.sections import sections_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from oracle.moves.move import Move
    from oracle.plots.rows import Row
    from oracle.snapshots.model import Snapshot

_NARROWEST_PAGE = 640.0


def plot_plan(snapshot: Snapshot, moves: Sequence[Move], path: Path, *, pool: str | None = None) -> None:
    """Write a picture of a cluster before and after the moves.

    Up to 64 nodes stand in the order of the snapshot, before on the left, after on the right, a cell a GPU. Of more
    nodes, those that change come first; the others are drawn once, partial, cordoned and over-committed ones apart from
    full and empty ones, pool by pool; beyond 2,000 nodes, full and empty ones are only counted. Names that do not fit
    are in the tooltips. A snapshot says nothing of which GPU of a node an instance has: those that stay stand first.

    Parameters
    ----------
    snapshot
        The cluster before the moves.
    moves
        In any order. Of an instance that is parked on the way, the last destination counts.
    path
        The file to write; one that is there is replaced.
    pool
        Draw the nodes of this pool only.

    Raises
    ------
    MoveError
        A move of an instance, or to a node, that the snapshot does not have.
    OSError
        The file cannot be written.
    """
    rows = rows_of(snapshot, moves, pool)
    title = title_of(rows)
    sections = sections_of(rows)
    text = description_of(rows)
    words = max(text_width(text, 12), text_width(title, 18, bold=True))
    width = max([_NARROWEST_PAGE, words, *(section.width for section in sections)]) + 2 * MARGIN
    drawing = Drawing(width, title, text)
    colours = _colours(snapshot, {move.job for move in moves})
    drawing.hatching()
    drawing.heading(title, text)
    y = _draw_legend(drawing, _named(colours, moves), rows, 74, jobs=len(colours))
    for section in sections:
        y = section.draw(drawing, y, colours)
    drawing.write(path, y + MARGIN)


def _colours(snapshot: Snapshot, moving: Collection[str]) -> dict[str, str]:
    """Return a colour for each job: full ones for jobs that move, which come first, pale ones for the others."""
    names = sorted((job.name for job in snapshot.jobs), key=lambda name: (name not in moving, name))
    pale = {name for name in names if moving and name not in moving}
    colours = (PALETTE[i % len(PALETTE)] for i in range(len(names)))
    return {name: mixed(colour) if name in pale else colour for name, colour in zip(names, colours, strict=True)}


def _named(colours: Mapping[str, str], moves: Sequence[Move]) -> Mapping[str, str]:
    """Return the colours that are named: those of all jobs if they are few, or of those that move; else none."""
    if len(colours) <= len(PALETTE):
        return colours
    moving = {name: colours[name] for name in sorted({move.job for move in moves})}
    return moving if len(moving) <= len(PALETTE) else {}


def _draw_legend(drawing: Drawing, named: Mapping[str, str], rows: Sequence[Row], y: float, *, jobs: int) -> float:
    """Explain the marks that occur, and the colours if they are few; return the height below."""
    size = 12.0
    moving = any(row.changes for row in rows)
    entries: list[tuple[str, dict[str, str], str]] = [("free GPU", {"fill": FREE}, "")]
    if moving:
        entries.append(("leaves", {"fill": "#8A9099", "stroke": INK}, f"url(#{HATCH})"))
        entries.append(("has arrived", {"fill": "#8A9099", "stroke": INK}, ""))
    if any(any(row.partial) for row in rows):
        entries.append(("partial node", {"fill": PARTIAL, "width": "3"}, ""))
    if any(not row.node.schedulable for row in rows):
        entries.append(("cordoned", {"fill": "none", "stroke": INK, "stroke-dasharray": "2 1.5"}, ""))
    if any(row.overcommitted for row in rows):
        entries.append(("more than the node offers", {"fill": "none", "stroke": OVER}, ""))
    entries += [(shortened(name), {"fill": colour}, "") for name, colour in named.items()]
    if len(named) < jobs:
        what = f"{count(jobs - len(named), 'other job' if named else 'job')}; colours repeat"
        entries.append((f"{what}, pale if nothing moves" if moving else what, {}, ""))
    x = MARGIN
    for label, look, over in entries:
        indent = size + 6 if look else 0
        width = indent + text_width(label, 11) + 18
        if x > MARGIN and x + width > drawing.width - MARGIN:
            x, y = MARGIN, y + 20
        if look:
            drawing.rect(drawing.root, (x, y, float(look.pop("width", "12")), size), look)
        if over:
            drawing.rect(drawing.root, (x, y, size, size), {"fill": over})
        drawing.text(x + indent, y + 10, label, size=11)
        x += width
    return y + 24
