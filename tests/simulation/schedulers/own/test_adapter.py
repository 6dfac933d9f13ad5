"""A scheduler of the kit's four methods in a replay does what the same rule does behind the replay's own protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compass_core import Job, Variant
from proofs.conformance import OurScheduler, check_scheduler
from simulation.engine import replay
from simulation.schedulers.own.adapter import OwnScheduler
from simulation.schedulers.own.book import Clause, SchedulerError
from simulation.schedulers.registry import make_scheduler
from tests.simulation.recording import Recorder, jobs_of, traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core.scheduler_protocol import Scheduler
    from simulation.jobs import TraceJob

fewer_examples = settings(max_examples=settings().max_examples // 2)

JOBS = jobs_of((0, 100, 2, 3), (1, 50, 2, 1), (2, 100, 1, 5), (3, 10, 1, 6))


class BestFit:
    """Each instance on the fullest node with room for it."""

    def reset(self, nodes: int) -> None:
        self.free = [8] * nodes
        self.jobs: dict[str, tuple[int, list[int]]] = {}

    def arrive(self, job: Job) -> bool:
        free, homes = list(self.free), list[int]()
        for _ in range(job.instances):
            hosts = [node for node, room in enumerate(free) if room >= job.gpus]
            if not hosts:
                return False
            homes.append(min(hosts, key=lambda node: free[node]))
            free[homes[-1]] -= job.gpus
        self.free = free
        self.jobs[job.name] = job.gpus, homes
        return True

    def depart(self, name: str) -> None:
        gpus, homes = self.jobs.pop(name)
        for node in homes:
            self.free[node] += gpus

    def placement(self) -> dict[str, list[int]]:
        return {name: homes for name, (_, homes) in self.jobs.items()}


@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 4))
def test_best_fit(jobs: list[TraceJob], nodes: int) -> None:
    own, ours = Recorder(), Recorder()
    scheduler = OwnScheduler(BestFit(), nodes)
    assert scheduler.name == "BestFit"
    one = replay(jobs, scheduler, observer=own)
    other = replay(jobs, make_scheduler("gfs", nodes), observer=ours)
    assert own == ours
    assert one.records == other.records
    assert one.result.afr == other.result.afr
    assert one.result.fragmentation_blocked_jobs == other.result.fragmentation_blocked_jobs


@pytest.mark.parametrize("variant", [Variant.EXACT, Variant.COMPASS])
@fewer_examples
@given(jobs=traces(), nodes=st.integers(1, 4))
def test_what_migrates(variant: Variant, jobs: list[TraceJob], nodes: int) -> None:
    """Moves are told from the placements: as many as instances changed nodes, where the algorithm may count more."""
    own, ours = Recorder(), Recorder()
    one = replay(jobs, OwnScheduler(OurScheduler(variant), nodes), observer=own).result
    other = replay(jobs, make_scheduler(variant.value, nodes), observer=ours).result
    assert (own.starts, own.times, own.ends) == (ours.starts, ours.times, ours.ends)
    assert (one.afr, one.mean_empty_nodes, one.jct_s) == (other.afr, other.mean_empty_nodes, other.jct_s)
    assert one.structure_blocked_s == other.structure_blocked_s
    assert one.migrations <= other.migrations


class Shuffles(BestFit):
    """Names the nodes of a job in another order each time: nothing moves."""

    turn = 0

    def placement(self) -> dict[str, list[int]]:
        self.turn += 1
        return {name: homes[:: (-1) ** self.turn] for name, homes in super().placement().items()}


def test_instances_of_a_job_are_alike() -> None:
    assert replay(JOBS, OwnScheduler(Shuffles(), 2)).result.migrations == 0


class Overbooks(BestFit):
    def arrive(self, job: Job) -> bool:
        self.jobs[job.name] = job.gpus, [0] * job.instances
        return True


class SaysNo(BestFit):
    def arrive(self, job: Job) -> bool:
        super().arrive(job)
        return False


class SaysYes(BestFit):
    def arrive(self, job: Job) -> bool:
        return job.name == "b" or super().arrive(job)


class Forgets(BestFit):
    def depart(self, name: str) -> None:
        super().depart(name)
        self.jobs.clear()


class Keeps(BestFit):
    def depart(self, name: str) -> None:
        """Go on running it."""


class Invents(BestFit):
    def depart(self, name: str) -> None:
        super().depart(name)
        self.jobs["z"] = 1, [0]


class MovesForWhatItRefuses(BestFit):
    def arrive(self, job: Job) -> bool:
        if job.name != "d":
            return super().arrive(job)
        self.jobs["a"] = 3, [1, 0] if self.jobs["a"][1] == [0, 0] else [0, 0]
        return False


class NamesNodesByText(BestFit):
    def placement(self) -> dict[str, list[int]]:
        return {name: ["node"] for name in super().placement()}  # type: ignore[list-item] # pyright: ignore[reportReturnType] - it does what types forbid


class Raises(BestFit):
    def placement(self) -> dict[str, list[int]]:
        raise ValueError("two\nlines")


@pytest.mark.parametrize(
    ("make", "clause", "seen"),
    [
        (Overbooks, Clause.CAPACITY, "arrival of job 'c' (1x5) at 2 s: .* node 0 would hold 13"),
        (SaysNo, Clause.REFUSED, "arrival of job 'a' (2x3) at 0 s: .* 2 of its instances run"),
        (SaysYes, Clause.GANG, "arrival of job 'b' (2x1) at 1 s: .* 0 of its 2 instances were placed"),
        (Forgets, Clause.NOTHING_LOST, "departure of job .* of job '.' run"),
        (Keeps, Clause.NOTHING_LOST, "departure of job .* it still runs"),
        (Invents, Clause.NOTHING_LOST, "departure of job .* job 'z' runs, which does not"),
        (MovesForWhatItRefuses, Clause.REFUSED, "arrival of job 'd' (1x6) at .* an instance of job 'a' moved"),
        (NamesNodesByText, Clause.NODES, "arrival of job 'a' .* 'node' was named; the nodes are 0 to 2"),
        (Raises, Clause.ANSWERS, r"arrival of job 'a' .* it raised ValueError: two"),
    ],
)
def test_what_breaks_a_clause_is_refused(make: Callable[[], Scheduler], clause: Clause, seen: str) -> None:
    with pytest.raises(
        SchedulerError, match=f"^{make.__name__}: {seen.replace('(', '[(]').replace(')', '[)]')}"
    ) as caught:
        replay(JOBS, OwnScheduler(make(), 3))
    assert caught.value.clause is clause


def test_the_kit_and_the_replay_find_the_same_fault() -> None:
    report = check_scheduler(Overbooks())
    assert [failure.broken.law.name for failure in report.failures] == ["CAPACITY"]
