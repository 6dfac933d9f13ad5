"""What a measurement tells of NVLink domains: measured again, its optima as far as they need no search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from oracle.measurement.domains import domain_measurement, domain_snapshot, joint_workload
from oracle.measurement.joint import JointOptimum, Workload
from oracle.measurement.measure import add_up, figures_of
from oracle.optimum.certificate import Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.node_classes import NodeClass, constrained_problem
from oracle.verification.checks import Check, compared
from oracle.verification.enumeration import MAX_STEPS, least_price
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from oracle.optimum.exact import PoolOptimum
    from oracle.snapshots.model import NodeContent, Snapshot

_SEARCH = "rests on a search"


class _Figures(msgspec.Struct, kw_only=True):
    domains: int
    panels: int
    used_panels: int
    instances: dict[str, int]
    partial_domains: int
    inherent_partial_domains: int
    inherent_lower_bound: int
    avoidable_partial_domains: int
    sif: float
    empty_domains: int
    largest_free_block: int
    status: Status
    wcc: bool | None


class _Pool(_Figures, kw_only=True):
    pool: str
    joint: JointOptimum | None


class ToldDomains(_Figures, kw_only=True):
    """What `sifopt measure --hierarchical` adds."""

    nodes_without_domain: int
    pools: tuple[_Pool, ...]


def check_domains(told: ToldDomains, snapshot: Snapshot, pool: str | None) -> Iterator[Check]:
    """Yield the claims about the domains of a snapshot, or of one pool of it, checked.

    No certificate is stored for them. Their optima are those of small clusters tried in full, or met by the bounds that
    need no solver; otherwise they are not rechecked, while all that follows from them is.
    """
    domains = domain_snapshot(snapshot)
    contents = {name: nodes for name, nodes in domains.contents.items() if pool in {None, name}}
    pools = {one.pool: one for one in told.pools}
    if list(contents) != [one.pool for one in told.pools]:
        yield Check("the domains are those of this cluster", holds=False, detail="their pools are others")
        return
    optima = {name: _optimum(nodes) for name, nodes in contents.items()}
    known = {name: _as_told(pools[name], found) for name, found in optima.items()}
    # Nothing is told of the ideal: what stands for it here does not matter.
    measured = [figures_of(name, nodes, known[name], known[name]) for name, nodes in contents.items()]
    joint = {name: one.joint for name, one in pools.items()}
    written = domain_measurement(snapshot, domains, add_up(measured, pool=pool), joint).to_dict()
    yield compared("the figures of the domains are those of this cluster", msgspec.to_builtins(told), written)
    for name, one in pools.items():
        yield _fewest(one, contents[name], optima[name])
        if one.joint is not None:
            yield _joint(one.pool, one.joint, joint_workload(snapshot, domains, name))


def _optimum(contents: Sequence[NodeContent]) -> PoolOptimum:
    """Return what is known of the fewest partial domains without a solver."""
    placed = constrained_problem(contents)
    return solve_pool(placed.problem, start=placed.current, time_limit=0, prefer_empty=False)


def _as_told(told: _Pool, found: PoolOptimum) -> PoolOptimum:
    """Return the optimum of a pool of domains with the figures that were told."""
    bounds = told.inherent_lower_bound, told.inherent_partial_domains
    status = Status.OPTIMAL if bounds[0] == bounds[1] else Status.UNKNOWN
    certificate = replace(found.certificate, lower_bound=bounds[0], partial_nodes=bounds[1], status=status)
    return replace(found, certificate=certificate)


def _fewest(told: _Pool, contents: Sequence[NodeContent], found: PoolOptimum) -> Check:
    low, high = told.inherent_lower_bound, told.inherent_partial_domains
    claim = f"pool {told.pool}: inherent partial domains {low}..{high}"
    proved, attained = found.lower_bound, found.partial_nodes
    if proved < attained:
        problem = constrained_problem(contents).problem
        nodes = list(zip(problem.classes, problem.nodes, strict=True))
        fewest = least_price(nodes, problem.demands, lambda kind, load: int(kind.is_partial(load)))
        proved, attained = (proved, attained) if fewest is None else (fewest, fewest)
    if not 0 <= low <= attained or not proved <= high <= told.partial_domains or low > high:
        return Check(claim, holds=False, detail=f"they are {proved}..{attained}")
    return Check(claim) if low <= proved and attained <= high else Check(claim, None, _SEARCH)


def _joint(pool: str, told: JointOptimum, workload: Workload | None) -> Check:
    domains = count(told.partial_domains, "partial domain")
    claim = f"pool {pool}: {count(told.partial_panels, 'partial panel')} and then {domains}"
    if workload is None:
        return Check(claim, holds=False, detail="its panels or domains are unlike, or not all can move")
    if not _is_possible(told, workload):
        return Check(claim, holds=False, detail=f"so many GPUs do not fit {told.open_panels} open panels so")
    tried = joint_by_trying(workload)
    if tried is None:
        return Check(claim, None, _SEARCH)
    return Check(claim, told == tried, "" if told == tried else f"the best is {tried}")


def _is_possible(told: JointOptimum, workload: Workload) -> bool:
    """Whether numbers alone allow so many partial and open panels."""
    size = workload.gpus_per_panel
    full = told.open_panels - told.partial_panels
    in_partial = sum(gpus * count for gpus, count in enumerate(workload.inside, start=1)) - size * full
    return (
        0 <= told.partial_panels <= told.open_panels <= min(workload.panels_left, sum(workload.inside))
        and told.partial_panels <= in_partial <= (size - 1) * told.partial_panels
        and 0 <= told.partial_domains <= workload.domains
    )


def joint_by_trying(workload: Workload) -> JointOptimum | None:
    """Return the joint optimum by trying every packing; None if there are too many, or none."""
    size, domain = workload.gpus_per_panel, workload.panels_per_domain
    panel, whole = NodeClass(size, 0, size), NodeClass(domain, 0, domain)
    inside = _counted(dict(enumerate(workload.inside, start=1)))
    most = min(workload.panels_left, sum(workload.inside))
    if most < 0:
        return None
    steps = MAX_STEPS // (most + 1)
    fewest = least_price(
        [(panel, workload.panels_left)], inside, lambda kind, load: int(kind.is_partial(load)), max_steps=steps
    )
    least_open = least_price([(panel, workload.panels_left)], inside, lambda _, load: int(load > 0), max_steps=steps)
    if fewest is None or least_open is None:
        return None
    best: tuple[int, int] | None = None
    for opened in range(least_open, most + 1):
        price = least_price([(panel, opened)], inside, _all_in_use(opened), max_steps=steps)
        demands = dict(enumerate(workload.whole, start=1))
        demands[1] = demands.get(1, 0) + opened
        domains = least_price(
            [(whole, workload.domains)],
            _counted(demands),
            lambda kind, load: int(kind.is_partial(load)),
            max_steps=steps,
        )
        if price is None or domains is None:
            return None
        if price == fewest and (best is None or (domains, opened) < best):
            best = domains, opened
    return None if best is None else JointOptimum(partial_panels=fewest, partial_domains=best[0], open_panels=best[1])


def _all_in_use(panels: int) -> Callable[[NodeClass, int], int]:
    """Return a price of 1 for a partial panel, and of more than that of all panels for an empty one."""

    def price(kind: NodeClass, load: int) -> int:
        return int(kind.is_partial(load)) if load else panels + 1

    return price


def _counted(demands: Mapping[int, int]) -> list[tuple[int, int]]:
    return [(demand, count) for demand, count in demands.items() if count]
