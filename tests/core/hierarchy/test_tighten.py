"""The rule of the outer tiers: what an exchange keeps and lowers, what a tier admits, and that it stays saturated."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import ClusterState, Job, RefusalKind, check_saturation
from compass_core.draft import every_move_counts_one
from compass_core.hierarchy import tier_condition
from compass_core.hierarchy.tighten import arrive_tight, settle_tight
from proofs.events import Arrival, Departure
from proofs.exchanges import block_kinds
from proofs.strategies import event_lists
from tests.core.hierarchy.naive import slots_and_ones_fit, width_of
from tests.core.hierarchy.test_condition import workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (2, 3, 4, 5, 6, 7, 9, 12, 15, 24, 72)


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


class TestFits:
    """The count of places that the other tests ask is itself held against every arrangement."""

    @pytest.mark.parametrize(("size", "hosts", "most"), [(3, 4, 12), (5, 3, 15), (6, 3, 18), (7, 2, 14), (9, 2, 18)])
    def test_counts_what_arrangements_there_are(self, size: int, hosts: int, most: int) -> None:
        seen = Counter[bool]()
        for counts in workloads(size, most):
            found = fits(counts, hosts)
            assert found == slots_and_ones_fit(counts, hosts), counts
            seen[found] += 1
        assert seen[True]
        assert seen[False]


@pytest.mark.parametrize(
    ("size", "hosts", "units"),
    [
        (15, ((2,) * 7 + (1,), (8, 4, 1, 1, 1), (8, 1, 1)), 5),
        (14, ((2,) * 7, (8, 2, 2, 1, 1), (8, 1)), 5),
        (16, ((2, 1, 1, 1), (1,) * 16), 11),
    ],
)
def test_room_that_only_several_exchanges_make(size: int, hosts: tuple[tuple[int, ...], ...], units: int) -> None:
    state = placed(size, hosts)
    assert fits(with_job(state, Job("late", 1, units)), len(hosts))
    assert arrive_tight(state, Job("late", 1, units), every_move_counts_one).admitted


def test_one_open_host_is_left_alone() -> None:
    """Also where it could be made less loose: that is for the instance that needs it."""
    assert not settle_tight(placed(9, ((8,), (1,) * 9)), every_move_counts_one).migrations


def test_of_equal_cost_what_closes_most_hosts() -> None:
    """The new one stands beside the 4. To move both fills one host and empties the other; to give it for the 2 costs
    as much, as it moves for nothing, and would close neither."""
    arrival = arrive_tight(placed(7, ((2,), (4,))), Job("late"), every_move_counts_one)
    assert [(m.instance.gpus, m.destination) for m in arrival.migrations] == [(4, 0)]


@pytest.mark.parametrize("anchor", [(1,), (2,)], ids=["ones", "beside a slot"])
def test_of_many_open_hosts_those_with_most_room_are_looked_at(anchor: tuple[int, ...]) -> None:
    """Of ten the first eight: one move empties the first, and what it held goes to the second; and so on from there."""
    settled = settle_tight(placed(72, [(*anchor, *[1] * number) for number in range(10)]), every_move_counts_one)
    assert [at for at, node in enumerate(settled.state.nodes) if node.used] == [1]


def check_everything(state: ClusterState) -> None:
    """Hold a state and every arrival of one instance against counting: what is admitted, and Φ under the condition."""
    rested = settle_tight(state, every_move_counts_one).state
    condition = tier_condition(rested.counts)
    assert not condition.holds or rested.partial_nodes == condition.inherent
    for start, units in product((state, rested), range(1, state.capacity + 1)):
        job = Job("late", 1, units)
        expected = units <= start.free_gpus and fits(with_job(start, job), start.node_count)
        assert arrive_tight(start, job, every_move_counts_one).admitted == expected, (start, units)


@pytest.mark.parametrize("size", range(2, 8))
def test_every_two_hosts_of_blocks(size: int) -> None:
    for hosts in combinations_with_replacement(((), *block_kinds(size)), 2):
        check_everything(placed(size, hosts))


@pytest.mark.slow
@pytest.mark.parametrize("size", range(2, 8))
def test_every_three_hosts_of_blocks(size: int) -> None:
    for hosts in combinations_with_replacement(((), *block_kinds(size)), 3):
        check_everything(placed(size, hosts))


@pytest.mark.parametrize("size", [9, 11, 14, 15, 16, 24, 72])
@settings(max_examples=settings().max_examples // 3)
@given(data=st.data())
def test_hosts_that_are_nearly_full(size: int, data: st.DataObject) -> None:
    kinds = st.lists(st.sampled_from([width for width in (8, 4, 2, 1) if width < size]), min_size=size, max_size=size)
    hosts = [_filled(size, data.draw(kinds)) for _ in range(data.draw(st.integers(2, 4)))]
    hosts[0] = hosts[0][data.draw(st.integers(0, len(hosts[0]))) :]
    check_everything(placed(size, hosts))


def _filled(size: int, blocks: Sequence[int]) -> tuple[int, ...]:
    """Return the blocks up to the size of the host, the rest of it being ones."""
    taken: list[int] = []
    for block in blocks:
        if sum(taken) + block <= size:
            taken.append(block)
    return (*taken, *[1] * (size - sum(taken)))


def placed(size: int, hosts: Sequence[tuple[int, ...]]) -> ClusterState:
    """Return a state with instances of these demands on its hosts."""
    state = ClusterState.empty(len(hosts), size)
    for index, demands in enumerate(hosts):
        for number, units in enumerate(demands):
            job = Job(f"{index}-{number}", 1, units)
            state = state.with_job(job).add(job.instance(0), index)
    return state


@pytest.mark.parametrize("size", SIZES)
@settings(max_examples=settings().max_examples // 2)
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
            case Departure(name) if name in state.jobs_by_name:
                state = settle_tight(state.without_job(name), every_move_counts_one).state
            case _:
                continue
        state.check()
        check_saturation(state)


def with_job(state: ClusterState, job: Job) -> list[int]:
    return [n + job.instances * (units == job.gpus) for units, n in enumerate(state.counts, start=1)]
