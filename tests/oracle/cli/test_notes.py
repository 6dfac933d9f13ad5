"""What a reader kept but wants known is said without -v; what it left out is counted."""

from __future__ import annotations

from oracle.cli.sentences import skipped_notes
from oracle.snapshots.model import Skipped

GROUPS = (
    Skipped(reason="pods that have finished", items=("a/x", "a/y")),
    Skipped(reason="nodes kept but closed", items=("n1",), kept=True),
)


def test_short() -> None:
    assert skipped_notes(GROUPS, verbose=False) == [
        "Note: nodes kept but closed (1; -v lists them).",
        "Left out 2 (-v lists them): pods that have finished (2).",
    ]


def test_verbose_names_every_item() -> None:
    lines = skipped_notes(GROUPS, verbose=True)
    assert lines[:3] == ["Note 1:", "  nodes kept but closed (1):", "    n1"]
    assert lines[3:] == ["Left out 2:", "  pods that have finished (2):", "    a/x", "    a/y"]


def test_nothing_to_say() -> None:
    assert skipped_notes((), verbose=False) == skipped_notes((), verbose=True) == []
