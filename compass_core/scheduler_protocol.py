"""A scheduler of anybody's in four methods, as the conformance kit and the replay drive it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compass_core.model import Job


class Scheduler(Protocol):
    """A scheduler as it is driven: four methods, any state behind them.

    The cluster has nodes 0, 1, ... of 8 GPUs each. Events come one at a time; what runs may be moved at any event, but
    for one at which a job is refused. The conformance kit plays each list of events twice, to see whether the
    placements are the same, and after one that breaks a law shorter ones. A replay resets it once.
    """

    def reset(self, nodes: int) -> None:
        """Begin anew with so many idle nodes; called before each list of events."""
        ...

    def arrive(self, job: Job) -> bool:
        """Admit the job whole and return True, or leave all as it was and return False. No running job has its name.

        The kit calls it once a job: one that is refused does not wait there. A replay asks again while the job waits.
        """
        ...

    def depart(self, name: str) -> None:
        """End the job of that name, which was admitted and has not departed."""
        ...

    def placement(self) -> Mapping[str, Sequence[int]]:
        """Return, for each running job, the node of each of its instances; called after each event."""
        ...
