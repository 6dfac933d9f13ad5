"""SIFOpt: Φ* after every event, with the fewest migrations; a job is refused only if nothing makes room for it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from compass_core import ClusterState, DuplicateJobError, Instance, InvalidJobError, Job, PlacementError
from compass_core.errors import UnknownJobError
from compass_core.refusal import RefusalKind
from oracle import sifopt
from oracle.optimum.certificate import CertificateError
from oracle.optimum.closed_form import fewest_partial_nodes
from oracle.sifopt import events, few_moves
from oracle.sifopt.unmoved import place_unmoved
from tests.oracle import every_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.sifopt import SifOptOutcome

DEMANDS = {
    "common": (0.35, 0.2, 0.04, 0.2, 0.03, 0.05, 0.03, 0.1),
    "awkward": (0.02, 0.1, 0.2, 0.05, 0.2, 0.18, 0.2, 0.05),
    "uniform": (0.125,) * 8,
}


class Ledger:
    """What stands where, kept by hand: it is told placements and moves, and never asks the scheduler."""

    def __init__(self, nodes: int, capacity: int = 8) -> None:
        self.capacity = capacity
        self.where: dict[Instance, int] = {}
        self.used: dict[int, int] = dict.fromkeys(range(nodes), 0)

    def put(self, instance: Instance, node: int) -> None:
        assert instance not in self.where
        self.used[node] += instance.gpus
        assert self.used[node] <= self.capacity, f"node {node} is over-booked"
        self.where[instance] = node

    def take(self, instance: Instance) -> int:
        node = self.where.pop(instance)
        self.used[node] -= instance.gpus
        return node

    def follow(self, outcome: SifOptOutcome) -> None:
        """Stop what has to stop, play the migrations one by one, then start what is new."""
        sources = {instance: self.take(instance) for instance in outcome.stopped}
        assert len(outcome.stopped) == len(sources)
        moved: set[Instance] = set()
        for migration in outcome.migrations:
            instance = migration.instance
            source = sources.pop(instance) if instance in sources else self.take(instance)
            assert source == migration.source != migration.destination
            assert instance not in moved
            moved.add(instance)
            self.put(instance, migration.destination)
        assert not sources, "an instance is stopped and never restarted"
        for placement in outcome.placements:
            self.put(placement.instance, placement.node)

    @property
    def partial_nodes(self) -> int:
        return sum(0 < used < self.capacity for used in self.used.values())

    def check(self, state: ClusterState) -> None:
        """Compare every instance, node and number of the state with what was done."""
        assert {i: state.node_of(i) for name in state.jobs_by_name for i in state.instances_of(name)} == self.where
        counts = Counter(instance.gpus for instance in self.where)
        assert state.counts == tuple(counts[gpus] for gpus in range(1, self.capacity + 1))
        for index, used in self.used.items():
            assert state.nodes[index].used == used
            assert index in state.shapes[state.nodes[index].shape]
        assert sum(map(len, state.shapes.values())) == len(self.used)
        assert state.partial_nodes == self.partial_nodes


def inherent(ledger: Ledger) -> int:
    counts = Counter(instance.gpus for instance in ledger.where)
    return fewest_partial_nodes([counts[gpus] for gpus in range(1, 9)])


def a_job(rng: random.Random, name: str, demands: str, most: int = 8) -> Job:
    gpus = rng.choices(range(1, 9), DEMANDS[demands])[0]
    return Job(name, rng.choice([1, 1, 1, 1, 2, 4, most]), gpus)


def run_events(
    nodes: int, demands: str, events: int, seed: int
) -> Iterator[tuple[Ledger, ClusterState, SifOptOutcome]]:
    """Fill a cluster up to nine tenths and keep it there; yield what each event did and where it began."""
    rng = random.Random(seed)
    state, ledger, running = ClusterState.empty(nodes), Ledger(nodes), dict[str, Job]()
    for event in range(events):
        if running and (state.used_gpus > 7.2 * nodes or rng.random() < 0.3):
            job = running.pop(rng.choice(sorted(running)))
            for instance in job.all_instances():
                ledger.take(instance)
            before, outcome = state.without_job(job.name), sifopt.depart(state, job.name)
        else:
            job = a_job(rng, f"j{event}", demands)
            before, outcome = state, sifopt.arrive(state, job)
            if outcome.admitted:
                running[job.name] = job
                assert tuple(placement.instance for placement in outcome.placements) == job.all_instances()
            else:
                assert outcome.state is state
        ledger.follow(outcome)
        assert outcome.state.partial_nodes == ledger.partial_nodes == inherent(ledger)
        yield ledger, before, outcome
        state = outcome.state
    ledger.check(state)


class TestLongRuns:
    """Φ = Φ* after every event; each list of migrations can be carried out as it stands; nothing is lost."""

    @pytest.mark.parametrize("demands", DEMANDS)
    def test_a_few_hundred_events(self, demands: str) -> None:
        for number, (ledger, _, outcome) in enumerate(run_events(12, demands, 150, seed=1)):
            if number % 10 == 0:
                ledger.check(outcome.state)

    @pytest.mark.long
    @pytest.mark.parametrize("demands", DEMANDS)
    def test_each_event_is_proved_by_the_transport_model(self, demands: str) -> None:
        tried = 0
        for _, before, outcome in run_events(12, demands, 120, seed=9):
            if outcome.migrations:
                certificate = sifopt.prove(before, outcome)
                assert certificate.holds() or not certificate.recheckable
                assert len(outcome.migrations) + len(outcome.placements) == certificate.lower_bound
                tried += outcome.certificate is None
        assert tried

    def test_without_trying_the_model_finds_as_few_moves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for _, before, outcome in run_events(12, "uniform", 100, seed=10):
            if not outcome.placements and outcome.migrations:
                with monkeypatch.context() as patch:
                    patch.setattr(events, "MAX_TRIED_MOVES", 0)
                    again = sifopt.settle(before)
                assert again.certificate is not None
                assert len(again.migrations) == len(outcome.migrations)

    def test_a_search_cut_short_is_no_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(few_moves, "MAX_STEPS", 1)
        found = [outcome for _, _, outcome in run_events(12, "uniform", 100, seed=11) if outcome.migrations]
        assert any(outcome.certificate is not None and len(outcome.migrations) < 3 for outcome in found)

    @pytest.mark.slow
    @pytest.mark.parametrize(("nodes", "demands"), [(12, "uniform"), (24, "common"), (59, "awkward"), (59, "common")])
    def test_2_500_events(self, nodes: int, demands: str) -> None:
        for number, (ledger, _, outcome) in enumerate(run_events(nodes, demands, 2_500, seed=2)):
            if number % 100 == 0:
                ledger.check(outcome.state)

    def test_some_events_move_several_instances_and_some_none(self) -> None:
        moves = Counter(len(outcome.migrations) for _, _, outcome in run_events(12, "uniform", 150, seed=3))
        assert moves[0] > 0
        assert moves[1] > 0
        assert sum(count for number, count in moves.items() if number > 1) > 0


def small_state(rng: random.Random, capacity: int) -> tuple[ClusterState, list[list[int]]]:
    """Return two to four nodes with at most seven instances, placed at random, and what each node holds."""
    nodes = rng.randint(2, 4)
    held: list[list[int]] = [[] for _ in range(nodes)]
    jobs: list[tuple[Job, list[int]]] = []
    for _ in range(rng.randint(0, 7)):
        gpus, index = rng.randint(1, capacity), rng.randrange(nodes)
        if sum(held[index]) + gpus <= capacity:
            held[index].append(gpus)
            jobs.append((Job(f"j{len(jobs)}", 1, gpus), [index]))
    return ClusterState.from_placement(jobs, nodes=nodes, capacity=capacity), held


def check_arrival(rng: random.Random, capacity: int) -> None:
    state, held = small_state(rng, capacity)
    job = Job("new", rng.choice([1, 1, 2, 3]), rng.randint(1, capacity))
    expected = every_event.best(capacity, held, [job.gpus] * job.instances)
    outcome = sifopt.arrive(state, job)
    assert outcome.admitted == (expected is not None)
    if expected is not None:
        assert (outcome.state.partial_nodes, len(outcome.migrations)) == expected


def check_departure(rng: random.Random, capacity: int) -> None:
    state, held = small_state(rng, capacity)
    if not state.jobs_by_name:
        return
    name = rng.choice(sorted(state.jobs_by_name))
    (instance,) = state.instances_of(name)
    held[state.node_of(instance)].remove(instance.gpus)
    outcome = sifopt.depart(state, name)
    assert (outcome.state.partial_nodes, len(outcome.migrations)) == every_event.best(capacity, held, [])


def check_node_event(rng: random.Random, capacity: int) -> None:
    state, held = small_state(rng, capacity)
    index = rng.randrange(len(held))
    if rng.random() < 0.5:
        expected = every_event.best(capacity, held, [], closed=index)
        outcome = sifopt.drain_node(state, index)
        assert outcome.admitted == (expected is not None)
        if expected is None:
            assert outcome.state is state
            return
    else:
        outcome = sifopt.fail_node(state, index)
        assert [instance.gpus for instance in outcome.lost] == sorted(held[index], reverse=True)
        held[index] = []
        expected = every_event.best(capacity, held, [], closed=index)
    assert not outcome.state.is_online(index)
    assert (outcome.state.partial_nodes, len(outcome.migrations)) == expected
    back = sifopt.return_node(outcome.state, index)
    assert back.state.is_online(index)
    now = [[instance.gpus for instance in node.instances] for node in outcome.state.nodes]
    assert (back.state.partial_nodes, len(back.migrations)) == every_event.best(capacity, now, [])


CHECKS = [check_arrival, check_departure, check_node_event]


class TestAgainstEveryPlacement:
    """Admission, partial nodes and migrations are those of trying every placement, from any placement whatever."""

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("capacity", [3, 4, 8])
    def test_100_small_clusters(self, check: Callable[[random.Random, int], None], capacity: int) -> None:
        rng = random.Random(4)
        for _ in range(30):
            check(rng, capacity)

    @pytest.mark.slow
    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("capacity", [3, 5, 6, 8])
    def test_6_000_small_clusters(self, check: Callable[[random.Random, int], None], capacity: int) -> None:
        rng = random.Random(5 + capacity)
        for _ in range(500):
            check(rng, capacity)


class TestPlacingWithoutMoves:
    """The fewest partial nodes when nothing moves are those of trying all ways to share out the instances."""

    def test_1_500_small_clusters(self) -> None:
        rng = random.Random(6)
        for _ in range(1_500):
            capacity = rng.choice([4, 8, 8, 6])
            state, held = small_state(rng, capacity)
            gpus, instances = rng.randint(1, capacity), rng.randint(1, 9)
            fewest = every_event.fewest_opened(capacity, held, gpus, instances)
            if fewest is None:
                assert place_unmoved(state, gpus, instances, len(held)) is None
                continue
            more = fewest - state.partial_nodes
            where = place_unmoved(state, gpus, instances, more)
            assert where is not None
            assert sum(where.values()) == instances
            after = [sum(here) + gpus * where.get(index, 0) for index, here in enumerate(held)]
            assert max(after) <= capacity
            assert sum(0 < used < capacity for used in after) <= fewest
            assert place_unmoved(state, gpus, instances, more - 1) is None


def placed(*nodes: tuple[int, ...], capacity: int = 8) -> ClusterState:
    """Return nodes that hold these demands, each a job of its own: the first is "a", then "b"."""
    names = iter("abcdefghijklmnop")
    jobs = [(Job(next(names), 1, gpus), [index]) for index, here in enumerate(nodes) for gpus in here]
    return ClusterState.from_placement(jobs, nodes=len(nodes), capacity=capacity)


class TestAdmission:
    """A job is admitted exactly if everything fits in some placement, all of its instances or none."""

    def test_running_instances_make_room(self) -> None:
        outcome = sifopt.arrive(placed((4, 1), (4, 2)), Job("new", 1, 4))
        assert outcome.admitted
        assert len(outcome.migrations) == 1  # the 2 goes beside the 1, and the new 4 takes its place
        assert outcome.state.partial_nodes == 1

    def test_free_gpus_do_not_suffice_where_no_placement_fits(self) -> None:
        state = placed((5,), (5,))
        outcome = sifopt.arrive(state, Job("new", 1, 5))
        assert not outcome.admitted
        assert outcome.state is state
        assert outcome.reason is not None
        assert outcome.reason.kind is RefusalKind.FRAGMENTATION
        assert outcome.reason.free_gpus == 6

    def test_too_few_gpus(self) -> None:
        outcome = sifopt.arrive(placed((5,), (5,)), Job("new", 7, 1))
        assert outcome.reason is not None
        assert outcome.reason.kind is RefusalKind.CAPACITY

    @pytest.mark.parametrize("instances", [4, 40, 400, 1_000])
    def test_a_few_move_for_any_number_of_new_instances(self, instances: int) -> None:
        held = [(3, 2), (3, 3), (3, 2), (3, 3), *[(6,)] * 3, *[(5,)] * 3, *[()] * (instances // 4)]
        jobs = [
            (Job(f"{index}:{i}", 1, gpus), [index]) for index, here in enumerate(held) for i, gpus in enumerate(here)
        ]
        state, ledger = ClusterState.from_placement(jobs, nodes=len(held)), Ledger(len(held))
        for job, (index,) in jobs:
            ledger.put(job.all_instances()[0], index)
        outcome = sifopt.arrive(state, Job("new", instances, 2))
        ledger.follow(outcome)
        ledger.check(outcome.state)
        assert ledger.partial_nodes == inherent(ledger)
        assert 0 < len(outcome.migrations) == sifopt.prove(state, outcome).lower_bound - instances

    def test_all_instances_or_none(self) -> None:
        state = placed((6,), (6,), ())
        assert not sifopt.arrive(state, Job("new", 2, 6)).admitted
        assert sifopt.arrive(state, Job("new", 1, 6)).admitted

    def test_misuse(self) -> None:
        state = placed((1,), ())
        with pytest.raises(DuplicateJobError):
            sifopt.arrive(state, Job("a"))
        with pytest.raises(InvalidJobError):
            sifopt.arrive(state, Job("new", 1, 9))
        with pytest.raises(UnknownJobError):
            sifopt.depart(state, "nobody")
        with pytest.raises(PlacementError):
            sifopt.drain_node(state, 2)
        with pytest.raises(PlacementError):
            sifopt.fail_node(state, -1)
        with pytest.raises(PlacementError):
            sifopt.return_node(state, 0)


class TestOrder:
    """Migrations into free space if there are any for these changes; otherwise what stops first is named."""

    def test_what_cannot_be_done_live_is_stopped_first(self) -> None:
        # {4,3}, {4,3}, {3,3}: the smallest cluster whose Φ* = 2 no live moves reach (4+4 leaves 4 threes).
        state = placed((4, 3), (4, 3), (3, 3))
        outcome = sifopt.settle(state)
        assert outcome.state.partial_nodes == 2
        assert outcome.stopped
        ledger = Ledger(3)
        for name in state.jobs_by_name:
            for instance in state.instances_of(name):
                ledger.put(instance, state.node_of(instance))
        ledger.follow(outcome)
        ledger.check(outcome.state)

    def test_destinations_are_matched_so_that_nobody_stops(self) -> None:
        for _, _, outcome in run_events(24, "common", 150, seed=7):
            assert len(outcome.stopped) <= len(outcome.migrations)

    def test_many_moves_are_ordered_too(self) -> None:
        moves = [len(outcome.migrations) for _, _, outcome in run_events(12, "uniform", 120, seed=8)]
        assert max(moves) > 2

    def test_a_new_instance_takes_what_a_moved_one_leaves(self) -> None:
        state = placed((7,), (4, 2), (4,))
        outcome = sifopt.arrive(state, Job("new", 1, 4))
        assert outcome.state.partial_nodes == fewest_partial_nodes(outcome.state.counts)


class TestNodeEvents:
    """A drained node is emptied, a failed one loses what it held, a new one is idle."""

    def test_drain(self) -> None:
        outcome = sifopt.drain_node(placed((4, 1), (4,), ()), 0)
        assert outcome.admitted
        assert {migration.source for migration in outcome.migrations} == {0}
        assert outcome.state.partial_nodes == 1
        assert not outcome.state.is_online(0)

    def test_drain_of_an_idle_node_moves_nothing(self) -> None:
        assert sifopt.drain_node(placed((4,), ()), 1).migrations == ()

    def test_refused_drain(self) -> None:
        state = placed((5,), (5,))
        outcome = sifopt.drain_node(state, 0)
        assert not outcome.admitted
        assert outcome.state is state

    def test_added_node(self) -> None:
        outcome = sifopt.add_node(placed((4, 1)))
        assert outcome.state.node_count == 2
        assert outcome.migrations == ()


class TestCertificate:
    """There is a proof that fewer moves do not suffice; waiting instances are part of the problem."""

    def test_holds_and_counts_the_new_instances(self) -> None:
        state = placed((4, 1), (4, 2))
        outcome = sifopt.arrive(state, Job("new", 1, 4))
        certificate = sifopt.prove(state, outcome)
        assert certificate.holds()
        assert certificate.lower_bound == len(outcome.migrations) + 1

    def test_instances_that_must_leave_may_not_stay(self) -> None:
        state = placed((4, 1), (4, 2))
        certificate = sifopt.prove(state, sifopt.arrive(state, Job("new", 1, 4)))
        staying = [change for change in certificate.changes if change.after]
        with pytest.raises(CertificateError):
            replace(certificate, changes=tuple(staying)).verify()

    def test_drained_nodes_come_with_one(self) -> None:
        outcome = sifopt.drain_node(placed((4, 1), (4,), ()), 0)
        assert outcome.certificate is not None
        assert outcome.certificate.holds()

    def test_nothing_to_prove_where_nothing_moves(self) -> None:
        state = placed((4,), ())
        outcome = sifopt.arrive(state, Job("new", 1, 4))
        assert outcome.certificate is None
        assert sifopt.prove(state, outcome).lower_bound == 1  # the new instance itself

    def test_refused_events_have_none(self) -> None:
        state = placed((5,), (5,))
        with pytest.raises(ValueError, match="refused"):
            sifopt.prove(state, sifopt.arrive(state, Job("new", 1, 5)))
