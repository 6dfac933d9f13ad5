"""What is false of what a document says ran when it was made, and of the names in its moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.forger.trees import integer, items, text
from tests.oracle.forger.truth import Falsehood

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.oracle.forger.scenes import Data, Scene


def as_it_was(scene: Scene, jobs: Iterable[str]) -> list[Data]:
    """Return what these jobs had, in the order of the scene."""
    found: dict[str, list[Data]] = {}
    moved = set(jobs)
    for i, one in enumerate(scene.world.instances):
        found.setdefault(f"j{one.job}", []).append({"node": f"n{one.home}", "gpus": one.gpus, **scene.called(i)})
    return [{"job": job, "instances": instances} for job, instances in found.items() if job in moved]


def name_of(scene: Scene, item: Data) -> str | None:
    """Return the name of the instance of a move or a stop."""
    of = {scene.world.key(i): scene.called(i).get("name") for i in range(len(scene.world.instances))}
    return of.get((text(item, "job"), integer(item, "instance")))


def judge_start(data: Data, scene: Scene) -> Iterator[Falsehood]:
    """Yield what is false of it; a document that does not say what ran need not name anything."""
    words = "listed as they were"
    listed = [*items(data, "moves"), *items(data, "stopped_first" if "stopped_first" in data else "moves")]
    whole = "jobs_at_start" in data
    if whole and data["jobs_at_start"] != as_it_was(scene, (text(move, "job") for move in items(data, "moves"))):
        yield Falsehood("jobs_at_start", words)
    for item in listed:
        if (whole or "name" in item) and item.get("name") != name_of(scene, item):
            yield Falsehood("moves[].name", words)
