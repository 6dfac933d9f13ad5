"""The moves of a stored answer: read, played, and what is to start after them put where the answer puts it.

A plan has such moves, and so has what is said of a waiting job or of several. All is recomputed from the snapshot: what
ran, what it is called, where there is room once the moves are made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from oracle.admission.areas import choices_of, is_in_one
from oracle.admission.question import Question
from oracle.moves.move import Move, MoveError, MoveMode, MoveOrder, Stop
from oracle.moves.replay import replay
from oracle.moves.stored import at_start, read_moves, start_to_json
from oracle.optimum.node_classes import contents_after
from oracle.verification.checks import NO_SNAPSHOT, Check, ResultError
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracle.admission.answer import Placement
    from oracle.admission.question import AskedJob, AskedPart
    from oracle.snapshots.model import Snapshot


class ToldQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer about waiting jobs tells of what was asked."""

    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None = None
    max_per_budget: int | None = None
    max_priority: int | None = None

    @property
    def question(self) -> Question:
        """What was asked.

        Raises
        ------
        ResultError
            Nobody can have asked that.
        """
        try:
            return Question.of(
                self.mode,
                self.protected,
                self.max_per_job_at_once,
                max_per_budget=self.max_per_budget,
                max_priority=self.max_priority,
            )
        except ValueError as error:
            raise ResultError(str(error)) from error


