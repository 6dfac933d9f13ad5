"""Random events in hierarchies of many sizes, each followed on a plain model; laws of every tier after each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import (
    DuplicateJobError,
    InvalidJobError,
    Job,
    NodeKind,
    PlacementError,
    RefusalKind,
    UnknownJobError,
    Variant,
    VariantError,
)
from compass_core.hierarchy import (
    NVL72,
    Closing,
    HierarchicalState,
    Opening,
    TierMigration,
    Tiers,
    arrive,
    depart,
    replay,
)
from compass_core.hierarchy.scheduler import without_job
from compass_core.steps import MoveReason
from tests.core.hierarchy.naive import Hierarchy
from tests.core.naive import fewest_partial_nodes, seeded

if TYPE_CHECKING:
    from compass_core import Instance

REPAIRED = (Variant.COMPASS, Variant.EXACT)
SIZES = [
    (8, 9),
    (8, 1),
    (8, 2),
    (4, 3),
    (4, 5),
    (2, 6),
    (4, 7),
    (2, 10),
    (2, 15),
    (8, 4),
    (4, 3, 2),
    (8, 9, 2),
    (2, 3, 3),
    (2, 24),
    (2, 72),
]
BRUTE_FORCE_UP_TO = 14  # units in use: beyond, trying every placement takes too long


def demands_of(tiers: Tiers) -> list[int]:
    return sorted({u * tiers.unit_gpus(t) for t, size in enumerate(tiers.sizes) for u in range(1, size + 1)})


@dataclass
class Referee:
    """Plays events and checks what they owe."""

    state: HierarchicalState
    variant: Variant
    model: Hierarchy = field(init=False)
    moved: int = 0

    def __post_init__(self) -> None:
        self.model = Hierarchy(self.state.tiers.sizes, self.state.levels[-1].node_count)

    def arrive(self, job: Job) -> bool:
        before = self.state
        free, exact = before.free_gpus, self.fits_by_the_condition(job)
        out = arrive(before, job, variant=self.variant)
        if not out.admitted:
            assert out.state is before
            assert out.reason is not None
            assert (out.reason.kind is RefusalKind.CAPACITY) >= (job.total_gpus > free)
            assert not exact
            return False
        assert job.total_gpus <= free
        self.moved += self.model.carry_out(out.steps)
        units = job.gpus // before.tiers.unit_gpus(out.tier)
        assert units * before.tiers.unit_gpus(out.tier) == job.gpus
        self.model.start(job.name, out.tier, job.instances, units, out.placements)
        levels = list(replay(before, out.steps))
        levels[out.tier] = levels[out.tier].with_job(Job(job.name, job.instances, units))
        for placement in out.placements:
            levels[out.tier] = levels[out.tier].add(placement.instance, placement.node)
        assert [list(level.nodes) for level in levels] == [list(level.nodes) for level in out.state.levels]
        self.agreed(out.state)
        return True

    def depart(self, name: str) -> None:
        base = without_job(self.state, name)
        out = depart(self.state, name, variant=self.variant)
        self.model.stop(name)
        self.moved += self.model.carry_out(out.steps)
        assert replay(base, out.steps) == out.state.levels
        assert sum(step.dragged for step in out.migrations) == out.instances_moved
        self.agreed(out.state)

    def fits_by_the_condition(self, job: Job) -> bool:
        """Whether EXACT owes admission: the panels' condition holds with the job, and its tier is not concerned."""
        tier, _ = self.state.tiers.tier_of(job.gpus)
        if self.variant is not Variant.EXACT or tier or job.total_gpus > self.state.free_gpus:
            return False
        counts = list(self.state.levels[0].counts)
        counts[job.gpus - 1] += job.instances
        width = [1, 2, 4, 4, 8, 8, 8, 8]
        return sum((width[g - 1] - g) * n for g, n in enumerate(counts, start=1) if g > 1) <= counts[0]

    def agreed(self, state: HierarchicalState) -> None:
        """Take over the state, having checked that it says what the model says, and the laws of each tier."""
        self.state = state
        state.check()
        assert state.used_gpus == self.model.used_gpus()
        assert state.free_gpus == state.total_gpus - state.used_gpus
        assert {job.name: (t, job.instances, job.gpus) for t, job in state.jobs()} == self.model.jobs
        for tier, level in enumerate(state.levels):
            where = {
                ("@", int(x.job[1:])) if x.job.startswith("@") else (x.job, x.index): at
                for at, node in level.nodes.occupied()
                for x in node.instances
            }
            assert where == self.model.where[tier]
            assert level.partial_nodes == self.model.partial(tier)
            self.laws(tier)

    def laws(self, tier: int) -> None:
        level, condition = self.state.levels[tier], self.state.condition(tier)
        counts = self.model.counts(tier)
        assert level.counts == counts
        if not condition.holds:
            return
        avoidable = level.partial_nodes - condition.inherent
        assert avoidable <= (2 if tier == 0 and self.variant is Variant.COMPASS else 0)
        used = sum(units * n for units, n in enumerate(counts, start=1))
        if used <= BRUTE_FORCE_UP_TO:
            assert condition.inherent == fewest_partial_nodes(counts, level.capacity, used)


