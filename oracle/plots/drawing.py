"""SVG written with the standard library alone: shapes in absolute places, and the colours and words they use."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # written with, never read with
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import combining, east_asian_width

from oracle import words
from oracle.safe_text import printable

if TYPE_CHECKING:
    from pathlib import Path

# Okabe and Ito's colours without black, which is for outlines; their yellow is darkened to stand out from free cells.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D9C400", "#8A5A2B")
FREE = "#E9EBEE"
INK = "#1A1A1A"
FAINT = "#5A5F66"
PARTIAL = "#D55E00"
OVER = "#C00020"
_FONT = "sans-serif"
HATCH = "sifopt-hatch"

MARGIN = 20.0
_LABEL_EMS = 15.0

count = partial(words.count, form=",")
"""A number with its noun, thousands apart."""

Box: TypeAlias = "tuple[float, float, float, float]"
"""Left, top, width, height."""


class Drawing:
    """An SVG under construction: shapes in absolute places."""

    def __init__(self, width: float, title: str, description: str) -> None:
        self.width = width
        attributes = {"xmlns": "http://www.w3.org/2000/svg", "font-family": _FONT, "fill": INK, "role": "img"}
        self.root = ET.Element("svg", attributes)
        self.tooltip(self.root, title)
        ET.SubElement(self.root, "desc").text = printable(description)
        ET.SubElement(self.root, "rect", {"width": "100%", "height": "100%", "fill": "#FFFFFF"})

    def heading(self, title: str, description: str) -> None:
        """Write both at the top of the page."""
        self.text(MARGIN, 34, title, size=18, weight="bold")
        self.text(MARGIN, 54, description, size=12, fill=FAINT)

    def hatching(self) -> None:
        """Define the hatching of what leaves."""
        size = {"width": "4", "height": "4", "patternUnits": "userSpaceOnUse"}
        pattern = ET.SubElement(ET.SubElement(self.root, "defs"), "pattern", {"id": HATCH, **size})
        way = {"d": "M-1 1L1 -1M0 4L4 0M3 5L5 3", "stroke": "#FFFFFF", "stroke-width": "1.4"}
        ET.SubElement(pattern, "path", way)

    def group(self, kind: str = "", *, parent: ET.Element | None = None, fill: str = "") -> ET.Element:
        """Add a group, of a class and with a fill if these are given."""
        attributes = {name: value for name, value in (("class", kind), ("fill", fill)) if value}
        return ET.SubElement(self.root if parent is None else parent, "g", attributes)

    @staticmethod
    def tooltip(parent: ET.Element, text: str) -> None:
        """Say what an element is; viewers show it when the pointer is on it."""
        ET.SubElement(parent, "title").text = printable(text)

    @staticmethod
    def rect(parent: ET.Element, box: Box, attributes: dict[str, str]) -> None:
        """Add a rectangle."""
        place = {name: number(value) for name, value in zip(("x", "y", "width", "height"), box, strict=True)}
        ET.SubElement(parent, "rect", place | attributes)

    @staticmethod
    def circle(parent: ET.Element, x: float, y: float, radius: float, fill: str, *, ring: bool = False) -> None:
        """Add a disc; `ring` makes it a white one with an outline."""
        place = {"cx": number(x), "cy": number(y), "r": number(radius)}
        look = {"fill": "#FFFFFF", "stroke": fill, "stroke-width": "1.5"} if ring else {"fill": fill}
        ET.SubElement(parent, "circle", place | look)

    def path(
        self, way: str, *, stroke: str, width: str = "1", parent: ET.Element | None = None, dash: str = ""
    ) -> None:
        """Add a line."""
        look = {"d": way, "fill": "none", "stroke": stroke, "stroke-width": width}
        look |= {"stroke-dasharray": dash} if dash else {}
        ET.SubElement(self.root if parent is None else parent, "path", look)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        fill: str = INK,
        weight: str = "normal",
        anchor: str = "start",
        parent: ET.Element | None = None,
    ) -> None:
        """Add a text; y is its base line."""
        attributes = {"x": number(x), "y": number(y), "font-size": number(size), "fill": fill}
        attributes |= {"font-weight": weight} if weight != "normal" else {}
        attributes |= {"text-anchor": anchor} if anchor != "start" else {}
        ET.SubElement(self.root if parent is None else parent, "text", attributes).text = printable(text)

    def write(self, path: Path, height: float) -> None:
        """Write the drawing, so many pixels high, to a file."""
        width, tall = number(self.width), number(height)
        for name, value in (("width", width), ("height", tall), ("viewBox", f"0 0 {width} {tall}")):
            self.root.set(name, value)
        path.write_bytes(ET.tostring(self.root, encoding="utf-8", xml_declaration=True) + b"\n")


def number(value: float) -> str:
    """Return a number with at most two decimals, the same on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the room that a text may take, in pixels: whose font it is drawn with is for the viewer to say."""
    return sum(map(_ems, text)) * size * (1.12 if bold else 1.0)


def _ems(char: str) -> float:
    """Return the room of a character in font sizes, as in the wider ones of the usual fonts."""
    if combining(char):
        return 0.0
    if char in "ijl.,:;|!' ":
        return 0.42
    if char in "mwMW@%_+→…�" or not char.isascii():
        return 1.06 if east_asian_width(char) in "WFA" or char in "mwMW@%→…" else 0.95
    return 0.8 if char.isupper() else 0.66


def shortened(name: str, ems: float = _LABEL_EMS) -> str:
    """Return the end of a long name, so many font sizes wide: the beginning is what names have in common."""
    if text_width(name, 1) <= ems:
        return name
    room, start = ems - text_width("…", 1), len(name)
    while start and _ems(name[start - 1]) <= room:
        start -= 1
        room -= _ems(name[start])
    return "…" + name[start:]


def mixed(colour: str) -> str:
    """Return a colour with as much white in it."""
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{(part + 2 * 0xFF) // 3:02X}" for part in parts)
