"""Jobs, instances, slots and nodes: the immutable values everything else is made of (paper, Section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from compass_core.errors import InvalidJobError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True)
class Job:
    """A gang of `instances` identical instances of `gpus` GPUs each; it starts and ends as a whole.

    Raises
    ------
    InvalidJobError
        Fewer than one instance, fewer than one GPU an instance, or no whole numbers. Whether the demand fits a node
        is for the cluster to say, which knows its capacity.
    """

    name: str
    instances: int = 1
    gpus: int = 1

    def __post_init__(self) -> None:
        if type(self.name) is not str or type(self.instances) is not int or type(self.gpus) is not int:
            # Checked in spite of the types: a float or a flag would be counted with, and be wrong much later.
            raise InvalidJobError(f"expected a name and two whole numbers, got {self}")
        if self.instances < 1:
            raise InvalidJobError(f"job {self.name!r}: expected at least 1 instance, got {self.instances}")
        if self.gpus < 1:
            raise InvalidJobError(f"job {self.name!r}: expected a demand of at least 1 GPU, got {self.gpus}")

    @property
    def total_gpus(self) -> int:
        """GPUs the whole gang holds."""
        return self.instances * self.gpus

    def instance(self, index: int) -> Instance:
        """Return the instance number `index`, counted from 0."""
        return Instance(self.name, index, self.gpus)

    def all_instances(self) -> tuple[Instance, ...]:
        """Return the instances in order of their number."""
        return tuple(Instance(self.name, index, self.gpus) for index in range(self.instances))


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a job: number `index` of it, holding `gpus` GPUs of one node."""

    job: str
    index: int
    gpus: int


def slot_width(gpus: int, capacity: int) -> int:
    """Return w*(g): the GPUs that the slot of an anchor of demand `gpus` reserves.

    The least power of two that is at least the demand, and at most the node (theory §1.1). A 1-GPU instance anchors
    no slot; its width is 1, the room it takes when it stands outside one.
    """
    return min(1 << (gpus - 1).bit_length(), capacity)


def slot_vacancy(gpus: int, capacity: int) -> int:
    """Return w*(g) − g: the fillers that the slot of an anchor of demand `gpus` asks for."""
    return slot_width(gpus, capacity) - gpus


@dataclass(frozen=True, slots=True)
class Slot:
    """An anchor, its fillers and the width it reserves: ``anchor.gpus + len(fillers) <= width``."""

    width: int
    anchor: Instance
    fillers: tuple[Instance, ...] = ()

    @property
    def used(self) -> int:
        """GPUs held by the anchor and its fillers."""
        return self.anchor.gpus + len(self.fillers)

    @property
    def vacancy(self) -> int:
        """Fillers that still fit."""
        return self.width - self.used

    @property
    def saturated(self) -> bool:
        """Whether no filler fits any more."""
        return self.vacancy == 0


class NodeKind(Enum):
    """What stands on a node. ABS (Σ) knows the first three; its extension Σ⁺ admits mixed nodes."""

    EMPTY = "empty"
    POOL = "pool"  # 1-GPU instances only
    SLOTTED = "slotted"  # slots, and no 1-GPU instance outside them
    MIXED = "mixed"  # slots, and 1-GPU instances outside them


@dataclass(frozen=True, slots=True, eq=False)
class NodeShape:
    """All that follows from the demands on a node alone.

    Slots and fillers are not stored: every instance of two GPUs or more anchors a slot of width w*(g), and the
    node's 1-GPU instances fill vacancies first; those left over are its *ones*. So a node never has a vacancy and a
    one at the same time, an orphaned filler simply stays where it is, and equal placements are equal states.
    """

    capacity: int
    demands: tuple[int, ...]  # descending
    used: int
    singles: int  # 1-GPU instances, fillers included
    ones: int  # 1-GPU instances outside slots
    vacancy: int  # fillers that still fit, over all slots
    reserved: int  # Σ widths + ones; at most the capacity inside Σ⁺
    kind: NodeKind
    free: int  # GPUs nobody holds
    room: int  # GPUs outside every slot and one: what a new slot or one may take; negative outside Σ⁺
    partial: bool  # some but not all GPUs are held
    fillable: bool  # it has a vacancy, and is inside Σ⁺: nothing is added to a node outside
    open: bool  # neither empty nor closed to new slots and ones: the nodes that Compact merges
    _hash: int = field(repr=False)

    def __eq__(self, other: object) -> bool:
        # Mostly there is one object a shape, and maps ask for identity first; this is for one that a cache has dropped.
        return isinstance(other, NodeShape) and (self.capacity, self.demands) == (other.capacity, other.demands)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Callable[[int, tuple[int, ...]], NodeShape], tuple[int, tuple[int, ...]]]:
        # The rest follows from these, in another process too.
        return shape_of, (self.capacity, self.demands)

    def plus(self, gpus: int) -> NodeShape | None:
        """Return the shape with one more instance of that demand, or None where the GPUs do not suffice."""
        return _plus(self, gpus)

    def minus(self, gpus: int) -> NodeShape:
        """Return the shape with one instance of that demand less."""
        return _minus(self, gpus)