@st.composite
def event_lists(draw: st.DrawFn, tiers: Tiers) -> list[Job | str]:
    """Arrivals as jobs, departures as names; small demands are commoner, so that panels open and close."""
    events: list[Job | str] = []
    present: list[str] = []
    demands = st.one_of(st.sampled_from((1, 1, 2)), st.sampled_from(demands_of(tiers)))
    for number in range(draw(st.integers(0, 30))):
        if present and draw(st.integers(0, 4)) < 2:
            events.append(present.pop(draw(st.integers(0, len(present) - 1))))
        else:
            events.append(Job(f"j{number}", draw(st.integers(1, 4)), draw(demands)))
            present.append(f"j{number}")
    return events


@pytest.mark.parametrize("variant", REPAIRED)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@settings(max_examples=settings().max_examples // 10)  # each is dozens of events, all of it written down again
@given(data=st.data())
def test_every_event_keeps_the_laws(sizes: tuple[int, ...], variant: Variant, data: st.DataObject) -> None:
    tiers = Tiers(sizes)
    referee = Referee(HierarchicalState.empty(data.draw(st.integers(1, 4)), tiers), variant)
    running: set[str] = set()
    for event in data.draw(event_lists(tiers)):
        if isinstance(event, Job):
            if referee.arrive(event):
                running.add(event.name)
        elif event in running:
            running.remove(event)
            referee.depart(event)


@pytest.mark.slow
@pytest.mark.parametrize("variant", REPAIRED)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_long_runs(sizes: tuple[int, ...], variant: Variant) -> None:
    tiers, random = Tiers(sizes), seeded(7)
    referee = Referee(HierarchicalState.empty(5, tiers), variant)
    running: list[str] = []
    for number in range(3000):
        filling = number // 75 % 2 == 0
        if running and random.random() < (0.3 if filling else 0.7):
            referee.depart(running.pop(random.randrange(len(running))))
        else:
            gpus = random.choice(demands_of(tiers)) if random.random() < 0.4 else random.choice((1, 1, 2))
            if referee.arrive(Job(f"j{number}", random.randint(1, 4), gpus)):
                running.append(f"j{number}")
    for name in running:
        referee.depart(name)
    assert referee.state == HierarchicalState.empty(5, tiers)


class TestCascade:
    """A panel opens before anything is put on it, and returns to its domain when it empties."""

    def test_a_small_job_takes_one_panel(self) -> None:
        out = arrive(HierarchicalState.empty(2), Job("a", 2, 3))
        assert out.steps == (Opening(0, 0, 0),)
        assert out.state.levels[1].counts[0] == 1
        assert depart(out.state, "a").state == HierarchicalState.empty(2)

    def test_no_panel_is_both_whole_and_open(self) -> None:
        state = arrive(HierarchicalState.empty(1), Job("a", 8, 8)).state
        state = arrive(state, Job("b", 1, 5)).state
        refused = arrive(state, Job("c", 1, 8))
        assert not refused.admitted
        assert refused.reason is not None
        assert (refused.reason.kind, refused.reason.free, refused.reason.demanded) == (RefusalKind.CAPACITY, 0, 1)
        assert str(refused.reason).startswith("domains, capacity: 1 panels demanded, 0 free")

    def test_refused_for_panels_that_are_open(self) -> None:
        state = arrive(HierarchicalState.empty(1), Job("a", 9, 5)).state
        refused = arrive(state, Job("b", 1, 16))
        assert refused.reason is not None
        assert refused.reason.kind is RefusalKind.FRAGMENTATION

    def test_free_gpus_that_make_no_panel(self) -> None:
        """Just as many as are demanded: four beside a slot of 4, four beside ones."""
        state = HierarchicalState.empty(1, Tiers((8, 2)))
        for job in (Job("a", 1, 4), Job("f", 4, 1)):
            state = arrive(state, job).state
        refused = arrive(state, Job("b", 1, 8))
        assert (state.free_gpus, refused.reason and refused.reason.kind) == (8, RefusalKind.FRAGMENTATION)

    def test_all_idle_panels_may_be_taken(self) -> None:
        assert arrive(HierarchicalState.empty(1), Job("a", 9, 8)).state.free_gpus == 0

    def test_panels_that_return_are_homes_for_orphans(self) -> None:
        """{3, 3, 1, 1} without a 3 has an orphan; it finds a home when the job that held the other panel has ended."""
        state = HierarchicalState.empty(1, Tiers((8, 2)))
        for job in (Job("a", 1, 3), Job("b", 1, 3), Job("f", 2, 1), Job("whole", 1, 8)):
            state = arrive(state, job).state
        state = depart(state, "a").state
        assert [node.kind for _, node in state.levels[0].nodes.occupied()] == [NodeKind.MIXED]
        state = depart(state, "whole").state
        assert {node.kind for node in state.levels[0].nodes} == {NodeKind.SLOTTED, NodeKind.POOL}

    def test_a_moved_panel_drags_its_instances(self) -> None:
        """Two domains of 8 panels held whole and an open one: without the former one panel moves, the lighter one."""
        state = HierarchicalState.empty(2)
        for name, instances, gpus in (("a", 1, 64), ("b", 1, 64), ("c", 4, 2), ("d", 8, 1)):
            state = arrive(state, Job(name, instances, gpus), variant=Variant.EXACT).state
        state = depart(state, "a", variant=Variant.EXACT).state
        assert state.partial_hosts == (0, 1)
        out = depart(state, "b", variant=Variant.EXACT)
        (moved,) = out.migrations
        assert moved.moved_host is not None
        assert {held.job for held in state.held_by(1, moved.instance)} == {"c"}
        assert (moved.tier, moved.dragged, out.instances_moved) == (1, 4, 4)

    def test_jobs_of_the_paper_share_domains(self) -> None:
        """Nine 8-panel and nine 1-panel jobs: Φ = 9 as printed (P13), 0 by this rule."""
        state = HierarchicalState.empty(18)
        for number in range(9):
            state = arrive(state, Job(f"a{number}", 1, 64)).state
        for number in range(9):
            state = arrive(state, Job(f"b{number}", 1, 8)).state
        assert state.partial_hosts == (0, 0)
        assert state.wcc == (True, True)


class TestErrors:
    def test_names_and_demands(self) -> None:
        state = arrive(HierarchicalState.empty(2), Job("a", 1, 8)).state
        with pytest.raises(DuplicateJobError):
            arrive(state, Job("a", 1, 1))
        with pytest.raises(InvalidJobError, match="own"):
            arrive(state, Job("@1", 1, 1))
        with pytest.raises(InvalidJobError, match="1 to 8 x 1 or 1 to 9 x 8"):
            arrive(state, Job("b", 1, 12))
        with pytest.raises(UnknownJobError):
            depart(state, "b")
        panel = arrive(state, Job("c", 1, 1)).state
        with pytest.raises(UnknownJobError):
            depart(panel, "@0")

    def test_the_print_knows_no_tiers(self) -> None:
        with pytest.raises(VariantError):
            arrive(HierarchicalState.empty(1), Job("b"), variant=Variant.PRINTED)

    @pytest.mark.parametrize("sizes", [(), (0,), (17,), (8, 0), (8, 73), (8, 9, 73)])
    def test_sizes(self, sizes: tuple[int, ...]) -> None:
        with pytest.raises(PlacementError):
            Tiers(sizes)

    def test_the_largest_sizes(self) -> None:
        assert HierarchicalState.empty(1, Tiers((16, 72, 72))).total_gpus == 16 * 72 * 72

    def test_replay_refuses_what_cannot_be_done(self) -> None:
        state = arrive(HierarchicalState.empty(2), Job("a", 1, 3)).state
        instance = Job("a", 1, 3).instance(0)
        unit = Job("@0").instance(0)
        for step in (
            Opening(0, 0, 0),
            TierMigration(0, instance, 0, 5, MoveReason.MERGE, 1),
            TierMigration(0, instance, 1, 0, MoveReason.MERGE, 1),
            TierMigration(1, unit, 1, 0, MoveReason.MERGE, 1),
        ):
            with pytest.raises(PlacementError):
                replay(state, [step])

    def test_replay_asks_where_things_stand(self) -> None:
        state = HierarchicalState.empty(2)
        for job in (Job("whole", 9, 8), Job("a", 1, 6), Job("b", 1, 2)):
            state = arrive(state, job).state
        assert {x.job: at for at, node in state.levels[0].nodes.occupied() for x in node.instances} == {"a": 9, "b": 10}
        for step in (
            TierMigration(0, Job("a", 1, 6).instance(0), 11, 10, MoveReason.MERGE, 1),
            TierMigration(0, Job("b", 1, 2).instance(0), 8, 9, MoveReason.MERGE, 1),
            Closing(0, 9, 1),
        ):
            with pytest.raises(PlacementError):
                replay(state, [step])
        with pytest.raises(PlacementError, match="host 0 of tier 1 is not in use"):
            replay(HierarchicalState.empty(1, Tiers((4, 3, 2))), [Opening(0, 0, 0)])
        stopped = without_job(state, "a")
        for inside in (0, 2):
            with pytest.raises(PlacementError):
                replay(stopped, [Closing(0, 9, inside)])
        assert replay(stopped, [Closing(0, 9, 1)])[1].free_gpus == 8


@pytest.mark.parametrize("variant", REPAIRED)
@given(events=event_lists(NVL72))
def test_an_event_does_the_same_whatever_the_number_of_idle_domains(variant: Variant, events: list[Job | str]) -> None:
    small, large = HierarchicalState.empty(40), HierarchicalState.empty(400)
    for event in events:
        if isinstance(event, Job):
            first, second = arrive(small, event, variant=variant), arrive(large, event, variant=variant)
        else:
            first, second = depart(small, event, variant=variant), depart(large, event, variant=variant)
        assert first.admitted
        assert (first.steps, first.placements) == (second.steps, second.placements)
        small, large = first.state, second.state


def test_costs_decide_which_panel_moves() -> None:
    def cost(instance: Instance) -> float:
        return 100.0 if instance.job == "dear" else 1.0

    state = HierarchicalState.empty(3, NVL72)
    for name, instances, gpus in (("x", 3, 32), ("dear", 1, 7), ("cheap", 1, 7)):
        state = arrive(state, Job(name, instances, gpus), variant=Variant.EXACT, migration_cost=cost).state
    out = depart(state, "x", variant=Variant.EXACT, migration_cost=cost)
    assert "dear" not in {i.job for step in out.migrations for i in state.held_by(step.tier, step.instance)}
