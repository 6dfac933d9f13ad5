"""Replay of a trace under a scheduler: an event at a time, from the first submission to the last completion.

What happens at one instant happens in this order: jobs depart (the one that started first goes first); a round of a
scheduler that works in rounds starts; the queue is drained; then one job after the other arrives, each followed by a
draining of the queue. To drain is to start the head of the queue until it has to wait. Nothing is random here: the same
trace, scheduler and options give the same replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from simulation.demand import GPUS_PER_NODE, fits_idle_cluster
from simulation.jobs import Trace
from simulation.metrics import Counters, Head, JobRecord, Level, Meter, ReplayResult, Sample, Span, summarise
from simulation.options import DEFAULT_OPTIONS, QueueOrder, ReplayOptions
from simulation.pauses import NO_PAUSES
from simulation.queues import FifoQueue, JobQueue, LargestFirstQueue
from simulation.running import Run, RunningJobs
from simulation.schedulers.own.checked import checked, is_ours
from simulation.schedulers.protocol import (
    Cause,
    Left,
    OrdersQueue,
    Placed,
    Refused,
    Scheduler,
    WatchesSubmissions,
    WorksInRounds,
)
from simulation.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compass_core import Migration
    from simulation.jobs import TraceJob

__all__ = ["Observer", "QueueOrder", "Replay", "ReplayOptions", "replay"]

_NEVER = float("inf")


class Observer(Protocol):
    """Is told what was done, in the order in which it was done."""

    def started(self, job: TraceJob, now: float, placed: Placed) -> None:
        """Note a job that started."""
        ...

    def departed(self, job: TraceJob, now: float, left: Left) -> None:
        """Note a job that gave up its GPUs."""
        ...

    def round_started(self, now: float, migrations: Sequence[Migration]) -> None:
        """Note the moves of a round, all made at the same time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A finished replay.

    Attributes
    ----------
    result
        Its figures.
    records
        The completed jobs in order of completion.
    refused
        The jobs that not even the idle cluster has room for.
    series
        Samples in order of time, where they were asked for.
    """

    result: ReplayResult
    records: tuple[JobRecord, ...]
    refused: tuple[TraceJob, ...]
    series: tuple[Sample, ...]


def replay(
    jobs: Iterable[TraceJob],
    scheduler: Scheduler,
    options: ReplayOptions = DEFAULT_OPTIONS,
    *,
    observer: Observer | None = None,
    check: bool | None = None,
) -> Replay:
    """Replay jobs under a scheduler whose cluster is idle.

    Parameters
    ----------
    jobs
        A trace, or jobs that make one.
    scheduler
        A fresh one; the replay changes it.
    options
        What else is assumed.
    observer
        Is told of every start, departure and round.
    check
        Whether to hold what the scheduler answers against a book of the replay's own: nodes, capacity, gangs, moves, Φ
        and empty nodes. By default those schedulers are checked that do not come with this package.

    Returns
    -------
    Replay
        Figures, and what became of each job.

    Raises
    ------
    TraceError
        The jobs make no trace: they are not in order of submission, say.
    SchedulerError
        The scheduler was checked and broke a clause; event and clause are named.
    """
    began = perf_counter()
    if check or (check is None and not is_ours(scheduler)):
        scheduler = checked(scheduler)
    fitting: list[TraceJob] = []
    refused: list[TraceJob] = []
    for job in jobs if isinstance(jobs, Trace) else Trace(tuple(jobs)):
        (fitting if fits_idle_cluster(job, scheduler.nodes) else refused).append(job)
    engine = _Engine(fitting, scheduler, options, observer)
    engine.run()
    head = Head(
        scheduler=scheduler.name,
        nodes=scheduler.nodes,
        jobs=len(fitting),
        refused_jobs=len(refused),
        unstarted_jobs=len(engine.queue),
    )
    result = summarise(
        head, engine.span(), engine.meter.totals, engine.counters, engine.records, wall_s=perf_counter() - began
    )
    return Replay(result=result, records=tuple(engine.records), refused=tuple(refused), series=tuple(engine.series))


class _Engine:
    """The state of one replay in progress."""

    def __init__(
        self, jobs: list[TraceJob], scheduler: Scheduler, options: ReplayOptions, observer: Observer | None
    ) -> None:
        self.jobs = jobs
        self.scheduler = scheduler
        self.options = options
        self.observer = observer
        self.watcher = scheduler if isinstance(scheduler, WatchesSubmissions) else None
        self.rounds = scheduler if isinstance(scheduler, WorksInRounds) else None
        self.queue = _make_queue(scheduler, options.queue)
        self.running = RunningJobs()
        self.workload = Workload()
        self.stuck: dict[str, TraceJob] = {}  # ended, but the algorithm does not say how they depart
        self.stuck_gpus = 0
        self.moved: dict[str, int] = {}  # by job, its instances that moved at this instant
        self.gpus = scheduler.nodes * GPUS_PER_NODE
        start = jobs[0].submit_s if jobs else 0.0
        self.meter = Meter(start)
        self.next_round = start + self.rounds.interval_s if self.rounds else _NEVER
        self.counters = Counters()
        self.records: list[JobRecord] = []
        self.series: list[Sample] = []
        self.used_gpu_s_at_last_submission = 0.0
        self.end_s = start
        self.partial_nodes = 0
        self.version = 0  # counts changes of the cluster
        self.waiting_for: tuple[str, int] | None = None  # the head, and the version in which it was refused
        self.blocked: Cause | None = None
        self.blocked_before: set[tuple[str, Cause]] = set()
        self.blocked_feasible: set[str] = set()

    def run(self) -> None:
        """Play all events."""
        submitted = 0
        while True:
            arrival = self.jobs[submitted].submit_s if submitted < len(self.jobs) else _NEVER
            finish = self.running.next_finish()
            now = min(arrival, finish, self.next_round if self.running else _NEVER)
            if now == _NEVER:
                return
            self.advance(now)
            if now > self.end_s:
                self.moved.clear()
            self.end_s = now
            if finish == now:
                self.complete(now)
            self.retry_stuck(now)
            self.start_round(now)
            self.drain(now)
            while submitted < len(self.jobs) and self.jobs[submitted].submit_s == now:
                self.submit(self.jobs[submitted], now)
                submitted += 1
            if submitted == len(self.jobs) and arrival == now:
                self.used_gpu_s_at_last_submission = self.meter.totals.used_gpu_s
            self.sample(now)

    def span(self) -> Span:
        """Return when the replay began and ended."""
        return Span(
            first_submission_s=self.jobs[0].submit_s if self.jobs else 0.0,
            last_submission_s=self.jobs[-1].submit_s if self.jobs else 0.0,
            end_s=self.end_s,
            used_gpu_s_at_last_submission=self.used_gpu_s_at_last_submission,
        )

    def advance(self, now: float) -> None:
        """Add up what has held until now."""
        workload = self.workload
        self.meter.advance(
            now,
            Level(
                self.partial_nodes,
                workload.inherent_partial_nodes,
                self.scheduler.empty_nodes,
                workload.gpus,
                self.stuck_gpus,
                workload.wcc_slack >= 0,
                self.blocked,
            ),
        )

    def complete(self, now: float) -> None:
        """End the jobs that are due. All of them have ended before the first departs: none is paused any more."""
        due: list[Run] = []
        while self.running.next_finish() == now:
            due.append(self.running.pop())
        for run in due:
            job = run.job
            self.records.append(
                JobRecord(job.name, job.submit_s, run.start_s, run.finish_s, run.paused_s, job.total_gpus)
            )
            if not self.depart(job, now):
                self.counters.undefined_departures += 1
                self.stuck[job.name] = job
                self.stuck_gpus += job.total_gpus

    def depart(self, job: TraceJob, now: float) -> bool:
        """Let a job give up its GPUs; say whether the scheduler knew how."""
        answer = self.scheduler.depart(job, now)
        if isinstance(answer, Refused):
            return False
        self.workload.change(job.gpus, -job.instances)
        self.counters.migrations -= self.moved.pop(job.name, 0)  # it leaves at once: nobody moves it before
        self.changed()
        if answer.migrations:
            self.migrate(answer.migrations)
        if self.observer is not None:
            self.observer.departed(job, now, answer)
        return True

    def retry_stuck(self, now: float) -> None:
        """Let jobs depart that could not before, until no more of them can."""
        progress = True
        while self.stuck and progress:
            progress = False
            for job in list(self.stuck.values()):
                if self.depart(job, now):
                    del self.stuck[job.name]
                    self.stuck_gpus -= job.total_gpus
                    progress = True

    def start_round(self, now: float) -> None:
        """Start a round if one is due. Rounds in which nothing runs are passed over."""
        if self.rounds is None or now < self.next_round:
            return
        if now == self.next_round and self.running:
            moves = self.rounds.tick(now)
            self.counters.rounds += 1
            if moves:
                self.version += 1
                self.migrate(moves)
                self.note_partial_nodes()
            if self.observer is not None:
                self.observer.round_started(now, moves)
        interval = self.rounds.interval_s
        while self.next_round <= now:
            self.next_round += interval

    def submit(self, job: TraceJob, now: float) -> None:
        """Put a job into the queue, and drain it."""
        if self.watcher is not None:
            self.watcher.submitted(job, now)
        self.queue.push(job, now)
        self.drain(now)

    def drain(self, now: float) -> None:
        """Start the head of the queue until it has to wait."""
        while (head := self.queue.head(now)) is not None:
            if self.waiting_for == (head.name, self.version):
                break
            cause = self.try_to_start(head, now)
            if cause is not None:
                self.wait(head, cause)
                break
        else:
            self.blocked = self.waiting_for = None
            return
        if self.options.backfill and self.blocked is Cause.CAPACITY:
            self.let_past(head, now)

    def wait(self, head: TraceJob, cause: Cause) -> None:
        """Note why the head of the queue has to wait."""
        self.blocked = cause
        # A scheduler that holds a job may think otherwise before anything changes.
        self.waiting_for = None if cause is Cause.HELD else (head.name, self.version)
        if (head.name, cause) not in self.blocked_before:
            self.blocked_before.add((head.name, cause))
            self.counters.blocked_jobs[cause] += 1
        if cause is not Cause.CAPACITY and head.name not in self.blocked_feasible:
            self.blocked_feasible.add(head.name)
            self.counters.feasible_blocked_jobs += 1

    def try_to_start(self, job: TraceJob, now: float) -> Cause | None:
        """Start a waiting job, or return why it has to wait."""
        if job.total_gpus > self.gpus - self.workload.gpus:
            return Cause.CAPACITY
        answer = self.scheduler.arrive(job, now)
        if isinstance(answer, Refused):
            return answer.cause
        self.queue.remove(job)
        self.running.start(job, now)
        self.workload.change(job.gpus, job.instances)
        self.changed()
        if answer.migrations:
            self.migrate(answer.migrations)
        if self.observer is not None:
            self.observer.started(job, now, answer)
        if self.stuck:
            self.retry_stuck(now)
        return None

    def let_past(self, head: TraceJob, now: float) -> None:
        """Start jobs behind the head that are to end before it could start; pauses may come between."""
        reservation = self.earliest_start(head)
        for job in list(self.queue.behind_head(now)):
            if now + job.duration_s <= reservation:
                self.try_to_start(job, now)
        self.waiting_for = (head.name, self.version)

    def earliest_start(self, head: TraceJob) -> float:
        """Return the first time at which as many GPUs can be free as the head demands."""
        free = self.gpus - self.workload.gpus
        for run in self.running.by_finish():
            free += run.job.total_gpus
            if free >= head.total_gpus:
                return run.finish_s
        return _NEVER

    def changed(self) -> None:
        """Note that a job came or went."""
        self.version += 1
        self.counters.events += 1
        self.note_partial_nodes()

    def note_partial_nodes(self) -> None:
        """Look at the cluster after an event."""
        self.partial_nodes = self.scheduler.partial_nodes
        avoidable = self.partial_nodes - self.workload.inherent_partial_nodes
        self.counters.max_avoidable = max(self.counters.max_avoidable, avoidable)

    def migrate(self, migrations: Sequence[Migration]) -> None:
        """Count instances that moved, and pause their jobs."""
        self.counters.migrations += len(migrations)
        moved: dict[str, int] = {}
        for migration in migrations:
            name = migration.instance.job
            moved[name] = moved.get(name, 0) + 1
        for name, count in moved.items():
            self.moved[name] = self.moved.get(name, 0) + count
        if self.options.pauses is NO_PAUSES:
            return
        for name, count in moved.items():
            run = self.running.get(name)
            if run is not None:  # a job that ended and could not depart has nothing left to pause
                self.pause(run, count)

    def pause(self, run: Run, moved: int) -> None:
        """Pause a running job of which so many instances move."""
        seconds = self.options.pauses.of(run.job, moved)
        if not seconds:
            return
        self.running.pause(run.job.name, seconds)
        self.counters.pauses += 1
        self.counters.paused_s += seconds
        self.counters.paused_gpu_s += seconds * run.job.total_gpus

    def sample(self, now: float) -> None:
        """Keep a sample, where that is asked for."""
        if self.options.series:
            workload = self.workload
            self.series.append(
                Sample(
                    now,
                    self.partial_nodes,
                    workload.inherent_partial_nodes,
                    workload.gpus,
                    self.scheduler.empty_nodes,
                    len(self.queue),
                )
            )


def _make_queue(scheduler: Scheduler, order: QueueOrder) -> JobQueue:
    if isinstance(scheduler, OrdersQueue):
        return scheduler.make_queue()
    return FifoQueue() if order is QueueOrder.FIFO else LargestFirstQueue()
