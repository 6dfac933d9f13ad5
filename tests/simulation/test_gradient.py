"""The fragmentation gradient and the sliding windows behind fgd, cafgd and mcg."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from simulation.cluster import Cluster
from simulation.jobs import TraceJob
from simulation.schedulers.arrivals import Window
from simulation.schedulers.cafgd import CafgdScheduler, long_share
from simulation.schedulers.gradient import cheapest_node, count_instances, least_cost, most_popular, rows
from simulation.schedulers.mcg import McgScheduler
from simulation.schedulers.protocol import Cause, Placed, Refused

if TYPE_CHECKING:
    from simulation.schedulers.protocol import Answer

close = pytest.approx

# Published with the specification, for p = {1: .35, 2: .10, 4: .05, 8: .50}: ΔF on a node with f = g..8 GPUs free.
GOLDEN = {
    1: (-0.65, -0.45, -0.55, -0.35, -0.50, -0.50, -0.50, 3.50),
    2: (-1.10, -1.00, -0.90, -0.85, -1.00, -1.00, 3.00),
    4: (-2.00, -1.85, -1.90, -1.85, 2.00),
}
POPULARITY = (0.0, 0.35, 0.10, 0.0, 0.05, 0.0, 0.0, 0.0, 0.50)


@pytest.mark.parametrize("gpus", GOLDEN)
def test_golden_rows(gpus: int) -> None:
    assert rows(POPULARITY)[gpus][gpus:] == close(GOLDEN[gpus])


@pytest.mark.parametrize("seed", range(20))
def test_rows_follow_the_definition_and_an_exact_fit_is_never_beaten(seed: int) -> None:
    rng = random.Random(seed)
    counts = [0, *(rng.choice((0, 0, 1, 5, 40)) for _ in range(8))]
    counts[rng.randint(1, 8)] += 1
    p = [Fraction(count, sum(counts)) for count in counts]

    def fragmentation(free: int) -> Fraction:
        return free * sum(p[free + 1 :], Fraction(0))

    table = rows(tuple(float(share) for share in p))
    for gpus in range(1, 9):
        expected = [fragmentation(free - gpus) - fragmentation(free) for free in range(gpus, 9)]
        assert table[gpus][gpus:] == close([float(change) for change in expected])
        assert expected[0] == min(expected)


class TestPopularity:
    def test_instances_are_counted_and_what_no_node_holds_is_not(self) -> None:
        jobs = [TraceJob("a", 0, 1, 3, 2), TraceJob("b", 0, 1, 1, 8), TraceJob("c", 0, 1, 1, 16)]
        assert count_instances(jobs) == (0, 0, 3, 0, 0, 0, 0, 0, 1)

    def test_the_most_popular_up_to_the_share(self) -> None:
        # 90 of 100 are too few; the next one passes 95 and is the last
        assert most_popular((0, 90, 6, 4, 0, 0, 0, 0, 0)) == (0, 90, 6, 0, 0, 0, 0, 0, 0)
        # exactly 95 is enough
        assert most_popular((0, 95, 5, 0, 0, 0, 0, 0, 0)) == (0, 95, 0, 0, 0, 0, 0, 0, 0)

    def test_of_equals_the_smaller_demand_first(self) -> None:
        assert most_popular((0, 0, 5, 0, 5, 0, 0, 0, 0), percent=50) == (0, 0, 5, 0, 0, 0, 0, 0, 0)


class TestCheapestNode:
    def test_the_lowest_index_among_equals_of_any_load(self) -> None:
        cluster = Cluster(4)
        for index, used in ((1, 4), (2, 6), (3, 8)):
            cluster.take(index, used)
        # free: 8, 4, 2, 0
        assert cheapest_node(cluster, 2, (9.0, 9.0, 1.0, 9.0, 1.0 + 1e-12, 9.0, 9.0, 9.0, 2.0)) == 1
        assert cheapest_node(cluster, 2, (9.0, 9.0, 1.0, 9.0, 1.5, 9.0, 9.0, 9.0, 2.0)) == 2

    def test_nothing_has_room(self) -> None:
        cluster = Cluster(1)
        cluster.take(0, 7)
        assert least_cost(cluster, 2, (0.0,) * 9) is None


class TestWindow:
    @pytest.mark.parametrize("size", [1, 2, 7, 50])
    def test_newer_arrivals_weigh_up_to_three_times_as_much(self, size: int) -> None:
        rng = random.Random(size)
        window = Window(size)
        arrived: list[int] = []
        for _ in range(3 * size):
            arrived.append(rng.randint(1, 8))
            window.add(arrived[-1])
            last = arrived[-size:]
            steps = max(1, len(last) - 1)
            weights = [1 + Fraction(2 * k, steps) for k in range(len(last))]
            expected = [sum((w for w, g in zip(weights, last, strict=True) if g == d), Fraction(0)) for d in range(9)]
            assert window.favouring_newer() == close([float(weight) for weight in expected])
            assert window.counts == [last.count(d) for d in range(9)]


class TestCafgdWindows:
    """F(4) = 4·P(g > 4), where the only demand above 4 is 8 and arrives first."""

    @staticmethod
    def fragments(eights: int, ones: int, duration_s: float) -> float:
        scheduler = CafgdScheduler(1)
        for i in range(eights + ones):
            scheduler.submitted(TraceJob(f"j{i}", 0, 1, 1, 8 if i < eights else 1), 0)
        return scheduler.fragments(duration_s)[4]

    def test_the_last_50_for_jobs_under_500_s(self) -> None:
        assert self.fragments(400, 50, 499) == 0
        # the oldest of 50 weighs 1, and all weigh 100 together
        assert self.fragments(400, 49, 499) == close(4 / 100)

    def test_the_last_400_from_500_s_on(self) -> None:
        assert self.fragments(400, 400, 500) == 0
        assert self.fragments(400, 399, 500) == close(4 / 800)

    def test_the_last_10_000_from_50_000_s_on(self) -> None:
        assert self.fragments(1_001, 9_000, 50_000) == close(4 * 0.1)

    def test_rare_demands_of_the_long_window_are_left_out(self) -> None:
        assert self.fragments(500, 9_500, 50_000) == 0

    def test_half_and_half_in_the_middle(self) -> None:
        # the short window has nothing but ones
        assert self.fragments(1_000, 9_000, 5_000) == close(0.5 * 4 * 0.1)


class TestCafgdWaits:
    """Two nodes: 7 GPUs and 1 GPU are held on one, the other is idle. Half of the demands are 1, half are 8.

    A 1 raises F on the idle node, from 0 to 7 GPUs that no 8 can use, and lowers it beside the 7.
    """

    @staticmethod
    def answer(ends_s: float, duration_s: float, *, wait: bool = True) -> Answer:
        scheduler = CafgdScheduler(2, wait_for_peak=wait)
        scheduler.arrive(TraceJob("seven", 0, 1e6, 1, 7), 0)
        scheduler.arrive(TraceJob("one", 0, ends_s, 1, 1), 0)
        for i in range(400):
            scheduler.submitted(TraceJob(f"j{i}", 0, 1, 1, 1 + 7 * (i % 2)), 0)
        return scheduler.arrive(TraceJob("new", 0, duration_s, 1, 1), 0)

    @pytest.mark.parametrize(("duration_s", "longest_s"), [(1_000, 100), (6_000, 600), (12_000, 600)])
    def test_a_tenth_of_its_runtime_but_no_more_than_ten_minutes(self, duration_s: float, longest_s: float) -> None:
        assert self.answer(longest_s, duration_s) == Refused(Cause.HELD)
        assert self.answer(longest_s + 1, duration_s) == Placed((1,))

    def test_only_if_asked_to(self) -> None:
        assert self.answer(10, 12_000, wait=False) == Placed((1,))


class TestMcg:
    """Only 4-GPU jobs have arrived: F(f) = f below 4, 0 from 4 on."""

    @staticmethod
    def scheduler() -> McgScheduler:
        scheduler = McgScheduler(2)
        scheduler.submitted(TraceJob("a", 0, 1, 1, 4), 0)
        return scheduler

    def test_on_idle_nodes_only_balance_counts(self) -> None:
        scheduler = self.scheduler()
        assert scheduler.row(4)[8] == close(0.1 * 0.5**2)
        assert scheduler.gain_per_gpu(4) == close(-0.025 / 4)

    def test_beside_a_running_job(self) -> None:
        scheduler = self.scheduler()
        scheduler.arrive(TraceJob("a", 0, 1, 1, 4), 0)
        # ū = 1/4. On the node in use: 1/2 to 1; on the idle one: 0 to 1/2. Fragmentation does not change.
        assert scheduler.row(4)[4] == close(0.1 * (0.75**2 - 0.25**2))
        assert scheduler.row(4)[8] == close(0.1 * (0.25**2 - 0.25**2))
        # A 1 on the node in use leaves three GPUs that no 4 can use.
        assert scheduler.row(1)[4] == close(3 / 8 + 0.1 * (0.375**2 - 0.25**2))


def test_the_long_window_counts_for_long_jobs() -> None:
    assert [long_share(d) for d in (0, 499.9, 500, 5_000, 50_000, 1e9)] == close([0, 0, 0, 0.5, 1, 1])
