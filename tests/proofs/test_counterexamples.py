"""The recorded counterexamples are what the printed algorithm does, and break what they say they break."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from proofs import counterexample_page
from proofs.counterexamples import EventExample, PlacementExample, load, load_all, replayed, save
from proofs.events import Arrival, parse_events
from proofs.packings import best_packing, packings, partial_nodes
from tests.core.naive import ExplicitPrinted, UndefinedError

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parents[2] / "docs" / "counterexamples.md"

EVENTS = [example for example in load_all() if isinstance(example, EventExample)]
PLACEMENTS = [example for example in load_all() if isinstance(example, PlacementExample)]
FRAMES = [(example, frame) for example in EVENTS for frame in example.frames]


def demands_of(nodes: Iterable[Iterable[int]]) -> tuple[int, ...]:
    return tuple(sorted((gpus for node in nodes for gpus in node), reverse=True))


def test_every_claim_that_events_or_placements_refute_has_one() -> None:
    assert [example.claim for example in EVENTS] == ["P1", "P2", "P3", "P5", "P6", "P7", "P8", "P12", "P13", "P14"]
    assert [example.claim for example in PLACEMENTS] == ["P9", "P10"]


@pytest.mark.parametrize("example", EVENTS, ids=lambda example: example.claim)
class TestEvents:
    def test_the_printed_algorithm_does_what_is_recorded(self, example: EventExample) -> None:
        assert replayed(example) == example

    def test_the_frames_are_of_the_events(self, example: EventExample) -> None:
        assert ", ".join(frame.event for frame in example.frames) == example.events

    def test_the_better_placement_holds_the_same_instances(self, example: EventExample) -> None:
        if example.better:
            last = example.frames[-1]
            assert demands_of(example.better) == demands_of(last.nodes)
            assert partial_nodes(example.better, capacity=example.capacity) == last.inherent_partial_nodes


@pytest.mark.parametrize("example", [e for e in EVENTS if e.capacity == 8], ids=lambda example: example.claim)
def test_the_transcription_with_explicit_slots_does_the_same(example: EventExample) -> None:
    """But for P13: the transcription knows nodes of a power of two GPUs alone."""
    explicit = ExplicitPrinted(example.nodes, 8, refill=example.refill)
    demands: dict[str, int] = {}
    for event, frame in zip(parse_events(example.events), example.frames, strict=True):
        try:
            if isinstance(event, Arrival):
                demands[event.job.name] = event.job.gpus
                explicit.arrive(event.job.name, event.job.instances, event.job.gpus)
            else:
                explicit.depart(event.name)
        except UndefinedError:
            assert frame.undefined
            return
        assert frame.undefined is None
        on_node = {at: Counter[int]() for at in range(example.nodes)}
        for (job, _), at in explicit.where.items():
            on_node[at][demands[job]] += 1
        assert [Counter(node) for node in frame.nodes] == list(on_node.values())


@pytest.mark.parametrize(("example", "frame"), FRAMES, ids=lambda value: getattr(value, "claim", ""))
def test_the_measures_are_those_of_the_definition(example: EventExample, frame: object) -> None:
    assert isinstance(frame, type(example.frames[0]))
    demands = demands_of(frame.nodes)
    number = Counter(demands)
    assert frame.used_gpus == sum(demands)
    assert frame.partial_nodes == partial_nodes(frame.nodes, capacity=example.capacity)
    fewest = min(
        partial_nodes(p, capacity=example.capacity)
        for p in packings(demands, capacity=example.capacity, nodes=example.nodes)
    )
    assert frame.inherent_partial_nodes == fewest
    assert frame.sif == pytest.approx((frame.partial_nodes - fewest) / example.nodes, abs=1e-4)
    if example.capacity == 8:
        assert frame.wcc == (number[3] + 3 * number[5] + 2 * number[6] + number[7] <= number[1])


class TestTheClauseThatFails:
    """One by one, in numbers: what each of them is there for."""

    @staticmethod
    def last(claim: str) -> tuple[int, int, bool]:
        example = load(claim)
        assert isinstance(example, EventExample)
        frame = example.frames[-1]
        return frame.partial_nodes, frame.avoidable, frame.wcc

    def test_bounds(self) -> None:
        assert self.last("P1") == (3, 3, True)
        assert self.last("P2") == (3, 2, True)
        assert self.last("P7") == (3, 3, True)
        assert self.last("P8") == (2, 2, True)
        assert self.last("P13") == (3, 3, True)

    @pytest.mark.parametrize("claim", ["P5", "P12"])
    def test_the_last_event_alone_is_undefined(self, claim: str) -> None:
        example = load(claim)
        assert isinstance(example, EventExample)
        assert [frame.undefined is not None for frame in example.frames] == [False, False, True][-len(example.frames) :]

    def test_p7_holds_with_the_refill(self) -> None:
        example = load("P7")
        assert isinstance(example, EventExample)
        assert not example.refill
        assert replayed(msgspec.structs.replace(example, refill=True)).frames[-1].avoidable == 0

    def test_p14_one_slot_two_instances(self) -> None:
        example = load("P14")
        assert isinstance(example, EventExample)
        assert example.frames[-1].migrations == 2
        assert example.frames[-2].nodes[0] == (4, 3, 1)
        assert example.frames[-1].nodes == ((), (3, 3, 1))

    @pytest.mark.parametrize("example", PLACEMENTS, ids=lambda example: example.claim)
    def test_placements(self, example: PlacementExample) -> None:
        assert demands_of(example.placement) == demands_of(example.better)
        assert (partial_nodes(example.placement), partial_nodes(example.better)) == (2, 1)
        assert best_packing(demands_of(example.placement)) == example.better
        assert len(example.placement) == len(example.better)


def test_saved_and_loaded_again(tmp_path: Path) -> None:
    for example in load_all():
        save(example, tmp_path)
        name = f"{example.claim.lower()}.json"
        assert (tmp_path / name).read_text() == (
            Path(counterexample_page.__file__).parent / "counterexamples" / name
        ).read_text()


def test_there_is_no_counterexample_to_what_was_not_refuted() -> None:
    with pytest.raises(KeyError):
        load("C3")


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == counterexample_page.page(load_all())


def test_a_node_is_drawn_gpu_by_gpu() -> None:
    assert counterexample_page.drawing((4, 2)) == "4---2-.."
    assert counterexample_page.drawing((1,) * 8) == "11111111"
    assert counterexample_page.drawing((), 9) == "." * 9
