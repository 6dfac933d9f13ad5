"""Nodes as the oracle counts them: whole GPUs by kind, who holds them, and which of them can be used at all.

A node is a `Host` while jobs are laid on it. Where a node has GPUs of several types, these are further resources
(``gpu:tesla``) of all nodes: a job that asked for one type can never use the other, one that did not can use both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from immutables import Map

from oracle.snapshots.model import MAX_GPUS_PER_NODE, SnapshotNode
from oracle.snapshots.slurm.gres import UNTYPED, Devices
from oracle.snapshots.slurm.records import gres_at, tres_at
from oracle.snapshots.slurm.states import is_in_use, takes_new_work

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from oracle.snapshots.slurm.records import JobRecord, NodeRecord, SlurmOptions

# The pool of GPUs whose Gres gives no type. A node's features may well name the model, but they are free text, and
# jobs are matched to nodes by Gres.
UNTYPED_POOL = "gpu"


@dataclass(slots=True)
class Host:
    """A node, what it offers, and what is known to be in use on it.

    `held` are the whole GPUs of listed jobs by kind, `slices` the MIG devices of listed jobs, `units` their units of
    MPS and shard.
    """

    record: NodeRecord
    configured: Devices
    drained: Devices
    used: Devices
    has_used_by_kind: bool
    held: Counter[str] = field(default_factory=Counter[str])
    slices: int = 0
    units: int = 0

    @classmethod
    def of(cls, record: NodeRecord) -> Host:
        """Return the host of a record.

        Raises
        ------
        SnapshotError
            A field is malformed, or the node has more GPUs than any machine.
        """
        configured = _configured(record)
        if configured.gpus > MAX_GPUS_PER_NODE:
            problem = f"expected at most {MAX_GPUS_PER_NODE} GPUs on node {record.name}, got {configured.gpus}"
            raise record.place.error("gres", problem)
        has_used_by_kind = record.gres_used is not None
        used = (
            gres_at(record.place, "gres_used", record.gres_used)
            if has_used_by_kind
            else tres_at(record.place, "tres_used", record.tres_used)
        )
        drained = gres_at(record.place, "gres_drained", record.gres_drained)
        return cls(record, configured, drained, used, has_used_by_kind)

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.record.name

    @property
    def kinds(self) -> tuple[str, ...]:
        """The types of whole GPU that the node has; none for a node without any."""
        return tuple(kind for kind, count in self.configured.whole.items() if count)

    @property
    def untyped_are_slices(self) -> bool:
        """Whether GPUs of no given type are MIG devices here: the node has some, and TRES names the type of all others.

        A site may track the whole type only (AccountingStorageTRES); TRES then has MIG devices in the total alone.
        """
        if not self.configured.slices or UNTYPED in self.kinds:
            return False
        tracked = tres_at(self.record.place, "tres", self.record.tres).whole
        return sum(count for type_, count in tracked.items() if type_ != UNTYPED) == self.configured.gpus

    def sorted_out(self, job: JobRecord, devices: Devices) -> Devices:
        """Return a job's devices here with those of no given type put where they belong.

        Raises
        ------
        SnapshotError
            The node has whole GPUs and MIG devices, and nothing says which of them the job has.
        """
        untyped = devices.whole.get(UNTYPED, 0)
        if not untyped or not self.configured.slices or UNTYPED in self.kinds:
            return devices
        if self.kinds and not self.untyped_are_slices:
            problem = (
                f"job {job.name} has {untyped} GPUs on node {self.name}, which has whole GPUs and MIG devices, and "
                "which of them is not told; expected gres_detail as in the output of `squeue --json`, or the lines "
                "Nodes=... GRES=... of `scontrol show job -d`"
            )
            raise job.place.error("gres_detail", problem)
        whole = {type_: count for type_, count in devices.whole.items() if type_ != UNTYPED}
        return replace(devices, whole=whole, mig={**devices.mig, UNTYPED: devices.mig.get(UNTYPED, 0) + untyped})

    def kind_of(self, job: JobRecord, type_: str) -> str:
        """Return which of the node's kinds a job's GPU of this type is.

        Raises
        ------
        SnapshotError
            The node has several kinds, and none of them is the job's.
        """
        kinds = self.kinds
        if type_ in kinds:
            return type_
        if len(kinds) > 1:
            kind = type_ or "no given type"
            problem = (
                f"job {job.name} has GPUs of {kind} on node {self.name}, which has {', '.join(map(type_pool, kinds))}"
            )
            raise job.place.error("gres_detail", problem)
        # Before and after a change of gres.conf the names may differ; the GPUs are the same ones.
        return kinds[0] if kinds else next(iter(self.held), type_)

    def shared_gpus(self, kind: str) -> int:
        """Return how many GPUs of a kind MPS or shard have taken; where that is not told, the most it can be."""
        shares = [share for type_, share in self.used.shared.items() if type_ == kind or type_ not in self.kinds]
        units = max(sum(share.units for share in shares), self.units)
        if self.has_used_by_kind and shares and all(share.touched is not None for share in shares):
            return min(sum(share.touched or 0 for share in shares), self.configured.whole.get(kind, 0))
        return min(units, max(0, self.configured.whole.get(kind, 0) - self.held[kind]))

    def drained_gpus(self, kind: str) -> int:
        """Return how many GPUs of a kind Slurm has drained while the node stays in service."""
        return sum(n for type_, n in self.drained.whole.items() if type_ == kind or type_ not in self.kinds)

    def usable(self, kind: str) -> int:
        """Return the GPUs of a kind that whole-GPU instances can use."""
        return max(0, self.configured.whole.get(kind, 0) - self.shared_gpus(kind) - self.drained_gpus(kind))

    def unexplained(self) -> dict[str, int]:
        """Return the GPUs by kind that the node reports in use and no listed job holds.

        Only what would be counted free otherwise: jobs and nodes are printed one after the other, and a job that
        came or went between leaves a difference in the other direction, which does no harm.
        """
        gaps = {kind: max(0, self.used.whole.get(kind, 0) - self.held[kind]) for kind in self.kinds}
        rest = self.used.gpus - self.held.total() - sum(gaps.values())
        if not self.has_used_by_kind:
            # AllocTRES counts MIG devices as GPUs.
            rest -= self.used.whole.get(UNTYPED, 0) if self.untyped_are_slices else self.slices
        for kind in self.kinds:
            free = max(0, self.usable(kind) - self.held[kind])
            extra = max(0, min(rest, free - gaps[kind]))
            rest -= extra
            gaps[kind] = min(gaps[kind] + extra, free)
        return {kind: gap for kind, gap in gaps.items() if gap}

    @property
    def is_mute(self) -> bool:
        """Whether the node is in use, and neither GresUsed (of -d) nor a TRES says how many of its GPUs are."""
        record = self.record
        counted = self.has_used_by_kind or "gres/gpu" in f"{record.tres},{record.tres_used}"
        return bool(self.kinds) and not counted and is_in_use(record.states)

    @property
    def is_kept(self) -> bool:
        """Whether it is a node of the snapshot: it has whole GPUs, or a job on any."""
        return bool(self.kinds or self.held)

    def snapshot_node(
        self, options: SlurmOptions, *, mixed: Collection[str], amounts: Mapping[str, int], reservation_known: bool
    ) -> SnapshotNode:
        """Return the node of the snapshot.

        Parameters
        ----------
        options
            What makes a pool.
        mixed
            The kinds that some node has beside others.
        amounts
            What it has of other resources.
        reservation_known
            Whether it is known for whose jobs it is, if it is reserved.
        """
        pool = "+".join(sorted(map(type_pool, self.kinds or self.held)))
        kinds = {kind_resource(kind): self.usable(kind) for kind in sorted(mixed)}
        return SnapshotNode(
            name=self.name,
            gpus=sum(map(self.usable, self.kinds)),
            pool=pool if options.pool == "type" else partition_pool(self.record),
            schedulable=takes_new_work(self.record.states, reservation_known=reservation_known),
            resources=Map({**kinds, **amounts}),
        )


def kind_resource(kind: str) -> str:
    """Return the name of the resource that GPUs of a kind are, where a node has several kinds."""
    return f"gpu:{type_pool(kind)}"


def partition_pool(record: NodeRecord) -> str:
    """Return the pool of a node by partition: all its partitions, as only nodes with the same ones are alike."""
    return "+".join(sorted(record.partitions)) or "no partition"


def type_pool(type_: str) -> str:
    """Return the pool of the nodes with GPUs of a type."""
    return UNTYPED_POOL if type_ == UNTYPED else type_


def _configured(record: NodeRecord) -> Devices:
    """Return what the node has: its Gres, or CfgTRES where Gres names no GPU at all."""
    devices = gres_at(record.place, "gres", record.gres)
    if devices.gpus or devices.slices:
        return devices
    return tres_at(record.place, "tres", record.tres)
