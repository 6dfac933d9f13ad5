"""The domains of a snapshot, measured as nodes are: a domain is a node whose GPUs are panels.

What a snapshot's nodes are is up to the cluster: here each is a panel. A job holds a panel whole if it has all GPUs of
it, with one instance or with several. Panels that one job holds whole in one domain count as one instance, since what
shares NVLink has to stay together; any other panel in use is an instance of one panel, and moves with all that is on
it. Φ* of the domains is the fewest partial ones that moving such instances can leave, the panels in use staying as
many. A panel stays where it is if something on it is immovable, if it takes nothing new, or if it has another number of
GPUs than most of its pool; an idle panel of that sort, or one without a free CPU, counts as absent. It stays, too, if
what is on it may not go to each of the others: because of the nodes where an instance may stand, or for lack of CPUs or
another resource.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compass_core.hierarchy import tier_condition
from oracle.measurement.joint import HierarchicalWorkload, JointOptimum, joint_optimum
from oracle.measurement.measure import Measurement, measure
from oracle.optimum.certificate import Status
from oracle.optimum.exact import InfeasibleError, UndecidedError
from oracle.optimum.solver import Deadline
from oracle.snapshots.kinds import group_of
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.measurement.measure import Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMeasurement:
    """The domains of a snapshot.

    Attributes
    ----------
    measurement
        The figures, in which nodes are domains and GPUs are panels; one entry a pool.
    nodes_without_domain
        Nodes that name no domain; they are in no figure.
    joint
        By pool, the fewest partial panels and then domains of any arrangement, panels opened and closed as one likes,
        but those that a job holds whole in one domain kept together; None where the pool's panels or domains are unlike
        one another, something cannot move or not go everywhere, a panel is over-committed, or time ran out.
    wcc
        By pool, whether the condition of its domains holds (`compass_core.hierarchy.tier_condition`); None where they
        are of several sizes.
    """

    measurement: Measurement
    nodes_without_domain: int
    joint: Mapping[str, JointOptimum | None]
    wcc: Mapping[str, bool | None]

    def to_dict(self) -> dict[str, object]:
        """Return the part of ``sifopt measure --hierarchical -o json`` that is about domains."""
        pools = [
            {
                "pool": pool.pool,
                **_figures(pool),
                "wcc": self.wcc[pool.pool],
                "joint": _joint(self.joint[pool.pool]),
            }
            for pool in self.measurement.pools
        ]
        return {
            **_figures(self.measurement),
            "wcc": all(self.wcc.values()) if None not in self.wcc.values() else None,
            "nodes_without_domain": self.nodes_without_domain,
            "pools": pools,
        }


def _figures(figures: Figures) -> dict[str, object]:
    return {
        "domains": figures.nodes,
        "panels": figures.gpus,
        "used_panels": figures.used_gpus,
        "instances": {str(panels): count for panels, count in figures.instances.items()},
        "partial_domains": figures.partial_nodes,
        "inherent_partial_domains": figures.inherent_partial_nodes,
        "inherent_lower_bound": figures.inherent_lower_bound,
        "avoidable_partial_domains": figures.avoidable_partial_nodes,
        "sif": figures.sif,
        "empty_domains": figures.empty_nodes,
        "largest_free_block": figures.largest_free_block,
        # Of domains no ideal is told, which a measurement's own status would be about too.
        "status": Status.of(figures.inherent_lower_bound, figures.inherent_partial_nodes).value,
    }


def _joint(found: JointOptimum | None) -> dict[str, int] | None:
    if found is None:
        return None
    return {
        "partial_panels": found.partial_panels,
        "partial_domains": found.partial_domains,
        "open_panels": found.open_panels,
    }


def measure_domains(
    snapshot: Snapshot, *, time_limit: float | None = None, pool: str | None = None
) -> DomainMeasurement:
    """Measure the domains of a snapshot, pool by pool; of one that has nodes but no domain there are no figures.

    Raises
    ------
    UnknownPoolError
        `pool` has no node in the snapshot.
    """
    deadline = Deadline(time_limit)
    domains = domain_snapshot(snapshot)
    if all(node.pool != pool for node in domains.nodes) and any(node.pool == pool for node in snapshot.nodes):
        measurement = replace(measure(Snapshot.build(nodes=[])), pool=pool)
    else:
        measurement = measure(domains, time_limit=deadline.seconds_left, pool=pool, constraints=False)
    workloads = {one.pool: joint_workload(snapshot, domains, one.pool) for one in measurement.pools}
    joint = {name: None if workload is None else _optimum(workload, deadline) for name, workload in workloads.items()}
    return domain_measurement(snapshot, domains, measurement, joint)


def domain_measurement(
    snapshot: Snapshot, domains: Snapshot, measurement: Measurement, joint: Mapping[str, JointOptimum | None]
) -> DomainMeasurement:
    """Return what is told of the domains of a snapshot, given what was measured of `domain_snapshot(snapshot)`."""
    pool = measurement.pool
    return DomainMeasurement(
        measurement=measurement,
        nodes_without_domain=sum(node.domain is None and pool in {None, node.pool} for node in snapshot.nodes),
        joint=joint,
        wcc={measured.pool: _condition(domains, measured.pool, measured.instances) for measured in measurement.pools},
    )


def domain_snapshot(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot one tier up: domains as nodes, panels as GPUs; see the module."""
    usual = _usual_sizes(snapshot.nodes)
    panels = {node.name: node for node in snapshot.nodes if node.domain is not None and node.gpus}
    held = _held(snapshot, panels)
    exhausted = {one.name for contents in snapshot.contents.values() for one in contents if one.exhausted}
    stays = {
        name
        for name, node in panels.items()
        if not node.schedulable
        or node.gpus != usual[node.pool]
        or not all(instance.movable for _, instance in held.get(name, ()))
        or (name in exhausted and name not in held)
    }
    stays |= _bound(snapshot, held, [node for name, node in panels.items() if name not in stays])
    sizes: Counter[tuple[str, str]] = Counter()
    for name, node in panels.items():
        sizes[node.pool, node.domain or ""] += name in held or name not in stays
    keys = _names(sizes)
    gangs: dict[tuple[str, str], list[str]] = {}
    for name, instances in held.items():
        node = panels[name]
        job = _whole_holder(node, instances)
        owner = f"panel {name}" if job is None else f"job {job}"
        gangs.setdefault((owner, keys[node.pool, node.domain or ""]), []).append(name)
    jobs: dict[str, list[RunningInstance]] = {}
    for (owner, domain), names in gangs.items():
        instance = RunningInstance(node=domain, gpus=len(names), movable=stays.isdisjoint(names))
        jobs.setdefault(owner, []).append(instance)
    return Snapshot.build(
        nodes=[SnapshotNode(name=keys[key], gpus=size, pool=key[0]) for key, size in sizes.items()],
        jobs=[RunningJob(name=name, instances=tuple(instances)) for name, instances in jobs.items()],
    )


