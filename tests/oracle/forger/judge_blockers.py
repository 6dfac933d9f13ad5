"""Whether what is said to stand in the way of a job does: shortages are counted, restrictions lifted and all tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from tests.oracle.forger.truth import only, truth

if TYPE_CHECKING:
    from collections.abc import Container

    from tests.oracle.brute_moves import World
    from tests.oracle.forger.truth import Truth


class Blocker(msgspec.Struct):
    """One thing that is said to stand in the way."""

    kind: str
    gpus: int
    pool: str
    alone: bool
    text: str
    node: str | None = None
    job: str | None = None
    instance: int | None = None

    @property
    def words(self) -> str | None:
        """The same in words; None if there is no such kind."""
        gpus = f"{self.gpus} GPU{'' if self.gpus == 1 else 's'}"
        together = "" if self.alone else " (all such together)"
        which = f"instance {self.instance} of {self.job} on node {self.node} ({gpus})"
        return {
            "demand": f"the largest node, {self.node}, offers {gpus} less than one instance needs",
            "capacity": f"pool {self.pool} is short of {gpus}",
            "node": f"node {self.node} is short of {gpus}",
            "cordon": f"node {self.node} is cordoned with {gpus} free{together}",
            "immovable": f"{which} cannot be moved{together}",
            "overcommitted": f"node {self.node} holds {gpus} more than it offers and takes nothing",
        }.get(self.kind)


def stands(told: Blocker, instances: int, gpus: int, pool: str | None, known: Truth) -> bool:
    """Return whether this stands in the way of a job of so many instances, for this pool or any."""
    if told.text != told.words or pool not in {None, told.pool} or told.pool not in known.pools:
        return False
    if told.kind in {"cordon", "immovable"}:
        lifted = _lifted(told, known.world)
        if lifted is None:
            return False
        return truth(only(lifted, told.pool)).moves_to_room(instances, gpus, told.pool, live=False) is not None
    return told.alone and (told.job, told.instance) == (None, None) and _is_short(told, instances, gpus, known.world)


def _is_short(told: Blocker, instances: int, gpus: int, world: World) -> bool:
    used = world.used(world.start)
    nodes = {f"n{n}": n for n, node in enumerate(world.nodes) if node.pool == told.pool}
    if told.kind == "capacity":
        return told.node is None and told.gpus == instances * gpus - sum(world.free(world.start, told.pool)) > 0
    if told.node not in nodes:
        return False
    n = nodes[told.node]
    offered = world.nodes[n].gpus
    if told.kind == "demand":
        largest = max(world.nodes[n].gpus for n in nodes.values())
        return offered == largest and told.gpus == gpus - largest > 0
    if told.kind == "overcommitted":
        return told.gpus == used[n] - offered > 0
    return world.takes[n] and told.gpus == gpus - (offered - used[n]) % gpus


def _lifted(told: Blocker, world: World) -> World | None:
    """Return the world without a restriction, or without all of them; None if there is no such one."""
    used = world.used(world.start)
    nodes = {f"n{n}": n for n, node in enumerate(world.nodes) if node.pool == told.pool and used[n] <= node.gpus}
    if told.node not in nodes:
        return None
    n = nodes[told.node]
    node = world.nodes[n]
    if told.kind == "cordon":
        if node.schedulable or told.gpus != node.gpus - used[n] or (told.job, told.instance) != (None, None):
            return None
        return _lift(world, {n} if told.alone else range(len(world.nodes)), () if told.alone else _all(world))
    stuck = [i for i, one in enumerate(world.instances) if one.home == n and not one.movable]
    named = [i for i in stuck if (*world.key(i), world.instances[i].gpus) == (told.job, told.instance, told.gpus)]
    if not named:
        return None
    return _lift(world, () if told.alone else range(len(world.nodes)), named if told.alone else _all(world))


def _all(world: World) -> range:
    return range(len(world.instances))


def _lift(world: World, nodes: Container[int], instances: Container[int]) -> World:
    return replace(
        world,
        nodes=tuple(replace(one, schedulable=one.schedulable or n in nodes) for n, one in enumerate(world.nodes)),
        instances=tuple(replace(one, movable=one.movable or i in instances) for i, one in enumerate(world.instances)),
    )
