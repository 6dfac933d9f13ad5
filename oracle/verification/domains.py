"""What a measurement tells of NVLink domains: measured again, its optima as far as they need no search."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from oracle.measurement.domains import domain_measurement, domain_snapshot, joint_workload
from oracle.measurement.joint import HierarchicalWorkload, JointOptimum
from oracle.measurement.measure import add_up, figures_of
from oracle.optimum.certificate import Status  # noqa: TC001 - msgspec reads the annotation
from oracle.optimum.exact import solve_pool
from oracle.optimum.node_classes import NodeClass, PackingProblem, constrained_problem
from oracle.verification.checks import BY_SEARCH, Check, compared
from oracle.verification.enumeration import MAX_STEPS, fewest_partial, least_price
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.measurement.measure import PoolMeasurement
    from oracle.optimum.exact import PoolOptimum
    from oracle.snapshots.model import NodeContent, Snapshot


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
        yield Check.of("the domains are those of this cluster", "their pools are others")
        return
    optima = {name: _optimum(nodes) for name, nodes in contents.items()}
    measured = [_as_told(pools[name], nodes, optima[name]) for name, nodes in contents.items()]
    joint = {name: one.joint for name, one in pools.items()}
    written = domain_measurement(snapshot, domains, add_up(measured, pool=pool), joint).to_dict()
    yield compared("the figures of the domains are those of this cluster", msgspec.to_builtins(told), written)
    for name, one in pools.items():
        yield _fewest(one, optima[name])
        if one.joint is not None:
            yield _joint(name, one.joint, joint_workload(snapshot, domains, name))


def _optimum(contents: Sequence[NodeContent]) -> PoolOptimum:
    """Return what is known of the fewest partial domains without a solver."""
    placed = constrained_problem(contents)
    return solve_pool(placed.problem, start=placed.current, time_limit=0, prefer_empty=False)


def _as_told(told: _Pool, contents: Sequence[NodeContent], found: PoolOptimum) -> PoolMeasurement:
    """Return the figures of a pool of domains with the bounds that were told."""
    certificate = replace(
        found.certificate, lower_bound=told.inherent_lower_bound, partial_nodes=told.inherent_partial_domains
    )
    optimum = replace(found, certificate=certificate)
    # Nothing is told of the ideal: what stands for it here does not matter.
    return figures_of(told.pool, contents, optimum, optimum)


def _fewest(told: _Pool, found: PoolOptimum) -> Check:
    low, high = told.inherent_lower_bound, told.inherent_partial_domains
    claim = f"pool {told.pool}: inherent partial domains {low}..{high}"
    proved, attained = found.lower_bound, found.partial_nodes
    if proved < attained and (fewest := fewest_partial(found.certificate.problem)) is not None:
        proved = attained = fewest
    if not 0 <= low <= attained or not proved <= high <= told.partial_domains or low > high:
        return Check.of(claim, f"they are {proved}..{attained}")
    return Check.of(claim, unknown="" if low <= proved and attained <= high else BY_SEARCH)


def _joint(pool: str, told: JointOptimum, workload: HierarchicalWorkload | None) -> Check:
    domains = count(told.partial_domains, "partial domain")
    claim = f"pool {pool}: {count(told.partial_panels, 'partial panel')} and then {domains}"
    if workload is None:
        return Check.of(claim, "its panels or domains are unlike, or not all can move")
    if not _is_possible(told, workload):
        return Check.of(claim, f"so many GPUs do not fit {told.open_panels} open panels so")
    tried = joint_by_trying(workload)
    if tried is None:
        return Check.of(claim, unknown=BY_SEARCH)
    return Check.of(claim, "" if told == tried else f"the best is {tried}")


def _is_possible(told: JointOptimum, workload: HierarchicalWorkload) -> bool:
    """Whether numbers alone allow so many partial and open panels."""
    size = workload.gpus_per_panel
    full = told.open_panels - told.partial_panels
    in_partial = sum(gpus * count for gpus, count in enumerate(workload.inside, start=1)) - size * full
    return (
        0 <= told.partial_panels <= told.open_panels <= min(workload.panels_left, sum(workload.inside))
        and told.partial_panels <= in_partial <= (size - 1) * told.partial_panels
        and 0 <= told.partial_domains <= workload.domains
    )


def joint_by_trying(workload: HierarchicalWorkload) -> JointOptimum | None:
    """Return the joint optimum by trying every packing; None if there are too many, or none."""
    size, domain = workload.gpus_per_panel, workload.panels_per_domain
    panel, whole = NodeClass(size, 0, size), NodeClass(domain, 0, domain)
    inside = dict(enumerate(workload.inside, start=1))
    most = min(workload.panels_left, sum(workload.inside))
    if most < 0:
        return None
    steps = MAX_STEPS // (most + 1)
    panels = PackingProblem.build({panel: workload.panels_left}, inside)
    fewest = fewest_partial(panels, max_steps=steps)
    least_open = least_price(panels, lambda _, load: int(load > 0), max_steps=steps)
    if fewest is None or least_open is None:
        return None

    def none_empty(kind: NodeClass, load: int) -> int:
        """Return a price of 1 for a partial panel, and of more than that of all panels for an empty one."""
        return int(kind.is_partial(load)) if load else most + 1

    best: tuple[int, int] | None = None
    for opened in range(least_open, most + 1):
        price = least_price(PackingProblem.build({panel: opened}, inside), none_empty, max_steps=steps)
        demands = Counter(dict(enumerate(workload.whole, start=1))) + Counter({1: opened})
        domains = fewest_partial(PackingProblem.build({whole: workload.domains}, demands), max_steps=steps)
        if price is None or domains is None:
            return None
        if price == fewest and (best is None or (domains, opened) < best):
            best = domains, opened
    return None if best is None else JointOptimum(partial_panels=fewest, partial_domains=best[0], open_panels=best[1])
