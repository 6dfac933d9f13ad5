"""The page docs/counterexamples.md, drawn from the data: ``python -m proofs.counterexample_page > FILE``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from proofs.counterexamples import EventExample, Example, load_all
from proofs.register import REGISTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proofs.counterexamples import Frame
    from proofs.laws import Contents

_HEAD = """\
# Counterexamples, step by step

Claims of the paper that fail, each with the shortest list of events found for it. The data are in
`proofs/counterexamples/`, one file a claim; the tests replay them on `Variant.PRINTED`, the algorithm as printed.
This page is made by `python -m proofs.counterexample_page`; `compass-prove --full` searches the same ranges again.

*How to read a row.* `3x2` is the arrival of a job of 3 instances of 2 GPUs, `-2` the departure of the second job that
arrived. A node is drawn GPU by GPU: `4---2-..` holds an instance of 4 GPUs, one of 2, and 2 GPUs are free. Φ is the
number of partial nodes, Φ\\* the fewest that any placement of the same instances has, N·SIF = Φ − Φ\\*, WCC the
workload composition condition. *moved* counts running instances that changed nodes.

P4 (Lemma A.4 takes D({4}) to be 2; it is 4) and P11 (|U| ≤ δ in one place, δ ≤ |U| in another) are found by reading
and have no events.
"""

_TITLES = {claim.id: claim.title for claim in REGISTER}


def page(examples: Iterable[Example]) -> str:
    """Return the page as Markdown."""
    return _HEAD + "".join(f"\n{_section(example)}" for example in examples)


def _section(example: Example) -> str:
    head = f"## {example.claim}, refuted: {_TITLES[example.claim]}\n\n*Claimed:* {example.claimed}\n\n"
    tail = f"*What fails:* {example.fails}\n\n*Searched for less:* {example.shortest}.\n"
    return (
        head + _block(_event_lines(example) if isinstance(example, EventExample) else _placement_lines(example)) + tail
    )


def _block(lines: Iterable[str]) -> str:
    return "```text\n" + "\n".join(line.rstrip() for line in lines) + "\n```\n\n"


def _event_lines(example: EventExample) -> list[str]:
    nodes = [f"node {index}".ljust(example.capacity) for index in range(example.nodes)]
    rows = [_row(["event", *nodes, "used", "Φ", "Φ*", "N·SIF", "WCC", "moved"], example)]
    rows += [_row(_cells(frame, example.capacity), example) for frame in example.frames]
    rows += [f"undefined: {frame.undefined}" for frame in example.frames if frame.undefined]
    if example.better:
        rows += ["", f"the same instances with Φ* partial nodes: {_drawn(example.better, example.capacity)}"]
    if not example.refill:
        rows += ["", "(without the refill, as in the pseudocode)"]
    return rows


def _cells(frame: Frame, capacity: int) -> list[str]:
    nodes = [drawing(node, capacity) for node in frame.nodes]
    if frame.undefined:
        return [frame.event, *nodes, "", "", "", "", "", ""]
    measures = (frame.used_gpus, frame.partial_nodes, frame.inherent_partial_nodes, frame.avoidable)
    return [frame.event, *nodes, *map(str, measures), "yes" if frame.wcc else "no", str(frame.migrations)]


def _row(cells: Sequence[str], example: EventExample) -> str:
    widths = [5, *([max(example.capacity, 6)] * example.nodes), 4, 2, 2, 5, 3, 5]
    left = 1 + example.nodes
    return "  ".join(
        cell.ljust(width) if at < left else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )


def _placement_lines(example: Example) -> list[str]:
    placement = () if isinstance(example, EventExample) else example.placement
    return [f"{_drawn(placement)}   2 partial nodes", f"{_drawn(example.better)}   1 partial node"]


def _drawn(contents: Contents, capacity: int = 8) -> str:
    return "  ".join(drawing(node, capacity) for node in contents)


def drawing(node: Sequence[int], capacity: int = 8) -> str:
    """Return a node as one character a GPU: ``4---2-..`` holds a 4 and a 2."""
    return "".join(f"{gpus}{'-' * (gpus - 1)}" for gpus in node).ljust(capacity, ".")


if __name__ == "__main__":
    sys.stdout.write(page(load_all()))
