"""A replay believes no scheduler that is not ours: what breaks a clause is refused, and nothing else is."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import Instance, Migration, MoveReason
from simulation.engine import replay
from simulation.queues import FifoQueue
from simulation.schedulers.drr import DrrScheduler
from simulation.schedulers.greedy import GreedyScheduler, best_fit, worst_fit
from simulation.schedulers.own.book import Book, Clause, SchedulerError
from simulation.schedulers.protocol import LEFT, Answer, Cause, Farewell, Left, Placed, Refused, Scheduler
from simulation.schedulers.registry import SCHEDULERS, make_scheduler
from tests.simulation.recording import jobs_of, traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.jobs import TraceJob
    from simulation.metrics import ReplayResult
    from simulation.queues import JobQueue

NODES = 3
# Best fit: a and b share node 0 with 2 GPUs to spare, c takes node 1, d node 2.
JOBS = jobs_of((0, 100, 1, 4), (1, 50, 2, 1), (2, 100, 1, 5), (3, 10, 2, 4))


class Honest(GreedyScheduler):
    """Best fit, by somebody else."""

    def __init__(self) -> None:
        super().__init__("honest", NODES, best_fit)


def unclocked(result: ReplayResult) -> ReplayResult:
    return replace(result, wall_s=0.0)


class AllOnZero(Honest):
    """Puts every job on node 0, and reports that one node is in use in part."""

    running = 0

    @property
    def partial_nodes(self) -> int:
        return min(self.running, 1)

    @property
    def empty_nodes(self) -> int:
        return NODES - min(self.running, 1)

    def arrive(self, job: TraceJob, now: float) -> Answer:
        del now
        self.running += 1
        return Placed((0,) * job.instances)

    def depart(self, job: TraceJob, now: float) -> Farewell:
        del job, now
        self.running -= 1
        return LEFT


class NothingPartial(Honest):
    @property
    def partial_nodes(self) -> int:
        return 0


class NothingEmpty(Honest):
    @property
    def empty_nodes(self) -> int:
        return 0


class OffTheEnd(Honest):
    def arrive(self, job: TraceJob, now: float) -> Answer:
        super().arrive(job, now)
        return Placed((NODES,) * job.instances)


class BeforeTheStart(Honest):
    def arrive(self, job: TraceJob, now: float) -> Answer:
        super().arrive(job, now)
        return Placed((-1,) * job.instances)


class HalfAGang(Honest):
    def arrive(self, job: TraceJob, now: float) -> Answer:
        answer = super().arrive(job, now)
        return Placed(answer.nodes[:1]) if isinstance(answer, Placed) else answer


class MovesWhatDoesNotRun(Honest):
    def depart(self, job: TraceJob, now: float) -> Farewell:
        super().depart(job, now)
        return Left((Migration(Instance(job.name, 0, job.gpus), 0, 1, MoveReason.MERGE),))


class MovesFromElsewhere(Honest):
    def depart(self, job: TraceJob, now: float) -> Farewell:
        super().depart(job, now)
        return Left((Migration(Instance("a", 0, 4), 2, 1, MoveReason.MERGE),))


class MovesNowhere(Honest):
    def depart(self, job: TraceJob, now: float) -> Farewell:
        super().depart(job, now)
        return Left((Migration(Instance("a", 0, 4), 0, 0, MoveReason.MERGE),))


class MovesOntoAFullNode(Honest):
    def arrive(self, job: TraceJob, now: float) -> Answer:
        answer = super().arrive(job, now)
        if job.name != "d" or not isinstance(answer, Placed):
            return answer
        return Placed(answer.nodes, (Migration(Instance("c", 0, 5), 1, 0, MoveReason.MERGE),))


class BlamesCapacity(Honest):
    def arrive(self, job: TraceJob, now: float) -> Answer:
        return Refused(Cause.CAPACITY) if job.name == "d" else super().arrive(job, now)


class Silent(Honest):
    def arrive(self, job: TraceJob, now: float) -> Answer:
        super().arrive(job, now)
        return None  # type: ignore[return-value] # pyright: ignore[reportReturnType] - it does what types forbid


class Stays(Honest):
    def depart(self, job: TraceJob, now: float) -> Farewell:
        super().depart(job, now)
        return True  # type: ignore[return-value] # pyright: ignore[reportReturnType] - it does what types forbid


class Raises(Honest):
    def depart(self, job: TraceJob, now: float) -> Farewell:
        del now
        raise KeyError(job.name)


class OtherRounds(DrrScheduler):
    """Drains other nodes than it says."""

    def __init__(self) -> None:
        super().__init__(NODES, worst_fit, interval_s=5.0)

    def tick(self, now: float) -> tuple[Migration, ...]:
        super().tick(now)
        return ()


class Again(FifoQueue):
    """Does not let go of the job that started."""

    def remove(self, job: TraceJob) -> None:
        """Keep it."""


class StartsTwice(Honest):
    def make_queue(self) -> JobQueue:
        return Again()


class NoNodes(Honest):
    @property
    def nodes(self) -> int:
        return 0


class RoundsWithoutEnd(DrrScheduler):
    def __init__(self) -> None:
        super().__init__(NODES, best_fit)
        self.interval_s = 0.0


@pytest.mark.parametrize(
    ("make", "clause", "where"),
    [
        (AllOnZero, Clause.CAPACITY, "arrival of job 'c' (1x5) at 2 s"),
        (NothingPartial, Clause.PARTIAL_NODES, "arrival of job 'a' (1x4) at 0 s"),
        (NothingEmpty, Clause.EMPTY_NODES, "the start"),
        (OffTheEnd, Clause.NODES, "arrival of job 'a' (1x4) at 0 s"),
        (BeforeTheStart, Clause.NODES, "arrival of job 'a' (1x4) at 0 s"),
        (HalfAGang, Clause.GANG, "arrival of job 'b' (2x1) at 1 s"),
        (MovesWhatDoesNotRun, Clause.MOVES, "departure of job 'd' (2x4) at 13 s"),
        (MovesFromElsewhere, Clause.MOVES, "departure of job 'd' (2x4) at 13 s"),
        (MovesNowhere, Clause.MOVES, "departure of job 'd' (2x4) at 13 s"),
        (MovesOntoAFullNode, Clause.CAPACITY, "arrival of job 'd' (2x4)"),
        (BlamesCapacity, Clause.CAUSE, "arrival of job 'd' (2x4) at 3 s"),
        (Silent, Clause.ANSWERS, "arrival of job 'a' (1x4) at 0 s"),
        (Stays, Clause.ANSWERS, "departure of job 'd' (2x4) at 13 s"),
        (Raises, Clause.ANSWERS, "departure of job 'd' (2x4) at 13 s"),
        (OtherRounds, Clause.EMPTY_NODES, "round at 15 s"),
        (StartsTwice, Clause.GANG, "arrival of job 'a' (1x4) at 0 s"),
        (NoNodes, Clause.ANSWERS, "the start"),
        (RoundsWithoutEnd, Clause.ANSWERS, "the start"),
    ],
)
def test_what_breaks_a_clause_is_refused(make: Callable[[], Scheduler], clause: Clause, where: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        replay(JOBS, make(), check=True)
    error = caught.value
    assert error.clause is clause, error
    assert error.event.startswith(where), error
    assert str(error).startswith(f"{error.scheduler}: {error.event}: expected that {clause.value}, but ")
    assert "\n" not in str(error)


def test_who_raised_and_where_is_said() -> None:
    with pytest.raises(SchedulerError, match=r"but it raised KeyError: 'd' \(test_checks\.py:\d+\)$"):
        replay(JOBS, Raises())


def test_an_error_can_be_sent_to_another_process() -> None:
    error = SchedulerError("x", "the start", Clause.GANG, "it started before")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(again), again.clause) == (str(error), Clause.GANG)


class TestWhoIsChecked:
    def test_others_without_asking(self) -> None:
        with pytest.raises(SchedulerError):
            replay(JOBS, AllOnZero())

    def test_nobody_who_is_trusted(self) -> None:
        assert replay(JOBS, NothingPartial(), check=False).result.afr < 0

    def test_ours_where_asked(self) -> None:
        scheduler = make_scheduler("gfs", NODES)
        assert isinstance(scheduler, GreedyScheduler)
        scheduler.cluster.take(0, 1)
        assert replay([], scheduler).result.jobs == 0
        with pytest.raises(SchedulerError, match="the empty nodes are those"):
            replay(JOBS, scheduler, check=True)


@pytest.mark.parametrize("name", SCHEDULERS)
@settings(max_examples=settings().max_examples // 4)
@given(jobs=traces(), nodes=st.integers(1, 4))
def test_the_check_refuses_none_of_ours_and_changes_nothing(name: str, jobs: list[TraceJob], nodes: int) -> None:
    trusted, checked = (replay(jobs, make_scheduler(name, nodes, jobs), check=check) for check in (False, True))
    assert unclocked(checked.result) == unclocked(trusted.result)
    assert checked.records == trusted.records


@dataclass(frozen=True)
class Fault:
    job: str
    clause: Clause


class Chaotic:
    """Places and moves at random, rightly or wrongly, and notes by a full count which clause it broke first."""

    name = "chaotic"
    nodes = NODES

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.held: list[tuple[str, int, int, int]] = []  # job, number, GPUs, node
        self.fault: Fault | None = None

    def loads(self) -> list[int]:
        return [sum(gpus for _, _, gpus, at in self.held if at == node) for node in range(self.nodes)]

    @property
    def partial_nodes(self) -> int:
        return sum(0 < load < 8 for load in self.loads())

    @property
    def empty_nodes(self) -> int:
        return self.loads().count(0)

    def node(self) -> int:
        return self.random.choice((-1, self.nodes, *(11 * tuple(range(self.nodes)))))

    def broke(self, job: TraceJob, clause: Clause) -> None:
        self.fault = self.fault or Fault(job.name, clause)

    def moves(self, job: TraceJob) -> tuple[Migration, ...]:
        found: list[Migration] = []
        for place, (name, number, gpus, at) in enumerate(self.held):
            if self.random.random() < 0.1:
                source = at if self.random.random() < 0.9 else (at + 1) % self.nodes
                destination = self.node()
                found.append(Migration(Instance(name, number, gpus), source, destination, MoveReason.MERGE))
                if not 0 <= destination < self.nodes:
                    self.broke(job, Clause.NODES)
                elif source != at or destination == source:
                    self.broke(job, Clause.MOVES)
                self.held[place] = (name, number, gpus, destination)
        if max(self.loads()) > 8:
            self.broke(job, Clause.CAPACITY)
        return tuple(found)

    def arrive(self, job: TraceJob, now: float) -> Answer:
        del now
        if self.random.random() < 0.2:
            return Refused(self.random.choice((Cause.FRAGMENTATION, Cause.HELD)))
        moves = self.moves(job)
        nodes = tuple(self.node() for _ in range(job.instances))
        if self.random.random() < 0.05:
            nodes = nodes[1:]
            self.broke(job, Clause.GANG)
        self.held += [(job.name, number, job.gpus, node) for number, node in enumerate(nodes)]
        if any(not 0 <= node < self.nodes for node in nodes):
            self.broke(job, Clause.NODES)
        if max(self.loads()) > 8:
            self.broke(job, Clause.CAPACITY)
        return Placed(nodes, moves)

    def depart(self, job: TraceJob, now: float) -> Farewell:
        del now
        self.held = [held for held in self.held if held[0] != job.name]
        return Left(self.moves(job))


@given(jobs=traces(), seed=st.integers(0, 2**32))
def test_a_clause_is_broken_exactly_where_a_full_count_says_so(jobs: list[TraceJob], seed: int) -> None:
    scheduler = Chaotic(seed)
    error = fault_of(jobs, scheduler)
    assert (error is None) == (scheduler.fault is None)
    if error is not None and scheduler.fault is not None:
        assert error.clause is scheduler.fault.clause
        assert f"of job '{scheduler.fault.job}' " in error.event


def fault_of(jobs: list[TraceJob], scheduler: Scheduler) -> SchedulerError | None:
    """Return what the replay finds."""
    try:
        replay(jobs, scheduler)
    except SchedulerError as error:
        return error
    return None


@given(jobs=traces())
def test_the_book_counts_what_is_free_and_what_fits(jobs: list[TraceJob]) -> None:
    book = Book("x", 4)
    best = GreedyScheduler("x", 4, best_fit)
    for job in jobs:
        if job.gpus > 8:
            continue
        free = best.cluster.free
        assert book.free_gpus == sum(free)
        assert book.fits(job) == (sum(room // job.gpus for room in free) >= job.instances)
        answer = best.arrive(job, 0)
        if isinstance(answer, Placed):
            book.start(job, answer.nodes, ())
            assert book.partial_nodes == sum(0 < room < 8 for room in free)
            assert book.empty_nodes == free.count(8)
