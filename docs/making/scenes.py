"""What the drawings show; `docs.making.drawings` says how a node is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A line of a drawing: what is said of it, and its nodes."""

    caption: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """A drawing: a title, a description for those who cannot see it, and its steps."""

    title: str
    description: str
    steps: tuple[Step, ...]
    least_width: float = 640.0


_SLOTS = Scene(
    "Slots, fillers and ones",
    "Four nodes: one with two slots, one with three slots of width 2, a pool node, a mixed node.",
    (
        Step("two slots of width 4: the left one saturated, the right one with a vacancy", ("[3--1][3--.]",)),
        Step("three slots of width 2, and a residual of 2 GPUs in which another would fit", ("[2-][2-][2-]..",)),
        Step("a pool node: ones only, 1-GPU instances outside any slot", ("11111...",)),
        Step("a mixed node: a slot and ones", ("[4---]11..",)),
    ),
)

_AVOIDABLE = Scene(
    "The same instances, arranged otherwise",
    "Three nodes, all partial; after two moves one node is full and two are empty.",
    (
        Step("Φ = 3: every node is in use in part, and no 8-GPU job can start", ("3--.....", "3--.....", "2-......")),
        Step("Φ* = 0: two moves later one node is full and two are empty", ("3--3*--2*-", "........", "........")),
    ),
)

_MERGING = Scene(
    "Two partial nodes: after the merge one of them is empty or full",
    "Two merges. Small loads are put on one node; larger loads are divided so that one node is full.",
    (
        Step("loads of 3 and 4, together at most 8 ...", ("[2-]1.....", "[4---]....")),
        Step("... are put on one node: one move, one node empty", ("[2-]1[4*---].", "........")),
        Step("loads of 6 and 7, together more than 8 ...", ("[4---][2-]..", "[4---][2-]1.")),
        Step("... have a part of exactly 8: one move, one node full", ("[4---][2-][2*-]", "[4---]1...")),
    ),
)

_ARRIVAL = Scene(
    "A job arrives under EXACT",
    "A job of one instance of 3 GPUs arrives on two nodes with 3 GPUs free, and is admitted without a move.",
    (
        Step("before: 13 of 16 GPUs in use, one of them outside any slot", ("[4---]1...", "[4---][4---]")),
        Step("an instance of 3 GPUs arrives: the one is the filler of its slot", ("[4---][3*--1]", "[4---][4---]")),
    ),
)

_DEPARTURE = Scene(
    "A job departs under EXACT",
    "The anchor of a slot leaves. Its filler is a one from then on, and the two partial nodes are merged.",
    (
        Step("before: one partial node", ("[3--1][3--1]", "[4---][2-]1.")),
        Step("a 3-GPU instance leaves; its filler stays where it is, as a one", ("[3--1]1...", "[4---][2-]1.")),
        Step("two nodes are partial, so they are merged: one move, one node full", ("[3--1]....", "[4---][2-]11*")),
    ),
)

_CONDITION = Scene(
    "Under the composition condition everything is a block of 1, 2, 4 or 8",
    "Fillers complete 3 to 4, and 5, 6 and 7 to 8. Blocks of 8, 4, 2 and 1 then fill nodes without a gap.",
    (
        Step(
            "a 3 wants one filler, a 5 three, a 6 two, a 7 one",
            ("[3--1]", "[5----111]", "[6-----11]", "[7------1]"),
        ),
        Step("largest first: every node but the last one is full", ("[5----111]", "[4---][3--1]", "[2-][2-]11..")),
    ),
)

_ADMISSION = Scene(
    "No avoidable partial node, and yet a move that lets a job start",
    "Two nodes with 9 GPUs in use. A 6-GPU job fits neither, and fits after one move.",
    (
        Step("Φ = Φ* = 2: 7 GPUs are free, at most 5 on one node; a 6-GPU job waits", ("3--.....", "4---2-..")),
        Step("after one move Φ is 2 as before, and 6 GPUs are free on one node", ("3--4*---.", "2-......")),
        Step("the job has started", ("3--4---.", "2-6*-----")),
    ),
)

SCENES = {
    "slots": _SLOTS,
    "avoidable": _AVOIDABLE,
    "merging": _MERGING,
    "arrival": _ARRIVAL,
    "departure": _DEPARTURE,
    "condition": _CONDITION,
    "admission": _ADMISSION,
}
"""By the name of the file."""
