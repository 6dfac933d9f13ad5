"""A second engine, slow on purpose: lists that are searched from end to end, everything recomputed at every moment.

It shares nothing with `simulation.engine` but the value `TraceJob`, and counts time and shares in fractions. The order
of what happens at one instant is that which the engine's docstring lays down.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tests.core.naive import fewest_partial_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.jobs import TraceJob

Move: TypeAlias = "tuple[str, int, int, int]"
"""Job, instance, source, destination."""


class Policy(Protocol):
    """Decides for the slow engine. The engine carries out what it says and checks it."""

    def submitted(self, slow: SlowEngine, job: TraceJob) -> None: ...

    def place(self, slow: SlowEngine, job: TraceJob) -> tuple[list[int], list[Move]] | str: ...

    def leave(self, slow: SlowEngine, job: TraceJob) -> list[Move] | None: ...

    def order(self, slow: SlowEngine, waiting: list[TraceJob]) -> list[TraceJob]: ...

    def round(self, slow: SlowEngine) -> list[Move]: ...

    @property
    def interval(self) -> int | None: ...


@dataclass
class Running:
    job: TraceJob
    start: Fraction
    end: Fraction
    paused: Fraction = Fraction(0)


@dataclass
class Period:
    """What holds from one moment to the next."""

    seconds: Fraction
    partial: int
    inherent: int
    empty: int
    used: int
    stuck: int
    wcc: bool
    blocked: str


@dataclass
class SlowEngine:
    jobs: Sequence[TraceJob]
    nodes: int
    policy: Policy
    pause: Callable[[TraceJob, int], Fraction] = lambda _job, _moved: Fraction(0)
    largest_first: bool = False
    backfill: bool = False

    now: Fraction = Fraction(0)
    where: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    holders: dict[str, TraceJob] = field(default_factory=dict[str, "TraceJob"])
    running: list[Running] = field(default_factory=list[Running])
    waiting: list[TraceJob] = field(default_factory=list["TraceJob"])
    stuck: list[TraceJob] = field(default_factory=list["TraceJob"])
    done: list[tuple[str, Fraction, Fraction, Fraction]] = field(
        default_factory=list[tuple[str, Fraction, Fraction, Fraction]]
    )
    periods: list[Period] = field(default_factory=list[Period])
    starts: list[tuple[str, tuple[int, ...]]] = field(default_factory=list[tuple[str, tuple[int, ...]]])
    blocked: str = ""
    blocked_jobs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    avoidable: list[int] = field(default_factory=list[int])
    moved: list[tuple[Fraction, str]] = field(default_factory=list[tuple[Fraction, str]])
    left_at: dict[str, Fraction] = field(default_factory=dict[str, Fraction])
    pauses: list[tuple[Fraction, int]] = field(default_factory=list[tuple[Fraction, int]])

    # what the nodes hold, recomputed whenever it is asked for

    def demands_on(self, node: int) -> list[int]:
        return sorted(
            self.holders[name].gpus for name, places in self.where.items() for place in places if place == node
        )

    def free_on(self, node: int) -> int:
        return 8 - sum(self.demands_on(node))

    def free(self) -> list[int]:
        left = [8] * self.nodes
        for name, places in self.where.items():
            for place in places:
                left[place] -= self.holders[name].gpus
        return left

    def partial(self) -> int:
        return sum(0 < free < 8 for free in self.free())

    def counts(self) -> tuple[int, ...]:
        counts = Counter(self.holders[name].gpus for name, places in self.where.items() for _ in places)
        return tuple(counts[g] for g in range(1, 9))

    def inherent(self) -> int:
        return fewest_partial_nodes(self.counts(), 8, self.nodes)

    # what happens

    def run(self) -> None:
        self.jobs = [job for job in self.jobs if job.gpus <= 8 and self.nodes * (8 // job.gpus) >= job.instances]
        if not self.jobs:
            return
        self.now = first = Fraction(self.jobs[0].submit_s)
        coming = list(self.jobs)
        interval = self.policy.interval
        next_round = first + interval if interval else None
        while coming or self.running:
            moments = [Fraction(job.submit_s) for job in coming] + [run.end for run in self.running]
            if next_round is not None and self.running:
                moments.append(next_round)
            self.pass_time(min(moments))
            self.end_jobs()
            if self.now == next_round and self.running:
                self.carry_out(self.policy.round(self), live=False)
            while interval and next_round is not None and next_round <= self.now:
                next_round += interval
            self.drain()
            while coming and coming[0].submit_s == self.now:
                self.policy.submitted(self, coming[0])
                self.waiting.append(coming.pop(0))
                self.drain()

    def end_jobs(self) -> None:
        due = [run for run in self.running if run.end == self.now]
        self.running = [run for run in self.running if run not in due]
        for run in due:
            self.done.append((run.job.name, run.start, run.end, run.paused))
            if not self.leave(run.job):
                self.stuck.append(run.job)
        self.retry()

    def pass_time(self, moment: Fraction) -> None:
        counts = self.counts()
        need = counts[2] + 3 * counts[4] + 2 * counts[5] + counts[6]
        used = sum(g * n for g, n in enumerate(counts, start=1))
        stuck = sum(job.total_gpus for job in self.stuck)
        self.periods.append(
            Period(
                moment - self.now,
                self.partial(),
                self.inherent(),
                sum(free == 8 for free in self.free()),
                used - stuck,
                stuck,
                need <= counts[0],
                self.blocked,
            )
        )
        self.now = moment

    def carry_out(self, moves: list[Move], *, live: bool = True) -> None:
        for name, instance, source, destination in moves:
            assert self.where[name][instance] == source
            assert source != destination
            self.where[name][instance] = destination
            if live:
                assert min(self.free()) >= 0
        assert min(self.free()) >= 0
        self.moved += [(self.now, move[0]) for move in moves]
        for name in {move[0] for move in moves}:
            run = next((run for run in self.running if run.job.name == name), None)
            if run:
                seconds = self.pause(run.job, sum(move[0] == name for move in moves))
                run.end += seconds
                run.paused += seconds
                if seconds:
                    self.pauses.append((seconds, run.job.total_gpus))
        self.look()

    def look(self) -> None:
        self.avoidable.append(self.partial() - self.inherent())

    def leave(self, job: TraceJob) -> bool:
        moves = self.policy.leave(self, job)
        if moves is None:
            return False
        del self.where[job.name]
        del self.holders[job.name]
        self.left_at[job.name] = self.now
        self.carry_out(moves)
        return True

    def retry(self) -> None:
        gone = True
        while gone:
            gone = False
            for job in list(self.stuck):
                if self.leave(job):
                    self.stuck.remove(job)
                    gone = True

    def start(self, job: TraceJob) -> str:
        if job.total_gpus > sum(self.free()):
            return "capacity"
        answer = self.policy.place(self, job)
        if isinstance(answer, str):
            return answer
        nodes, moves = answer
        self.carry_out(moves, live=False)
        self.holders[job.name] = job
        self.where[job.name] = list(nodes)
        assert len(nodes) == job.instances
        assert min(self.free()) >= 0
        self.waiting.remove(job)
        self.running.append(Running(job, self.now, self.now + Fraction(job.duration_s)))
        self.starts.append((job.name, tuple(nodes)))
        self.avoidable[-1] = self.partial() - self.inherent()
        self.retry()
        return ""

    def drain(self) -> None:
        self.blocked = ""
        while self.waiting and not self.blocked:
            head = self.in_order()[0]
            self.blocked = self.start(head)
            if self.blocked:
                self.blocked_jobs.add((head.name, self.blocked))
        if self.backfill and self.blocked == "capacity":
            head = self.in_order()[0]
            latest = min(
                end
                for end in (run.end for run in self.running)
                if sum(self.free()) + sum(run.job.total_gpus for run in self.running if run.end <= end)
                >= head.total_gpus
            )
            for job in self.in_order()[1:]:
                if self.now + Fraction(job.duration_s) <= latest:
                    self.start(job)

    def in_order(self) -> list[TraceJob]:
        if self.largest_first:
            return sorted(self.waiting, key=lambda job: -job.gpus)
        return self.policy.order(self, list(self.waiting))

    # figures

    @property
    def moves(self) -> int:
        """Moves that somebody would make: of jobs that were still there afterwards."""
        return sum(self.left_at.get(name) != moment for moment, name in self.moved)

    def over_time(self, value: Callable[[Period], float]) -> Fraction:
        return sum((Fraction(value(period)) * period.seconds for period in self.periods), Fraction(0))

    def span(self) -> Fraction:
        return max(end for _, _, end, _ in self.done) - Fraction(self.jobs[0].submit_s)

    def used_until(self, moment: float) -> Fraction:
        total, clock = Fraction(0), Fraction(self.jobs[0].submit_s)
        for period in self.periods:
            seconds = min(period.seconds, Fraction(moment) - clock)
            if seconds > 0:
                total += period.used * seconds
            clock += period.seconds
        return total
