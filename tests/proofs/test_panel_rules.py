"""The rules of the panels over K panels: the lemmas beside the code, and the lists beside plain searches."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compass_core import ClusterState, Job, Variant, arrive
from compass_core.hierarchy import tier_condition
from compass_core.merging import divisions
from compass_core.model import shape_of, slot_width
from oracle.optimum.exact import inherent_partial_nodes
from proofs.exchanges import block_kinds
from proofs.panel_rules import SIZES, bound_lemma, keeping_lemma, merge_pairs, row, table
from proofs.panel_search import (
    NONE_AVOIDABLE,
    TWO_AVOIDABLE,
    TWO_PARTIAL,
    Bound,
    Failure,
    general_failure,
    shorter_failures,
    shortest_failure,
)
from proofs.smt import Verdict, prove
from proofs.terms import every, holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_core.merging import Division
    from compass_core.model import NodeShape

DOCS = Path(__file__).parents[2] / "docs"
POWERS = (1, 2, 4, 8)
OTHERS = (3, 5, 6, 7, 9)
BOUNDS = (TWO_PARTIAL, TWO_AVOIDABLE, NONE_AVOIDABLE)


class TestPowersOfTwo:
    @given(st.sampled_from([3, 4, 6, 7, 9]), st.data())
    def test_the_formula_is_the_condition(self, size: int, data: st.DataObject) -> None:
        kinds = block_kinds(size)
        chosen = data.draw(st.lists(st.sampled_from(kinds), max_size=8))
        blocks = Counter(block for kind in chosen for block in kind)
        lemma = bound_lemma(size, frozenset(), at_most=1)
        numbers = {"n" + "_".join(map(str, kind)): chosen.count(kind) for kind in kinds}
        counts = [blocks[units] for units in range(1, size + 1)]
        assert holds(every(lemma.given), numbers) == tier_condition(counts).holds

    @pytest.mark.parametrize("size", POWERS)
    def test_keep_their_bounds(self, size: int) -> None:
        found = row(size)
        assert {found.compass, found.compass_avoidable, found.exact} == {Verdict.PROVED}

    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("size", OTHERS)
    def test_for_others_the_lemma_falls(self, size: int, bound: Bound) -> None:
        assert prove(keeping_lemma(size, bound)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("size", [2, 4, 8])
    def test_no_bound_without_merges(self, size: int) -> None:
        assert prove(bound_lemma(size, frozenset(), at_most=2)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("size", [4, 8])
    def test_one_open_host_is_too_few_for_compass(self, size: int) -> None:
        assert prove(bound_lemma(size, merge_pairs(size, Variant.COMPASS), at_most=1)).verdict is Verdict.REFUTED

    @pytest.mark.parametrize("size", [2, 4, 8, pytest.param(16, marks=pytest.mark.slow)])
    def test_instances_merge_where_blocks_do(self, size: int) -> None:
        """EXACT: the lemma is of blocks, and what merges is slots with their fillers, instance by instance."""
        for first, second in combinations_with_replacement(list(open_shapes(size)), 2):
            assert divisions(first, second, apart=False)


def open_shapes(size: int) -> Iterator[NodeShape]:
    """Yield the open hosts whose slots have no vacancy."""
    for demands in partitions_below(size, size):
        shape = shape_of(size, demands)
        if shape.open and shape.room >= 0 and not shape.vacancy:
            yield shape


def partitions_below(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in partitions_below(total - part, part):
            yield (part, *rest)


def played(size: int, hosts: int, events: tuple[tuple[int, int], ...], variant: Variant) -> ClusterState | None:
    state = ClusterState.empty(hosts, size)
    for number, (instances, units) in enumerate(events):
        outcome = arrive(state, Job(str(number), instances, units), variant=variant)
        if not outcome.admitted:
            return None
        state = outcome.state
    return state


class TestGeneralLists:
    """Three lists that break the three bounds for every K that is no power of two."""

    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("size", [*OTHERS, 10, 11, 12, 13, 14, 15, 72])
    def test_more_domains_are_partial_than_the_oracle_needs(self, size: int, bound: Bound) -> None:
        found = general_failure(size, bound)
        assert found is not None
        state = played(size, found.hosts, found.events, bound.variant)
        assert state is not None
        inherent = inherent_partial_nodes(state.counts, capacity=size, nodes=found.hosts)
        assert inherent == (state.used_gpus % size > 0)
        assert state.partial_nodes - (inherent if bound.avoidable else 0) > bound.most

    @pytest.mark.parametrize("bound", BOUNDS)
    def test_for_every_size_but_powers_of_two(self, bound: Bound) -> None:
        refuted = [size for size in range(1, 81) if general_failure(size, bound) is not None]
        assert refuted == [size for size in range(1, 81) if size not in {1, 2, 4, 8, 16, 32, 64}]

    @pytest.mark.parametrize(
        ("bound", "text", "partial", "inherent"),
        [
            (TWO_PARTIAL, "8x1, 2x64, N = 3", 3, 1),
            (TWO_AVOIDABLE, "16x1, 2x64, N = 3", 3, 0),
            (NONE_AVOIDABLE, "72x1, 2x64, N = 3", 2, 1),
        ],
    )
    def test_flat_hosts_of_72(self, bound: Bound, text: str, partial: int, inherent: int) -> None:
        found = general_failure(72, bound)
        assert found is not None
        assert str(found) == text
        state = played(72, 3, found.events, bound.variant)
        assert state is not None
        condition = tier_condition(state.counts)
        assert (condition.holds, condition.inherent, state.partial_nodes) == (True, inherent, partial)


class TestNoneIsShorter:
    @pytest.mark.parametrize("bound", BOUNDS)
    @pytest.mark.parametrize("size", OTHERS)
    def test_small_domains(self, size: int, bound: Bound) -> None:
        assert not list(shorter_failures(size, bound))
        assert shortest_failure(size, bound) == general_failure(size, bound)

    @pytest.mark.parametrize("size", [3, 4, 5])
    def test_the_search_finds_what_a_plain_one_does(self, size: int) -> None:
        """COMPASS does not owe Φ = Φ*: `1x1, 1x2` on two domains of three is one of many lists."""
        bound = Bound(Variant.COMPASS, most=0, avoidable=True)
        found = list(shorter_failures(size, bound))
        assert found == [failure for failure in plainly_all(size) if fails_plainly(failure, bound.variant)]
        assert found

    def test_without_merges_exact_fails_on_two_domains(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """{1, 2} and {2}, with 5 of 8 units in use, are one partial domain more than need be."""
        monkeypatch.setattr(sys.modules["compass_core.compact"], "divisions", no_division)
        assert str(next(shorter_failures(4, NONE_AVOIDABLE))) == "1x1, 2x2, N = 2"

    @pytest.mark.parametrize("size", [3, 6])
    def test_one_event_is_never_enough_on_more_domains(self, size: int) -> None:
        for hosts, variant in product((4, 5), (Variant.COMPASS, Variant.EXACT)):
            for units in range(1, size + 1):
                for instances in range(1, hosts * size // units + 1):
                    assert not fails_plainly(Failure(size, hosts, ((instances, units),)), variant)


def no_division(first: NodeShape, second: NodeShape, *, apart: bool) -> tuple[Division, ...]:
    del first, second, apart
    return ()


def plainly_all(size: int) -> Iterator[Failure]:
    for hosts in (1, 2, 3):
        jobs = jobs_of(size, hosts)
        yield from (Failure(size, hosts, (job,)) for job in jobs)
    for hosts in (1, 2):
        yield from (Failure(size, hosts, pair) for pair in product(jobs_of(size, hosts), repeat=2))


def jobs_of(size: int, hosts: int) -> list[tuple[int, int]]:
    return [(w, g) for g in range(1, size + 1) for w in range(1, hosts * size // g + 1)]


def fails_plainly(failure: Failure, variant: Variant) -> bool:
    state = played(failure.size, failure.hosts, failure.events, variant)
    if state is None:
        return False
    condition = tier_condition(state.counts)
    return condition.holds and state.partial_nodes > condition.inherent


@dataclass
class Host:
    """Instances of two demands on one host: anchors of slots, and narrower ones, some of them their fillers."""

    anchors: int
    narrow: int


@dataclass(frozen=True)
class Workload:
    """Domains of `size` units; the demand of the anchors, with their slot's width; the demand of the others."""

    size: int
    units: int
    width: int
    narrow: int

    @property
    def fillers(self) -> int:
        """Fillers of a slot: none where the narrow instances are slots themselves."""
        return self.width - self.units if self.narrow == 1 else 0

    def used(self, host: Host) -> int:
        return host.anchors * self.units + host.narrow * self.narrow

    def saturated(self, host: Host) -> bool:
        return 0 <= host.anchors * self.fillers <= host.narrow

    def condition_holds(self, hosts: Iterable[Host]) -> bool:
        counts = [0] * self.size
        for host in hosts:
            counts[self.units - 1] += host.anchors
            counts[self.narrow - 1] += host.narrow
        return tier_condition(counts).holds

    def open_hosts(self) -> list[Host]:
        """Return what a host with saturated slots and some room can hold."""
        hosts = [
            Host(anchors, anchors * self.fillers + narrow)
            for anchors in range(self.size // self.width + 1)
            for narrow in range((self.size - anchors * self.width) // self.narrow + 1)
        ]
        return [host for host in hosts if 0 < self.used(host) < self.size]

    def argued_moves(self, first: Host, second: Host) -> list[tuple[bool, bool]]:
        """Return the moves of the argument: whether each starts on the first host, and whether an anchor moves."""
        room = self.size - self.used(first)
        if self.used(first) + self.used(second) <= self.size:
            return [(False, True)] * second.anchors + [(False, False)] * second.narrow
        loose = second.narrow - second.anchors * self.fillers
        if loose * self.narrow >= room:
            return [(False, False)] * (room // self.narrow)
        available = self.size - second.anchors * self.width
        anchors = min(first.anchors, available // self.width)
        kept = (available - anchors * self.width) // self.narrow
        leaving = loose - kept - anchors * self.fillers
        return [(leaving < 0, False)] * abs(leaving) + [(True, True)] * anchors

    def settle(self, first: Host, second: Host, moves: Iterable[tuple[bool, bool]]) -> bool:
        """Carry the moves out; return whether all fit and one host ends up full or empty, no slot with a vacancy."""
        for from_first, is_anchor in moves:
            source, destination = (first, second) if from_first else (second, first)
            source.anchors, source.narrow = source.anchors - is_anchor, source.narrow - (not is_anchor)
            destination.anchors += is_anchor
            destination.narrow += not is_anchor
            if min(source.anchors, source.narrow) < 0 or self.used(destination) > self.size:
                return False
        return any(self.used(host) in {0, self.size} for host in (first, second)) and all(
            map(self.saturated, (first, second))
        )


def workloads(size: int) -> Iterator[Workload]:
    """Yield every two demands of gangs that can leave two domains partial under the condition."""
    for units in range(2, size):
        width = slot_width(units, size)
        if width < size:
            yield Workload(size, units, width, 1)
        if width == units:
            yield from (Workload(size, units, width, 1 << j) for j in range(1, size.bit_length()) if 1 << j < units)


class TestTheArgument:
    """Why EXACT leaves no two domains partial after two arrivals, for any K."""

    @pytest.mark.parametrize("size", range(3, 20))
    def test_its_moves_fit_and_settle_two_domains(self, size: int) -> None:
        """Of every two open hosts with blocks of two widths, whatever came before."""
        met = 0
        for workload in workloads(size):
            for first, second in product(workload.open_hosts(), repeat=2):
                if workload.condition_holds((first, second)):
                    met += 1
                    moves = workload.argued_moves(first, second)
                    assert workload.settle(replace(first), replace(second), moves), (workload, first, second)
        assert met

    @given(st.data())
    def test_on_72_units(self, data: st.DataObject) -> None:
        workload = data.draw(st.sampled_from(list(workloads(72))))
        first, second = (data.draw(st.sampled_from(workload.open_hosts())) for _ in range(2))
        assume(workload.condition_holds((first, second)))
        assert workload.settle(replace(first), replace(second), workload.argued_moves(first, second))

    @pytest.mark.parametrize("size", [*OTHERS, 12])
    def test_the_code_finds_a_division(self, size: int) -> None:
        for workload in workloads(size):
            hosts = workload.open_hosts()
            for first, second in combinations_with_replacement(hosts, 2):
                if workload.condition_holds((first, second)):
                    shapes = [
                        shape_of(size, (workload.units,) * host.anchors + (workload.narrow,) * host.narrow)
                        for host in (first, second)
                    ]
                    assert divisions(shapes[0], shapes[1], apart=False)


class TestTable:
    def test_is_in_the_docs(self) -> None:
        self._check(tuple(size for size in SIZES if size <= 9))

    @pytest.mark.slow
    def test_all_of_it_is_in_the_docs(self) -> None:
        """A shorter list than the general one, found for any K, would stand in its place."""
        self._check(SIZES)

    def _check(self, sizes: tuple[int, ...]) -> None:
        text = (DOCS / "hierarchy.md").read_text(encoding="utf-8")
        for line in table(sizes).splitlines():
            assert line in text
