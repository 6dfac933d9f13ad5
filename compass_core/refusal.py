"""Why a job was refused: every reason at once, with numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from compass_core.condition import reserved_gpus, wcc_need, wcc_supply

if TYPE_CHECKING:
    from compass_core.model import Job
    from compass_core.state import ClusterState


class RefusalKind(Enum):
    """What stood in the way."""

    CAPACITY = "capacity"  # fewer GPUs are free than the job demands
    FRAGMENTATION = "fragmentation"  # enough are free; too few instances fit where they lie
    STRUCTURE = "structure"  # the instances would fit as they lie, but not the slots the variant asks for


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal and the numbers behind it, all in GPUs or nodes. `str` gives one line for people."""

    kind: RefusalKind
    demanded_gpus: int
    free_gpus: int
    empty_nodes: int
    largest_free_block: int
    instances_that_fit: int
    """How many of the job's instances would fit into the free GPUs where they lie, moving nothing."""
    instances: int
    reserved_gpus: int
    """GPUs that slots and ones of all instances, the job's included, would reserve."""
    total_gpus: int
    wcc_need: int
    wcc_supply: int

    @classmethod
    def of(cls, state: ClusterState, job: Job) -> Refusal:
        """Return the reasons against `job` in `state`."""
        counts = tuple(n + (job.instances if g == job.gpus else 0) for g, n in enumerate(state.counts, start=1))
        fitting = sum(shape.free // job.gpus * len(indexes) for shape, indexes in state.shapes.items())
        if job.total_gpus > state.free_gpus:
            kind = RefusalKind.CAPACITY
        else:
            kind = RefusalKind.STRUCTURE if fitting >= job.instances else RefusalKind.FRAGMENTATION
        return cls(
            kind=kind,
            demanded_gpus=job.total_gpus,
            free_gpus=state.free_gpus,
            empty_nodes=state.empty_nodes,
            largest_free_block=state.largest_free_block,
            instances_that_fit=min(fitting, job.instances),
            instances=job.instances,
            reserved_gpus=reserved_gpus(counts),
            total_gpus=state.total_gpus,
            wcc_need=wcc_need(counts),
            wcc_supply=wcc_supply(counts),
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that speaks against the job, one phrase each."""
        found: list[str] = []
        if self.kind is RefusalKind.CAPACITY:
            found.append(f"{self.demanded_gpus} GPUs demanded, {self.free_gpus} free")
        if self.instances_that_fit < self.instances:
            found.append(
                f"{self.instances_that_fit} of {self.instances} instances fit as the free GPUs lie "
                f"(largest free block {self.largest_free_block}, {self.empty_nodes} empty nodes)"
            )
        if self.reserved_gpus > self.total_gpus:
            found.append(f"slots would reserve {self.reserved_gpus} GPUs, the cluster has {self.total_gpus}")
        if self.wcc_need > self.wcc_supply:
            found.append(f"slots would ask for {self.wcc_need} fillers, there are {self.wcc_supply}")
        return tuple(found)

    def __str__(self) -> str:
        return f"{self.kind.value}: " + "; ".join(self.reasons or ("slots and ones need nodes of their own",))
