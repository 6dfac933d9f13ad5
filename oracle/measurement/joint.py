"""The joint optimum: partial panels and partial domains at once, lexicographically or weighed.

The tiers meet in one number only, the panels that instances inside panels hold open: to the domains they are so many
1-panel instances. For one number of partial panels it can vary (two half-full panels, or one full one), so every pair
of partial panels k and open panels m that some packing has is looked at, and for each m the fewest partial domains.
Both questions are small programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from oracle.optimum.exact import InfeasibleError, UndecidedError, WorkloadError, solve_pool
from oracle.optimum.model import Model, Pool
from oracle.optimum.node_classes import NodeClass, PackingProblem
from oracle.optimum.solver import Deadline, Outcome, Row, solve_integers

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchicalWorkload:
    """Instances in a hierarchy of equal domains.

    Attributes
    ----------
    inside
        Instances inside panels by demand in GPUs: (n1, n2, ...), below a whole panel.
    whole
        Instances of whole panels by how many: (n1, ..., nK).
    domains, panels_per_domain, gpus_per_panel
        The sizes.
    """

    inside: tuple[int, ...]
    whole: tuple[int, ...]
    domains: int
    panels_per_domain: int
    gpus_per_panel: int = 8

    def __post_init__(self) -> None:
        if len(self.inside) >= self.gpus_per_panel or len(self.whole) > self.panels_per_domain:
            raise WorkloadError(f"expected demands below a panel, and of at most a domain, got {self}")
        if min((0, self.domains, *self.inside, *self.whole)) < 0:
            raise WorkloadError(f"expected counts of 0 or more, got {self}")

    @property
    def panels_left(self) -> int:
        """Panels that instances of whole panels do not hold."""
        held = sum(panels * count for panels, count in enumerate(self.whole, start=1))
        return self.domains * self.panels_per_domain - held


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOptimum:
    """The best pair, and the open panels of an arrangement that has it."""

    partial_panels: int
    partial_domains: int
    open_panels: int


def joint_optimum(
    workload: HierarchicalWorkload, *, weights: tuple[int, int] | None = None, time_limit: float | None = None
) -> JointOptimum:
    """Return the fewest partial panels and domains that one arrangement of the workload can have.

    Parameters
    ----------
    weights
        What a partial panel and a partial domain cost, both at least 0; of equal costs fewer partial panels win. Left
        out: fewest partial panels first, then fewest partial domains.
    time_limit
        Seconds of wall time; None for as long as it takes.

    Raises
    ------
    InfeasibleError
        The workload does not fit.
    UndecidedError
        Time ran out. Nothing is claimed then.
    WorkloadError
        A negative weight.
    """
    if weights is not None and min(weights) < 0:
        raise WorkloadError(f"expected weights of 0 or more, got {weights}")
    optima = _Optima(workload, Deadline(time_limit))
    if weights is None:
        return next(optima.best_by_partial_panels())
    return _cheapest(optima, *weights)


def _cheapest(optima: _Optima, panel_weight: int, domain_weight: int) -> JointOptimum:
    best: JointOptimum | None = None
    cost = 0
    for found in optima.best_by_partial_panels():
        of_found = panel_weight * found.partial_panels + domain_weight * found.partial_domains
        if best is None or of_found < cost:
            best, cost = found, of_found
        # More partial panels cost more, and no number of open panels leaves fewer partial domains than the least.
        if panel_weight * (found.partial_panels + 1) + domain_weight * optima.fewest_partial_domains >= cost:
            break
    if best is None:
        raise InfeasibleError("the instances do not fit on the panels that are left")
    return best


class _Optima:
    """The optima of panels and of domains for each number of open panels, remembered."""

    def __init__(self, workload: HierarchicalWorkload, deadline: Deadline) -> None:
        self._workload = workload
        self._deadline = deadline
        self._demands = dict(enumerate(workload.inside, start=1))
        self._partial_domains: dict[int, int] = {}
        if workload.panels_left < 0:
            raise InfeasibleError("instances of whole panels alone ask for more panels than there are")

    def best_by_partial_panels(self) -> Iterator[JointOptimum]:
        """Yield the best arrangement for every number of partial panels that there is one for, ascending."""
        start = solve_pool(self._panels(self._workload.panels_left), time_limit=self._seconds(), prefer_empty=False)
        if start.lower_bound < start.partial_nodes:
            raise UndecidedError("time ran out before the fewest partial panels were known")
        for partial in range(start.partial_nodes, self._most_open + 1):
            ranked = sorted((self.partial_domains(opened), opened) for opened in self._candidates(partial))
            for domains, opened in ranked:
                if self._exists(partial, opened):
                    yield JointOptimum(partial_panels=partial, partial_domains=domains, open_panels=opened)
                    break

    def partial_domains(self, opened: int) -> int:
        """Return the fewest partial domains when so many panels are open."""
        if opened not in self._partial_domains:
            size = self._workload.panels_per_domain
            demands = dict(enumerate(self._workload.whole, start=1))
            demands[1] = demands.get(1, 0) + opened
            problem = PackingProblem.build({NodeClass(size, 0, size): self._workload.domains}, demands)
            found = solve_pool(problem, time_limit=self._seconds(), prefer_empty=False)
            if found.lower_bound < found.partial_nodes:
                raise UndecidedError("time ran out before the fewest partial domains were known")
            self._partial_domains[opened] = found.partial_nodes
        return self._partial_domains[opened]

    @cached_property
    def fewest_partial_domains(self) -> int:
        """The fewest partial domains of any arrangement, however many panels are partial."""
        fewest = self._workload.domains
        for opened in range(self._fewest_open, self._most_open + 1):
            fewest = min(fewest, self.partial_domains(opened))
            if not fewest:
                break
        return fewest

    @property
    def _most_open(self) -> int:
        return min(self._workload.panels_left, sum(self._workload.inside))

    @cached_property
    def _fewest_open(self) -> int:
        """The fewest open panels; every number from there to the most is possible, as instances can part."""
        model = Model([Pool.unplaced(self._panels(self._workload.panels_left))])
        answer = solve_integers(model.program((*model.partial, *model.full)), self._deadline)
        if answer.outcome is not Outcome.OPTIMAL or answer.bound is None:
            raise UndecidedError("time ran out before the fewest open panels were known")
        return answer.bound

    def _candidates(self, partial: int) -> Iterator[int]:
        """Yield the numbers of open panels that so many partial ones allow by their GPUs."""
        size = self._workload.gpus_per_panel
        used = sum(gpus * count for gpus, count in self._demands.items())
        for full in range(used // size + 1):
            if partial <= used - size * full <= (size - 1) * partial and full + partial <= self._most_open:
                yield full + partial

    def _exists(self, partial: int, opened: int) -> bool:
        """Whether some packing has exactly so many partial and open panels."""
        model = Model([Pool.unplaced(self._panels(opened))])
        rows = [Row(partial, partial, model.partial), Row(opened - partial, opened - partial, model.full)]
        answer = solve_integers(model.program((), rows), self._deadline)
        if answer.outcome is Outcome.GAVE_UP:
            raise UndecidedError("time ran out before it was known which numbers of open panels are possible")
        return answer.outcome is not Outcome.INFEASIBLE

    def _panels(self, panels: int) -> PackingProblem:
        size = self._workload.gpus_per_panel
        return PackingProblem.build({NodeClass(size, 0, size): panels}, self._demands)

    def _seconds(self) -> float | None:
        return self._deadline.seconds_left