def _names(domains: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for every pool and domain: a domain that has panels of several pools is a domain in each."""
    keys = list(domains)
    pools_of = Counter(domain for _, domain in keys)
    found = {(pool, domain): domain for pool, domain in keys if pools_of[domain] == 1}
    taken = set(found.values())
    for pool, domain in keys:
        if pools_of[domain] > 1:
            name = f"{domain} ({pool})"
            while name in taken:
                name += "'"
            taken.add(name)
            found[pool, domain] = name
    return found


def _usual_sizes(nodes: Iterable[SnapshotNode]) -> dict[str, int]:
    sizes: dict[str, Counter[int]] = {}
    for node in nodes:
        sizes.setdefault(node.pool, Counter())[node.gpus] += node.domain is not None and node.gpus > 0
    return {pool: max(found, key=lambda gpus: (found[gpus], gpus)) for pool, found in sizes.items()}


def _held(snapshot: Snapshot, panels: Mapping[str, SnapshotNode]) -> dict[str, list[tuple[str, RunningInstance]]]:
    held: dict[str, list[tuple[str, RunningInstance]]] = {}
    for job in snapshot.jobs:
        for instance in job.instances:
            if instance.node in panels:
                held.setdefault(instance.node, []).append((job.name, instance))
    return held


def _bound(
    snapshot: Snapshot, held: Mapping[str, list[tuple[str, RunningInstance]]], panels: Iterable[SnapshotNode]
) -> set[str]:
    """Return those of these panels that hold something that may not go to each of them of the same pool."""
    pools: dict[str, list[SnapshotNode]] = {}
    for panel in panels:
        pools.setdefault(panel.pool, []).append(panel)
    found: set[str] = set()
    for those in pools.values():
        everywhere = {one.name for one in snapshot.node_sets if all(panel.name in one.nodes for panel in those)}
        least: dict[str, int] = {}
        for panel in those:
            for name, amount in panel.resources.items():
                least[name] = min(amount, least.get(name, amount))
        for panel in those:
            instances = [instance for _, instance in held.get(panel.name, ())]
            takes = sum((Counter(dict(instance.resources)) for instance in instances), Counter[str]())
            if not all(everywhere.issuperset(instance.within) for instance in instances) or any(
                takes[name] > amount for name, amount in least.items()
            ):
                found.add(panel.name)
    return found


def _whole_holder(panel: SnapshotNode, instances: Sequence[tuple[str, RunningInstance]]) -> str | None:
    """Return the job that has all GPUs of a panel; None if some are free or another's."""
    jobs = {job for job, _ in instances}
    whole = len(jobs) == 1 and sum(instance.gpus for _, instance in instances) >= panel.gpus
    return jobs.pop() if whole else None


def _condition(domains: Snapshot, pool: str, instances: Mapping[int, int]) -> bool | None:
    sizes = {node.gpus for node in domains.nodes if node.pool == pool}
    size = max(sizes, default=0)
    if len(sizes) != 1 or not size:
        return None
    return tier_condition([instances.get(panels, 0) for panels in range(1, size + 1)]).holds


def joint_workload(snapshot: Snapshot, domains: Snapshot, pool: str) -> HierarchicalWorkload | None:
    """Return what the joint optimum of a pool is asked about; None where there is none: see `DomainMeasurement`."""
    nodes = [node for node in snapshot.nodes if node.pool == pool and node.domain is not None]
    panels = {node.name: node for node in nodes}
    held = _held(snapshot, panels)
    sizes = {node.gpus for node in nodes}
    tops = [node for node in domains.nodes if node.pool == pool]
    alike = len(sizes) == len({node.gpus for node in tops}) == 1 and all(node.schedulable for node in nodes)
    used = snapshot.used_gpus()
    movable = all(x.movable for instances in held.values() for _, x in instances)
    if not alike or any(used[node.name] > node.gpus for node in nodes) or not movable:
        return None
    bound = any(group_of(kind) for content in snapshot.contents[pool] for kind in content.movable)
    if bound or not snapshot.kinds_are_exact(pool):
        return None
    (gpus,) = sizes
    shared = [instances for name, instances in held.items() if _whole_holder(panels[name], instances) is None]
    inside = Counter(x.gpus for instances in shared for _, x in instances)
    in_pool = {node.name for node in tops}
    whole = Counter(
        x.gpus for job in domains.jobs if job.name.startswith("job ") for x in job.instances if x.node in in_pool
    )
    return HierarchicalWorkload(
        inside=tuple(inside[demand] for demand in range(1, gpus)),
        whole=tuple(whole[panels] for panels in range(1, tops[0].gpus + 1)),
        domains=len(tops),
        panels_per_domain=tops[0].gpus,
        gpus_per_panel=gpus,
    )


def _optimum(workload: HierarchicalWorkload, deadline: Deadline) -> JointOptimum | None:
    try:
        return joint_optimum(workload, time_limit=deadline.seconds_left)
    except (UndecidedError, InfeasibleError):
        return None
