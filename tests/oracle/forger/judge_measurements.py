"""What of a measurement is false: every figure is counted again, every optimum found by trying all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, cast

import msgspec

from compass_core.hierarchy import tier_condition
from tests.oracle import brute_force
from tests.oracle.forger.judge_certificates import judge_certificate, judge_problem
from tests.oracle.forger.truth import Falsehood, only
from tests.oracle.hierarchy.every_arrangement import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracle.brute_moves import Instance, World
    from tests.oracle.forger.scenes import Data, Scene

_COUNTED = "figures"


class _Bounds(msgspec.Struct):
    nodes: int
    partial_nodes: int
    inherent_partial_nodes: int
    inherent_lower_bound: int
    ideal_partial_nodes: int
    ideal_lower_bound: int
    avoidable_partial_nodes: int
    sif: float
    empty_nodes_after: int
    empty_nodes_after_status: str
    status: str


class _Cost(msgspec.Struct):
    constraint: str
    partial_nodes: int
    partial_nodes_at_most: int
    certificate: dict[str, object]


class _Pool(_Bounds):
    pool: str
    certificate: dict[str, object]
    ideal_certificate: dict[str, object]
    constraints: list[_Cost]


class _Measurement(_Bounds):
    pools: list[_Pool]


class _DomainBounds(msgspec.Struct):
    domains: int
    partial_domains: int
    inherent_partial_domains: int
    inherent_lower_bound: int
    avoidable_partial_domains: int
    sif: float
    status: str
    wcc: bool | None


class _Joint(msgspec.Struct):
    partial_panels: int
    partial_domains: int
    open_panels: int


class _DomainPool(_DomainBounds):
    pool: str
    joint: _Joint | None


class _Domains(_DomainBounds):
    nodes_without_domain: int
    pools: list[_DomainPool]


def judge_measurement(data: Data, scene: Scene) -> Iterator[Falsehood]:
    """Yield what a measurement says that is false of a scene."""
    told = msgspec.convert(data, _Measurement)
    names = [pool.pool for pool in told.pools]
    asked = data.get("pool")
    if asked is not None and names != [asked]:
        yield Falsehood("pool", "pool")
    if asked is None and names != scene.pools:
        yield Falsehood("pools", "pool")
    if len(set(names)) < len(names) or not set(names) <= set(scene.pools):
        return
    pools = cast("list[Data]", data["pools"])
    parts = [only(scene.world, name) for name in names]
    for raw, pool, world in zip(pools, told.pools, parts, strict=True):
        yield from _judge_pool(raw, pool, world, scene)
    yield from _figures("", data, parts)
    if data.get("overcommitted") != _overcommitted(scene.world, names):
        yield Falsehood("overcommitted", _COUNTED)
    yield from _bounds("", told, parts)
    settled = all(pool.empty_nodes_after_status == "optimal" for pool in told.pools)
    if told.empty_nodes_after_status != ("optimal" if settled else "unknown"):
        yield Falsehood("empty_nodes_after_status", "empty")
    if "domains" in data:
        yield from _judge_domains(
            cast("Data", data["domains"]), scene, asked if isinstance(asked, str) else None, names
        )


def _judge_pool(data: Data, told: _Pool, world: World, scene: Scene) -> Iterator[Falsehood]:
    yield from _figures("pools[].", data, [world])
    if data.get("overcommitted") != _overcommitted(scene.world, [told.pool]):
        yield Falsehood("pools[].overcommitted", _COUNTED)
    yield from _bounds("pools[].", told, [world])
    for key, ideal in (("certificate", False), ("ideal_certificate", True)):
        certificate = cast("Data", data[key])
        yield from judge_certificate(certificate, f"pools[].{key}.")
        if not judge_problem(certificate["problem"], world, ideal=ideal):
            yield Falsehood(f"pools[].{key}.problem", "certificate")
    yield from _judge_costs(told.constraints, world)


def _judge_costs(told: Sequence[_Cost], world: World) -> Iterator[Falsehood]:
    """Yield what is false of costs: constraints that cost something have to be there, and others may be."""
    at = "pools[].constraints"
    inherent = _optima(world)[0]
    lifted = {
        "cordoned": replace(world, nodes=tuple(replace(node, schedulable=True) for node in world.nodes)),
        "immovable": replace(world, instances=tuple(replace(one, movable=True) for one in world.instances)),
    }
    free = {sort: other for sort, other in lifted.items() if other != world}
    costs = {sort: inherent - _optima(other)[0] for sort, other in free.items()}
    if not {sort for sort, cost in costs.items() if cost} <= {one.constraint for one in told}:
        yield Falsehood(at, "constraints")
    for one in told:
        if one.constraint not in free:
            yield Falsehood(f"{at}[].constraint", "constraints")
            continue
        if one.partial_nodes > costs[one.constraint]:
            yield Falsehood(f"{at}[].partial_nodes", "constraints")
        if one.partial_nodes_at_most < costs[one.constraint]:
            yield Falsehood(f"{at}[].partial_nodes_at_most", "constraints")
        yield from judge_certificate(one.certificate, f"{at}[].certificate.")
        if not judge_problem(one.certificate["problem"], free[one.constraint], ideal=False):
            yield Falsehood(f"{at}[].certificate.problem", "constraints")


def _figures(at: str, told: Data, worlds: Sequence[World]) -> Iterator[Falsehood]:
    counted = _together([_count(world) for world in worlds])
    yield from (Falsehood(f"{at}{key}", _COUNTED) for key, value in counted.items() if _differ(told.get(key), value))


def _overcommitted(world: World, pools: Sequence[str]) -> list[str]:
    used = world.used(world.start)
    return [f"n{n}" for n, node in enumerate(world.nodes) if node.pool in pools and used[n] > node.gpus]


def _differ(told: object, value: object) -> bool:
    return told != value or isinstance(told, bool) is not isinstance(value, bool)


def _count(world: World) -> dict[str, object]:
    used = world.used(world.start)
    free = [node.gpus - used[n] for n, node in enumerate(world.nodes) if world.takes[n]]
    instances = Counter(one.gpus for one in world.instances)
    need = sum((_slot(gpus) - gpus) * count for gpus, count in instances.items() if gpus > 1)
    return {
        "nodes": len(world.nodes),
        "gpus": sum(node.gpus for node in world.nodes),
        "used_gpus": sum(used),
        "free_gpus": sum(free),
        "instances": {str(gpus): count for gpus, count in instances.items()},
        "partial_nodes": sum(0 < used[n] < node.gpus for n, node in enumerate(world.nodes)),
        "empty_nodes": sum(used[n] == 0 < node.gpus for n, node in enumerate(world.nodes)),
        "full_nodes": sum(used[n] >= node.gpus > 0 for n, node in enumerate(world.nodes)),
        "unschedulable_nodes": sum(not node.schedulable for node in world.nodes),
        "largest_free_block": max(free, default=0),
        "wcc": need <= instances[1],
        "wcc_supply": instances[1],
        "wcc_need": need,
    }


def _slot(gpus: int) -> int:
    return next(1 << k for k in range(20) if 1 << k >= gpus)


def _together(parts: Sequence[dict[str, object]]) -> dict[str, object]:
    total: dict[str, object] = {}
    for key in parts[0] if parts else ():
        values = [part[key] for part in parts]
        if key == "instances":
            counts: Counter[str] = Counter()
            for value in values:
                counts.update(cast("dict[str, int]", value))
            total[key] = dict(counts)
        elif key == "wcc":
            total[key] = all(values)
        elif key == "largest_free_block":
            total[key] = max(cast("list[int]", values))
        else:
            total[key] = sum(cast("list[int]", values))
    return total


@cache
def _optima(world: World) -> tuple[int, int, int]:
    """Return the fewest partial nodes, the most empty ones then, and the ideal number."""
    cluster = brute_force.Cluster(
        tuple(brute_force.Node(node.pool, node.gpus, node.schedulable) for node in world.nodes),
        tuple(brute_force.Instance(one.home, one.gpus, one.movable) for one in world.instances),
    )
    partial, empty = brute_force.inherent(cluster)
    return partial, -empty, brute_force.ideal(cluster)[0]


def _bounds(at: str, told: _Bounds, worlds: Sequence[World]) -> Iterator[Falsehood]:
    optima = [_optima(world) for world in worlds]
    partial, empty, ideal = (sum(one[k] for one in optima) for k in range(3))
    nodes = sum(len(world.nodes) for world in worlds)
    for name, optimum in (("inherent", partial), ("ideal", ideal)):
        lower, upper = getattr(told, f"{name}_lower_bound"), getattr(told, f"{name}_partial_nodes")
        if lower > optimum:
            yield Falsehood(f"{at}{name}_lower_bound", "partial nodes")
        if not optimum <= upper <= nodes or (told.status == "optimal" and upper != optimum):
            yield Falsehood(f"{at}{name}_partial_nodes", "partial nodes")
    if told.avoidable_partial_nodes != told.partial_nodes - told.inherent_partial_nodes:
        yield Falsehood(f"{at}avoidable_partial_nodes", "avoidable")
    if told.sif != (told.avoidable_partial_nodes / nodes if nodes else 0):
        yield Falsehood(f"{at}sif", "avoidable")
    met = (
        told.inherent_lower_bound == told.inherent_partial_nodes and told.ideal_lower_bound == told.ideal_partial_nodes
    )
    if told.status != ("optimal" if met else "unknown"):
        yield Falsehood(f"{at}status", "avoidable")
    # How many are empty is said of packings that leave as few partial nodes as can be; of others nothing is known here.
    best = told.inherent_partial_nodes == partial
    if best and told.empty_nodes_after > empty:
        yield Falsehood(f"{at}empty_nodes_after", "empty")
    settled = not best or told.empty_nodes_after >= empty
    if told.empty_nodes_after_status != "unknown" and not (told.empty_nodes_after_status == "optimal" and settled):
        yield Falsehood(f"{at}empty_nodes_after_status", "empty")


# Domains


@dataclass(frozen=True)
class _Gang:
    """Panels that stay together."""

    panels: tuple[int, ...]
    whole: bool
    movable: bool


@dataclass(frozen=True)
class _Tier:
    """The domains of one pool: how many panels each has, and what is on them."""

    sizes: tuple[int, ...]
    held: tuple[tuple[_Gang, ...], ...]

    @property
    def gangs(self) -> list[_Gang]:
        return [gang for gangs in self.held for gang in gangs]


def _judge_domains(data: Data, scene: Scene, pool: str | None, names: Sequence[str]) -> Iterator[Falsehood]:
    told = msgspec.convert(data, _Domains)
    words = "domains"
    tiers = {name: _tier(scene, name) for name in names}
    expected = [name for name, tier in tiers.items() if tier.sizes]
    if [one.pool for one in told.pools] != expected:
        yield Falsehood("domains.pools", words)
        return
    asked = set(names) if pool is None else {pool}
    without = sum(
        domain is None and node.pool in asked for domain, node in zip(scene.domains, scene.world.nodes, strict=True)
    )
    if told.nodes_without_domain != without:
        yield Falsehood("domains.nodes_without_domain", words)
    for raw, one in zip(cast("list[Data]", data["pools"]), told.pools, strict=True):
        yield from _tier_figures("domains.pools[].", raw, one, [tiers[one.pool]])
        if one.wcc != _condition(tiers[one.pool]):
            yield Falsehood("domains.pools[].wcc", words)
        yield from _judge_joint(one, scene, tiers[one.pool])
    yield from _tier_figures("domains.", data, told, [tiers[name] for name in expected])
    conditions = [_condition(tiers[name]) for name in expected]
    if told.wcc != (None if None in conditions else all(conditions)):
        yield Falsehood("domains.wcc", words)


def _tier(scene: Scene, pool: str) -> _Tier:
    world = scene.world
    panels = [
        n for n, node in enumerate(world.nodes) if node.pool == pool and scene.domains[n] is not None and node.gpus
    ]
    counts = Counter(world.nodes[n].gpus for n in panels)
    usual = max(counts, key=lambda gpus: (counts[gpus], gpus), default=0)
    on: dict[int, list[Instance]] = {n: [one for one in world.instances if one.home == n] for n in panels}
    fixed = {
        n
        for n in panels
        if not world.nodes[n].schedulable or world.nodes[n].gpus != usual or any(not one.movable for one in on[n])
    }
    sizes: Counter[str] = Counter()
    gangs: dict[tuple[str, str], list[int]] = {}
    for n in panels:
        domain = scene.domains[n] or ""
        sizes[domain] += bool(on[n]) or n not in fixed
        if on[n]:
            whole = is_held_whole(on[n], world.nodes[n].gpus)
            gangs.setdefault((domain, f"job {on[n][0].job}" if whole else f"panel {n}"), []).append(n)
    held = tuple(
        tuple(
            _Gang(tuple(members), owner.startswith("job"), fixed.isdisjoint(members))
            for (at, owner), members in gangs.items()
            if at == domain
        )
        for domain in sizes
    )
    return _Tier(tuple(sizes.values()), held)


def is_held_whole(instances: Sequence[Instance], gpus: int) -> bool:
    """Whether one job has all GPUs of a panel, so that its panels in one domain stay together."""
    return len({one.job for one in instances}) == 1 and sum(one.gpus for one in instances) >= gpus


@cache
def _fewest_domains(tier: _Tier) -> int:
    cluster = brute_force.Cluster(
        tuple(brute_force.Node("a", size, schedulable=True) for size in tier.sizes),
        tuple(brute_force.Instance(d, len(gang.panels), gang.movable) for d, on in enumerate(tier.held) for gang in on),
    )
    return brute_force.inherent(cluster)[0]


def _tier_figures(at: str, raw: Data, told: _DomainBounds, tiers: Sequence[_Tier]) -> Iterator[Falsehood]:
    used = [sum(len(gang.panels) for gang in gangs) for tier in tiers for gangs in tier.held]
    sizes = [size for tier in tiers for size in tier.sizes]
    pairs_ = list(zip(used, sizes, strict=True))
    counted: dict[str, object] = {
        "domains": len(sizes),
        "panels": sum(sizes),
        "used_panels": sum(used),
        "instances": {
            str(size): count
            for size, count in Counter(len(gang.panels) for tier in tiers for gang in tier.gangs).items()
        },
        "partial_domains": sum(0 < held < size for held, size in pairs_),
        "empty_domains": sum(held == 0 < size for held, size in pairs_),
        "largest_free_block": max((size - held for held, size in pairs_), default=0),
    }
    words = "domains"
    yield from (Falsehood(f"{at}{key}", words) for key, value in counted.items() if _differ(raw.get(key), value))
    fewest = sum(map(_fewest_domains, tiers))
    if told.inherent_lower_bound > fewest:
        yield Falsehood(f"{at}inherent_lower_bound", words)
    known = told.inherent_partial_domains
    if not fewest <= known <= len(sizes) or (told.status == "optimal" and known != fewest):
        yield Falsehood(f"{at}inherent_partial_domains", words)
    if told.avoidable_partial_domains != told.partial_domains - known:
        yield Falsehood(f"{at}avoidable_partial_domains", words)
    if told.sif != (told.avoidable_partial_domains / len(sizes) if sizes else 0):
        yield Falsehood(f"{at}sif", words)
    if told.status != ("optimal" if told.inherent_lower_bound == known else "unknown"):
        yield Falsehood(f"{at}status", words)


def _condition(tier: _Tier) -> bool | None:
    if len(set(tier.sizes)) != 1 or not tier.sizes[0]:
        return None
    counts = Counter(len(gang.panels) for gang in tier.gangs)
    return tier_condition([counts[panels] for panels in range(1, tier.sizes[0] + 1)]).holds


def _judge_joint(told: _DomainPool, scene: Scene, tier: _Tier) -> Iterator[Falsehood]:
    if told.joint is None:
        return
    world = scene.world
    nodes = [n for n, node in enumerate(world.nodes) if node.pool == told.pool and scene.domains[n] is not None]
    sizes = {world.nodes[n].gpus for n in nodes}
    instances = [one for one in world.instances if one.home in nodes]
    odd = len(sizes) != 1 or len(set(tier.sizes)) != 1 or not all(world.takes[n] for n in nodes)
    if odd or not all(one.movable for one in instances):
        yield Falsehood("domains.pools[].joint", "domains")
        return
    (gpus,) = sizes
    whole = {n for gang in tier.gangs if gang.whole for n in gang.panels}
    inside = Counter(one.gpus for one in instances if one.home not in whole)
    blocks = Counter(len(gang.panels) for gang in tier.gangs if gang.whole)
    size = tier.sizes[0]
    found = pairs(
        [inside[demand] for demand in range(1, gpus)],
        [blocks[panels] for panels in range(1, size + 1)],
        domains=len(tier.sizes),
        size=size,
        gpus=gpus,
    )
    best = min(found)
    if (told.joint.partial_panels, told.joint.partial_domains) != best:
        yield Falsehood("domains.pools[].joint", "domains")
        return
    held = sum(inside[demand] * demand for demand in inside)
    full, partial = told.joint.open_panels - best[0], best[0]
    if not full * gpus + partial <= held <= full * gpus + partial * (gpus - 1):
        yield Falsehood("domains.pools[].joint.open_panels", "domains")
