"""Scenes of the counterexamples: a step an event, from the data that the tests replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core.model import slot_width
from docs.making.scenes import Scene, Step
from proofs.counterexamples import EventExample, load_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.counterexamples import Example, Frame


def counterexample_scenes() -> dict[str, Scene]:
    """Return a scene for every counterexample, by the name of its file."""
    return {example.claim.lower(): _scene(example) for example in load_all()}


def node_text(demands: Sequence[int], capacity: int = 8) -> str:
    """Return a node in the notation of drawings: anchors with the fillers they get, the other ones, free GPUs."""
    ones = list(demands).count(1)
    text, used = "", 0
    for gpus in sorted((gpus for gpus in demands if gpus > 1), reverse=True):
        width = slot_width(gpus, capacity)
        fillers = min(ones, width - gpus)
        ones -= fillers
        text += f"[{gpus}{'-' * (gpus - 1)}{'1' * fillers}{'.' * (width - gpus - fillers)}]"
        used += width
    return text + "1" * ones + "." * (capacity - used - ones)


def _scene(example: Example) -> Scene:
    title = f"{example.claim}: {_beginning(example.claimed)}"
    if isinstance(example, EventExample):
        steps = tuple(_event_steps(example))
    else:
        steps = (
            Step("what the claim leads to", tuple(map(node_text, example.placement))),
            Step("the same instances, better", tuple(map(node_text, example.better))),
        )
    return Scene(title, f"{example.claimed} {example.fails}", steps, least_width=680.0)


def _event_steps(example: EventExample) -> Iterator[Step]:
    capacity = example.capacity
    for frame in example.frames:
        yield Step(_caption(frame), tuple(node_text(demands, capacity) for demands in frame.nodes))
    if example.better:
        missing = [()] * (example.nodes - len(example.better))
        better = tuple(node_text(demands, capacity) for demands in [*example.better, *missing])
        yield Step("the same instances with as few partial nodes as there can be", better)


def _caption(frame: Frame) -> str:
    if frame.undefined is not None:
        return f"{frame.event}: undefined; the nodes are as before"
    wcc = "WCC holds" if frame.wcc else "WCC fails"
    moved = f", {frame.migrations} moved" if frame.migrations else ""
    return f"{frame.event}: Φ = {frame.partial_nodes}, Φ* = {frame.inherent_partial_nodes}, {wcc}{moved}"


def _beginning(text: str, most: int = 64) -> str:
    """Return a text, or its first words."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0].rstrip(" ,;:.") + " ..."
