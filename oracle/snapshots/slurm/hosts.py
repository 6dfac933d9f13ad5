"""Nodes as the oracle counts them: whole GPUs by kind, who holds them, and which of them can be used at all.

A node is a `Host` while jobs are laid on it. It becomes one node of the snapshot, or, where it has GPUs of several
types, one for each type (``gpu7/tesla``, ``gpu7/kepler``): a job that asked for one type can never use the other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.model import MAX_GPUS_PER_NODE, SnapshotNode
from oracle.snapshots.slurm.gres import UNTYPED, Devices
from oracle.snapshots.slurm.records import gres_at, tres_at
from oracle.snapshots.slurm.states import is_in_use, takes_new_work

if TYPE_CHECKING:
    from collections.abc import Iterator

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
                f"job {job.name} has GPUs of {kind} on node {self.name}, which has {', '.join(map(_title, kinds))}"
            )
            raise job.place.error("gres_detail", problem)
        # Before and after a change of gres.conf the names may differ; the GPUs are the same ones.
        return kinds[0] if kinds else next(iter(self.held), type_)

    def node_name(self, kind: str) -> str:
        """Return the name of the snapshot's node that has this node's GPUs of a kind."""
        return f"{self.name}/{_title(kind)}" if len(self.kinds) > 1 else self.name

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
            rest -= self.slices
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

    def snapshot_nodes(self, options: SlurmOptions) -> Iterator[SnapshotNode]:
        """Yield the nodes of the snapshot; none for a node that neither has whole GPUs nor a job on any."""
        schedulable = takes_new_work(self.record.states)
        for kind in self.kinds or tuple(self.held):
            pool = _title(kind) if options.pool == "type" else partition_pool(self.record)
            yield SnapshotNode(name=self.node_name(kind), gpus=self.usable(kind), pool=pool, schedulable=schedulable)


def partition_pool(record: NodeRecord) -> str:
    """Return the pool of a node by partition: all its partitions, as only nodes with the same ones are alike."""
    return "+".join(sorted(record.partitions)) or "no partition"


def type_pool(type_: str) -> str:
    """Return the pool of the nodes with GPUs of a type."""
    return _title(type_)


def _title(kind: str) -> str:
    return UNTYPED_POOL if kind == UNTYPED else kind


def _configured(record: NodeRecord) -> Devices:
    """Return what the node has: its Gres, or CfgTRES where Gres names no GPU at all."""
    devices = gres_at(record.place, "gres", record.gres)
    if devices.gpus or devices.slices:
        return devices
    return tres_at(record.place, "tres", record.tres)
