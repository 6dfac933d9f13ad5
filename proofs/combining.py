"""The paper's own procedure for few partial nodes (its Appendix C.4), which is not exact; `closed_form` is.

Three stages. *Combining* completes instances to blocks by a list of combinations in order of priority.
*Best-Fit-Decreasing* packs the blocks and friendly instances by size: 8, 4, 2, 1. *Residual*: the unfriendly instances
that found no partner, U, are put on top by an integer program (`proofs.residual`). The first two stages never look
back, and nodes they have filled stay as they are: that is where optimality is lost (claim P10).

The public copy leaves the list of combinations, the size that ``|U|`` means, what happens when it is on the wrong side
of δ, and what the integer program may touch to inference. ``docs/paper-procedure.md`` says what is published and what
is inferred, and how often and by how much the result is above Φ*.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.certificate import check_packing
from oracle.optimum.node_classes import packing
from oracle.optimum.reductions import GPUS, uniform_problem
from proofs.residual import pack_residual

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.optimum.reductions import Counts
    from oracle.snapshots.model import Pattern

Bins: TypeAlias = "tuple[tuple[Pattern, int], ...]"
"""Pairs of what a node holds and how many nodes hold it, patterns descending."""

UNFRIENDLY = (7, 6, 5, 3)
"""Demands that are no block size, descending: U consists of them."""

_COMPLEMENTS: tuple[Pattern, ...] = ((7, 1), (6, 2), (5, 3), (5, 2, 1), (6, 1, 1))


class Reading(Enum):
    """Which combinations are made, in order of priority; the value is the list.

    Both begin with the complements to 8 of a 7, 6 or 5 and differ in what else is a combination.
    """

    BLOCKS = (*_COMPLEMENTS, (5, 1, 1, 1), (3, 1))
    """Each unfriendly instance is completed to a block of its own slot width w*: a 3 with a 1 to a 4. All that is left
    of one kind is then a block size or in U. The reading for which claim P10 is stated, and the default."""

    EIGHTS = (
        *_COMPLEMENTS,
        (3, 3, 2),
        (4, 4),
        (4, 3, 1),
        (4, 2, 2),
        (5, 1, 1, 1),
        (3, 3, 1, 1),
        (3, 2, 2, 1),
        (3, 2, 1, 1, 1),
        (3, 1, 1, 1, 1, 1),
    )
    """Every combination is a full node, several instances of one demand included."""


class Threshold(Enum):
    """For which sizes of U the integer program is used: the paper has the inequality both ways (claim P11)."""

    AT_MOST = "|U| <= delta"
    AT_LEAST = "delta <= |U|"


@dataclass(frozen=True, slots=True)
class Combination:
    """What the first stage makes of a workload.

    Attributes
    ----------
    blocks
        Combined instances and how often, in order of priority; 8 GPUs each, or 4 if the reading has such.
    residual
        Instances that were not combined, (n1, ..., n8).
    """

    blocks: Bins
    residual: Counts

    @property
    def closed(self) -> Bins:
        """Blocks that fill a node, and single 8-GPU instances: no later stage touches these nodes."""
        alone: Bins = (((GPUS,), self.residual[GPUS - 1]),) if self.residual[GPUS - 1] else ()
        return (*((block, times) for block, times in self.blocks if sum(block) == GPUS), *alone)

    @property
    def unfriendly(self) -> Counts:
        """U, the unfriendly part of the residual."""
        return tuple(n if gpus in UNFRIENDLY else 0 for gpus, n in enumerate(self.residual, start=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """How the procedure came to its packing.

    Attributes
    ----------
    combination
        After the first stage.
    bins
        Nodes after the second stage, without U.
    used_integer_program
        Whether U was packed by the integer program; false if it is empty or on the wrong side of δ.
    """

    combination: Combination
    bins: Bins
    used_integer_program: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperPacking:
    """A packing made by the paper's procedure: an upper bound on Φ*, with no claim to be more.

    Attributes
    ----------
    partial_nodes
        Partial nodes of the packing.
    packing
        Pairs of a pattern and how many nodes hold it, patterns descending.
    stages
        How it was made.
    """

    partial_nodes: int
    packing: Bins
    stages: Stages

    @property
    def nodes_in_use(self) -> int:
        """Nodes of the packing."""
        return sum(nodes for _, nodes in self.packing)


def combine(counts: Sequence[int], *, reading: Reading = Reading.BLOCKS) -> Combination:
    """Return the first stage: each combination of the list as often as it can be made, before the next is tried.

    Parameters
    ----------
    counts
        Running instances by demand, (n1, ..., n8); demands left off at the end have none.
    reading
        Which list.

    Raises
    ------
    ValueError
        A count is negative, or there are more than 8.
    """
    left = list(_checked(counts))
    blocks: list[tuple[Pattern, int]] = []
    for block in reading.value:
        copies = Counter(block)
        times = min(left[gpus - 1] // k for gpus, k in copies.items())
        if times:
            blocks.append((block, times))
            for gpus, k in copies.items():
                left[gpus - 1] -= k * times
    return Combination(tuple(blocks), tuple(left))


def paper_procedure(
    counts: Sequence[int],
    *,
    delta: int | None = None,
    threshold: Threshold = Threshold.AT_MOST,
    reading: Reading = Reading.BLOCKS,
) -> PaperPacking:
    """Pack a workload on 8-GPU nodes as the paper does: combining, Best-Fit-Decreasing, integer program on U.

    Under WCC the BLOCKS reading is optimal; without it neither need be. Nodes are taken to be as many as needed, and
    more may be used than are necessary.

    Parameters
    ----------
    counts
        Running instances by demand, (n1, ..., n8); demands left off at the end have none.
    delta
        The paper's δ, in instances. Where it rules the integer program out, U is packed by Best-Fit-Decreasing like
        everything else. None: the program is used whatever the size of U, in either reading of the inequality.
    threshold
        On which side of δ the integer program is used.
    reading
        Which combinations the first stage makes.

    Returns
    -------
    PaperPacking
        Always a packing of exactly these instances; it is checked before it is returned.

    Raises
    ------
    ValueError
        A count or δ is negative, or there are more than 8 counts.
    SolverError
        OR-Tools is unusable, or its answer is no packing.
    CertificateError
        The packing made is none: a fault of this module.
    """
    if delta is not None and delta < 0:
        raise ValueError(f"delta: expected a number of instances, 0 or more, got {delta}")
    checked = _checked(counts)
    combination = combine(checked, reading=reading)
    bins = _best_fit({}, _blocks_by_size(combination))
    unfriendly = combination.unfriendly
    use_program = _is_used(sum(unfriendly), delta, threshold)
    if use_program:
        packed = pack_residual(unfriendly, bins)
    else:
        packed = _best_fit(bins, (((gpus,), unfriendly[gpus - 1]) for gpus in UNFRIENDLY))
    _check(checked, packed)
    return PaperPacking(
        partial_nodes=sum(nodes for pattern, nodes in packed.items() if sum(pattern) < GPUS),
        packing=_sorted(packed),
        stages=Stages(combination=combination, bins=_sorted(bins), used_integer_program=use_program),
    )


def _is_used(size: int, delta: int | None, threshold: Threshold) -> bool:
    if size == 0:
        return False
    if delta is None:
        return True
    return size <= delta if threshold is Threshold.AT_MOST else delta <= size


def _checked(counts: Sequence[int]) -> Counts:
    if len(counts) > GPUS:
        raise ValueError(f"counts: expected at most {GPUS} numbers, one for each demand, got {len(counts)}")
    full = (*counts, *([0] * (GPUS - len(counts))))
    if min(full) < 0:
        raise ValueError(f"counts: expected numbers of instances, got {min(full)}")
    return full


def _blocks_by_size(combination: Combination) -> list[tuple[Pattern, int]]:
    """Return what the second stage packs, sizes descending: combined blocks, and single 8, 4, 2 and 1."""
    singles = [((gpus,), combination.residual[gpus - 1]) for gpus in (8, 4, 2, 1)]
    return sorted([*combination.blocks, *singles], key=lambda item: sum(item[0]), reverse=True)


def _best_fit(bins: Mapping[Pattern, int], blocks: Iterable[tuple[Pattern, int]]) -> Counter[Pattern]:
    """Put each block in turn into the fullest node that has room for it, else into an empty one.

    A node that has taken a block is the fullest one with room for the next equal block, or has no room for it. So equal
    blocks go into a node until it has no more room, and equal nodes can be filled at once.
    """
    packed = Counter(bins)
    for block, count in blocks:
        size, left = sum(block), count
        while left:
            host = max((p for p in packed if sum(p) + size <= GPUS), key=lambda p: (sum(p), p), default=())
            each = (GPUS - sum(host)) // size
            nodes = max(1, left // each)
            if host:
                nodes = min(nodes, packed[host])
                packed[host] -= nodes
                packed += Counter()  # drops what is 0 now
            taken = min(left, nodes * each)
            packed[_joined(host, block, taken // nodes)] += nodes
            left -= taken
    return packed


def _joined(pattern: Pattern, block: Pattern, copies: int) -> Pattern:
    return tuple(sorted((*pattern, *block * copies), reverse=True))


def _sorted(bins: Mapping[Pattern, int]) -> Bins:
    return tuple(sorted(bins.items(), reverse=True))


def _check(counts: Counts, packed: Mapping[Pattern, int]) -> None:
    """Check with the code that checks certificates, on as many nodes as there are instances."""
    nodes = {(0, pattern): times for pattern, times in packed.items()}
    nodes[0, ()] = sum(counts) - sum(packed.values())
    check_packing(uniform_problem(counts), packing(nodes))