# All shapes of nodes of 8 GPUs (67) and of 16 (915) are kept; hosts of 72 units have more of them than memory holds.
_SHAPES_KEPT = 1 << 14


@lru_cache(maxsize=_SHAPES_KEPT)
def shape_of(capacity: int, demands: tuple[int, ...]) -> NodeShape:
    """Return the shape of a node of `capacity` GPUs that holds these demands (descending)."""
    singles = sum(1 for gpus in demands if gpus == 1)
    anchors = demands[: len(demands) - singles]
    all_vacancies = sum(slot_vacancy(gpus, capacity) for gpus in anchors)
    ones = max(0, singles - all_vacancies)
    used = sum(demands)
    vacancy = max(0, all_vacancies - singles)
    reserved = sum(slot_width(gpus, capacity) for gpus in anchors) + ones
    if not demands:
        kind = NodeKind.EMPTY
    elif not anchors:
        kind = NodeKind.POOL
    else:
        kind = NodeKind.MIXED if ones else NodeKind.SLOTTED
    return NodeShape(
        capacity=capacity,
        demands=demands,
        used=used,
        singles=singles,
        ones=ones,
        vacancy=vacancy,
        reserved=reserved,
        kind=kind,
        free=capacity - used,
        room=capacity - reserved,
        partial=0 < used < capacity,
        fillable=vacancy > 0 and reserved <= capacity,
        open=0 < reserved < capacity,
        # Of integers only: the order in which a hash map is walked must not depend on where objects lie in memory.
        _hash=hash((capacity, demands)),
    )


@lru_cache(maxsize=_SHAPES_KEPT)
def _plus(shape: NodeShape, gpus: int) -> NodeShape | None:
    if shape.used + gpus > shape.capacity:
        return None
    return shape_of(shape.capacity, tuple(sorted((*shape.demands, gpus), reverse=True)))


@lru_cache(maxsize=_SHAPES_KEPT)
def _minus(shape: NodeShape, gpus: int) -> NodeShape:
    at = shape.demands.index(gpus)
    return shape_of(shape.capacity, shape.demands[:at] + shape.demands[at + 1 :])


def _canonical(instance: Instance) -> tuple[int, str, int]:
    return -instance.gpus, instance.job, instance.index


@dataclass(frozen=True, slots=True)
class Node:
    """The instances on one node, in canonical order (largest demand first), and the shape they give it."""

    instances: tuple[Instance, ...]
    shape: NodeShape

    @classmethod
    def of(cls, capacity: int, instances: Iterable[Instance]) -> Node:
        """Return the node that holds these instances; the caller sees to the capacity."""
        ordered = tuple(sorted(instances, key=_canonical))
        return cls(ordered, shape_of(capacity, tuple(instance.gpus for instance in ordered)))

    def with_instance(self, instance: Instance) -> Node | None:
        """Return the node with one more instance, or None where the GPUs do not suffice."""
        shape = self.shape.plus(instance.gpus)
        if shape is None:
            return None
        return Node(tuple(sorted((*self.instances, instance), key=_canonical)), shape)

    def without(self, instance: Instance) -> Node:
        """Return the node without that instance, which must be on it."""
        at = self.instances.index(instance)
        return Node(self.instances[:at] + self.instances[at + 1 :], self.shape.minus(instance.gpus))

    @property
    def capacity(self) -> int:
        """GPUs of the node."""
        return self.shape.capacity

    @property
    def used(self) -> int:
        """GPUs held."""
        return self.shape.used

    @property
    def free(self) -> int:
        """GPUs nobody holds."""
        return self.shape.free

    @property
    def kind(self) -> NodeKind:
        """Empty, pool, slotted or mixed."""
        return self.shape.kind

    @property
    def residual(self) -> int:
        """The paper's D(n): GPUs outside every slot and one."""
        return self.shape.room

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots, widest anchor first. Fillers are dealt out in that order; which one fills which is immaterial."""
        anchors, singles = self._split()
        slots: list[Slot] = []
        dealt = 0
        for anchor in anchors:
            width = slot_width(anchor.gpus, self.capacity)
            take = width - anchor.gpus
            slots.append(Slot(width, anchor, singles[dealt : dealt + take]))
            dealt += take
        return tuple(slots)

    @property
    def ones(self) -> tuple[Instance, ...]:
        """The 1-GPU instances outside every slot."""
        _, singles = self._split()
        return singles[len(singles) - self.shape.ones :]

    def _split(self) -> tuple[tuple[Instance, ...], tuple[Instance, ...]]:
        first_single = len(self.instances) - self.shape.singles
        return self.instances[:first_single], self.instances[first_single:]
