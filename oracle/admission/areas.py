"""Where a waiting job may start: the nodes of one pool, or those of several where its instances need not be in one.

Searches look at a snapshot that is made for the job: its instances are guests there, so that kinds and rules tell where
they may stand, and pools that it may use together are one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from oracle.snapshots.node_sets import NodeSets

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from oracle.admission.question import AskedJob, AskedPart, Waiting
    from oracle.snapshots.model import NodeContent, Snapshot


@dataclass(frozen=True)
class Area:
    """Nodes among which a job may start.

    Attributes
    ----------
    job
        The job; of one that has to be in one of several node sets, as it is in one of them.
    pools
        The pools of the cluster that it consists of.
    snapshot
        The cluster as searches see it.
    waiting
        The job, as it waits for the pool of that snapshot that is the area.
    """

    job: AskedJob
    pools: tuple[str, ...]
    snapshot: Snapshot
    waiting: Waiting

    @property
    def pool(self) -> str:
        """The name of the area: that of its pool, or those of its pools, and the node set that the job is in."""
        return self.waiting.pool

    @property
    def contents(self) -> tuple[NodeContent, ...]:
        """Its nodes with what they hold."""
        return self.snapshot.contents[self.waiting.pool]

    @cached_property
    def usable(self) -> tuple[NodeContent, ...]:
        """Those of its nodes on which an instance of the job may stand, if there is room."""
        inside = [nodes_within(self.snapshot, part) for part in self.waiting.parts]
        return tuple(node for node in self.contents if any(one is None or node.name in one for one in inside))


def areas_of(job: AskedJob, snapshot: Snapshot) -> tuple[Area, ...]:
    """Return where a job may start: each area by itself is enough."""
    choices = choices_of(job, snapshot)
    if job.within_one_of:
        # A set that has no node for some of it is not worth a word, unless none has.
        choices = [choice for choice in choices if _has_nodes(*choice, snapshot)] or choices
    found: list[Area] = []
    for one, pools in choices:
        found.append(area_in(one, snapshot, pools, [area.pool for area in found]))
    return tuple(found)


def choices_of(job: AskedJob, snapshot: Snapshot) -> list[tuple[AskedJob, list[str]]]:
    """Return the pools of the areas where a job may start, each with the job as it is in one of its node sets."""
    return [(one, pools) for one in job.alternatives for pools in pools_of(one, snapshot)]


def pools_of(job: AskedJob, snapshot: Snapshot) -> list[list[str]]:
    """Return the pools of the areas where a job may start.

    A job for any pool starts in one pool, if each of its parts may be in that. Where parts have to be in different
    pools, and where instances start one by one, all pools in which some of it may be are one area.
    """
    if job.pool is not None:
        return [[job.pool]] if job.pool in snapshot.pools else []
    pools = list(snapshot.pools)
    possible = [_pools_within(snapshot, part) for part in job.parts]
    some = [pool for pool in pools if any(pool in one for one in possible)]
    whole = [pool for pool in pools if all(pool in one for one in possible)]
    if not job.together:
        chosen = [some or pools]
    elif whole or not all(possible):
        chosen = [[pool] for pool in whole or pools]
    else:
        chosen = [some]
    return [area for area in chosen if area]


def area_in(job: AskedJob, snapshot: Snapshot, pools: Sequence[str], taken: Collection[str] = ()) -> Area:
    """Return the area of these pools, of which there is at least one.

    Parameters
    ----------
    job
        The job, in one node set of those that it has to be in one of.
    snapshot, pools
        The cluster and its pools.
    taken
        Names that other areas have.
    """
    snapshot, pool = snapshot.as_held, pools[0]
    if len(pools) > 1 or job.within_one_of:
        pool = " and ".join(pools) + "".join(f" (all in {name})" for name in job.within_one_of)
        while pool in snapshot.pools or pool in taken:
            pool += "'"
        snapshot = _as_one(snapshot, pools, pool)
    waiting = job.in_pool(pool)
    # A job that asks for GPUs only is of the simplest kinds: nothing has to be made anew for it.
    if not job.is_constrained:
        return Area(job, tuple(pools), snapshot, waiting)
    seen = replace(snapshot, guests=waiting.guests())
    return Area(job, tuple(pools), seen, waiting.in_pool(pool, seen.guest_kinds(pool)))


def nodes_within(snapshot: Snapshot, part: AskedPart) -> frozenset[str] | None:
    """Return the names of the nodes that are in all node sets of a part; None without any."""
    if not part.within:
        return None
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    first, *others = (sets[name] for name in part.within)
    return first.intersection(*others)


def is_in_one(job: AskedJob, snapshot: Snapshot, nodes: Collection[str]) -> bool:
    """Whether all these nodes are in one of the node sets of which a job has to be in one, if it has to."""
    sets = (one.nodes for one in snapshot.node_sets if one.name in job.within_one_of)
    return not job.within_one_of or any(one.issuperset(nodes) for one in sets)


def _pools_within(snapshot: Snapshot, part: AskedPart) -> Collection[str]:
    inside = nodes_within(snapshot, part)
    return snapshot.pools if inside is None else {node.pool for node in snapshot.nodes if node.name in inside}


def _has_nodes(job: AskedJob, pools: Collection[str], snapshot: Snapshot) -> bool:
    """Whether each part of a job has a node in these pools on which it may be."""
    names = {node.name for node in snapshot.nodes if node.pool in pools}
    inside = (nodes_within(snapshot, part) for part in job.parts)
    return all(one is None or not one.isdisjoint(names) for one in inside)


def _as_one(snapshot: Snapshot, pools: Sequence[str], name: str) -> Snapshot:
    """Return the snapshot in which these pools are one of this name, and all that runs may stay in its own."""
    nodes = tuple(replace(node, pool=name) if node.pool in pools else node for node in snapshot.nodes)
    if len(pools) == 1:
        return replace(snapshot, nodes=nodes)
    sets = NodeSets(snapshot.node_sets)
    pool_of = {node.name: node.pool for node in snapshot.nodes}
    own = {pool: _set_of(sets, pool, [node for node, of in pool_of.items() if of == pool]) for pool in pools}
    jobs = tuple(
        replace(
            job,
            instances=tuple(
                replace(one, within=(*one.within, own[pool_of[one.node]])) if pool_of[one.node] in own else one
                for one in job.instances
            ),
        )
        for job in snapshot.jobs
    )
    return replace(snapshot, nodes=nodes, jobs=jobs, node_sets=sets.all())


def _set_of(sets: NodeSets, pool: str, nodes: Sequence[str]) -> str:
    return sets.name_of("pool", pool, f"pool {pool}", lambda: nodes)
