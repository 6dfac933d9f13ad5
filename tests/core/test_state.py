"""The state is a value: old ones stay valid, equal placements are equal, edits do what a naive model does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ParamSpec

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from compass_core import (
    ClusterState,
    DuplicateJobError,
    Instance,
    InvalidJobError,
    InvariantViolation,
    Job,
    Node,
    NodeKind,
    PlacementError,
    UnknownInstanceError,
    UnknownJobError,
    check_abs,
    check_open_nodes,
    check_saturation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core import CompassError

CAPACITY = 8
P = ParamSpec("P")


class NaiveCluster:
    """The same edits on a mutable dict, recomputing everything: slow, and sharing no code."""

    def __init__(self, nodes: int) -> None:
        self.online = set(range(nodes))
        self.known = nodes
        self.jobs: dict[str, tuple[int, int]] = {}
        self.where: dict[tuple[str, int], int] = {}

    def load(self, node: int) -> int:
        return sum(self.jobs[name][1] for (name, _), at in self.where.items() if at == node)

    def counts(self) -> tuple[int, ...]:
        demands = [self.jobs[name][1] for name, _ in self.where]
        return tuple(demands.count(g) for g in range(1, CAPACITY + 1))


class StateMachine(RuleBasedStateMachine):
    """Every edit against the model; a refused edit leaves no trace."""

    def __init__(self) -> None:
        super().__init__()
        self.model = NaiveCluster(3)
        self.state = ClusterState.empty(3)
        self.history: list[tuple[ClusterState, dict[Instance, int]]] = []
        self.named = 0

    def refused(
        self, expected: type[CompassError], edit: Callable[P, ClusterState], *arguments: P.args, **keywords: P.kwargs
    ) -> None:
        before = self.placement()
        with pytest.raises(expected):
            edit(*arguments, **keywords)
        assert self.placement() == before

    def placement(self) -> dict[Instance, int]:
        return {x: i for i, node in enumerate(self.state.nodes) for x in node.instances}

    @rule(instances=st.integers(1, 3), gpus=st.integers(1, CAPACITY))
    def new_job(self, instances: int, gpus: int) -> None:
        self.named += 1
        name = f"j{self.named}"
        self.state = self.state.with_job(Job(name, instances, gpus))
        self.model.jobs[name] = (instances, gpus)
        self.refused(DuplicateJobError, self.state.with_job, Job(name, 1, 1))

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data(), node=st.integers(-1, 5))
    def add(self, data: st.DataObject, node: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.jobs)))
        instances, gpus = self.model.jobs[name]
        index = data.draw(st.integers(0, instances - 1))
        instance = Instance(name, index, gpus)
        fits = node in self.model.online and self.model.load(node) + gpus <= CAPACITY
        if (name, index) in self.model.where or not fits:
            self.refused(PlacementError, self.state.add, instance, node)
        else:
            self.state = self.state.add(instance, node)
            self.model.where[name, index] = node

    @precondition(lambda self: self.model.where)
    @rule(data=st.data(), node=st.integers(-1, 5))
    def move(self, data: st.DataObject, node: int) -> None:
        name, index = data.draw(st.sampled_from(sorted(self.model.where)))
        gpus = self.model.jobs[name][1]
        fits = node in self.model.online and self.model.load(node) + gpus <= CAPACITY
        if node == self.model.where[name, index] or not fits:
            self.refused(PlacementError, self.state.move, Instance(name, index, gpus), node)
        else:
            self.state = self.state.move(Instance(name, index, gpus), node)
            self.model.where[name, index] = node

    @precondition(lambda self: self.model.where)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name, index = data.draw(st.sampled_from(sorted(self.model.where)))
        instance = Instance(name, index, self.model.jobs[name][1])
        self.state = self.state.remove(instance)
        del self.model.where[name, index]
        self.refused(UnknownInstanceError, self.state.remove, instance)
        self.refused(UnknownInstanceError, self.state.move, instance, 0)

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data())
    def remove_job(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model.jobs)))
        self.state = self.state.without_job(name)
        del self.model.jobs[name]
        self.model.where = {key: at for key, at in self.model.where.items() if key[0] != name}
        self.refused(UnknownJobError, self.state.without_job, name)

    @precondition(lambda self: self.model.known < 6)
    @rule()
    def new_node(self) -> None:
        self.state, index = self.state.with_node()
        assert index == self.model.known
        self.model.known += 1
        self.model.online.add(index)

    @rule(node=st.integers(-1, 5))
    def take_offline(self, node: int) -> None:
        if node in self.model.online and not self.model.load(node):
            self.state = self.state.with_node_offline(node)
            self.model.online.remove(node)
        else:
            self.refused(PlacementError, self.state.with_node_offline, node)

    @rule(node=st.integers(-1, 5))
    def bring_back(self, node: int) -> None:
        if 0 <= node < self.model.known and node not in self.model.online:
            self.state = self.state.with_node_online(node)
            self.model.online.add(node)
        else:
            self.refused(PlacementError, self.state.with_node_online, node)

    @invariant()
    def agrees_with_the_model(self) -> None:
        loads = {node: self.model.load(node) for node in self.model.online}
        expected = {Instance(n, i, self.model.jobs[n][1]): at for (n, i), at in self.model.where.items()}
        assert self.placement() == expected
        assert {x: self.state.node_of(x) for x in expected} == expected
        assert self.state.counts == self.model.counts()
        assert self.state.node_count == len(loads)
        assert self.state.used_gpus == sum(loads.values())
        assert self.state.free_gpus == CAPACITY * len(loads) - sum(loads.values())
        assert self.state.partial_nodes == sum(0 < load < CAPACITY for load in loads.values())
        assert self.state.empty_nodes == sum(load == 0 for load in loads.values())
        assert self.state.largest_free_block == max((CAPACITY - load for load in loads.values()), default=0)
        assert set(self.state.jobs_by_name) == set(self.model.jobs)
        jobs = [(name, *job) for name, job in sorted(self.model.jobs.items())]
        assert [(job.name, job.instances, job.gpus) for job in self.state.jobs] == jobs

    @invariant()
    def old_states_are_untouched(self) -> None:
        for state, placement in self.history[-5:]:
            assert {x: i for i, node in enumerate(state.nodes) for x in node.instances} == placement
        self.history.append((self.state, self.placement()))

    @invariant()
    def check_finds_exactly_the_nodes_outside_the_extension(self) -> None:
        outside = any(shape.reserved > CAPACITY for shape in self.state.shapes)
        if outside:
            with pytest.raises(InvariantViolation, match="reserve"):
                self.state.check()
        else:
            self.state.check()

    @invariant()
    def a_state_made_afresh_is_equal(self) -> None:
        if self.model.online != set(range(3)) or self.model.known != 3:
            return
        whole = all(
            len(self.state.instances_of(name)) == job.instances for name, job in self.state.jobs_by_name.items()
        )
        if whole:
            placement = [
                (job, [self.state.node_of(x) for x in job.all_instances()])
                for _, job in sorted(self.state.jobs_by_name.items(), reverse=True)
            ]
            afresh = ClusterState.from_placement(placement, nodes=3)
            assert afresh == self.state
            assert hash(afresh) == hash(self.state)


TestState = StateMachine.TestCase
TestState.settings = settings(stateful_step_count=40)


class TestFromPlacement:
    def test_refusals_say_what_was_expected(self) -> None:
        with pytest.raises(PlacementError, match=r"node 0 has 4 GPUs free, .* needs 5"):
            ClusterState.from_placement([(Job("a", 1, 4), [0]), (Job("b", 1, 5), [0])], nodes=1)
        with pytest.raises(PlacementError, match="expected 2 node indexes"):
            ClusterState.from_placement([(Job("a", 2, 4), [0])], nodes=1)
        with pytest.raises(PlacementError, match="expected 2 node indexes"):
            ClusterState.from_placement([(Job("a", 2, 2), [0, 0, 0])], nodes=1)
        with pytest.raises(PlacementError, match="no online node has the index 3"):
            ClusterState.from_placement([(Job("a", 1, 4), [3])], nodes=1)
        with pytest.raises(InvalidJobError, match="1 to 8 GPUs"):
            ClusterState.from_placement([(Job("a", 1, 9), [0])], nodes=1)

    @pytest.mark.parametrize(("nodes", "capacity"), [(-1, 8), (1, 0)])
    def test_no_such_cluster(self, nodes: int, capacity: int) -> None:
        with pytest.raises(PlacementError, match="expected"):
            ClusterState.empty(nodes, capacity)

    @pytest.mark.parametrize(("nodes", "capacity"), [(True, 8), (2.0, 8), (2, True), (2, 8.0), ("2", 8), (None, 8)])
    def test_counts_are_whole_numbers(self, nodes: int, capacity: int) -> None:
        expected = f"expected whole numbers of nodes and of GPUs a node, got {nodes!r} and {capacity!r}"
        with pytest.raises(PlacementError, match=re.escape(expected)):
            ClusterState.empty(nodes, capacity)

    def test_is_not_equal_to_other_things(self) -> None:
        assert ClusterState.empty(1) != 1
        assert ClusterState.empty(1) != ClusterState.empty(2)
        assert ClusterState.empty(1) != ClusterState.empty(1, capacity=4)

    def test_repr_says_the_essentials(self) -> None:
        assert "2 nodes of 8 GPUs" in repr(ClusterState.empty(2))


class TestNodes:
    def test_is_a_sequence(self) -> None:
        state = ClusterState.from_placement([(Job("a", 1, 4), [1])], nodes=3)
        assert len(state.nodes) == 3
        assert [node.used for node in state.nodes] == [0, 4, 0]
        assert [state.nodes[-1].used, state.nodes[-2].used] == [0, 4]
        assert [node.used for node in state.nodes[1:]] == [4, 0]
        assert [index for index, _ in state.nodes.occupied()] == [1]
        for outside in (3, 4, -4):
            with pytest.raises(IndexError, match=f"below 3, got {outside}"):
                _ = state.nodes[outside]

    def test_is_compared_by_value(self) -> None:
        idle, job = ClusterState.empty(2), Job("a", 1, 4)
        placed = idle.with_job(job).add(job.instance(0), 0)
        assert placed.nodes != idle.nodes
        assert placed.without_job("a").nodes == idle.nodes
        assert hash(placed.without_job("a").nodes) == hash(idle.nodes)


class TestInvariants:
    """The named checks fail exactly where their clause does."""

    def test_mixed_nodes_are_outside_abs(self) -> None:
        state = ClusterState.from_placement([(Job("a", 1, 4), [0]), (Job("f", 1, 1), [0])], nodes=2)
        assert state.nodes[0].kind is NodeKind.MIXED
        state.check()
        with pytest.raises(InvariantViolation, match="node 0 holds slots and 1 ones"):
            check_abs(state)

    def test_over_reserved_nodes_are_outside_abs(self) -> None:
        state = ClusterState.from_placement([(Job("a", 2, 3), [1, 1]), (Job("b", 1, 2), [1])], nodes=2)
        with pytest.raises(InvariantViolation, match="node 1: slots and ones reserve 10 of 8"):
            check_abs(state)

    def test_saturation(self) -> None:
        vacancy = (Job("a", 1, 3), [0])
        check_saturation(ClusterState.from_placement([vacancy], nodes=2))
        with pytest.raises(InvariantViolation, match="node 0 has a vacancy while node 1"):
            check_saturation(ClusterState.from_placement([vacancy, (Job("f", 1, 1), [1])], nodes=2))

    def test_open_nodes(self) -> None:
        state = ClusterState.from_placement([(Job("a", 2, 4), [0, 1]), (Job("b", 1, 8), [2])], nodes=4)
        check_open_nodes(state, at_most=2)
        with pytest.raises(InvariantViolation, match=r"at most 1 open nodes, got 2: \[0, 1\]"):
            check_open_nodes(state, at_most=1)


def test_the_smallest_clusters() -> None:
    one = ClusterState.from_placement([(Job("a"), [0])], nodes=1, capacity=1)
    assert (one.used_gpus, one.free_gpus, one.partial_nodes) == (1, 0, 0)
    assert ClusterState.empty(0).node_count == 0


def test_check_sees_an_idle_node_that_is_kept_as_if_in_use() -> None:
    state = ClusterState.from_placement([(Job("a"), [0])], nodes=2)
    nodes = replace(state.nodes, in_use=state.nodes.in_use.set(1, Node.of(8, [])))  # where no edit would put it
    kept = replace(state, nodes=nodes)
    assert kept == state
    with pytest.raises(InvariantViolation, match="holds nothing"):
        kept.check()


def test_fewer_open_nodes_than_allowed_are_no_violation() -> None:
    check_open_nodes(ClusterState.from_placement([(Job("a"), [0])], nodes=1), at_most=2)


@pytest.mark.parametrize(
    "stranger",
    [
        Instance("b", 0, 2),
        Instance("a", 0, 3),
        Instance("a", 0, 1),
        Instance("a", 2, 2),
        Instance("a", 3, 2),
        Instance("a", -1, 2),
    ],
)
def test_an_instance_of_no_such_job(stranger: Instance) -> None:
    """Of an unknown job, of another demand, of a number the job does not have: on a node, or to be placed."""
    state = ClusterState.empty(1).with_job(Job("a", 2, 2))
    with pytest.raises(InvariantViolation, match="of no such job"):
        replace(state, nodes=state.nodes.replaced({0: Node.of(8, [stranger])})).check()
    with pytest.raises((UnknownJobError, UnknownInstanceError)):
        state.add(stranger, 0)


@pytest.mark.parametrize("counts", [(2, 0), (0, 0), (1, 1)])
def test_counts_that_are_not_those_of_the_nodes(counts: tuple[int, int]) -> None:
    state = ClusterState.from_placement([(Job("a"), [0])], nodes=1, capacity=2)
    with pytest.raises(InvariantViolation, match="the counts"):
        replace(state, counts=counts).check()
