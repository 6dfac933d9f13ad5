"""The one adapter: a scheduler of the conformance kit's four methods, as the replay drives it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from compass_core import Instance, Job, Migration, MoveReason
from simulation.schedulers.own.book import Book, Clause
from simulation.schedulers.protocol import LEFT, Answer, Cause, Farewell, Left, Placed, Refused

if TYPE_CHECKING:
    from compass_core.scheduler_protocol import Scheduler
    from simulation.jobs import TraceJob

_BADLY_PLACED = Refused(Cause.FRAGMENTATION)
_DECLINED = Refused(Cause.STRUCTURE)


class OwnScheduler:
    """A scheduler of four methods (`compass_core.scheduler_protocol`) in a replay.

    After each event the placement it reports is compared with the one before. Instances of a job are alike, so no more
    of them have migrated than nodes changed; all of an event move at once. Φ and the empty nodes are counted from the
    placement, which is held to what every scheduler owes: an event costs as many steps as instances run.

    A job that is refused although it fits where the free GPUs lie counts as blocked by structure: the scheduler
    has no clock, so it is asked again after the next change.

    Parameters
    ----------
    scheduler
        Is reset to so many idle nodes.
    nodes
        N, number of 8-GPU nodes.
    name
        In reports; the class's name by default.

    Raises
    ------
    SchedulerError
        From any method: the scheduler broke a clause; event and clause are named.
    """

    def __init__(self, scheduler: Scheduler, nodes: int, *, name: str | None = None) -> None:
        self.name = name or type(scheduler).__name__
        self.nodes = nodes
        self._scheduler = scheduler
        self._book = Book(self.name, nodes)
        with self._book:
            scheduler.reset(nodes)

    @property
    def partial_nodes(self) -> int:
        """Φ at present."""
        return self._book.partial_nodes

    @property
    def empty_nodes(self) -> int:
        """Nodes that hold nothing at present."""
        return self._book.empty_nodes

    def arrive(self, job: TraceJob, now: float) -> Answer:
        """Start a job, all of its instances or none."""
        book = self._book
        book.turn_to("arrival", job, now)
        with book:
            admitted = self._scheduler.arrive(Job(job.name, job.instances, job.gpus))
            placement = self._placement()
        own = placement.pop(job.name, ())
        moves = self._moves(placement)
        if admitted:
            book.start(job, own, moves)
            return Placed(own, moves)
        if own or moves:
            what = f"{len(own)} of its instances run" if own else f"an instance of job {moves[0].instance.job!r} moved"
            book.refuse(Clause.REFUSED, what)
        return _DECLINED if book.fits(job) else _BADLY_PLACED

    def depart(self, job: TraceJob, now: float) -> Farewell:
        """End a running job."""
        book = self._book
        book.turn_to("departure", job, now)
        with book:
            self._scheduler.depart(job.name)
            placement = self._placement()
        if job.name in placement:
            book.refuse(Clause.NOTHING_LOST, "it still runs")
        moves = self._moves(placement, departed=job.name)
        book.end(job, moves)
        return Left(moves) if moves else LEFT

    def _placement(self) -> dict[str, tuple[int, ...]]:
        """Return what the scheduler says runs where; a copy, for it may go on with its own."""
        node = self._book.node
        return {name: tuple(map(node, nodes)) for name, nodes in self._scheduler.placement().items()}

    def _moves(self, placement: dict[str, tuple[int, ...]], departed: str | None = None) -> tuple[Migration, ...]:
        """Return what moved, by the placement of the jobs that ran before."""
        book = self._book
        for name in placement:
            if book.runs(name) is None:
                book.refuse(Clause.NOTHING_LOST, f"job {name!r} runs, which does not")
        moves: list[Migration] = []
        for name, before in book.where.items():
            if name == departed:
                continue
            now = placement.get(name, ())
            if len(now) != len(before):
                book.refuse(Clause.NOTHING_LOST, f"{len(now)} of the {len(before)} instances of job {name!r} run")
            if now != tuple(before):
                moves += self._moved(name, before, now)
        return tuple(moves)

    def _moved(self, name: str, before: list[int], now: tuple[int, ...]) -> list[Migration]:
        job = self._book.runs(name)
        gpus = 0 if job is None else job.gpus
        stay = Counter(before) & Counter(now)
        arriving = list((Counter(now) - stay).elements())
        moves: list[Migration] = []
        for number, source in enumerate(before):
            if stay[source]:
                stay[source] -= 1
            else:
                destination = arriving.pop()
                moves.append(Migration(Instance(name, number, gpus), source, destination, MoveReason.MERGE))
        return moves
