"""The joint optimum against every arrangement of small workloads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.measurement.joint import HierarchicalWorkload, joint_optimum
from oracle.optimum.exact import InfeasibleError, UndecidedError, WorkloadError
from oracle.verification.domains import joint_by_trying
from tests.oracle.hierarchy.every_arrangement import pairs


@st.composite
def workloads(draw: st.DrawFn) -> HierarchicalWorkload:
    gpus, size, domains = draw(st.integers(2, 8)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    inside = [0] * (gpus - 1)
    for _ in range(draw(st.integers(0, 7))):
        inside[draw(st.integers(0, gpus - 2))] += 1
    whole = [0] * size
    for _ in range(draw(st.integers(0, 4))):
        whole[draw(st.integers(0, size - 1))] += 1
    return HierarchicalWorkload(
        inside=tuple(inside), whole=tuple(whole), domains=domains, panels_per_domain=size, gpus_per_panel=gpus
    )


def every_pair(of: HierarchicalWorkload) -> set[tuple[int, int]]:
    return pairs(of.inside, of.whole, domains=of.domains, size=of.panels_per_domain, gpus=of.gpus_per_panel)


@given(workloads(), st.integers(0, 3), st.integers(0, 3))
def test_best_of_every_arrangement(workload: HierarchicalWorkload, panel_weight: int, domain_weight: int) -> None:
    every = every_pair(workload)
    weights = (panel_weight, domain_weight)
    if not every:
        with pytest.raises(InfeasibleError):
            joint_optimum(workload)
        with pytest.raises(InfeasibleError):
            joint_optimum(workload, weights=weights)
        return
    first = joint_optimum(workload)
    assert (first.partial_panels, first.partial_domains) == min(every)
    weighed = joint_optimum(workload, weights=weights)
    least = min(panel_weight * panels + domain_weight * domains for panels, domains in every)
    assert panel_weight * weighed.partial_panels + domain_weight * weighed.partial_domains == least
    assert (weighed.partial_panels, weighed.partial_domains) in every


@given(workloads())
def test_what_is_tried_again_is_the_best_of_every_arrangement(workload: HierarchicalWorkload) -> None:
    every = every_pair(workload)
    tried = joint_by_trying(workload)
    if tried is not None:
        assert (tried.partial_panels, tried.partial_domains) == min(every)
        assert tried == joint_optimum(workload)


@given(st.integers(1, 5), st.integers(0, 8), st.integers(0, 2), st.integers(2, 5), st.integers(0, 3))
def test_where_open_panels_vary(fives: int, twos: int, ones: int, size: int, whole: int) -> None:
    """5s and 2s on panels of 8: {5,2} is no fuller than {5}, so the 2s may fill panels of their own instead."""
    workload = HierarchicalWorkload(inside=(ones, twos, 0, 0, fives), whole=(whole,), domains=3, panels_per_domain=size)
    every = every_pair(workload)
    if every:
        found = joint_optimum(workload)
        assert (found.partial_panels, found.partial_domains) == min(every)


class TestTheTiersMeetInTheOpenPanels:
    """One number of partial panels allows several numbers of open panels, and they suit the domains differently."""

    @pytest.mark.parametrize(("size", "opened"), [(4, 4), (5, 5)])
    def test_derived_by_hand(self, size: int, opened: int) -> None:
        """Four 5s and four 2s: each 5 has a partial panel of its own; the 2s stand beside them, or fill a fifth."""
        found = joint_optimum(HierarchicalWorkload(inside=(0, 4, 0, 0, 4), whole=(), domains=1, panels_per_domain=size))
        assert (found.partial_panels, found.partial_domains, found.open_panels) == (4, 0, opened)

    def test_weights_trade_panels_for_domains(self) -> None:
        """Two 2s: together they fill one panel of a domain of two; apart they fill the domain."""
        twos = HierarchicalWorkload(inside=(0, 2, 0), whole=(), domains=1, panels_per_domain=2, gpus_per_panel=4)
        assert (joint_optimum(twos).partial_panels, joint_optimum(twos).partial_domains) == (0, 1)
        apart = joint_optimum(twos, weights=(1, 3))
        assert (apart.partial_panels, apart.partial_domains, apart.open_panels) == (2, 0, 2)
        assert joint_optimum(twos, weights=(1, 1)).partial_panels == 0

    def test_a_large_hierarchy_is_no_larger_a_problem(self) -> None:
        large = HierarchicalWorkload(
            inside=(7000, 900, 800, 700, 300, 200, 900),
            whole=(90, 70, 60, 50, 40, 30, 20, 10, 5),
            domains=1000,
            panels_per_domain=9,
        )
        found = joint_optimum(large)
        used = sum(g * n for g, n in enumerate(large.inside, start=1))
        assert (found.partial_panels, found.open_panels) == (used % 8 != 0, -(-used // 8))
        panels = found.open_panels + sum(p * n for p, n in enumerate(large.whole, start=1))
        assert found.partial_domains == (panels % 9 != 0)


class TestRefusals:
    def test_what_does_not_fit(self) -> None:
        with pytest.raises(InfeasibleError):
            joint_optimum(HierarchicalWorkload(inside=(), whole=(0, 0, 2), domains=1, panels_per_domain=4))
        with pytest.raises(InfeasibleError):
            joint_optimum(HierarchicalWorkload(inside=(1,), whole=(0, 0, 2), domains=2, panels_per_domain=3))

    def test_what_is_no_workload(self) -> None:
        with pytest.raises(WorkloadError):
            HierarchicalWorkload(inside=(0,) * 8, whole=(), domains=1, panels_per_domain=9)
        with pytest.raises(WorkloadError):
            HierarchicalWorkload(inside=(-1,), whole=(), domains=1, panels_per_domain=9)
        with pytest.raises(WorkloadError):
            joint_optimum(HierarchicalWorkload(inside=(1,), whole=(), domains=1, panels_per_domain=9), weights=(1, -1))

    def test_no_time_is_no_answer(self) -> None:
        hard = HierarchicalWorkload(
            inside=(0, 0, 5, 0, 0), whole=(0, 0, 3), domains=4, panels_per_domain=5, gpus_per_panel=7
        )
        with pytest.raises(UndecidedError):
            joint_optimum(hard, time_limit=0)
