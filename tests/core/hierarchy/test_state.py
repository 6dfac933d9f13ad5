"""What the state of a hierarchy says of itself, and its check, which names the fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compass_core import ClusterState, Instance, InvariantViolation, Job, PlacementError
from compass_core.hierarchy import NVL72, NVL576, NVL576_FLAT, HierarchicalState, Tiers, arrive


def test_no_domains_are_the_fewest() -> None:
    assert HierarchicalState.empty(0).total_gpus == 0


@pytest.mark.parametrize("hosts", [-1, 2.0, True, "2"])
def test_refuses_what_is_no_number_of_domains(hosts: Any) -> None:  # noqa: ANN401 - wrong types are meant
    with pytest.raises(PlacementError, match=f"expected 0 hosts or more, got {hosts}"):
        HierarchicalState.empty(hosts)


def test_sizes_of_what_is_built() -> None:
    assert [HierarchicalState.empty(1, tiers).total_gpus for tiers in (NVL72, NVL576, NVL576_FLAT)] == [72, 576, 576]


def test_hosts_and_units_have_names() -> None:
    tiers = Tiers((2,) * 5)
    names = ["panel", "domain", "group", "host of tier 3", "host of tier 4"]
    assert [tiers.name(tier) for tier in range(5)] == names
    assert [tiers.unit_name(tier) for tier in range(5)] == ["GPU", *names[:-1]]


def test_what_moves_is_told_in_gpus() -> None:
    state = arrive(HierarchicalState.empty(1), Job("big", 1, 16)).state
    assert state.held_by(1, Instance("big", 0, 2)) == (Instance("big", 0, 16),)


class TestCheck:
    idle = HierarchicalState.empty(2)
    state = arrive(idle, Job("a", 1, 3)).state

    def fault(self, panels: ClusterState, domains: ClusterState) -> str:
        with pytest.raises(InvariantViolation) as raised:
            replace(self.state, levels=(panels, domains)).check()
        return str(raised.value)

    def test_a_tier_that_is_broken_itself(self) -> None:
        panels, domains = self.state.levels
        assert self.fault(replace(panels, counts=(0,) * 8), domains).startswith("tier 0: the counts")
        assert self.fault(panels, replace(domains, counts=(0,) * 9)).startswith("tier 1: the counts")

    def test_a_panel_in_use_in_one_of_two_tiers(self) -> None:
        said = "tier 0: hosts [0] are in use in one of two tiers only"
        assert self.fault(self.state.levels[0], self.idle.levels[1]) == said
        assert self.fault(self.idle.levels[0], self.state.levels[1]) == said

    def test_idle_panels_that_no_domain_has_room_for_and_the_reverse(self) -> None:
        panels, domains = self.state.levels
        said = "tier 0: {} hosts are idle, the tier outside has 17 units free"
        assert self.fault(panels.with_node()[0], domains) == said.format(18)
        assert self.fault(panels.with_node_offline(5), domains) == said.format(16)
