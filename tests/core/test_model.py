"""Slots, fillers and kinds follow from the demands on a node (theory §1, §3)."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from compass_core import InvalidJobError, Job, Node, NodeKind
from compass_core.model import Instance, shape_of, slot_vacancy, slot_width


def every_multiset(room: int, largest: int | None = None) -> list[tuple[int, ...]]:
    """Return every descending tuple of demands that fits into `room` GPUs."""
    top = room if largest is None else min(room, largest)
    return [(), *((g, *rest) for g in range(top, 0, -1) for rest in every_multiset(room - g, g))]


class TestWidth:
    """w*(g) is the least of {2, 4, 8} that is at least g; vacancy 3→1, 5→3, 6→2, 7→1, otherwise 0."""

    def test_table_for_eight(self) -> None:
        assert [slot_width(g, 8) for g in range(1, 9)] == [1, 2, 4, 4, 8, 8, 8, 8]
        assert [slot_vacancy(g, 8) for g in range(1, 9)] == [0, 0, 1, 0, 3, 2, 1, 0]

    def test_never_wider_than_the_node(self) -> None:
        assert slot_width(9, 9) == 9
        assert slot_width(9, 16) == 16


class TestJob:
    def test_total(self) -> None:
        assert Job("a", instances=3, gpus=2).total_gpus == 6

    def test_instances_are_numbered(self) -> None:
        assert Job("a", 2, 4).all_instances() == (Instance("a", 0, 4), Instance("a", 1, 4))

    @pytest.mark.parametrize(("instances", "gpus"), [(0, 1), (-1, 1), (1, 0), (1, -3), (1.0, 1), (1, True), ("1", 1)])
    def test_refuses_what_no_job_can_be(self, instances: Any, gpus: Any) -> None:  # noqa: ANN401 - wrong types are meant
        with pytest.raises(InvalidJobError, match="expected"):
            Job("a", instances, gpus)


class TestShape:
    @pytest.mark.parametrize("capacity", [1, 2, 4, 8, 16])
    def test_clauses_for_every_multiset(self, capacity: int) -> None:
        for demands in every_multiset(capacity):
            shape = shape_of(capacity, demands)
            fillers = shape.singles - shape.ones
            widths = sum(slot_width(g, capacity) for g in demands if g > 1)
            assert shape.used + shape.free == capacity
            assert shape.reserved == widths + shape.ones
            # What slots reserve and nobody uses is exactly their vacancy.
            assert shape.reserved == shape.used + shape.vacancy
            assert not (shape.vacancy and shape.ones)
            assert fillers >= 0
            assert (shape.kind is NodeKind.EMPTY) == (not demands)
            assert (shape.kind is NodeKind.POOL) == (bool(demands) and set(demands) == {1})
            assert (shape.kind is NodeKind.MIXED) == (shape.ones > 0 and shape.kind is not NodeKind.POOL)

    def test_number_of_shapes(self) -> None:
        # Partitions of 0..8 count 1+1+2+3+5+7+11+15+22 = 67 (theory §3.1); those of 8 are the full nodes.
        shapes = [shape_of(8, demands) for demands in every_multiset(8)]
        assert len(set(shapes)) == 67
        assert sum(shape.used == 8 for shape in shapes) == 22

    def test_plus_and_minus_are_inverse(self) -> None:
        for demands in every_multiset(8):
            shape = shape_of(8, demands)
            for gpus in range(1, 9):
                more = shape.plus(gpus)
                if more is None:
                    assert gpus > shape.free
                else:
                    assert more.minus(gpus) is shape

    def test_survives_a_trip_to_another_process(self) -> None:
        shape = shape_of(8, (4, 1))
        assert pickle.loads(pickle.dumps(shape)) is shape  # noqa: S301 - our own bytes


class TestNode:
    def test_fillers_are_dealt_to_slots_before_ones(self) -> None:
        singles = [Instance("f", i, 1) for i in range(3)]
        node = Node.of(8, [*singles, Instance("a", 0, 3), Instance("b", 0, 2)])
        assert [(s.width, s.anchor.gpus, len(s.fillers)) for s in node.slots] == [(4, 3, 1), (2, 2, 0)]
        assert len(node.ones) == 2
        assert all(slot.saturated for slot in node.slots)
        assert node.kind is NodeKind.MIXED
        assert (node.used, node.free, node.residual) == (8, 0, 0)

    @pytest.mark.parametrize("capacity", [4, 8])
    def test_slots_and_ones_cover_the_node(self, capacity: int) -> None:
        for demands in every_multiset(capacity):
            node = Node.of(capacity, [Instance("j", i, g) for i, g in enumerate(demands)])
            covered = [x for slot in node.slots for x in (slot.anchor, *slot.fillers)] + list(node.ones)
            assert sorted(covered, key=lambda x: x.index) == sorted(node.instances, key=lambda x: x.index)
            assert sum(slot.vacancy for slot in node.slots) == node.shape.vacancy
            assert all(slot.saturated for slot in node.slots) == (not node.shape.vacancy)
            assert sum(slot.width for slot in node.slots) + len(node.ones) == node.shape.reserved
            assert sum(slot.used for slot in node.slots) + len(node.ones) == node.used

    def test_equal_contents_are_equal_nodes(self) -> None:
        a, b = Instance("a", 0, 2), Instance("b", 0, 2)
        first, second = Node.of(8, [a]).with_instance(b), Node.of(8, [b]).with_instance(a)
        assert first == second
        assert hash(first) == hash(second)
        assert first is not None
        assert first.without(b) == Node.of(8, [a])

    def test_refuses_what_does_not_fit(self) -> None:
        assert Node.of(4, [Instance("a", 0, 3)]).with_instance(Instance("b", 0, 2)) is None


def test_a_node_whose_slots_ask_for_more_than_it_has_is_not_open() -> None:
    """{3, 3, 2} fits 8 GPUs and its slots reserve 10: there is nothing to merge into it."""
    shape = shape_of(8, (3, 3, 2))
    assert (shape.used, shape.reserved, shape.room) == (8, 10, -2)
    assert not shape.open


def test_a_shape_tells_what_it_holds_and_not_how_it_is_looked_up() -> None:
    assert "_hash" not in repr(shape_of(8, (4,)))
