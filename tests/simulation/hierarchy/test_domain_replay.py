"""Replays on domains: figures derived by hand, laws of both schedulers, what the tiers owe under the condition."""

from __future__ import annotations

import pytest

from compass_core import Variant
from simulation.hierarchy import BestFitDomains, PanelSpec, TieredScheduler, panel_trace, replay_domains
from simulation.hierarchy.__main__ import main
from simulation.jobs import TraceJob

close = pytest.approx


class TestByHand:
    """One domain of two panels: a job of both for 10 s, and one GPU for 5 s that has to wait for it."""

    JOBS = (TraceJob("a", 0.0, 10.0, 1, 16), TraceJob("b", 0.0, 5.0, 1, 1))

    @pytest.mark.parametrize("scheduler", [TieredScheduler, BestFitDomains])
    def test_waiting_for_gpus(self, scheduler: type[TieredScheduler | BestFitDomains]) -> None:
        found = replay_domains(self.JOBS, scheduler(1, 2))
        assert (found.jobs, found.events, found.refused, found.moved) == (2, 4, 0, 0)
        assert found.ajct_s == close((10 + 15) / 2)
        assert found.agu == close((16 * 10 + 5) / (16 * 15))
        assert (found.capacity_blocked_s, found.fragmentation_blocked_s) == (10.0, 0.0)
        # 10 s of a full domain, 5 s of one partial panel in a partial domain: none is avoidable
        assert (found.panel_afr, found.domain_afr) == (0.0, 0.0)
        assert (found.panel_wcc, found.domain_wcc) == (1.0, 1.0)

    def test_two_halves_left_behind(self) -> None:
        """Best fit leaves 4 GPUs on each of two panels once the others end, where one would do; the tiers move one."""
        jobs = [TraceJob(f"{n}", float(n), 20.0 if n % 2 else 5.0, 1, 4) for n in range(4)]
        # 0 and 1 share a panel, 2 and 3 the other: from 7 s (end of 2) to 21 s (end of 1) each panel holds one of them
        found = replay_domains(jobs, BestFitDomains(1, 2))
        assert found.panel_afr == close(2 * (21 - 7) / (2 * 23))
        assert replay_domains(jobs, TieredScheduler(1, 2)).moved == 1

    def test_blocked_although_enough_is_free(self) -> None:
        jobs = [TraceJob("a", 0.0, 9.0, 2, 5), TraceJob("b", 1.0, 1.0, 1, 6)]
        found = replay_domains(jobs, BestFitDomains(1, 2))
        assert (found.capacity_blocked_s, found.fragmentation_blocked_s) == (0.0, 8.0)

    def test_what_no_domain_can_run(self) -> None:
        jobs = [TraceJob("a", 0.0, 9.0, 1, 24), TraceJob("b", 0.0, 9.0, 1, 12), TraceJob("c", 0.0, 9.0, 17, 1)]
        found = replay_domains(jobs, TieredScheduler(1, 2))
        assert (found.jobs, found.refused) == (0, 3)


class TestLaws:
    TRACE = panel_trace(PanelSpec(jobs=300, gap_s=30.0, duration_s=1_500.0), seed=3)

    @pytest.mark.parametrize("variant", [Variant.EXACT, Variant.COMPASS])
    def test_the_tiers_end_idle(self, variant: Variant) -> None:
        scheduler = TieredScheduler(4, variant=variant)
        found = replay_domains(self.TRACE, scheduler)
        assert found.jobs + found.refused == 300
        assert scheduler.state == TieredScheduler(4).state

    def test_best_fit_ends_idle(self) -> None:
        scheduler = BestFitDomains(4)
        found = replay_domains(self.TRACE, scheduler)
        assert found.jobs + found.refused == 300
        assert (scheduler.partial, scheduler.open_panels) == ((0, 0), 0)

    def test_nothing_is_avoidable_while_both_conditions_hold(self) -> None:
        """Demands of 1, 2 and 4 GPUs and of 1, 2, 4 and 8 panels on domains of 8: both conditions always hold."""
        spec = PanelSpec(jobs=300, gap_s=30.0, inside=(3, 2, 0, 2), panels=(3, 2, 0, 2, 0, 0, 0, 1))
        found = replay_domains(panel_trace(spec, seed=5), TieredScheduler(5, 8))
        assert found.panel_wcc == close(1.0)
        assert found.domain_wcc == close(1.0)
        assert (found.panel_afr, found.domain_afr) == (0.0, 0.0)

    def test_the_same_again_is_the_same(self) -> None:
        again = [replay_domains(self.TRACE, TieredScheduler(4)) for _ in range(2)]
        assert again[0] == again[1]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--jobs", "40", "--domains", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["tiers, exact", "tiers, compass", "best fit"]