@dataclass(frozen=True, slots=True)
class StoredMoves:
    """What an answer says is to be done, in order, and the limits it keeps to.

    Attributes
    ----------
    moves, stops
        Those of the answer, sorted.
    mode
        Whether instances may be stopped first.
    max_per_job_at_once
        Instances of one job that may be stopped or moving at a time; None for any number.
    """

    moves: tuple[Move, ...]
    stops: tuple[Stop, ...]
    mode: MoveMode
    max_per_job_at_once: int | None

    @property
    def order(self) -> MoveOrder:
        """The moves as an answer has them."""
        return MoveOrder(moves=self.moves, stops=self.stops)

    @classmethod
    def of(cls, told: msgspec.Struct, question: Question) -> StoredMoves:
        """Return the moves of a part of an answer to this question.

        Raises
        ------
        ResultError
            They have another form.
        """
        return cls.read(msgspec.to_builtins(told), question.mode, question.max_per_job_at_once)

    @classmethod
    def read(cls, data: object, mode: MoveMode, max_per_job_at_once: int | None) -> StoredMoves:
        """Return the moves that are in these data.

        Raises
        ------
        ResultError
            They have another form.
        """
        try:
            moves, stops = read_moves(data)
        except MoveError as error:
            raise ResultError(str(error)) from error
        return cls(tuple(sorted(moves)), tuple(sorted(stops)), mode, max_per_job_at_once)

    def play(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot after the moves.

        Raises
        ------
        MoveError
            They cannot be made, or not in this mode.
        """
        if self.mode is MoveMode.LIVE and self.stops:
            raise MoveError("an instance is stopped first, and the moves should be live")
        if any(stop.before_step < 1 for stop in self.stops):
            raise MoveError("steps count from 1")
        return replay(snapshot, self.moves, self.stops, max_per_job_at_once=self.max_per_job_at_once)

    def obstacle(
        self, snapshot: Snapshot, jobs: Mapping[str, AskedJob], placed: Sequence[tuple[str, Placement]]
    ) -> str:
        """Return what keeps these jobs from starting on these nodes once the moves are made; empty if nothing does."""
        return next(self._obstacles(snapshot, jobs, placed), "")

    def _obstacles(
        self, snapshot: Snapshot, jobs: Mapping[str, AskedJob], placed: Sequence[tuple[str, Placement]]
    ) -> Iterator[str]:
        instances = {(job, placement.instance) for job, placement in placed}
        counts = Counter(job for job, _ in placed)
        if (
            len(instances) < len(placed)
            or any(job not in jobs or not 0 <= instance < jobs[job].size for job, instance in instances)
            or any(counts[name] < (job.size if job.together else 1) for name, job in jobs.items())
        ):
            yield "not every instance has one node"
            return
        try:
            after = self.play(snapshot)
        except MoveError as error:
            yield str(error)
            return
        stands = {name: [(one.instance, one.node) for job, one in placed if job == name] for name in jobs}
        yield from _beyond_room(snapshot, after, jobs, placed)
        pools = {node.name: node.pool for node in snapshot.nodes}
        for name, job in jobs.items():
            yield from _against_the_rules(name, job, snapshot, after, stands[name])
            nodes = {node for _, node in stands[name]}
            names = {pools[node] for node in nodes}
            choices = [pools for one, pools in choices_of(job, snapshot) if is_in_one(one, snapshot, nodes)]
            if not is_in_one(job, snapshot, nodes):
                yield f"the instances of {name} are not all in one of {', '.join(job.within_one_of)}"
            elif not any(names <= set(pools) for pools in choices):
                yield f"the instances of {name} are not all in its pool"


def _beyond_room(
    before: Snapshot, after: Snapshot, jobs: Mapping[str, AskedJob], placed: Sequence[tuple[str, Placement]]
) -> Iterator[str]:
    """Yield the nodes that have less than what is to start there takes, beside what is there after the moves."""
    open_ = [node for nodes in contents_after(before, after).values() for node in nodes if node.takes_instances]
    free = {node.name: node.capacity - node.used for node in open_}
    taken: Counter[tuple[str, str]] = Counter()
    gpus: Counter[str] = Counter()
    for job, placement in placed:
        part, node = _part(jobs[job], placement.instance), placement.node
        gpus[node] += part.gpus_per_instance
        taken.update({(node, name): amount for name, amount in part.resources.items()})
        room = free.get(node, 0)
        if gpus[node] > room:
            yield f"node {node} has {count(room, 'free GPU')} for what should start there"
            return
    at_first, then = _held(before, {name for name, _ in taken}), _held(after, {name for name, _ in taken})
    for one in before.nodes:
        for resource, most in one.resources.items():
            key = one.name, resource
            # Where more is held than there is, as much is held for ever.
            left = max(most, at_first[key]) - then[key]
            if taken[key] > left:
                yield f"node {one.name} has {left} of {resource} free for what should start there"


def _held(snapshot: Snapshot, nodes: set[str]) -> Counter[tuple[str, str]]:
    """Return what instances hold of the further resources of some nodes."""
    held: Counter[tuple[str, str]] = Counter()
    for job in snapshot.jobs:
        for one in job.instances:
            if one.node in nodes:
                held.update({(one.node, name): amount for name, amount in one.resources.items()})
    return held


def _against_the_rules(
    name: str, job: AskedJob, snapshot: Snapshot, after: Snapshot, stands: Sequence[tuple[int, str]]
) -> Iterator[str]:
    """Yield which instances of a job are outside its node sets, or share a node and must not."""
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    for instance, node in stands:
        within = _part(job, instance).within
        yield from (f"node {node} is outside {one}" for one in within if node not in sets[one])
    if job.distinct_nodes:
        beside = [one.node for other in after.jobs if other.name == job.more_of for one in other.instances]
        nodes = Counter(node for _, node in stands)
        for node, times in nodes.items():
            if times > 1 or node in beside:
                yield f"another instance of {name} is on node {node}, and no two may be on one"


def _part(job: AskedJob, instance: int) -> AskedPart:
    """Return the part that an instance is of: they are numbered part by part."""
    parts = iter(job.parts)
    part = next(parts)
    while instance >= part.instances:
        instance, part = instance - part.instances, next(parts)
    return part


def check_start(
    told: list[dict[str, object]] | UnsetType, listed: StoredMoves, snapshot: Snapshot | None
) -> Iterator[Check]:
    """Yield whether the jobs of the moves were as they are listed, and are called so; nothing of older documents."""
    if told is UNSET:
        return
    claim = "the jobs of the moves are listed as they were"
    if snapshot is None:
        yield Check.of(claim, unknown=NO_SNAPSHOT)
        return
    names = {(job.name, i): instance.name for job in snapshot.jobs for i, instance in enumerate(job.instances)}
    called: list[Move | Stop] = [*listed.moves, *listed.stops]
    wrong = ""
    if any(one.name != names.get((one.job, one.instance)) for one in called):
        wrong = "a move or a stop does not name its instance as the snapshot does"
    if told != start_to_json(at_start(snapshot, listed.moves)):
        wrong = "jobs_at_start is not what the snapshot has"
    yield Check.of(claim, wrong)
