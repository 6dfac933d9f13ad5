"""A scheduler that is not trusted: what it answers is held against the replay's own book before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simulation.schedulers.own.book import Book, Clause
from simulation.schedulers.protocol import (
    Cause,
    Left,
    OrdersQueue,
    Placed,
    Refused,
    WatchesSubmissions,
    WorksInRounds,
)

if TYPE_CHECKING:
    from compass_core import Migration
    from simulation.jobs import TraceJob
    from simulation.queues import JobQueue
    from simulation.schedulers.protocol import Answer, Farewell, Scheduler

_NEVER = float("inf")


class CheckedScheduler:
    """A scheduler between which and the replay a book is kept.

    It may work in rounds and watch submissions, whether the one behind it does or not: then no round is ever due, and
    submissions are not passed on.

    Attributes
    ----------
    name
        In reports; that of the scheduler itself unless another is given.
    nodes
        N, number of nodes, as it was at the start.
    interval_s
        Seconds between two rounds, as it was at the start.

    Raises
    ------
    SchedulerError
        From any method and measure: the scheduler broke a clause; event and clause are named.
    """

    def __init__(self, scheduler: Scheduler, name: str | None = None) -> None:
        self._scheduler = scheduler
        self._watcher = scheduler if isinstance(scheduler, WatchesSubmissions) else None
        self._rounds = scheduler if isinstance(scheduler, WorksInRounds) else None
        self._book = Book(name or type(scheduler).__name__, 0)
        with self._book:
            self.name = name or scheduler.name
            self.nodes = scheduler.nodes
            self.interval_s = _NEVER if self._rounds is None else self._rounds.interval_s
            if self.nodes < 1:
                self._book.refuse(Clause.ANSWERS, f"it has {self.nodes} nodes")
            if not self.interval_s > 0:
                self._book.refuse(Clause.ANSWERS, f"{self.interval_s} s are between two of its rounds")
        self._book = Book(self.name, self.nodes)

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        with self._book:
            reported = self._scheduler.partial_nodes
        if reported != self._book.partial_nodes:
            self._book.refuse(Clause.PARTIAL_NODES, f"{reported} is reported where {self._book.partial_nodes} are")
        return self._book.partial_nodes

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        with self._book:
            reported = self._scheduler.empty_nodes
        if reported != self._book.empty_nodes:
            self._book.refuse(Clause.EMPTY_NODES, f"{reported} are reported where {self._book.empty_nodes} are")
        return self._book.empty_nodes

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, all of its instances or none."""
        book = self._book
        book.turn_to("arrival", job, now)
        with book:
            answer = cast("object", self._scheduler.arrive(job, now))
        if isinstance(answer, Placed):
            with book:
                book.start(job, answer.nodes, answer.migrations)
            return answer
        if not isinstance(answer, Refused):
            book.refuse(Clause.ANSWERS, f"it answered {answer!r}, neither Placed nor Refused")
        if answer.cause is Cause.CAPACITY and job.total_gpus <= book.free_gpus:
            book.refuse(Clause.CAUSE, f"{book.free_gpus} are free")
        return answer

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a running job."""
        book = self._book
        book.turn_to("departure", job, now)
        with book:
            answer = cast("object", self._scheduler.depart(job, now))
        if isinstance(answer, Left):
            with book:
                book.end(job, answer.migrations)
        elif not isinstance(answer, Refused):
            book.refuse(Clause.ANSWERS, f"it answered {answer!r}, neither Left nor Refused")
        return answer

    def tick(self, now: float) -> tuple[Migration, ...]:
        """Start a round."""
        if self._rounds is None:
            return ()
        self._book.turn_to("round", None, now)
        with self._book:
            moves = tuple(self._rounds.tick(now))
            self._book.move(moves)
        return moves

    def submitted(self, job: TraceJob, now: float) -> None:
        """Pass a submission on."""
        if self._watcher is not None:
            self._book.turn_to("submission", job, now)
            with self._book:
                self._watcher.submitted(job, now)


class _CheckedWithQueue(CheckedScheduler):
    """A scheduler with an order of its own in which waiting jobs are served."""

    def __init__(self, scheduler: Scheduler, orders: OrdersQueue, name: str | None) -> None:
        super().__init__(scheduler, name)
        self._orders = orders

    def make_queue(self) -> JobQueue:
        """Return an empty queue in that order."""
        with self._book:
            return self._orders.make_queue()


def checked(scheduler: Scheduler, name: str | None = None) -> CheckedScheduler:
    """Return the scheduler with a book kept between it and the replay; its name may be another in reports."""
    if isinstance(scheduler, OrdersQueue):
        return _CheckedWithQueue(scheduler, scheduler, name)
    return CheckedScheduler(scheduler, name)


def is_ours(scheduler: Scheduler) -> bool:
    """Whether the scheduler comes with this package: those are checked by its tests."""
    return type(scheduler).__module__.startswith("simulation.")
