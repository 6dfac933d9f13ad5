"""Fragmentation as a number: the workload composition condition, the closed form under it, SIF (paper, Section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core.errors import CompassError
from compass_core.model import slot_vacancy, slot_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_core.state import ClusterState


class InherentUnknownError(CompassError):
    """Φ* was asked for where only an oracle can tell: the workload composition condition does not hold."""


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


def closed_form(counts: Sequence[int]) -> int:
    """Return Φ* under the workload composition condition: 1 if the GPUs used leave a remainder modulo G, else 0.

    Holds for capacities that are a power of two (claim C8). For any workload see ``oracle.inherent_partial_nodes``.

    Raises
    ------
    InherentUnknownError
        The condition does not hold.
    """
    if not wcc_holds(counts):
        need, supply = wcc_need(counts), wcc_supply(counts)
        problem = f"slots ask for {need} fillers, there are {supply} 1-GPU instances"
        raise InherentUnknownError(f"the closed form needs the workload composition condition: {problem}")
    return 1 if sum(gpus * n for gpus, n in enumerate(counts, start=1)) % len(counts) else 0


def sif(state: ClusterState, inherent: Callable[[tuple[int, ...]], int] = closed_form) -> float:
    """Return SIF = (Φ − Φ*)/N: the share of nodes that are partial and need not be. 0 for a cluster without nodes.

    Parameters
    ----------
    inherent
        Counts (n1, ..., nG) to Φ*. The default knows it while the workload composition condition holds; pass
        ``oracle.inherent_partial_nodes`` for any workload on nodes of 8 GPUs, and where they have others
        ``functools.partial(inherent_partial_nodes, capacity=G)``.

    Raises
    ------
    InherentUnknownError
        From the default, when the condition does not hold.
    """
    if state.node_count == 0:
        return 0.0
    return (state.partial_nodes - inherent(state.counts)) / state.node_count
