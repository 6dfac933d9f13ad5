"""The generator: its marginals are the laws that its specification states, and the seed decides everything.

Chi-square statistics are compared with the 99.9 % quantile of their law (tabulated below); the seeds are fixed, so that
a test is green for all or for none.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.jobs import Trace, TraceJob
from simulation.traces import Arrivals, SyntheticError, SyntheticSpec, load_trace, synthesize, wcc_share, write_trace
from simulation.traces.marginals import WORKER_COUNTS
from simulation.traces.synthetic import demand_weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Quantiles of chi-square at 99.9 % by degrees of freedom (any table of it).
_CHI_SQUARE = {3: 16.27, 7: 24.32, 9: 27.88, 23: 49.73}

_DAY_S = 86_400.0


def chi_square(observed: Mapping[int, int], shares: Mapping[int, float]) -> float:
    total = sum(observed.values())
    assert set(observed) <= set(shares)
    assert min(shares.values()) * total >= 5
    return sum((observed.get(key, 0) - total * share) ** 2 / (total * share) for key, share in shares.items())


def test_demands() -> None:
    trace = synthesize(SyntheticSpec(jobs=20_000), seed=1)
    observed = Counter(job.gpus for job in trace)
    assert chi_square(observed, {1: 0.35, 2: 0.10, 4: 0.05, 8: 0.50}) < _CHI_SQUARE[3]


def test_the_test_of_demands_can_fail() -> None:
    trace = synthesize(SyntheticSpec(jobs=20_000, demands={1: 0.37, 2: 0.08, 4: 0.05, 8: 0.50}), seed=1)
    observed = Counter(job.gpus for job in trace)
    assert chi_square(observed, {1: 0.35, 2: 0.10, 4: 0.05, 8: 0.50}) > _CHI_SQUARE[3]


def test_numbers_of_instances() -> None:
    """The published histogram: 427,584 of 466,867 jobs have one instance, 13,142 two, and so on."""
    published = {1: 427_584, 2: 13_142, 3: 4_600, 4: 5_267, 5: 1_689, 6: 1_785, 7: 1_566}
    total = 466_867
    shares = {w: jobs / total for w, jobs in published.items()} | {8: 1 - sum(published.values()) / total}
    trace = synthesize(SyntheticSpec(jobs=20_000), seed=2)
    observed = Counter(min(job.instances, 8) for job in trace)
    assert chi_square(observed, shares) < _CHI_SQUARE[7]


def test_the_histogram_adds_up() -> None:
    assert sum(jobs for *_, jobs in WORKER_COUNTS) == 466_867
    ends = [(least, most) for least, most, _ in WORKER_COUNTS]
    assert [least for least, _ in ends[1:]] == [most + 1 for _, most in ends[:-1]]
    assert (ends[0][0], ends[-1][1]) == (1, 332)


def test_a_range_of_instances_is_uniform() -> None:
    trace = synthesize(SyntheticSpec(jobs=10_000, workers=[(11, 20, 5.0), (30, 30, 0.0)]), seed=3)
    assert chi_square(Counter(job.instances for job in trace), dict.fromkeys(range(11, 21), 0.1)) < _CHI_SQUARE[9]


def test_durations_are_log_normal() -> None:
    """Deciles of the normal law; its quantiles at 10, 20, 30, 40 % are -1.28155, -0.84162, -0.52440, -0.25335."""
    spec = SyntheticSpec(jobs=10_000, log_mean_s=8.0, log_deviation=0.5)
    cuts = [-1.28155, -0.84162, -0.52440, -0.25335, 0.0, 0.25335, 0.52440, 0.84162, 1.28155]
    observed = Counter(
        sum((math.log(job.duration_s) - 8.0) / 0.5 > cut for cut in cuts) for job in synthesize(spec, seed=4)
    )
    assert chi_square(observed, dict.fromkeys(range(10), 0.1)) < _CHI_SQUARE[9]


def test_durations_are_clamped() -> None:
    durations = [job.duration_s for job in synthesize(SyntheticSpec(jobs=5_000), seed=5)]
    assert (min(durations), max(durations)) == (1.0, 172_800.0)


def hours(trace: Trace) -> Counter[int]:
    return Counter(int(job.submit_s % _DAY_S // 3600) for job in trace)


def test_poisson_arrivals_are_uniform_over_the_day() -> None:
    trace = synthesize(SyntheticSpec(jobs=20_000, days=10, arrivals=Arrivals.POISSON), seed=6)
    assert chi_square(hours(trace), dict.fromkeys(range(24), 1 / 24)) < _CHI_SQUARE[23]
    assert max(job.submit_s for job in trace) <= 10 * _DAY_S


@pytest.mark.parametrize("peak", [15.0, 3.5])
def test_diurnal_arrivals_follow_the_rate(peak: float) -> None:
    """Share of hour h: the integral of (1 + s·cos(2π (t − peak)/24)) / 24 from h to h + 1."""
    spec = SyntheticSpec(jobs=40_000, days=7, daily_swing=0.6, peak_hour=peak)

    def primitive(hour: float) -> float:
        return hour / 24 + 0.6 / (2 * math.pi) * math.sin(2 * math.pi * (hour - peak) / 24)

    shares = {hour: primitive(hour + 1) - primitive(hour) for hour in range(24)}
    trace = synthesize(spec, seed=7)
    assert chi_square(hours(trace), shares) < _CHI_SQUARE[23]
    assert chi_square(hours(trace), dict.fromkeys(range(24), 1 / 24)) > _CHI_SQUARE[23]


def test_days_left_out_are_those_of_the_published_rate() -> None:
    last = synthesize(SyntheticSpec(jobs=6_460), seed=8).jobs[-1].submit_s
    assert 9.9 * _DAY_S < last <= 10 * _DAY_S


def test_the_seed_decides_everything() -> None:
    spec = SyntheticSpec(jobs=200)
    assert synthesize(spec, seed=9) == synthesize(spec, seed=9)
    assert synthesize(spec, seed=9).jobs != synthesize(spec, seed=10).jobs


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    trace = synthesize(SyntheticSpec(jobs=500, demands={1: 1, 3: 1, 8: 1}), seed=11)
    path = tmp_path / "trace.csv"
    path.write_text(write_trace(trace))
    assert load_trace(path, strict=True).trace.jobs == trace.jobs


def test_a_limit_on_size() -> None:
    spec = SyntheticSpec(jobs=3_000, max_total_gpus=16)
    sizes = {job.total_gpus for job in synthesize(spec, seed=12)}
    assert max(sizes) == 16
    assert max(job.total_gpus for job in synthesize(replace(spec, max_total_gpus=None), seed=12)) > 16


class TestWcc:
    """n3 + 3·n5 + 2·n6 + n7 ≤ n1 over time."""

    def test_margin_sets_the_weight_of_fillers(self) -> None:
        # The need is 0.2·1 + 0.1·3 + 0.1·2 + 0.1·1 = 0.8; twice that beside the 1.0 of the others.
        spec = SyntheticSpec(demands={1: 99, 3: 0.2, 5: 0.1, 6: 0.1, 7: 0.1, 8: 0.5}, wcc_margin=2)
        expected = {1: 1.6, 3: 0.2, 5: 0.1, 6: 0.1, 7: 0.1, 8: 0.5}
        assert demand_weights(spec) == pytest.approx({gpus: weight / 2.6 for gpus, weight in expected.items()})

    def test_share_by_hand(self) -> None:
        # One 3-GPU instance from 0 to 10 s, a filler from 4 to 20 s: it fails for 4 of 20 s.
        jobs = [TraceJob("a", 0, 10, 1, 3), TraceJob("b", 4, 16, 1, 1)]
        assert wcc_share(jobs) == pytest.approx(16 / 20)

    def test_friendly_demands_always_satisfy_it(self) -> None:
        assert wcc_share(synthesize(SyntheticSpec(jobs=500), seed=13)) == 1

    def test_no_time(self) -> None:
        assert wcc_share([]) == 1
        assert wcc_share([TraceJob("a", 0, 0, 1, 3)]) == 1

    @pytest.mark.parametrize(("margin", "least", "most"), [(0.0, 0.0, 0.2), (1.0, 0.3, 0.7), (3.0, 0.95, 1.0)])
    def test_margin_moves_the_share(self, margin: float, least: float, most: float) -> None:
        spec = SyntheticSpec(
            jobs=4_000,
            days=2,
            demands={2: 0.3, 3: 0.2, 5: 0.1, 8: 0.4},
            wcc_margin=margin,
            workers=[(1, 1, 1)],
            log_mean_s=8,
            log_deviation=1,
            max_duration_s=10_000,  # a long last job would run alone for most of the time
        )
        assert least <= wcc_share(synthesize(spec, seed=14)) <= most

    @given(
        st.lists(
            st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(1, 3), st.sampled_from([1, 2, 3, 5, 6, 7])),
            min_size=1,
            max_size=6,
        )
    )
    def test_share_second_by_second(self, shapes: list[tuple[int, int, int, int]]) -> None:
        jobs = [TraceJob(f"{i}", *shape) for i, shape in enumerate(shapes)]
        first = min(job.submit_s for job in jobs)
        last = max(job.submit_s + job.duration_s for job in jobs)
        held = 0
        for second in range(int(first), int(last)):
            n = Counter[int]()
            for job in jobs:
                if job.submit_s <= second < job.submit_s + job.duration_s:
                    n[job.gpus] += job.instances
            held += n[3] + 3 * n[5] + 2 * n[6] + n[7] <= n[1]
        assert wcc_share(jobs) == pytest.approx(held / (last - first))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": -1}, "at least 0 jobs"),
        ({"days": 0.0}, "days above 0, up to"),
        ({"daily_swing": 1.5}, "a daily swing from 0 to 1"),
        ({"peak_hour": math.nan}, "a peak hour"),
        ({"log_mean_s": math.inf}, "a mean of log durations within ±30"),
        ({"log_deviation": -1.0}, "a deviation from 0 to 30"),
        ({"max_duration_s": 0.5}, "a longest duration from 1 s to 1e\\+12 s"),
        ({"demands": {0: 1.0}}, "demands of 1 GPU or more"),
        ({"demands": {1: -1.0}}, "weights of 0 or more"),
        ({"demands": {1: 0.0}}, "a demand with a weight above 0"),
        ({"demands": {}}, "a demand with a weight above 0"),
        ({"workers": []}, "ranges of 1 instance or more"),
        ({"workers": [(2, 1, 1.0)]}, "ranges of 1 instance or more"),
        ({"wcc_margin": -1.0, "demands": {3: 1.0}}, "a WCC margin of 0 or more"),
        ({"wcc_margin": 1.0}, "a demand of 3, 5, 6 or 7 GPUs with a WCC margin"),
        ({"max_total_gpus": 3, "demands": {4: 1.0}}, "a limit of 4 GPUs or more, got 3"),
    ],
)
def test_figures_out_of_range(changes: dict[str, object], message: str) -> None:
    spec = replace(SyntheticSpec(), **changes)  # type: ignore[arg-type]  # the table has one type for all fields
    with pytest.raises(SyntheticError, match=message):
        synthesize(spec, seed=0)


def test_no_jobs() -> None:
    assert len(synthesize(SyntheticSpec(jobs=0), seed=0)) == 0
