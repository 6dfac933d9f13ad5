"""Snapshots written for the command line, and what it prints read back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict, cast

if TYPE_CHECKING:
    from pathlib import Path


class Case(TypedDict):
    """A published case: a native snapshot and what is known of it."""

    id: str
    snapshot: dict[str, object]
    expected: dict[str, object]


def written(folder: Path, value: object) -> Path:
    """Return a file that holds this as JSON."""
    path = folder / "cluster.json"
    path.write_text(json.dumps(value))
    return path


def data_of(text: str) -> dict[str, object]:
    """Return what was printed as JSON."""
    return cast("dict[str, object]", json.loads(text))
