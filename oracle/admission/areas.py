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
    pools
        The pools of the cluster that it consists of.
    snapshot
        The cluster as searches see it.
    waiting
        The job, as it waits for the pool of that snapshot that is the area.
    """

    pools: tuple[str, ...]
    snapshot: Snapshot
    waiting: Waiting

    @property
    def pool(self) -> str:
        """The name of the area: that of its pool, or those of its pools."""
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
    return tuple(area_in(job, snapshot, pools) for pools in pools_of(job, snapshot))


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


def area_in(job: AskedJob, snapshot: Snapshot, pools: Sequence[str]) -> Area:
    """Return the area of these pools, of which there is at least one."""
    snapshot, pool = snapshot.as_held, pools[0]
    if len(pools) > 1:
        snapshot, pool = _as_one(snapshot, pools)
    # A job that asks for GPUs only is of the simplest kinds: nothing has to be made anew for it.
    if not job.is_constrained:
        return Area(tuple(pools), snapshot, job.in_pool(pool))
    seen = replace(snapshot, guests=job.guests())
    return Area(tuple(pools), seen, job.in_pool(pool, seen.guest_kinds(pool)))


def nodes_within(snapshot: Snapshot, part: AskedPart) -> frozenset[str] | None:
    """Return the names of the nodes that are in all node sets of a part; None without any."""
    if not part.within:
        return None
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    first, *others = (sets[name] for name in part.within)
    return first.intersection(*others)


def _pools_within(snapshot: Snapshot, part: AskedPart) -> Collection[str]:
    inside = nodes_within(snapshot, part)
    return snapshot.pools if inside is None else {node.pool for node in snapshot.nodes if node.name in inside}


def _as_one(snapshot: Snapshot, pools: Sequence[str]) -> tuple[Snapshot, str]:
    """Return the snapshot in which these pools are one, its name, and all that runs may stay in its own."""
    sets, name = NodeSets(snapshot.node_sets), " and ".join(pools)
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
    nodes = tuple(replace(node, pool=name) if node.pool in own else node for node in snapshot.nodes)
    return replace(snapshot, nodes=nodes, jobs=jobs, node_sets=sets.all()), name


def _set_of(sets: NodeSets, pool: str, nodes: Sequence[str]) -> str:
    return sets.name_of("pool", pool, f"pool {pool}", lambda: nodes)
