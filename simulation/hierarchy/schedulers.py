"""Schedulers of domains of panels: the tiers of `compass_core.hierarchy`, and best fit without migration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from compass_core import Job, RefusalKind, Variant
from compass_core.hierarchy import HierarchicalState, Tiers, arrive, depart
from simulation.schedulers.protocol import Cause

if TYPE_CHECKING:
    from compass_core.hierarchy import HierarchicalOutcome
    from simulation.jobs import TraceJob

GPUS_PER_PANEL = 8

_CAUSES = {
    RefusalKind.CAPACITY: Cause.CAPACITY,
    RefusalKind.FRAGMENTATION: Cause.FRAGMENTATION,
    RefusalKind.STRUCTURE: Cause.STRUCTURE,
}


class DomainScheduler(Protocol):
    """Decides in which domain and panel jobs run."""

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    @property
    def domains(self) -> int:
        """Number of domains."""
        ...

    @property
    def panels_per_domain(self) -> int:
        """K."""
        ...

    @property
    def partial(self) -> tuple[int, int]:
        """Partial panels and partial domains at present."""
        ...

    @property
    def open_panels(self) -> int:
        """Panels in use by instances inside panels."""
        ...

    @property
    def moved(self) -> int:
        """Running instances moved so far, dragged ones included."""
        ...

    def start(self, job: TraceJob) -> Cause | None:
        """Start a job, all of its instances, or return why not."""
        ...

    def end(self, job: TraceJob) -> None:
        """End a running job."""
        ...


class TieredScheduler:
    """Hierarchical COMPASS; the variant is that of the panels."""

    def __init__(self, domains: int, panels_per_domain: int = 9, *, variant: Variant = Variant.EXACT) -> None:
        self.domains = domains
        self.panels_per_domain = panels_per_domain
        self.variant = variant
        self.moved = 0
        self.state = HierarchicalState.empty(domains, Tiers((GPUS_PER_PANEL, panels_per_domain)))

    @property
    def name(self) -> str:
        """Name in reports."""
        return f"tiers, {self.variant.value}"

    @property
    def partial(self) -> tuple[int, int]:
        """Partial panels and partial domains at present."""
        panels, domains = self.state.partial_hosts
        return panels, domains

    @property
    def open_panels(self) -> int:
        """Panels in use by instances inside panels."""
        panels = self.state.levels[0]
        return panels.node_count - panels.empty_nodes

    def start(self, job: TraceJob) -> Cause | None:
        """Start a job, or return why its tier has no place for it."""
        outcome = arrive(self.state, Job(job.name, job.instances, job.gpus), variant=self.variant)
        if outcome.reason is not None:
            short = job.total_gpus > self.state.free_gpus
            return Cause.CAPACITY if short else self._cause(outcome)
        self._follow(outcome)
        return None

    def end(self, job: TraceJob) -> None:
        """End a running job."""
        self._follow(depart(self.state, job.name, variant=self.variant))

    def _cause(self, outcome: HierarchicalOutcome) -> Cause:
        # A tier can be short of units although GPUs are free: they lie on panels in use.
        found = _CAUSES[outcome.reason.kind] if outcome.reason else Cause.CAPACITY
        return Cause.FRAGMENTATION if found is Cause.CAPACITY else found

    def _follow(self, outcome: HierarchicalOutcome) -> None:
        self.state = outcome.state
        self.moved += outcome.instances_moved


class BestFitDomains:
    """The fullest place that fits, tier by tier; nothing ever moves.

    An instance inside a panel goes to the panel in use with the least free GPUs that suffice, else to an idle panel of
    the fullest domain that has one; an instance of whole panels to the fullest domain with as many idle ones.
    """

    name = "best fit"

    def __init__(self, domains: int, panels_per_domain: int = 9) -> None:
        self.domains = domains
        self.panels_per_domain = panels_per_domain
        self.moved = 0
        self._idle = [panels_per_domain] * domains  # panels of each domain
        self._free: dict[tuple[int, int], int] = {}  # free GPUs of each panel in use, by domain and number
        self._next = 0
        self._where: dict[str, list[tuple[int, int] | int]] = {}  # a panel, or the domain of whole panels

    @property
    def partial(self) -> tuple[int, int]:
        """Partial panels and partial domains at present."""
        return sum(free > 0 for free in self._free.values()), sum(0 < n < self.panels_per_domain for n in self._idle)

    @property
    def open_panels(self) -> int:
        """Panels in use by instances inside panels."""
        return len(self._free)

    def start(self, job: TraceJob) -> Cause | None:
        """Start a job, or return why it has to wait."""
        free = sum(self._free.values()) + GPUS_PER_PANEL * sum(self._idle)
        if job.total_gpus > free:
            return Cause.CAPACITY
        placed: list[tuple[int, int] | int] = []
        for _ in range(job.instances):
            place = self._whole(job.gpus) if job.gpus % GPUS_PER_PANEL == 0 else self._inside(job.gpus)
            if place is None:
                self._leave(job.gpus, placed)
                return Cause.FRAGMENTATION
            placed.append(place)
        self._where[job.name] = placed
        return None

    def end(self, job: TraceJob) -> None:
        """End a running job."""
        self._leave(job.gpus, self._where.pop(job.name))

    def _inside(self, gpus: int) -> tuple[int, int] | None:
        fitting = [(free, panel) for panel, free in self._free.items() if free >= gpus]
        if fitting:
            free, panel = min(fitting)
        else:
            domain = self._fullest(1)
            if domain is None:
                return None
            free, panel = GPUS_PER_PANEL, (domain, self._next)
            self._next += 1
            self._idle[domain] -= 1
        self._free[panel] = free - gpus
        return panel

    def _whole(self, gpus: int) -> int | None:
        panels = gpus // GPUS_PER_PANEL
        domain = self._fullest(panels)
        if domain is not None:
            self._idle[domain] -= panels
        return domain

    def _fullest(self, panels: int) -> int | None:
        fitting = [(idle, domain) for domain, idle in enumerate(self._idle) if idle >= panels]
        return min(fitting)[1] if fitting else None

    def _leave(self, gpus: int, places: list[tuple[int, int] | int]) -> None:
        for place in places:
            if isinstance(place, int):
                self._idle[place] += gpus // GPUS_PER_PANEL
                continue
            self._free[place] += gpus
            if self._free[place] == GPUS_PER_PANEL:
                del self._free[place]
                self._idle[place[0]] += 1
