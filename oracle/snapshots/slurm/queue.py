"""The waiting jobs of the snapshot: those that room would start, one for each task of an array.

The components of a heterogeneous job start together or not at all: they are one job with parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from immutables import Map

from oracle.snapshots.hostlist import HostlistError, expand_hostlist
from oracle.snapshots.model import PendingJob, PendingPart
from oracle.snapshots.slurm.amounts import request_of
from oracle.snapshots.slurm.hosts import kind_resource, partition_pool, type_pool
from oracle.snapshots.slurm.requirements import BLOCKS, REQUIRED_NODES, SHARES, SWITCHES, WHOLE_NODES
from oracle.snapshots.slurm.requirements import NO_GPUS as PARTS_WITHOUT_GPUS
from oracle.snapshots.slurm.states import bar_to_start, reason_words, takes_new_work, unavailable_nodes
from oracle.snapshots.slurm.waiting import MAX_WAITING_TASKS, NO_GPUS, TYPES, NoShape, array_tasks, at_a_time, shape_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from oracle.snapshots.slurm.allowed import Places
    from oracle.snapshots.slurm.hosts import Host
    from oracle.snapshots.slurm.notes import Notes
    from oracle.snapshots.slurm.records import JobRecord, SlurmOptions
    from oracle.snapshots.slurm.waiting import Shape

NO_ROOM = "waiting jobs that no room would start: "
_NO_NODES = NoShape("waiting jobs of a partition that has no node here")
_RESERVATION = NoShape(
    "waiting jobs of a reservation whose nodes are not told: print `scontrol show reservation` as well"
)
_THROTTLED = "waiting tasks beyond those that their array may run at a time"
PATIENCE = (
    "waiting jobs asked about on one network switch, which Slurm lets onto several when they have waited long enough"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Equal instances, and the pool that they are bound to: None for any."""

    instances: int
    gpus: int
    pool: str | None
    within: tuple[str, ...]
    resources: Map[str, int]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one record asks for, and what of it no snapshot can say."""

    job: JobRecord
    parts: tuple[_Part, ...]
    unread: tuple[str, ...]
    one_of: tuple[str, ...] = ()


class Queue:
    """What turns waiting jobs into those of the snapshot."""

    def __init__(
        self,
        hosts: Mapping[str, Host],
        places: Places,
        options: SlurmOptions,
        *,
        mixed: Collection[str],
        amounts: Sequence[str],
        running: Iterable[JobRecord],
        notes: Notes,
    ) -> None:
        self.hosts = hosts
        self.places = places
        self.options = options
        self.mixed = mixed
        self.amounts = amounts
        self.notes = notes
        self.tasks = 0
        self.started = Counter(job.numbers.array_id for job in running if job.numbers.array_id)

    def pending(self, jobs: Iterable[JobRecord]) -> Iterator[PendingJob]:
        """Yield the waiting jobs of the snapshot, in the order of the input.

        Raises
        ------
        SnapshotError
            A field is malformed.
        """
        wholes: defaultdict[str, list[JobRecord]] = defaultdict(list)
        for job in jobs:
            wholes[job.numbers.whole].append(job)
        for name, records in wholes.items():
            asked = self._asked(records)
            names = asked if isinstance(asked, NoShape) else self._names(name, records[0])
            if isinstance(asked, NoShape) or isinstance(names, NoShape):
                self.notes.skip(names.reason if isinstance(names, NoShape) else "", [name])
            elif names:
                for one in asked:
                    self.notes.overlook(one.unread, one.job.name)
                # Each component may be on a switch of its own.
                one_of = asked[0].one_of if len(asked) == 1 else ()
                for one in asked if not one_of else ():
                    self.notes.overlook([SWITCHES if one.job.switches else BLOCKS] if one.one_of else [], one.job.name)
                self.notes.skip(PATIENCE, [name] if one_of and self.places.topology.switches else [])
                yield from self._jobs(names, records, [part for one in asked for part in one.parts], one_of)

    def _asked(self, records: Sequence[JobRecord]) -> list[_Asked] | NoShape:
        """Return what a job, or each component of a heterogeneous one, asks for; or why it is not to be asked about."""
        asked: list[_Asked] = []
        for job in records:
            shape = self._shape(job)
            if shape is NO_GPUS and len(records) > 1:
                asked.append(_Asked(job, (), (PARTS_WITHOUT_GPUS,)))
                continue
            one = shape if isinstance(shape, NoShape) else self._of_shape(job, shape)
            if isinstance(one, NoShape):
                return one
            asked.append(one)
        return asked if any(one.parts for one in asked) else NO_GPUS

    def _shape(self, job: JobRecord) -> Shape | NoShape:
        shape = shape_of(job)
        if isinstance(shape, NoShape):
            return shape
        bar = self._bar(job)
        if bar is not None:
            return NoShape(NO_ROOM + bar)
        if len(shape.types) > 1 and not set(self.mixed).issuperset(shape.types):
            return TYPES
        return _NO_NODES if self.places.has_no_node(job) else shape

    def _bar(self, job: JobRecord) -> str | None:
        """Return why no room would start a job; nodes that are not available must be closed here as well."""
        named = unavailable_nodes(job.reason)
        bar = bar_to_start(job.states, job.reason, held=job.held)
        if bar is not None or named is None:
            return bar
        try:
            hosts = [self.hosts[name] for name in expand_hostlist(named) if name in self.hosts]
        except HostlistError:
            return reason_words(job.reason).partition(":")[0]
        is_open = any(takes_new_work(host.record.states) for host in hosts)
        return reason_words(job.reason).partition(":")[0] if is_open else None

    def _of_shape(self, job: JobRecord, shape: Shape) -> _Asked | NoShape:
        allowed = self.places.of(job, shape.instances)
        if not allowed.is_known:
            return _RESERVATION
        unread = [*job.unread, *allowed.unread, *([WHOLE_NODES] if job.exclusive else [])]
        pool = self._pool(job, shape)
        resources = Map({**self._kinds(shape), **self._amounts(job, shape, unread)})

        def part(instances: int, within: tuple[str, ...]) -> _Part:
            return _Part(instances=instances, gpus=shape.gpus, pool=pool, within=within, resources=resources)

        if allowed.required is None:
            return _Asked(job, (part(shape.instances, allowed.within),), tuple(unread), allowed.one_of)
        if allowed.required_nodes > shape.instances:
            unread.append(REQUIRED_NODES)
        bound = min(allowed.required_nodes, shape.instances)
        parts = [part(bound, (*allowed.within, allowed.required))]
        if bound < shape.instances:
            parts.append(part(shape.instances - bound, allowed.within))
        return _Asked(job, tuple(parts), tuple(unread), allowed.one_of)

    def _kinds(self, shape: Shape) -> dict[str, int]:
        return {kind_resource(kind): gpus for kind, gpus in sorted(shape.types.items()) if kind in self.mixed}

    def _amounts(self, job: JobRecord, shape: Shape, unread: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in self.amounts:
            least, is_same = request_of(job, name, shape.instances)
            unread += [] if is_same else [SHARES]
            if least:
                found[name] = least
        return found

    def _pool(self, job: JobRecord, shape: Shape) -> str | None:
        """Return the pool that a waiting job is bound to, None for any: then its sets of nodes bind it."""
        if self.options.pool == "type":
            types = [type_ for type_ in shape.types if type_ not in self.mixed]
            return type_pool(types[0]) if types else None
        partitions = set(job.partition.split(","))
        records = (host.record for host in self.hosts.values() if host.kinds)
        pools = {partition_pool(record) for record in records if record.partitions & partitions}
        return pools.pop() if len(pools) == 1 else None

    def _names(self, name: str, job: JobRecord) -> list[str] | NoShape:
        """Return the names of the waiting jobs that a record stands for: of tasks, as many as may still start."""
        tasks = array_tasks(job, MAX_WAITING_TASKS - self.tasks)
        if isinstance(tasks, NoShape):
            return tasks
        array = job.numbers.array_id
        waiting = 1 if tasks is None else len(tasks)
        some = waiting
        most = at_a_time(job)
        if array and most:
            some = max(0, min(waiting, most - self.started[array]))
            self.started[array] += some
            self.notes.skip(_THROTTLED, [f"{name}: {waiting - some}"] if some < waiting else [])
        self.tasks += some
        return [name][:some] if tasks is None else [f"{array}_{task}" for task in tasks[:some]]

    def _jobs(
        self, names: Sequence[str], records: Sequence[JobRecord], parts: Sequence[_Part], one_of: tuple[str, ...]
    ) -> Iterator[PendingJob]:
        pools = {part.pool for part in parts}
        pool = pools.pop() if len(pools) == 1 else None
        first, *others = parts if pool is not None else map(self._in_its_type, parts)
        priorities = [job.priority for job in records if job.priority is not None]
        reason = reason_words(records[0].reason)
        for name in names:
            yield PendingJob(
                name=name,
                instances=first.instances,
                gpus_per_instance=first.gpus,
                pool=pool,
                within=first.within,
                resources=first.resources,
                distinct_nodes=sum(part.instances for part in parts) > 1,
                priority=max(priorities, default=None),
                within_one_of=one_of,
                further_parts=tuple(
                    PendingPart(
                        instances=part.instances,
                        gpus_per_instance=part.gpus,
                        within=part.within,
                        resources=part.resources,
                    )
                    for part in others
                ),
                together=True,
                reason=None if reason in {"", "None"} else reason,
            )

    def _in_its_type(self, part: _Part) -> _Part:
        """Return a part whose pool is a set of nodes: the parts of one job need not be in one pool."""
        if part.pool is None or self.options.pool == "partition":
            return part
        nodes = [name for name, host in self.hosts.items() if part.pool in map(type_pool, host.kinds)]
        within = (*part.within, *self.places.of_type(part.pool, nodes))
        return _Part(instances=part.instances, gpus=part.gpus, pool=None, within=within, resources=part.resources)
