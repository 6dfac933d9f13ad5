"""Random events of every kind and bad calls, each variant under its referee; old states stay what they were."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from compass_core import (
    DuplicateJobError,
    Instance,
    InvalidJobError,
    Job,
    UnknownJobError,
    Variant,
    VariantError,
    add_node,
    arrive,
    depart,
    drain_node,
    fail_node,
)
from proofs.events import NodeEventKind
from proofs.strategies import CAPACITIES, demands, event_lists
from tests.core.referee import PrintedReferee, Referee, all_it_says

if TYPE_CHECKING:
    from compass_core import ClusterState

MAX_NODES = 6
BRUTE_FORCE_UP_TO = 8  # GPUs a node: beyond, packings without the condition take too long to try


def looks_random(salt: int, instance: Instance) -> float:
    """Return a cost that is the same whenever it is asked for, and sometimes 0."""
    return (sum(map(ord, instance.job)) * 31 + instance.index * 17 + salt) % 7 / 2


class SchedulerMachine(RuleBasedStateMachine):
    """Jobs and nodes come and go."""

    variant: ClassVar[Variant]
    capacity: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self.referee = self.new_referee(0, None)
        self.memories: list[tuple[ClusterState, object]] = []
        self.arrived = 0

    def new_referee(self, nodes: int, salt: int | None) -> Referee:
        if self.variant is Variant.PRINTED:
            return PrintedReferee(nodes, self.capacity)
        if salt is None:
            return Referee(self.variant, nodes, self.capacity)
        return Referee(self.variant, nodes, self.capacity, partial(looks_random, salt))

    @initialize(nodes=st.integers(1, 3), salt=st.none() | st.integers(0, 6))
    def begin(self, nodes: int, salt: int | None) -> None:
        self.referee = self.new_referee(nodes, salt)

    def arrives(self, instances: int, gpus: int) -> None:
        self.arrived += 1
        self.referee.arrive(Job(f"j{self.arrived:03}", instances, gpus))

    @rule(data=st.data(), instances=st.integers(2, 4))
    def gang_arrives(self, data: st.DataObject, instances: int) -> None:
        self.arrives(instances, data.draw(demands(self.capacity)))

    @rule(data=st.data())
    def single_arrives(self, data: st.DataObject) -> None:
        self.arrives(1, data.draw(demands(self.capacity)))

    @rule(data=st.data())
    def snug_gang_arrives(self, data: st.DataObject) -> None:
        """Ask for as much as is free, or nearly: where admission is decided."""
        gpus = data.draw(demands(self.capacity))
        at_most = self.referee.model.free // gpus + 1
        self.arrives(data.draw(st.integers(max(1, at_most - 2), at_most)), gpus)

    @precondition(lambda self: self.referee.model.jobs)
    @rule(data=st.data())
    def departs(self, data: st.DataObject) -> None:
        self.referee.depart(data.draw(st.sampled_from(sorted(self.referee.model.jobs))))

    @rule(kind=st.sampled_from(NodeEventKind), node=st.integers(-1, MAX_NODES))
    def node_event(self, kind: NodeEventKind, node: int) -> None:
        referee = self.referee
        if self.variant is Variant.PRINTED:
            referee.refused(VariantError, add_node, referee.state, variant=self.variant)
            referee.refused(VariantError, drain_node, referee.state, 0, variant=self.variant)
            referee.refused(VariantError, fail_node, referee.state, 0, variant=self.variant)
        elif kind is not NodeEventKind.ADD or referee.model.known < MAX_NODES:
            referee.node_event(kind, node)

    @rule(data=st.data(), instances=st.integers(1, 3), name=st.sampled_from(["", "wide", "none", "0"]))
    def bad_calls(self, data: st.DataObject, instances: int, name: str) -> None:
        referee, state = self.referee, self.referee.state
        referee.refused(UnknownJobError, depart, state, name, variant=self.variant)
        too_wide = Job("wide", instances, self.capacity + data.draw(st.integers(1, 3)))
        referee.refused(InvalidJobError, arrive, state, too_wide, variant=self.variant)
        referee.refused(InvalidJobError, Job, "none", data.draw(st.integers(-2, 0)), 1)
        referee.refused(InvalidJobError, Job, "none", instances, data.draw(st.integers(-2, 0)))
        if referee.model.jobs:
            in_use = data.draw(st.sampled_from(sorted(referee.model.jobs)))
            gpus = data.draw(st.integers(1, self.capacity + 1))
            referee.refused(DuplicateJobError, arrive, state, Job(in_use, instances, gpus), variant=self.variant)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        self.referee.check()
        self.referee.check_sif(even_without_wcc=self.capacity <= BRUTE_FORCE_UP_TO)

    @invariant()
    def the_last_state_is_untouched(self) -> None:
        for state, said in self.memories[-1:]:
            assert all_it_says(state) == said
        if not self.memories or self.memories[-1][0] is not self.referee.state:
            self.memories.append((self.referee.state, all_it_says(self.referee.state)))

    def teardown(self) -> None:
        """All states of the run are untouched."""
        for state, said in self.memories:
            state.check()
            assert all_it_says(state) == said


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("variant", Variant)
def test_under_a_referee(variant: Variant, capacity: int) -> None:
    class Configured(SchedulerMachine):
        pass

    Configured.variant, Configured.capacity = variant, capacity
    examples = settings().max_examples // 2
    run_state_machine_as_test(Configured, settings=settings(max_examples=examples, stateful_step_count=40))


@pytest.mark.parametrize("capacity", CAPACITIES)
@given(data=st.data())
def test_compass_with_friendly_demands_alone(data: st.DataObject, capacity: int) -> None:
    """C5: powers of two above 1 leave no avoidable partial node, whatever comes and goes."""
    friendly = st.sampled_from([g for g in (2, 4, 8, 16) if g <= capacity])
    referee = Referee(Variant.COMPASS, 3, capacity)
    for event in data.draw(event_lists(capacity=capacity, gpus=friendly, nodes=3)):
        referee.play(event)
        referee.check()
        assert referee.model.partial_nodes == (1 if referee.model.used % capacity else 0)
