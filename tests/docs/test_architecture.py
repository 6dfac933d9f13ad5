"""The drawing of layers is right: nothing imports what stands beside or above it."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ET
from graphlib import CycleError
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.making.architecture import PACKAGES, architecture_drawing, folders, layers

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> dict[str, float]:
    """Return how far down each unit stands, by its name."""
    found: dict[str, float] = {}
    for group in ET.fromstring(architecture_drawing()).iter(f"{SVG}g"):  # noqa: S314 - our own
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None
        assert title.text
        assert box is not None
        found[title.text.partition(" imports ")[0]] = float(box.attrib["y"])
    return found


def unit(module: str) -> str:
    """Return what is drawn for a module or for a name in one."""
    package, _, rest = module.partition(".")
    inside = rest.partition(".")[0]
    there = (ROOT / package / inside).is_dir() or (ROOT / package / f"{inside}.py").is_file()
    return f"{package}.{inside}" if package == "oracle" and inside and there else package


def imported(path: Path) -> Iterator[str]:
    """Yield the units that a file imports, wherever in it, read without the library that the drawing is made with."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (unit(name) for name in names if name.partition(".")[0] in PACKAGES)


def test_nothing_imports_what_stands_beside_or_above_it() -> None:
    places = drawn()
    pairs: set[tuple[str, str]] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            pairs |= {(unit(name), other) for other in imported(path) if other != unit(name)}
    assert len(pairs) > 30
    assert [pair for pair in sorted(pairs) if places[pair[0]] >= places[pair[1]]] == []
    assert {one for pair in pairs for one in pair} <= places.keys()


def test_every_unit_is_drawn_and_no_other() -> None:
    beside = [path for path in (ROOT / "oracle").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    inside = {f"oracle.{path.stem}" for path in beside if path.stem != "__init__"}
    assert drawn().keys() == {*PACKAGES, *inside}


def test_every_folder_says_what_is_in_it_in_a_line() -> None:
    found = folders()
    there = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")}
    assert {path.relative_to(ROOT).as_posix() for path in there} <= found.keys()
    assert [name for name, says in found.items() if not says.endswith(".") or "|" in says] == []


def test_layers() -> None:
    graph = {
        "proofs": {"oracle.a"},
        "oracle.a": {"oracle.b", "compass_core"},
        "oracle.b": {"compass_core"},
        "oracle.c": set[str](),
        "compass_core": set[str](),
    }
    assert layers(graph) == [["proofs"], ["oracle.a"], ["oracle.b", "oracle.c"], ["compass_core"]]
    with pytest.raises(CycleError):
        layers({**graph, "oracle.b": {"oracle.a"}})
