"""SIF of every tier of a scheduled hierarchy, against trying every placement; the joint optimum is reached."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import Job, Variant
from compass_core.hierarchy import HierarchicalState, Tiers, arrive, depart, tier_condition
from oracle import inherent_partial_nodes
from oracle.measurement.joint import HierarchicalWorkload, joint_optimum
from oracle.measurement.tiers import measure_tiers
from tests.oracle.hierarchy.every_arrangement import bag, partial_and_used

MOST_INSTANCES = 9  # of a tier, for trying every placement


@st.composite
def states(draw: st.DrawFn, sizes: tuple[int, int], variant: Variant) -> HierarchicalState:
    gpus, panels = sizes
    state = HierarchicalState.empty(draw(st.integers(1, 3)), Tiers(sizes))
    demands = st.one_of(st.integers(1, gpus - 1), st.integers(1, panels).map(lambda whole: whole * gpus))
    running: list[str] = []
    for number in range(draw(st.integers(0, 12))):
        if running and draw(st.integers(0, 3)) == 0:
            state = depart(state, running.pop(draw(st.integers(0, len(running) - 1))), variant=variant).state
            continue
        out = arrive(state, Job(f"j{number}", draw(st.integers(1, 3)), draw(demands)), variant=variant)
        if out.admitted:
            running.append(f"j{number}")
        state = out.state
    return state


@pytest.mark.parametrize("sizes", [(8, 3), (4, 5), (4, 9)], ids=str)
@given(data=st.data())
def test_every_tier(sizes: tuple[int, int], data: st.DataObject) -> None:
    state = data.draw(states(sizes, Variant.COMPASS))
    for level, found in zip(state.levels, measure_tiers(state), strict=True):
        assert (found.hosts, found.partial_hosts) == (level.node_count, level.partial_nodes)
        if sum(level.counts) <= MOST_INSTANCES:
            every = partial_and_used(bag(level.counts), level.capacity)
            least = min(partial for partial, used in every if used <= level.node_count)
            assert found.inherent_partial_hosts == least
            assert found.sif == (level.partial_nodes - least) / max(1, level.node_count)


@pytest.mark.parametrize("sizes", [(8, 9), (4, 3), (8, 5)], ids=str)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_the_joint_optimum_is_reached_under_both_conditions(sizes: tuple[int, int], data: st.DataObject) -> None:
    state = data.draw(states(sizes, Variant.EXACT))
    if not all(state.wcc):
        return
    panels, domains = state.levels
    opened = panels.node_count - panels.empty_nodes
    best = joint_optimum(
        HierarchicalWorkload(
            inside=panels.counts[:-1],
            whole=(domains.counts[0] - opened, *domains.counts[1:]),
            domains=domains.node_count,
            panels_per_domain=domains.capacity,
            gpus_per_panel=panels.capacity,
        )
    )
    assert state.partial_hosts == (best.partial_panels, best.partial_domains)
    assert opened == best.open_panels


@pytest.mark.parametrize("size", [11, 16, 72])
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_the_pattern_model_agrees_with_the_condition_on_large_hosts(size: int, data: st.DataObject) -> None:
    """Flat hosts of 72 panels are no more than the model can settle, by flows instead of patterns."""
    few = data.draw(st.dictionaries(st.integers(2, size), st.integers(1, 6), max_size=5))
    counts = [few.get(units, 0) for units in range(1, size + 1)]
    counts[0] = tier_condition(counts).need + data.draw(st.integers(0, 3 * size))
    condition = tier_condition(counts)
    if condition.holds:
        assert inherent_partial_nodes(counts, capacity=size) == condition.inherent


def test_names() -> None:
    state = HierarchicalState.empty(2, Tiers((8, 9, 8)))
    assert [tier.name for tier in measure_tiers(state)] == ["panel", "domain", "group"]
    assert [tier.hosts for tier in measure_tiers(state)] == [144, 16, 2]
