"""A hierarchy written down plainly, to follow what the scheduler says it does; and the best arrangement, by trying all.

Nothing of `compass_core.hierarchy` computes here: steps are taken for what they say and carried out on dictionaries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from compass_core.hierarchy import Closing, Opening, TierMigration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compass_core.hierarchy import Step
    from compass_core.steps import Placement

Thing = tuple[str, int]
"""An instance of a job by name and index, or a host in use as ``("@", host)``."""


class OverbookedError(Exception):
    """A host has less room than is put on it, or does not stand anywhere."""


@dataclass
class Hierarchy:
    """Where everything stands: one dictionary a tier."""

    sizes: tuple[int, ...]
    hosts: int
    where: list[dict[Thing, int]] = field(default_factory=list[dict[Thing, int]])
    jobs: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    """Name to tier, instances, units."""

    def __post_init__(self) -> None:
        self.where = [{} for _ in self.sizes]

    def units(self, thing: Thing) -> int:
        return 1 if thing[0] == "@" else self.jobs[thing[0]][2]

    def held(self, tier: int, host: int) -> int:
        return sum(self.units(thing) for thing, at in self.where[tier].items() if at == host)

    def used_gpus(self) -> int:
        return sum(w * units * prod(self.sizes[:tier]) for tier, w, units in self.jobs.values())

    def counts(self, tier: int) -> tuple[int, ...]:
        demands = [self.units(thing) for thing in self.where[tier]]
        return tuple(demands.count(units) for units in range(1, self.sizes[tier] + 1))

    def partial(self, tier: int) -> int:
        return sum(0 < self.held(tier, host) < self.sizes[tier] for host in set(self.where[tier].values()))

    def inside(self, tier: int, thing: Thing) -> int:
        """Return how many instances of jobs move with a thing."""
        if thing[0] != "@":
            return 1
        return sum(self.inside(tier - 1, held) for held, at in self.where[tier - 1].items() if at == thing[1])

    def carry_out(self, steps: Iterable[Step]) -> int:
        """Return the instances of jobs moved, having checked every step."""
        moved = 0
        for step in steps:
            match step:
                case Opening(tier, host, inside):
                    assert ("@", host) not in self.where[tier + 1]
                    self._put(tier + 1, ("@", host), inside)
                case Closing(tier, host, inside):
                    assert not self.held(tier, host)
                    assert self.where[tier + 1].pop(("@", host)) == inside
                case TierMigration():
                    thing = _thing(step)
                    assert self.inside(step.tier, thing) == step.dragged
                    moved += step.dragged
                    assert self.where[step.tier].pop(thing) == step.source
                    self._put(step.tier, thing, step.destination)
        return moved

    def start(self, name: str, tier: int, instances: int, units: int, placements: Sequence[Placement]) -> None:
        self.jobs[name] = tier, instances, units
        assert [(p.instance.job, p.instance.index, p.instance.gpus) for p in placements] == [
            (name, index, units) for index in range(instances)
        ]
        for placement in placements:
            self._put(tier, (name, placement.instance.index), placement.node)

    def stop(self, name: str) -> None:
        tier, instances, _ = self.jobs.pop(name)
        for index in range(instances):
            del self.where[tier][name, index]

    def _put(self, tier: int, thing: Thing, host: int) -> None:
        if tier + 1 < len(self.sizes):
            if ("@", host) not in self.where[tier + 1]:
                raise OverbookedError(f"host {host} of tier {tier} stands nowhere")
        elif not 0 <= host < self.hosts:
            raise OverbookedError(f"there is no host {host}")
        if self.held(tier, host) + self.units(thing) > self.sizes[tier]:
            raise OverbookedError(f"{thing} does not fit host {host} of tier {tier}")
        self.where[tier][thing] = host


def _thing(step: TierMigration) -> Thing:
    host = step.moved_host
    return (step.instance.job, step.instance.index) if host is None else ("@", host)


def width_of(units: int, size: int) -> int:
    return next((width for width in (1, 2, 4, 8, 16, 32, 64) if units <= width <= size), size)


def saturated_arrangement_exists(counts: Sequence[int], partial: int) -> bool:
    """Whether all slots can be saturated and all blocks and other ones arranged with at most so many hosts partial."""
    size = len(counts)
    anchors = [units for units in range(2, size + 1) for _ in range(counts[units - 1])]
    ones = counts[0] - sum(width_of(units, size) - units for units in anchors)
    if ones < 0:
        return False
    blocks = tuple(sorted([*(width_of(units, size) for units in anchors), *[1] * ones], reverse=True))
    return _arranged(blocks, size, partial)


def slots_and_ones_fit(counts: Sequence[int], hosts: int) -> bool:
    """Whether all slots, and ones beyond their vacancies, can be arranged on so many hosts."""
    size = len(counts)
    anchors = [units for units in range(2, size + 1) for _ in range(counts[units - 1])]
    widths = [width_of(units, size) for units in anchors]
    blocks = [*widths, *[1] * (counts[0] - sum(widths) + sum(anchors))]  # none where vacancies are more
    idle = hosts * size - sum(blocks)
    return idle >= 0 and _arranged(tuple(sorted([*blocks, *[1] * idle], reverse=True)), size, 0)


@cache
def _arranged(blocks: tuple[int, ...], size: int, partial: int) -> bool:
    """Whether the blocks fill hosts with at most so many partial: the largest one's host is tried in every way."""
    if not blocks:
        return True
    return any(
        _arranged(rest, size, partial - (filled < size))
        for rest, filled in set(_fillings(blocks[1:], blocks[0], size))
        if filled == size or partial
    )


def _fillings(blocks: tuple[int, ...], filled: int, size: int) -> Iterator[tuple[tuple[int, ...], int]]:
    yield blocks, filled
    for at, block in enumerate(blocks):
        if filled + block <= size and (not at or blocks[at - 1] != block):
            for rest, total in _fillings(blocks[at + 1 :], filled + block, size):
                yield blocks[:at] + rest, total
