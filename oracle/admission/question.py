"""What is asked about waiting jobs: which one, and what may be moved for it. Answers carry it, to be checked later."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
from immutables import Map

from compass_core.errors import InvalidJobError
from oracle.moves.move import MoveMode, MoveOrder, protect
from oracle.moves.ordering import NoOrderError, live_sequence, order_interchangeably
from oracle.moves.replay import Occupancy
from oracle.moves.steps import in_steps
from oracle.snapshots.entries import Guest
from oracle.snapshots.faults import MAX_DEMAND, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.moves.move import Move, Relocated
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import PendingJob, Snapshot


@dataclass(frozen=True, slots=True)
class AskedPart:
    """Instances of a waiting job that are alike: how many, the GPUs of each, and what else is asked of each."""

    instances: int
    gpus_per_instance: int
    within: tuple[str, ...] = ()
    resources: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class AskedJob:
    """A waiting job.

    Attributes
    ----------
    instances, gpus_per_instance
        Its instances, and the GPUs of each.
    pool
        Its pool; None for any one pool.
    within
        The node sets of the snapshot that its instances may not leave.
    resources
        What each instance takes of further resources, by name.
    distinct_nodes
        Whether no two instances may stand on one node.
    further_parts
        Instances unlike these that belong to it.
    together
        Whether all its instances start at one time; otherwise each starts as soon as it can, in any pool.
    more_of
        The running job whose further instances these are, if they may not stand on its nodes; None of others.
    within_one_of
        The node sets in one of which all its instances have to be, whichever; none if they need not.
    """

    instances: int
    gpus_per_instance: int
    pool: str | None
    within: tuple[str, ...] = ()
    resources: dict[str, int] = field(default_factory=dict[str, int])
    distinct_nodes: bool = False
    further_parts: tuple[AskedPart, ...] = ()
    together: bool = True
    more_of: str | None = None
    within_one_of: tuple[str, ...] = ()

    @classmethod
    def of(cls, job: PendingJob, snapshot: Snapshot) -> AskedJob:
        """Return what a job asks for that waits in a snapshot."""
        spread = job.distinct_nodes and any(one.name == job.name and one.distinct_nodes for one in snapshot.jobs)
        return cls(
            job.instances,
            job.gpus_per_instance,
            job.pool,
            job.within,
            dict(sorted(job.resources.items())),
            job.distinct_nodes,
            tuple(
                AskedPart(part.instances, part.gpus_per_instance, part.within, dict(sorted(part.resources.items())))
                for part in job.further_parts
            ),
            job.together,
            job.name if spread else None,
            job.within_one_of,
        )

    @property
    def parts(self) -> tuple[AskedPart, ...]:
        """Its instances by what they ask for."""
        first = AskedPart(self.instances, self.gpus_per_instance, self.within, self.resources)
        return (first, *self.further_parts)

    @property
    def alternatives(self) -> tuple[AskedJob, ...]:
        """The job as it is in each of the node sets of which it has to be in one; itself if it need not."""
        return tuple(self._inside(name) for name in self.within_one_of) or (self,)

    def _inside(self, name: str) -> AskedJob:
        def more(within: tuple[str, ...]) -> tuple[str, ...]:
            return within if name in within else (*within, name)

        parts = tuple(replace(part, within=more(part.within)) for part in self.further_parts)
        return replace(self, within=more(self.within), further_parts=parts, within_one_of=(name,))

    @property
    def firsts(self) -> tuple[int, ...]:
        """The number of the first instance of each part: they are numbered part by part."""
        return tuple(accumulate((part.instances for part in self.parts[:-1]), initial=0))

    @property
    def part_gpus(self) -> tuple[int, ...]:
        """The GPUs of each instance of each part."""
        return tuple(part.gpus_per_instance for part in self.parts)

    @property
    def size(self) -> int:
        """Number of its instances."""
        return self.instances + sum(part.instances for part in self.further_parts)

    @property
    def total_gpus(self) -> int:
        """GPUs of all its instances together."""
        return sum(part.instances * part.gpus_per_instance for part in self.parts)

    @property
    def least_gpus(self) -> int:
        """GPUs that something of it takes at least: those of all its instances if they start together."""
        return self.total_gpus if self.together else min(self.part_gpus)

    @property
    def called(self) -> str:
        """What it asks for, as it is written: ``2x4``, with parts ``1x8 + 2x4``."""
        return " + ".join(f"{part.instances}x{part.gpus_per_instance}" for part in self.parts)

    @property
    def is_constrained(self) -> bool:
        """Whether it asks for more than GPUs in a pool."""
        return (
            self.distinct_nodes or bool(self.within_one_of) or any(part.within or part.resources for part in self.parts)
        )

    def check(self) -> None:
        """Check that there can be such a job.

        Raises
        ------
        InvalidJobError
            It asks for less than one instance or one GPU, an instance for more GPUs than one can ask for, or instances
            that start one by one have to be in one of several node sets.
        """
        for part in self.parts:
            if part.instances < 1 or not 1 <= part.gpus_per_instance <= MAX_DEMAND:
                got = f"{part.instances} of {shown(part.gpus_per_instance)}"
                raise InvalidJobError(
                    f"a job has at least 1 instance of at least 1 GPU and at most {MAX_DEMAND}, got {got}"
                )
            if min(part.resources.values(), default=0) < 0:
                raise InvalidJobError("an instance takes 0 or more of a resource")
        if self.within_one_of and not self.together:
            raise InvalidJobError("only instances that start together have to be in one of several node sets")

    def check_known(self, snapshot: Snapshot) -> None:
        """Check that the snapshot has what the job names.

        Raises
        ------
        InvalidJobError
            A node set or a running job is not there.
        """
        known = {one.name for one in snapshot.node_sets}
        named = (*self.within_one_of, *(name for part in self.parts for name in part.within))
        missing = next((name for name in named if name not in known), None)
        if missing is not None:
            names = ", ".join(map(repr, sorted(known))) or "none"
            raise InvalidJobError(f"no node set is named {missing!r}; node sets: {names}")
        if self.more_of is not None and all(job.name != self.more_of for job in snapshot.jobs):
            raise InvalidJobError(f"no running job is named {self.more_of!r}")

    def guests(self, number: int = 0) -> tuple[Guest, ...]:
        """Return its parts as a snapshot knows what is looked for room for; `number` tells it from other jobs."""
        return tuple(
            Guest(
                job=self.more_of if self.more_of is not None and self.distinct_nodes else number,
                instances=part.instances,
                gpus=part.gpus_per_instance,
                pool=self.pool,
                within=part.within,
                resources=Map(part.resources),
                distinct_nodes=self.distinct_nodes,
            )
            for part in self.parts
        )

    def in_pool(self, pool: str, kinds: Mapping[Guest, Kind] | None = None, number: int = 0) -> Waiting:
        """Return the job as one that waits for this pool, where its guests of this number are of these kinds."""
        return Waiting(
            self.instances,
            self.gpus_per_instance,
            pool,
            self.within,
            self.resources,
            self.distinct_nodes,
            self.further_parts,
            self.together,
            self.more_of,
            self.within_one_of,
            () if not kinds else tuple(kinds[guest] for guest in self.guests(number)),
        )

    def to_json(self) -> dict[str, object]:
        """Return the job as data for JSON."""
        told = {one.name: getattr(self, one.name) for one in fields(AskedJob)}
        return msgspec.json.decode(msgspec.json.encode(told), type=dict[str, object])


@dataclass(frozen=True, slots=True)
class Waiting(AskedJob):
    """A job that waits for one pool. `kinds` are those of its parts there, if they are not just their GPUs."""

    pool: str
    kinds: tuple[Kind, ...] = ()

    @property
    def part_kinds(self) -> tuple[Kind, ...]:
        """The kind of each of its parts."""
        return self.kinds or self.part_gpus

    @property
    def wanted(self) -> Counter[Kind]:
        """How many of its instances there are of each kind."""
        wanted: Counter[Kind] = Counter()
        for kind, part in zip(self.part_kinds, self.parts, strict=True):
            wanted[kind] += part.instances
        return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is the same for all jobs that are asked about.

    Attributes
    ----------
    mode
        Whether instances may be stopped before their destination is free.
    protected
        Jobs, namespaces and instances that stay where they are, sorted.
    max_per_job_at_once
        Instances of one job that may be stopped or moving at a time; None for no limit.
    max_per_budget
        Instances of one disruption budget that may be, if it does not allow fewer; None for as many as it allows.
    max_priority
        Jobs of a higher or an unknown priority stay where they are; None for no limit.
    """

    mode: MoveMode
    protected: tuple[str, ...]
    max_per_job_at_once: int | None = None
    max_per_budget: int | None = None
    max_priority: int | None = None

    @classmethod
    def of(
        cls,
        mode: MoveMode | str,
        protected: Iterable[str],
        max_per_job_at_once: int | None = None,
        *,
        max_per_budget: int | None = None,
        max_priority: int | None = None,
    ) -> Question:
        """Return the question in these words.

        Raises
        ------
        ValueError
            `mode` is no such mode, `max_per_job_at_once` is below 1, or `max_per_budget` below 0.
        """
        if max_per_job_at_once is not None and max_per_job_at_once < 1:
            raise ValueError(f"max_per_job_at_once: expected at least 1 instance, got {max_per_job_at_once}")
        if max_per_budget is not None and max_per_budget < 0:
            raise ValueError(f"max_per_budget: expected 0 or more, got {max_per_budget}")
        return cls(
            mode=MoveMode(mode),
            protected=tuple(sorted(set(protected))),
            max_per_job_at_once=max_per_job_at_once,
            max_per_budget=max_per_budget,
            max_priority=max_priority,
        )

    def spared(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot in which what is to be spared cannot move.

        Raises
        ------
        UnknownJobError
            A protected name stands for nothing that runs.
        """
        return protect(snapshot, self.protected, max_priority=self.max_priority, max_per_budget=self.max_per_budget)

    def ordered(self, snapshot: Snapshot, relocations: Sequence[Relocated]) -> MoveOrder:
        """Return these relocations in an order that is allowed, or the like with destinations exchanged.

        Raises
        ------
        NoOrderError
            None was found; there may be one.
        """
        if self.mode is MoveMode.CHECKPOINT:
            return order_interchangeably(snapshot, relocations, max_per_job_at_once=self.max_per_job_at_once)
        sequence = live_sequence(snapshot, relocations)
        if sequence is None:
            raise NoOrderError("no sequence of moves into free space was found; there may be one")
        return self.in_steps(snapshot, sequence)

    def in_steps(self, snapshot: Snapshot, sequence: Iterable[Move]) -> MoveOrder:
        """Return a sequence of moves into free space in steps."""
        occupancy = Occupancy(snapshot, max_per_job_at_once=self.max_per_job_at_once)
        return MoveOrder(moves=in_steps(sequence, occupancy))

    def to_json(self) -> dict[str, object]:
        """Return what was asked as it stands in an answer."""
        return {**asdict(self), "mode": self.mode.value, "protected": list(self.protected)}


def jobs_for(jobs: Iterable[PendingJob], pool: str | None) -> tuple[PendingJob, ...]:
    """Return the jobs that may start in this pool, those for any pool included; all for None."""
    return tuple(job for job in jobs if pool is None or job.pool in {None, pool})
