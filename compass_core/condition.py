"""The workload composition condition: whether there are 1-GPU instances enough to fill all slots (paper, Section 4).

It follows from the numbers of instances alone, wherever they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core.model import slot_vacancy, slot_width

if TYPE_CHECKING:
    from collections.abc import Sequence


def wcc_need(counts: Sequence[int]) -> int:
    """Return the fillers that all slots together ask for: n3 + 3·n5 + 2·n6 + n7 on 8-GPU nodes.

    Parameters
    ----------
    counts
        (n1, ..., nG), running instances of each demand; its length is the node capacity G.
    """
    capacity = len(counts)
    return sum(slot_vacancy(gpus, capacity) * n for gpus, n in enumerate(counts, start=1) if n)


def wcc_supply(counts: Sequence[int]) -> int:
    """Return n1, the 1-GPU instances there are to fill vacancies with."""
    return counts[0]


def wcc_holds(counts: Sequence[int]) -> bool:
    """Whether the workload composition condition holds: the need for fillers does not exceed their supply."""
    return wcc_need(counts) <= wcc_supply(counts)


def reserved_gpus(counts: Sequence[int]) -> int:
    """Return what slots and ones ask for when every vacancy that can be filled is: Σ w*(g)·n_g + max(0, n1 − need).

    The GPUs used, while the condition holds; more where vacancies stay open. Slot widths and ones divide one another
    on nodes of a power of two GPUs, so EXACT can pack any workload with ``reserved_gpus(counts) <= G * N`` (C7).
    """
    capacity = len(counts)
    widths = sum(slot_width(gpus, capacity) * n for gpus, n in enumerate(counts[1:], start=2) if n)
    return widths + max(0, wcc_supply(counts) - wcc_need(counts))
