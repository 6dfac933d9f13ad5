"""The page on architecture: its drawing of layers and its table of folders, both from the code."""

from __future__ import annotations

import ast
import tempfile
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

from oracle.plots.drawing import FAINT, INK, MARGIN, PALETTE, Drawing, mixed, text_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
OPENED = "oracle"
"""The package whose folders are drawn and listed one by one."""

PACKAGES = ("compass_core", OPENED, "proofs", "simulation")

_COLOURS = {"compass_core": PALETTE[2], OPENED: PALETTE[4], "proofs": PALETTE[3], "simulation": PALETTE[1]}
_TITLE = "Each imports only from what stands below it"
_START, _END = "<!-- made by `python -m docs.making`: the folders -->\n", "<!-- end -->\n"
_TOP = 40.0
_ROW = 48.0
_BOX = 32.0
_BETWEEN = 14.0
_PADDING = 24.0


def imports() -> dict[str, set[str]]:
    """Return what imports what: the packages, and of the one that is opened its own names and what is in it."""
    modules = grimp.build_graph(*PACKAGES, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in modules.modules:
        others = {unit_of(imported) for imported in modules.find_modules_directly_imported_by(module)}
        found.setdefault(unit_of(module), set()).update(others - {unit_of(module)})
    return found


def unit_of(module: str) -> str:
    """Return what is drawn for a module."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == OPENED else 1])


def layers(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the units from top to bottom, each above all that it imports, packages one above the other.

    Raises
    ------
    graphlib.CycleError
        Some import one another in a circle.
    """
    inside = {unit: others for unit, others in graph.items() if package_of(unit) == OPENED}
    packages: dict[str, set[str]] = {}
    for unit, others in graph.items():
        packages.setdefault(package_of(unit), set()).update({*map(package_of, others)} - {package_of(unit)})
    return [row for rank in _ranks(packages) for row in (_ranks(inside) if OPENED in rank else [rank])]


def _ranks(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return what imports what it names, from top to bottom, each as low as what it imports allows."""
    sorter = TopologicalSorter({unit: others & graph.keys() for unit, others in graph.items()})
    sorter.prepare()
    found: list[list[str]] = []
    while sorter.is_active():
        found.append(sorted(sorter.get_ready()))
        sorter.done(*found[-1])
    return found[::-1]


def package_of(unit: str) -> str:
    """Return the package that something belongs to."""
    return unit.partition(".")[0]


def architecture_drawing() -> str:
    """Return the drawing as SVG."""
    graph = imports()
    rows = layers(graph)
    wide = max(map(_width, rows)) + 2 * MARGIN + 2 * _PADDING
    drawing = Drawing(wide, _TITLE, f"From top to bottom: {'; '.join(map(', '.join, rows))}.")
    drawing.text(MARGIN, 22, _TITLE, size=14, weight="bold")
    inner = [n for n, row in enumerate(rows) if package_of(row[0]) == OPENED]
    top, height = _TOP + inner[0] * _ROW, len(inner) * _ROW
    frame = {"fill": "none", "stroke": FAINT, "stroke-dasharray": "3 2", "rx": "6"}
    drawing.rect(drawing.root, (MARGIN, top, wide - 2 * MARGIN, height), frame)
    drawing.text(MARGIN + 8, top + 18, OPENED, size=12, fill=FAINT)
    for n, row in enumerate(rows):
        left = (wide - _width(row)) / 2
        for unit in row:
            group = drawing.group("unit")
            drawing.tooltip(group, f"{unit} imports {', '.join(sorted(graph[unit])) or 'nothing of ours'}")
            look = {"fill": mixed(_COLOURS[package_of(unit)]), "stroke": INK, "rx": "4"}
            drawing.rect(group, (left, _TOP + n * _ROW + (_ROW - _BOX) / 2, _box_width(unit), _BOX), look)
            middle = left + _box_width(unit) / 2
            drawing.text(middle, _TOP + n * _ROW + _ROW / 2 + 4, _label(unit), size=12, anchor="middle", parent=group)
            left += _box_width(unit) + _BETWEEN
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "architecture.svg"
        drawing.write(path, _TOP + len(rows) * _ROW + MARGIN)
        return path.read_text(encoding="utf-8")


def architecture_page(text: str) -> str:
    """Return the page with the table of folders between the two comments."""
    before, start, rest = text.partition(_START)
    _, end, after = rest.partition(_END)
    graph = imports()
    rows = ["| | what is in it | imports |", "|---|---|---|"]
    for name, says in folders().items():
        unit = name.removesuffix(".py").replace("/", ".")
        imported = sorted(graph.get(unit, ()))
        short = _label if package_of(unit) == OPENED else str
        nothing = "nothing of ours" if unit in graph else ""
        rows.append(f"| `{name}` | {says} | {', '.join(map(short, imported)) or nothing} |")
    return "\n".join([f"{before}{start}", *rows, "", f"{end}{after}"])


def folders() -> dict[str, str]:
    """Return what each folder of the packages says of itself, by its path, modules beside folders included.

    It is the first line of the docstring.
    """
    found: dict[str, str] = {}
    for package in PACKAGES:
        beside = [path for path in (ROOT / OPENED).glob("[!_]*.py") if package == OPENED]
        paths = [path.parent for path in (ROOT / package).rglob("__init__.py")]
        for path in sorted([*paths, *beside]):
            module = path / "__init__.py" if path.is_dir() else path
            docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
            found[path.relative_to(ROOT).as_posix()] = docstring.partition("\n")[0].replace("``", "`")
    return found


def _label(unit: str) -> str:
    return unit.removeprefix(f"{OPENED}.")


def _box_width(unit: str) -> float:
    return text_width(_label(unit), 12) + _PADDING


def _width(row: Sequence[str]) -> float:
    return sum(map(_box_width, row)) + (len(row) - 1) * _BETWEEN
