"""Drawings show what is said of them: the scenes of the theory are steps of the algorithm."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from compass_core import ClusterState, Job, Variant, arrive, compact, depart
from docs.making.counterexamples import counterexample_scenes, node_text
from docs.making.drawings import draw, is_partial, pieces, width
from docs.making.scenes import SCENES, Step
from oracle import admit, measure
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from proofs.counterexamples import load_all

Nodes = list[list[int]]


def demands(step: Step) -> Nodes:
    """Return what each node of a drawing holds, descending."""
    return [sorted((piece.gpus for piece in pieces(node) if piece.gpus), reverse=True) for node in step.nodes]


def moved(step: Step) -> int:
    """Return how many instances are marked as moved."""
    return sum(piece.moved for node in step.nodes for piece in pieces(node))


def state_of(step: Step) -> ClusterState:
    """Return the state drawn, each instance a job of its own, named by its node and place."""
    placed = [
        (Job(f"{index}.{place}", 1, gpus), [index])
        for index, node in enumerate(demands(step))
        for place, gpus in enumerate(node)
    ]
    return ClusterState.from_placement(placed, nodes=len(step.nodes))


def drawn(state: ClusterState) -> Nodes:
    """Return what each node of a state holds, descending."""
    nodes: Nodes = [[] for _ in range(state.node_count)]
    for job in state.jobs:
        for instance in job.all_instances():
            nodes[state.node_of(instance)].append(instance.gpus)
    return [sorted(node, reverse=True) for node in nodes]


def snapshot_of(step: Step) -> Snapshot:
    """Return the snapshot drawn, each instance a job of its own."""
    jobs = [
        RunningJob(name=f"{index}.{place}", instances=(RunningInstance(node=f"n{index}", gpus=gpus),))
        for index, node in enumerate(demands(step))
        for place, gpus in enumerate(node)
    ]
    nodes = [SnapshotNode(name=f"n{index}", gpus=8) for index in range(len(step.nodes))]
    return Snapshot.build(nodes=nodes, jobs=jobs)


class TestNotation:
    def test_a_node(self) -> None:
        node = "[3--1]2*-1."
        found = [(piece.start, piece.end, piece.gpus) for piece in pieces(node) if not piece.slot]
        assert found == [(0, 3, 3), (3, 4, 1), (4, 6, 2), (6, 7, 1), (7, 8, 0)]
        assert [(piece.start, piece.end) for piece in pieces(node) if piece.slot] == [(0, 4)]
        assert moved(Step("", (node,))) == 1
        assert (width(node), is_partial(node)) == (8, True)

    @pytest.mark.parametrize("node", ["3-", "x", "[3--1", "2--.", "[2-]]"])
    def test_what_is_no_node_is_refused(self, node: str) -> None:
        with pytest.raises(ValueError, match="is no node"):
            list(pieces(node))

    @pytest.mark.parametrize("node", [(), (8,), (3, 3, 1), (4, 2, 1, 1), (5, 1, 1, 1), (1,) * 8, (7,)])
    def test_demands_are_written_and_read(self, node: tuple[int, ...]) -> None:
        text = node_text(node)
        assert width(text) == 8
        assert demands(Step("", (text,))) == [list(node)]


class TestScenes:
    @pytest.mark.parametrize("name", SCENES)
    def test_nodes_have_8_gpus_and_slots_a_power_of_two(self, name: str) -> None:
        for step in SCENES[name].steps:
            for node in step.nodes:
                assert width(node) == 8 or name == "condition"
                assert {piece.end - piece.start for piece in pieces(node) if piece.slot} <= {2, 4, 8}

    @pytest.mark.parametrize("first", [0, 2])
    def test_merging(self, first: int) -> None:
        before, after = SCENES["merging"].steps[first : first + 2]
        out = compact(state_of(before), variant=Variant.EXACT)
        assert drawn(out.state) == demands(after)
        assert len(out.migrations) == moved(after)

    def test_an_arrival(self) -> None:
        before, after = SCENES["arrival"].steps
        out = arrive(state_of(before), Job("new", 1, 3), variant=Variant.EXACT)
        assert drawn(out.state) == demands(after)
        assert (len(out.migrations), moved(after)) == (0, 1)  # what is marked is the new instance

    def test_a_departure(self) -> None:
        before, between, after = SCENES["departure"].steps
        assert demands(between)[0] == [3, 1, 1]
        out = depart(state_of(before), "0.0", variant=Variant.EXACT)
        assert drawn(out.state) == demands(after)
        assert len(out.migrations) == moved(after)

    @pytest.mark.parametrize("name", ["avoidable", "condition"])
    def test_the_second_line_has_no_avoidable_node(self, name: str) -> None:
        before, after = SCENES[name].steps
        total = sum(map(sum, demands(after)))
        assert sum(map(is_partial, after.nodes)) == (total % 8 > 0)
        if name == "avoidable":
            held = [Counter(gpus for node in demands(step) for gpus in node) for step in (before, after)]
            assert held[0] == held[1]

    def test_an_admission(self) -> None:
        before, after, started = SCENES["admission"].steps
        for step in (before, after):
            measured = measure(snapshot_of(step))
            assert (measured.partial_nodes, measured.inherent_partial_nodes) == (2, 2)
        found = admit(snapshot_of(before), instances=1, gpus=6)
        assert (found.verdict, found.migrations, moved(after)) == ("fits_after", 1, 1)
        assert admit(snapshot_of(after), instances=1, gpus=6).verdict == "fits_now"
        assert demands(started) == [[4, 3], [6, 2]]


class TestCounterexamples:
    @pytest.mark.parametrize("example", load_all(), ids=lambda example: example.claim)
    def test_they_are_drawn_as_they_are_stored(self, example: object) -> None:
        claim = str(getattr(example, "claim", ""))
        steps = counterexample_scenes()[claim.lower()].steps
        frames = getattr(example, "frames", None)
        stored = [frame.nodes for frame in frames] if frames else [getattr(example, "placement", ())]
        for nodes, step in zip(stored, steps, strict=False):
            assert demands(step) == [sorted(node, reverse=True) for node in nodes]


@pytest.mark.parametrize("name", [*SCENES, "p1"])
def test_a_drawing_is_svg_that_marks_its_partial_nodes(name: str) -> None:
    scene = (SCENES | counterexample_scenes())[name]
    root = ET.fromstring(draw(scene))  # noqa: S314 - made by us
    bars = [element for element in root.iter() if element.get("class") == "partial"]
    assert len(bars) == sum(is_partial(node) for step in scene.steps for node in step.nodes)
    assert scene.title in {element.text for element in root.iter()}
