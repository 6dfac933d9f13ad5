"""Referees: they pass events to a scheduler, follow in a naive model what it says it did, and check what it owes.

The repaired variants are free to choose nodes, so their referee does not foretell placements: it carries out the moves
one by one and asks whether the laws hold. PRINTED is foretold exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec

import pytest

from compass_core import (
    ClusterState,
    PlacementError,
    PrintedUndefinedError,
    RefusalKind,
    Variant,
    add_node,
    apply,
    arrive,
    check_abs,
    closed_form,
    depart,
    drain_node,
    fail_node,
    return_node,
    sif,
)
from compass_core.draft import every_move_counts_one
from proofs.events import Arrival, Departure, NodeEvent, NodeEventKind
from tests.core.naive import Cluster, ExplicitPrinted, UndefinedError, fewest_partial_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compass_core import CompassError, Instance, Job, Migration, NodeOutcome, Outcome
    from proofs.events import Event
    from tests.core.naive import Key, Move

P = ParamSpec("P")


def placement_of(state: ClusterState) -> dict[Key, int]:
    return {(x.job, x.index): at for at, node in state.nodes.occupied() for x in node.instances}


def all_it_says(state: ClusterState) -> object:
    """Return everything a state says about itself, in plain values."""
    return (
        placement_of(state),
        state.counts,
        {name: (job.instances, job.gpus) for name, job in state.jobs_by_name.items()},
        sorted(state.offline_nodes),
        sorted((shape.demands, tuple(indexes)) for shape, indexes in state.shapes.items()),
        (
            state.node_count,
            state.used_gpus,
            state.partial_nodes,
            state.empty_nodes,
            state.largest_free_block,
            state.wcc,
        ),
        hash(state),
    )


def as_moves(migrations: Iterable[Migration]) -> list[Move]:
    return [((m.instance.job, m.instance.index), m.source, m.destination) for m in migrations]


class Referee:
    """For COMPASS and EXACT. Every method asserts; `state` is what the scheduler made of the events so far."""

    def __init__(
        self,
        variant: Variant,
        nodes: int,
        capacity: int = 8,
        migration_cost: Callable[[Instance], float] = every_move_counts_one,
    ) -> None:
        self.variant = variant
        self.cost = migration_cost
        self.state = ClusterState.empty(nodes, capacity)
        self.model = Cluster(capacity, set(range(nodes)))
        self.migrations = 0
        self.taken_over = False
        self.undefined = 0  # arrivals and departures on which the print says nothing

    def take_over(self, state: ClusterState) -> None:
        """Go on from a state of another making."""
        self.state = state
        self.taken_over = True
        online = {node for node in range(len(state.nodes)) if state.is_online(node)}
        jobs = {name: (job.instances, job.gpus) for name, job in state.jobs_by_name.items()}
        self.model = Cluster(state.capacity, online, len(state.nodes), jobs, placement_of(state))

    def refused(
        self, expected: type[CompassError], call: Callable[P, object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Check that a call raises exactly that error, and leaves no trace."""
        before = all_it_says(self.state)
        with pytest.raises(expected) as caught:
            call(*args, **kwargs)
        assert caught.type is expected
        assert all_it_says(self.state) == before

    def play(self, event: Event) -> None:
        """Pass on any event; the departure of a job that was refused is skipped."""
        match event:
            case Arrival(job):
                self.arrive(job)
            case Departure(name):
                if name in self.model.jobs:
                    self.depart(name)
            case NodeEvent(kind, node):
                self.node_event(kind, node)

    def arrive(self, job: Job) -> bool:
        """Return whether the job was admitted, having checked that it had to be, or had not."""
        out = arrive(self.state, job, variant=self.variant, migration_cost=self.cost)
        assert self.may_answer(job, admitted=out.admitted)
        if out.admitted:
            self.follow_arrival(job, out)
        else:
            self.check_refusal(job, out)
        return out.admitted

    def may_answer(self, job: Job, *, admitted: bool) -> bool:
        """Whether the answer is the one the variant owes (C7, and its counterpart for COMPASS)."""
        if self.variant is Variant.EXACT:
            assert admitted == (job.total_gpus <= self.model.free) or not self.model.wcc_with(job.instances, job.gpus)
            return admitted == self.model.fits_anywhere(job.instances, job.gpus)
        return admitted == self.model.fits_apart(job.instances, job.gpus)

    def depart(self, name: str) -> bool:
        """Return whether the job could depart: always, but under PRINTED."""
        self.follow_departure(name, depart(self.state, name, variant=self.variant, migration_cost=self.cost))
        return True

    def node_event(self, kind: NodeEventKind, node: int) -> None:
        """Pass on an event of a node; where the node is in no state for it, check that it is refused."""
        if kind is NodeEventKind.ADD:
            self.add_node()
            return
        online = node in self.model.online
        call = {
            NodeEventKind.RETURN: return_node,
            NodeEventKind.FAIL: fail_node,
            NodeEventKind.DRAIN: drain_node,
        }[kind]
        if online == (kind is NodeEventKind.RETURN) or not 0 <= node < self.model.known:
            self.refused(PlacementError, call, self.state, node, variant=self.variant)
            return
        {
            NodeEventKind.RETURN: self.return_node,
            NodeEventKind.FAIL: self.fail_node,
            NodeEventKind.DRAIN: self.drain_node,
        }[kind](node)

    def add_node(self) -> None:
        out = add_node(self.state, variant=self.variant)
        assert out.node == self.model.known
        self.model.online.add(self.model.known)
        self.model.known += 1
        self.follow_node_event(self.state.with_node()[0], out)

    def return_node(self, node: int) -> None:
        out = return_node(self.state, node, variant=self.variant)
        self.model.online.add(node)
        self.follow_node_event(self.state.with_node_online(node), out)

    def fail_node(self, node: int) -> None:
        out = fail_node(self.state, node, variant=self.variant)
        lost = self.model.lose(node)
        assert {(x.job, x.index) for x in out.lost} == lost
        assert out.jobs_hit == tuple(sorted({name for name, _ in lost}))
        before = self.state
        for instance in out.lost:
            before = before.remove(instance)
        self.follow_node_event(before, out)

    def drain_node(self, node: int) -> None:
        out = drain_node(self.state, node, variant=self.variant, migration_cost=self.cost)
        rest = len(self.model.online) - 1
        if self.variant is Variant.EXACT:
            assert out.done == self.model.fits_anywhere(nodes=rest)
        else:
            assert out.done == self.model.fits_apart(nodes=rest)
        if not out.done:
            assert out.state is self.state
            assert not out.migrations
            assert f"{sum(self.model.demands_on(node))} GPUs" in out.reason
            return
        self.follow_node_event(self.state, out)
        assert not self.model.demands_on(node)
        self.model.online.remove(node)

    def follow_arrival(self, job: Job, out: Outcome) -> None:
        """Carry out what an admission says it did, in the model and with `apply`."""
        assert out.reason is None
        assert [p.instance for p in out.placements] == list(job.all_instances())
        moved = apply(self.state, out.migrations).with_job(job)
        for placed in out.placements:
            moved = moved.add(placed.instance, placed.node)
        assert moved == out.state
        self.model.carry_out(as_moves(out.migrations))
        self.model.start(job.name, job.instances, job.gpus, [p.node for p in out.placements])
        self.migrations += len(out.migrations)
        self.state = out.state

    def follow_departure(self, name: str, out: Outcome) -> None:
        assert out.admitted
        assert not out.placements
        assert apply(self.state.without_job(name), out.migrations) == out.state
        self.model.end(name)
        self.model.carry_out(as_moves(out.migrations))
        self.migrations += len(out.migrations)
        self.state = out.state

    def follow_node_event(self, before: ClusterState, out: NodeOutcome) -> None:
        """Carry out the migrations that come with an event of a node; `before` has what the event itself did."""
        assert placement_of(apply(before, out.migrations)) == placement_of(out.state)
        self.model.carry_out(as_moves(out.migrations))
        self.migrations += len(out.migrations)
        self.state = out.state

    def check_refusal(self, job: Job, out: Outcome) -> None:
        """A refusal leaves the state itself, and its numbers are those of the model."""
        assert out.state is self.state
        assert not out.placements
        assert not out.migrations
        reason = out.reason
        assert reason is not None
        facts = list(self.model.facts().values())
        free = [f.capacity - f.used for f in facts]
        assert (reason.demanded_gpus, reason.free_gpus) == (job.instances * job.gpus, self.model.free)
        assert reason.largest_free_block == max(free, default=0)
        assert reason.empty_nodes == sum(f.used == 0 for f in facts)
        assert reason.instances_that_fit == min(job.instances, sum(room // job.gpus for room in free))
        assert reason.reserved_gpus == sum(self.model.needs(job.instances, job.gpus))
        assert (reason.kind is RefusalKind.CAPACITY) == (job.total_gpus > self.model.free)
        assert str(reason).startswith(reason.kind.value)

    def check(self) -> None:
        """The state is sound, says what the model says, and obeys the laws."""
        self.state.check()
        assert placement_of(self.state) == self.model.where
        assert self.state.counts == self.model.counts
        assert self.state.partial_nodes == self.model.partial_nodes
        assert self.state.free_gpus == self.model.free
        assert self.state.wcc == self.model.wcc
        assert self.broken_laws() == []

    def broken_laws(self) -> list[str]:
        return self.model.broken_laws(shared=self.variant is Variant.EXACT, taken_over=self.taken_over)

    def check_sif(self, *, even_without_wcc: bool) -> None:
        """SIF counts what trying every packing says is avoidable; without the condition that takes long."""
        if not self.model.online or not (self.model.wcc or even_without_wcc):
            return
        fewest = fewest_partial_nodes(self.model.counts, self.model.capacity, len(self.model.online))
        if self.model.wcc:
            assert closed_form(self.state.counts) == fewest
        avoidable = sif(self.state, inherent=lambda _: fewest) * self.state.node_count
        assert round(avoidable, 9) == self.model.partial_nodes - fewest >= 0


class PrintedReferee(Referee):
    """For PRINTED: a transcription with explicit slots foretells each placement, or that the print is undefined."""

    def __init__(self, nodes: int, capacity: int = 8) -> None:
        super().__init__(Variant.PRINTED, nodes, capacity)
        self.printed = ExplicitPrinted(nodes, capacity)

    def arrive(self, job: Job) -> bool:
        if job.total_gpus > self.model.free:
            self.check_refusal(job, arrive(self.state, job, variant=self.variant))
            return False
        try:
            self.printed.arrive(job.name, job.instances, job.gpus)
        except UndefinedError:
            self.undefined += 1
            self.refused(PrintedUndefinedError, arrive, self.state, job, variant=self.variant)
            return False
        self.follow_arrival(job, arrive(self.state, job, variant=self.variant))
        return True

    def depart(self, name: str) -> bool:
        try:
            self.printed.depart(name)
        except UndefinedError:
            self.undefined += 1
            self.refused(PrintedUndefinedError, depart, self.state, name, variant=self.variant)
            return False
        self.follow_departure(name, depart(self.state, name, variant=self.variant))
        return True

    def broken_laws(self) -> list[str]:
        """Check what PRINTED owes; the bound on SIF it breaks (P1), so that is for others to count."""
        check_abs(self.state)
        assert placement_of(self.state) == self.printed.where
        return []
