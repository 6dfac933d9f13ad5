"""Kinds of instances: what the program, the arguments and the packings count instances by.

Most instances differ in their GPUs only, so a kind is a number: the GPUs of an instance, and from `GROUP` on the number
of its group. Instances of group 0 may stand wherever there is room; a plain demand in GPUs is the simplest kind. What
the other groups may not do is said by the rules of the nodes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from oracle.snapshots.faults import MAX_DEMAND

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind: TypeAlias = int
"""A kind of instances."""

Needs: TypeAlias = tuple[int, ...]
"""Amounts of further resources, such as CPUs, always in the same order."""

# Above the GPUs of any instance, and a power of ten, so that a kind can be read.
GROUP = MAX_DEMAND + 1


def kind_of(gpus: int, group: int) -> Kind:
    """Return the kind of instances of so many GPUs in a group."""
    return gpus + GROUP * group


def gpus_of(kind: Kind) -> int:
    """Return the GPUs of an instance of this kind."""
    return kind % GROUP


def group_of(kind: Kind) -> int:
    """Return the group of an instance of this kind."""
    return kind // GROUP


def total_gpus(pattern: Iterable[Kind]) -> int:
    """Return the GPUs of these instances together."""
    return sum(kind % GROUP for kind in pattern)


class Rules(NamedTuple):
    """What a node keeps beside its GPUs. Empty: it takes whatever there is room for.

    Attributes
    ----------
    shut
        Groups of which nothing may stand on the node, ascending.
    apart
        Pairs, ascending: a group, and the number of its job, of which one instance at most may stand on the node.
    spare
        What there is of further resources; none of them is scarce on the node if it is empty.
    needs
        Pairs, ascending: a group, and what each of its instances takes of `spare`.
    """

    shut: tuple[int, ...]
    apart: tuple[tuple[int, int], ...]
    spare: Needs
    needs: tuple[tuple[int, Needs], ...]

    def allow(self, pattern: Iterable[Kind]) -> bool:
        """Whether these instances may stand on the node together, if their GPUs have room."""
        groups = [kind // GROUP for kind in pattern]
        jobs = self.jobs(groups)
        if any(group in self.shut for group in groups) or len(jobs) > len(set(jobs)):
            return False
        return self.left(self.spare, groups) is not None

    def jobs(self, groups: Iterable[int]) -> list[int]:
        """Return the jobs of these groups whose instances stand apart, by number."""
        if not self.apart:
            return []
        jobs = _jobs_by_group(self.apart)
        return [jobs[group] for group in groups if group in jobs]

    def left(self, spare: Needs, groups: Iterable[int]) -> Needs | None:
        """Return what is left of `spare` beside instances of these groups; None if they take more."""
        if not spare:
            return ()
        needs = _needs_by_group(self.needs)
        for group in groups:
            if group in needs:
                spare = tuple(have - take for have, take in zip(spare, needs[group], strict=True))
        return None if min(spare) < 0 else spare

    def most(self, kind: Kind, copies: int) -> int:
        """Return how many instances of a kind the node takes at most, `copies` being room for their GPUs."""
        group = kind // GROUP
        if group in self.shut:
            return 0
        if self.jobs([group]):
            copies = min(copies, 1)
        takes = _needs_by_group(self.needs).get(group, ())
        for have, take in zip(self.spare, takes, strict=False):
            if take:
                copies = min(copies, have // take)
        return copies

    def most_beside(self, holds: tuple[Kind, ...], kind: Kind, copies: int) -> int:
        """Return how many instances of a kind may come beside these, `copies` being room for their GPUs."""
        if self == FREE:
            return copies
        copies = self.most(kind, copies)
        while copies and not self.allow((*holds, *[kind] * copies)):
            copies -= 1
        return copies


FREE = Rules((), (), (), ())
"""No rules: whatever there is room for."""


@lru_cache(maxsize=1024)
def _jobs_by_group(apart: tuple[tuple[int, int], ...]) -> dict[int, int]:
    return dict(apart)


@lru_cache(maxsize=1024)
def _needs_by_group(needs: tuple[tuple[int, Needs], ...]) -> dict[int, Needs]:
    return dict(needs)
