"""What a scheduler has to offer to be checked by the conformance kit, and what it may promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from compass_core import ClusterState, Variant, arrive, depart
from compass_core.scheduler_protocol import Scheduler
from oracle.optimum.closed_form import fewest_partial_nodes

if TYPE_CHECKING:
    from compass_core import Job

__all__ = ["OurScheduler", "Promise", "ReportsSif", "Scheduler"]


@runtime_checkable
class ReportsSif(Protocol):
    """A scheduler that measures SIF itself; what it says is compared with the exact value."""

    def sif(self) -> float:
        """Return SIF = (Φ − Φ*)/N of the present placement; called after each event that left all in order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a scheduler claims about itself beyond the laws every scheduler owes.

    Attributes
    ----------
    avoidable_nodes
        N·SIF after every event is at most this; None if nothing is claimed. COMPASS: 2, EXACT: 0.
    without_wcc
        Whether that holds for every workload, or only while the workload composition condition does.
    admits_all_that_fits
        Whether a job is admitted exactly if enough GPUs are free in all, while the condition holds with the job.
    """

    avoidable_nodes: int | None = None
    without_wcc: bool = False
    admits_all_that_fits: bool = False


class OurScheduler:
    """COMPASS or EXACT behind the protocol."""

    def __init__(self, variant: Variant = Variant.EXACT) -> None:
        self._variant = variant
        self._state = ClusterState.empty(0)

    def reset(self, nodes: int) -> None:
        """Begin anew with so many idle nodes."""
        self._state = ClusterState.empty(nodes)

    def arrive(self, job: Job) -> bool:
        """Admit the job or refuse it."""
        out = arrive(self._state, job, variant=self._variant)
        self._state = out.state
        return out.admitted

    def depart(self, name: str) -> None:
        """End a job."""
        self._state = depart(self._state, name, variant=self._variant).state

    def placement(self) -> dict[str, list[int]]:
        """Return the node of each instance."""
        state = self._state
        return {name: [state.node_of(i) for i in job.all_instances()] for name, job in state.jobs_by_name.items()}

    def sif(self) -> float:
        """Return SIF, with Φ* from the closed form."""
        return (self._state.partial_nodes - fewest_partial_nodes(self._state.counts)) / self._state.node_count
