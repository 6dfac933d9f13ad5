"""What runs, as numbers that follow it event by event: GPUs held, Φ* and the workload composition condition."""

from __future__ import annotations

from oracle.optimum.closed_form import Surplus

# Theory §1: the condition is n3 + 3·n5 + 2·n6 + n7 ≤ n1. By demand, what an instance adds to n1 less the need.
_SLACK = (0, 1, 0, -1, 0, -3, -2, -1, 0)


class Workload:
    """The instances that hold GPUs, whatever nodes they are on.

    Attributes
    ----------
    gpus
        T, the GPUs they hold.
    inherent_partial_nodes
        Φ*, exact for any workload (`oracle.optimum.closed_form`).
    wcc_slack
        n1 − (n3 + 3·n5 + 2·n6 + n7): the condition holds while this is not negative.
    """

    __slots__ = ("_surplus", "gpus", "inherent_partial_nodes", "wcc_slack")

    def __init__(self) -> None:
        self.gpus = 0
        self.inherent_partial_nodes = 0
        self.wcc_slack = 0
        self._surplus = Surplus(0, 0, 0, 0)

    def change(self, gpus: int, instances: int) -> None:
        """Count so many instances of one demand more, or fewer if negative."""
        self.gpus += gpus * instances
        self.wcc_slack += _SLACK[gpus] * instances
        self._surplus = self._surplus.after(gpus, instances)
        self.inherent_partial_nodes = self._surplus.partial_nodes

    @property
    def wcc(self) -> bool:
        """Whether the condition holds."""
        return self.wcc_slack >= 0
