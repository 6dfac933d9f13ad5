"""Write docs/dependencies.md: what is installed with the project, in which locked version and under which licence.

Names, versions and who brings whom are read from requirements/*.txt, which hold for every Python and system; licences
are what the installed packages state.

Usage: python docs/dependency_list.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
LOCKED_EXTRAS = ("proofs", "simulation", "cluster")  # `learn` is torch alone, which is not locked

_HEAD = """\
# Dependencies and licences

What `pip install .` brings, in the versions of `requirements/*.txt`, and what the extras add. Licences are
given as the packages state them, the newest version where several are locked. Made by
`python docs/dependency_list.py`; a test keeps it current. Why each is here:
[decisions/0001-dependencies.md](decisions/0001-dependencies.md).
"""
_LONGEST_NAME_OF_A_LICENCE = 60  # some packages put the whole text there


@dataclass(frozen=True, slots=True)
class Locked:
    """A package of a lock file: its versions, each with the Pythons and systems it is for, and what asks for it."""

    name: str
    versions: tuple[str, ...]
    asked_by: frozenset[str]


def read_lock(text: str) -> dict[str, Locked]:
    """Return the packages of a lock file by name."""
    found: dict[str, Locked] = {}
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    for block in blocks:
        name, number, marker = re.match(r"([\w.-]+)==([^ ]+)(?: ; (.*?))? \\", block).groups()  # type: ignore[union-attr]  # as uv writes them
        via = re.findall(r"^    # (?:via |  )([\w.-]+)", block, re.MULTILINE)
        before = found.get(name, Locked(name, (), frozenset()))
        told = number if marker is None else f"{number} ({marker.replace('python_full_version', 'Python')})"
        found[name] = Locked(name, (*before.versions, told), before.asked_by.union(via))
    return found


def brought_by(direct: Iterable[str], lock: Mapping[str, Locked]) -> set[str]:
    """Return the packages that some packages bring, themselves included."""
    found: set[str] = set()
    waiting = set(direct)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= {other.name for other in lock.values() if name in other.asked_by} - found
    return found


def licence(name: str) -> str:
    """Return the licence an installed package states."""
    said = metadata(name)
    if "License-Expression" in said:
        return said["License-Expression"]
    text = said.get_all("License", [""])[0]
    if not text or "\n" in text or len(text) > _LONGEST_NAME_OF_A_LICENCE:
        named = [value for value in said.get_all("Classifier", []) if value.startswith("License :: ")]
        text = ", ".join(value.rpartition(" :: ")[2] for value in named)
    return text


def page(known: Mapping[str, str]) -> str:
    """Return the page; licences of versions that are not installed here are taken from `known`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    runtime, everything = (
        read_lock((ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")) for name in ("runtime", "dev")
    )
    base = _names(cast("list[str]", project["dependencies"]))
    lines = [_HEAD, "## The base", "", *_table(runtime, base, known)]
    above = set(runtime)
    for extra in LOCKED_EXTRAS:
        direct = _names(cast("list[str]", project["optional-dependencies"][extra])) - {"compass-abs"}
        brought = brought_by(direct, everything) - above
        lines += ["", f"## The extra `{extra}` adds", ""]
        above |= brought
        lines += _table({name: everything[name] for name in brought}, direct, known, above=above)
    lines += ["", "The extra `learn` adds torch and what that brings; it is not locked."]
    return "\n".join(lines) + "\n"


def _names(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[^\w.-]", text)[0].lower() for text in requirements}


def _table(
    packages: Mapping[str, Locked], direct: set[str], known: Mapping[str, str], *, above: Collection[str] = ()
) -> list[str]:
    """Return a table of packages; `above` are those of the tables before it."""
    rows = ["| package | version | licence | asked for by |", "|---|---|---|---|"]
    for name, package in sorted(packages.items()):
        stated = _licence_of(package, known)
        if not stated:
            sys.exit(f"{name}: no licence is known; install it, or look why it states none")
        by = {"compass-abs"} if name in direct else package.asked_by.intersection([*packages, *above])
        rows.append(f"| {name} | {', '.join(package.versions)} | {stated} | {', '.join(sorted(by))} |")
    return rows


def _licence_of(package: Locked, known: Mapping[str, str]) -> str | None:
    """Return the licence of the newest locked version, as far as it can be known on this Python."""
    newest = package.versions[-1].partition(" ")[0]
    try:
        installed = version(package.name)
    except PackageNotFoundError:
        return known.get(package.name)
    return licence(package.name) if installed == newest else known.get(package.name) or licence(package.name)


def main() -> int:
    """Return 1 if the page is to be checked and is not current."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if the page is not current")
    check: bool = parser.parse_args().check
    stored = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    known = dict(re.findall(r"^\| ([\w.-]+) \| [^|]* \| ([^|]*) \|", stored, re.MULTILINE))
    new = page(known)
    if check:
        if new != stored:
            sys.stderr.write("docs/dependencies.md is not current: python docs/dependency_list.py\n")
        return int(new != stored)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
