"""Legal patterns listed, and the flow graph whose paths they are."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest

from oracle.node_classes import NodeClass
from oracle.patterns import MAX_PATTERNS, SOURCE, Arc, LoadFlow, binary_chunks, legal_patterns, load_flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.node_classes import Pattern

PLENTY = tuple((demand, 99) for demand in range(8, 0, -1))
EIGHT = NodeClass(8, 0, 8)


def naive_patterns(kind: NodeClass, demands: dict[int, int]) -> set[Pattern]:
    """Every multiset of the instances, kept if the rule of the class allows it."""
    kept: set[Pattern] = set()
    for copies in product(*(range(min(count, 17) + 1) for count in demands.values())):
        pattern = [demand for demand, k in zip(demands, copies, strict=True) for _ in range(k)]
        own = Counter(kind.own)
        if sum(pattern) <= kind.room or all(pattern.count(demand) <= own[demand] for demand in set(pattern)):
            kept.add(tuple(sorted(pattern, reverse=True)))
    return kept


def paths(flow: LoadFlow) -> Iterator[tuple[Pattern, int]]:
    """Every path as its pattern and the GPUs stated at its end."""
    ends = dict(flow.ends)
    pending: list[tuple[int, tuple[int, ...]]] = [(SOURCE, ())]
    while pending:
        state, taken = pending.pop()
        if state in ends:
            yield tuple(sorted(taken, reverse=True)), ends[state]
        pending += ((arc.head, taken + arc.takes) for arc in flow.arcs if arc.tail == state)


def random_class(rng: random.Random) -> tuple[NodeClass, dict[int, int]]:
    capacity = rng.randint(0, 9)
    held = rng.randint(0, capacity)
    room = rng.choice([0, capacity - held])
    own = sorted((rng.randint(1, 6) for _ in range(rng.randint(0, 4))), reverse=True)
    demands = Counter(own)
    demands.update(rng.randint(1, 6) for _ in range(rng.randint(0, 5)))
    return NodeClass(capacity, held, room, tuple(own)), dict(sorted(demands.items(), reverse=True))


class TestListedPatterns:
    def test_eight_gpus_and_every_demand(self) -> None:
        patterns = legal_patterns(EIGHT, PLENTY)
        assert patterns is not None
        assert len([pattern for pattern in patterns if pattern]) == 66  # theory §4
        assert len([pattern for pattern in patterns if sum(pattern) == 8]) == 22

    def test_no_more_of_a_demand_than_there_are_instances(self) -> None:
        assert legal_patterns(EIGHT, ((4, 1), (3, 2))) == ((), (3,), (3, 3), (4,), (4, 3))

    def test_a_node_that_takes_nothing_new_keeps_a_part_of_its_own(self) -> None:
        patterns = legal_patterns(NodeClass(4, 1, 0, (3, 3, 1)), PLENTY)
        assert patterns == ((), (1,), (3,), (3, 1), (3, 3), (3, 3, 1))

    def test_an_overcommitted_node_is_repacked_or_keeps_too_much(self) -> None:
        patterns = legal_patterns(NodeClass(2, 0, 2, (2, 1)), ((2, 1), (1, 3)))
        assert patterns == ((), (1,), (1, 1), (2,), (2, 1))

    def test_against_every_multiset(self) -> None:
        rng = random.Random(1)
        for _ in range(200):
            kind, demands = random_class(rng)
            patterns = legal_patterns(kind, tuple(demands.items()), limit=10_000)
            assert patterns is not None
            assert len(set(patterns)) == len(patterns)
            assert set(patterns) == naive_patterns(kind, demands), (kind, demands)

    def test_the_limit_is_exact(self) -> None:
        assert legal_patterns(EIGHT, PLENTY, limit=67) is not None
        assert legal_patterns(EIGHT, PLENTY, limit=66) is None
        assert legal_patterns(NodeClass(8, 0, 0, (4, 2, 1)), PLENTY, limit=7) is None

    def test_what_the_cap_is_chosen_for(self) -> None:
        for capacity, listed in ((11, True), (16, False)):
            demands = [(demand, 99) for demand in range(capacity, 0, -1)]
            patterns = legal_patterns(NodeClass(capacity, 0, capacity), demands, limit=MAX_PATTERNS)
            assert (patterns is not None) == listed


class TestFlow:
    def test_its_paths_are_the_legal_patterns(self) -> None:
        rng = random.Random(2)
        for _ in range(200):
            kind, demands = random_class(rng)
            found = list(paths(load_flow(kind, tuple(demands.items()))))
            assert naive_patterns(kind, demands) <= {pattern for pattern, _ in found}, (kind, demands)
            for pattern, load in found:
                assert kind.allows(pattern)
                assert load == sum(pattern)

    def test_it_stays_small_where_patterns_are_many(self) -> None:
        kind, demands = NodeClass(80, 0, 80), ((8, 99), (4, 99), (2, 99), (1, 99))
        assert legal_patterns(kind, demands, limit=5_000) is None
        flow = load_flow(kind, demands)
        assert len(flow.arcs) + len(flow.ends) < 5 * 81

    def test_any_sum_of_paths_decomposes_into_as_many_patterns(self) -> None:
        rng = random.Random(3)
        for _ in range(50):
            kind, demands = random_class(rng)
            flow = load_flow(kind, tuple(demands.items()))
            arcs, endings, taken = [0] * len(flow.arcs), [0] * len(flow.ends), Counter[int]()
            for _ in range(nodes := rng.randint(1, 5)):
                state = SOURCE
                while leaving := [a for a, arc in enumerate(flow.arcs) if arc.tail == state]:
                    ending = [e for e, (end, _) in enumerate(flow.ends) if end == state]
                    if ending and rng.random() < 0.3:
                        break
                    step = rng.choice(leaving)
                    arcs[step] += 1
                    taken.update(flow.arcs[step].takes)
                    state = flow.arcs[step].head
                endings[next(e for e, (end, _) in enumerate(flow.ends) if end == state)] += 1
            patterns = flow.decompose(arcs, endings)
            assert sum(patterns.values()) == nodes
            assert all(kind.allows(pattern) for pattern in patterns)
            packed = Counter[int]()
            for pattern, count in patterns.items():
                packed.update({demand: k * count for demand, k in Counter(pattern).items()})
            assert packed == taken

    def test_what_is_no_flow_is_refused(self) -> None:
        flow = LoadFlow((Arc(0, 1, (1,)),), ((0, 0), (1, 1)))
        with pytest.raises(ValueError, match="does not leave it"):
            flow.decompose([0], [0, 1])
        with pytest.raises(ValueError, match="left over"):
            flow.decompose([1], [0, 0])


@pytest.mark.parametrize("count", range(40))
def test_binary_chunks_have_every_sum(count: int) -> None:
    sums = {0}
    for chunk in binary_chunks(count):
        sums |= {total + chunk for total in sums}
    assert sums == set(range(count + 1))
