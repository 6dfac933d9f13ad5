"""Drawings of nodes and slots for the pages on theory, in the style of the pictures of plans.

A node is written GPU by GPU: `[3--1]2-1.` is a slot of width 4 with an anchor of 3 GPUs and a filler, then an instance
of 2 GPUs, a 1-GPU instance outside any slot, and a free GPU. `[` and `]` are the borders of a slot, `*` behind a number
marks an instance that has moved or just arrived.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from docs.making.counterexamples import counterexample_scenes
from docs.making.scenes import SCENES
from oracle.plots.drawing import FAINT, FREE, INK, MARGIN, PALETTE, PARTIAL, Drawing

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from docs.making.scenes import Scene, Step

_CELL = 22.0
_GAP = 3.0
_BETWEEN = 30.0
_STEP = 66.0
_TOP = 34.0
_TOKEN = re.compile(r"(?P<slot>[\[\]])|(?P<gpus>\d)(?P<moved>\*?)-*|(?P<free>\.)")
_COLOURS = {1: PALETTE[4], 2: PALETTE[2], 3: PALETTE[1], 4: PALETTE[0], 5: PALETTE[3], 6: PALETTE[5], 7: PALETTE[6]}


@dataclass(frozen=True, slots=True)
class Piece:
    """What a stretch of a node's cells is: an instance, free GPUs (`gpus` 0), or the frame of a slot."""

    start: int
    end: int
    gpus: int = 0
    moved: bool = False
    slot: bool = False


def pieces(node: str) -> Iterator[Piece]:
    """Yield what a node holds, in order; a slot comes after what is in it.

    Raises
    ------
    ValueError
        The text is no node of this notation, or an instance is not drawn as wide as its number.
    """
    at, opened, position = 0, -1, 0
    while position < len(node):
        token = _TOKEN.match(node, position)
        if token is None:
            raise ValueError(f"{node!r} is no node: {node[position:]!r} has no meaning")
        position = token.end()
        if token["slot"] and (token["slot"] == "[") is not (opened < 0):
            raise ValueError(f"{node!r} is no node: a slot begins in another, or ends before it has begun")
        if token["slot"] == "[":
            opened = at
        elif token["slot"] == "]":
            yield Piece(opened, at, slot=True)
            opened = -1
        elif token["free"]:
            yield Piece(at, at + 1)
            at += 1
        else:
            gpus = int(token["gpus"])
            if len(token[0]) - len(token["moved"]) != gpus:
                raise ValueError(f"{node!r} is no node: {token[0]!r} is not {gpus} wide")
            yield Piece(at, at + gpus, gpus=gpus, moved=bool(token["moved"]))
            at += gpus
    if opened >= 0:
        raise ValueError(f"{node!r} is no node: a slot does not end")


def width(node: str) -> int:
    """Return the GPUs of a node."""
    return max((piece.end for piece in pieces(node)), default=0)


def is_partial(node: str) -> bool:
    """Return whether a node is in use in part."""
    used = sum(piece.gpus for piece in pieces(node))
    return 0 < used < width(node)


def drawings() -> dict[str, str]:
    """Return the drawings by file name."""
    scenes = SCENES | counterexample_scenes()
    return {f"drawings/{name}.svg": draw(scene) for name, scene in scenes.items()}


def draw(scene: Scene) -> str:
    """Return a scene as SVG: its steps from top to bottom, the nodes of a step side by side."""
    columns = max(sum(width(node) for node in step.nodes) for step in scene.steps)
    nodes = max(len(step.nodes) for step in scene.steps)
    wide = max(2 * MARGIN + columns * _CELL + (nodes - 1) * _BETWEEN, scene.least_width)
    drawing = Drawing(wide, scene.title, scene.description)
    drawing.text(MARGIN, 22, scene.title, size=14, weight="bold")
    for number, step in enumerate(scene.steps):
        _draw_step(drawing, step, _TOP + number * _STEP)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.svg"
        drawing.write(path, _TOP + len(scene.steps) * _STEP)
        return path.read_text(encoding="utf-8")


def _draw_step(drawing: Drawing, step: Step, top: float) -> None:
    drawing.text(MARGIN, top + 14, step.caption, size=12)
    x = MARGIN
    for node in step.nodes:
        _draw_node(drawing, node, x, top + 24)
        x += width(node) * _CELL + _BETWEEN


def _draw_node(drawing: Drawing, node: str, x: float, y: float) -> None:
    group = drawing.group("node")
    drawing.tooltip(group, f"node {node}")
    if is_partial(node):
        drawing.rect(group, (x - 8, y, 4, _CELL - _GAP), {"class": "partial", "fill": PARTIAL})
    for piece in pieces(node):
        if piece.slot:
            _frame(drawing, group, piece, x, y)
        else:
            _instance(drawing, group, piece, x, y)


def _instance(drawing: Drawing, group: ET.Element, piece: Piece, x: float, y: float) -> None:
    fill = _COLOURS.get(piece.gpus, FAINT) if piece.gpus else FREE
    left, wide = x + piece.start * _CELL, (piece.end - piece.start) * _CELL - _GAP
    look = {"fill": fill, "rx": "2"} | ({"stroke": INK, "stroke-width": "2"} if piece.moved else {})
    drawing.rect(group, (left, y, wide, _CELL - _GAP), look)
    if piece.gpus:
        white = "#FFFFFF" if piece.gpus in {4, 7, 8} else INK
        drawing.text(left + wide / 2, y + 14, f"{piece.gpus}", size=12, fill=white, anchor="middle", parent=group)


def _frame(drawing: Drawing, group: ET.Element, piece: Piece, x: float, y: float) -> None:
    left, wide = x + piece.start * _CELL - 1.5, (piece.end - piece.start) * _CELL - _GAP + 3
    look = {"fill": "none", "stroke": INK, "stroke-width": "1.2", "stroke-dasharray": "3 2", "rx": "3"}
    drawing.rect(group, (left, y - 3, wide, _CELL - _GAP + 6), look)
