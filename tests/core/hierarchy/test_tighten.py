"""The rule of the outer tiers: what an exchange keeps and lowers, what a tier admits, and that it stays saturated."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compass_core import ClusterState, RefusalKind, check_saturation
from compass_core.draft import every_move_counts_one
from compass_core.hierarchy.tighten import arrive_tight, best_exchange, looseness, settle_tight
from compass_core.model import shape_of
from proofs.strategies import Arrival, Departure, event_lists, node_contents
from tests.core.hierarchy.naive import width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compass_core import Job

SIZES = (2, 3, 4, 5, 6, 7, 9, 12)


def fits(counts: Sequence[int], hosts: int) -> bool:
    """Whether slots and the ones left over fit so many hosts: place for every width, and for all together.

    Widths divide one another, but for a slot as wide as its host, which takes one alone.
    """
    size = len(counts)
    widths = [width_of(units, size) for units in range(2, size + 1) for _ in range(counts[units - 1])]
    need = sum(widths) - sum(units * counts[units - 1] for units in range(2, size + 1))
    if sum(widths) + max(0, counts[0] - need) > hosts * size:
        return False
    left = hosts - sum(width == size for width in widths)
    below = [width for width in widths if width < size]
    powers = [1 << j for j in range(1, size.bit_length())]
    return all(sum(w // width for w in below if w >= width) <= left * (size // width) for width in powers)


class TestExchange:
    @pytest.mark.parametrize("size", [3, 5, 6, 7, 9])
    @given(data=st.data())
    def test_keeps_instances_and_lowers_looseness(self, size: int, data: st.DataObject) -> None:
        contents = [data.draw(node_contents(capacity=size)) for _ in range(2)]
        first, second = (shape_of(size, tuple(sorted(content, reverse=True))) for content in contents)
        found = best_exchange(first, second)
        if found is None:
            return
        left, right = Counter(first.demands), Counter(second.demands)
        for from_first, units in found.steps:
            source, destination = (left, right) if from_first else (right, left)
            source[units] -= 1
            assert source[units] >= 0
            destination[units] += 1
            assert sum(destination.elements()) <= size
        after = [shape_of(size, tuple(sorted(host.elements(), reverse=True))) for host in (left, right)]
        assert left + right == Counter(first.demands) + Counter(second.demands)
        assert looseness(after) < looseness((first, second))
        assert sum(shape.vacancy for shape in after) <= first.vacancy + second.vacancy
        assert sum(shape.open for shape in after) == first.open + second.open - found.closes

    def test_the_ninth_panel(self) -> None:
        """{8} takes one of nine 1-panel instances off a full domain: two open before and one after, in two steps."""
        eight, ones = shape_of(9, (8,)), shape_of(9, (1,) * 9)
        found = best_exchange(eight, ones)
        assert found is not None
        assert found.steps == ((False, 1),)

    def test_nothing_between_full_hosts(self) -> None:
        full = shape_of(9, (8, 1)), shape_of(9, (1,) * 9)
        assert best_exchange(*full) is None


@pytest.mark.parametrize("size", SIZES)
@given(data=st.data())
def test_admits_what_fits_and_stays_saturated(size: int, data: st.DataObject) -> None:
    hosts = data.draw(st.integers(1, 5))
    state = ClusterState.empty(hosts, size)
    for event in data.draw(event_lists(capacity=size, max_events=25)):
        match event:
            case Arrival(job):
                out = arrive_tight(state, job, every_move_counts_one)
                assert out.admitted == (job.total_gpus <= state.free_gpus and fits(with_job(state, job), hosts))
                if not out.admitted:
                    assert out.state is state
                    assert out.reason is not None
                    assert (out.reason.kind is RefusalKind.CAPACITY) == (job.total_gpus > state.free_gpus)
                state = out.state
            case Departure(name) if name in state.jobs:
                state = settle_tight(state.without_job(name), every_move_counts_one).state
            case _:
                continue
        state.check()
        check_saturation(state)


def with_job(state: ClusterState, job: Job) -> list[int]:
    return [n + job.instances * (units == job.gpus) for units, n in enumerate(state.counts, start=1)]
