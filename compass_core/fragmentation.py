"""Fragmentation as a number: Φ* by the closed form, and SIF (paper, Section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core.condition import wcc_holds, wcc_need, wcc_supply
from compass_core.errors import CompassError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_core.state import ClusterState


class InherentUnknownError(CompassError):
    """Φ* was asked for where only an oracle can tell: the workload composition condition does not hold."""


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
