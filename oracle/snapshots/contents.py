"""What the nodes of a snapshot hold, by kinds of instances, and the rules that say what else they may hold.

Two instances are of one kind if any arrangement stays legal when they change places: they have as many GPUs, may
stand on the same nodes, take as much of what is scarce, and belong to one job if that is spread over different nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from immutables import Map

from oracle.snapshots.kinds import FREE, Rules, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.entries import Guest, NodeSet, RunningInstance, RunningJob, SnapshotNode
    from oracle.snapshots.kinds import Kind


# Groups of a pool at most, where jobs that stand apart or scarce resources are told apart: each makes more states of a
# node.
MAX_GROUPS = 12


class Group(NamedTuple):
    """What sets instances apart beside their GPUs.

    Attributes
    ----------
    nodes
        Nodes of the pool where they may stand; None for all.
    job
        The job of which one instance at most may stand on a node, guests by number; None if two of these may.
    needs
        What each takes of further resources that are scarce somewhere in the pool: pairs, sorted by name.
    """

    nodes: frozenset[str] | None
    job: str | int | None
    needs: tuple[tuple[str, int], ...]


ANYWHERE = Group(None, None, ())
"""Instances that may stand wherever there is room: group 0."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """The movable instances of a pool by kind, and the rules of its nodes.

    Attributes
    ----------
    groups
        The groups; the number of one is its position. Group 0 is `ANYWHERE`.
    kinds
        The kind of each movable instance, by job and number.
    guests
        The kind of each of the guests that may be in the pool.
    rules
        Rules by node name; nodes not named have none.
    exact
        Whether the kinds tell all that matters apart. Where that would be too many kinds, what takes most of them is
        left out: jobs that stand apart, or resources. What is proved of these kinds holds of the cluster all the same,
        but not every arrangement of them can be had.
    """

    groups: tuple[Group, ...]
    kinds: Mapping[tuple[str, int], Kind]
    guests: Mapping[Guest, Kind]
    rules: Mapping[str, Rules]
    exact: bool


class Held(NamedTuple):
    """A running instance, its job and its number in it."""

    job: RunningJob
    number: int
    instance: RunningInstance


def ruled(
    nodes: Sequence[SnapshotNode],
    held: Sequence[Held],
    node_sets: Iterable[NodeSet],
    guests: Sequence[Guest] = (),
) -> Ruled:
    """Return the kinds of what is held on the nodes of one pool and of guests, and the rules of its nodes.

    What breaks a rule now may stay where it is: an instance is allowed on its node, a job with two instances on one
    node may have two, and a node has at least as much of everything as is taken.
    """
    return _Rulebook(nodes, held, node_sets, guests).made()


class _Rulebook:
    def __init__(
        self,
        nodes: Sequence[SnapshotNode],
        held: Sequence[Held],
        node_sets: Iterable[NodeSet],
        guests: Sequence[Guest],
    ) -> None:
        # As they are asked for, equal ones of unlike parts of a job too, and as they are seen here.
        self._listed = guests
        self._guests: dict[Guest, Guest] = {guest: guest for guest in guests}
        self._nodes: dict[str, SnapshotNode] = {node.name: node for node in nodes}
        self._sets = {one.name: one.nodes for one in node_sets}
        self._held: Sequence[Held] = held
        self._within: dict[tuple[str, ...], frozenset[str] | None] = {}
        self._keep_guests_apart()

    def _keep_guests_apart(self) -> None:
        """Keep guests from nodes with instances of their job, where two of these are on one node and may stay there.

        To keep any two apart would be too much. A thing is scarce of which a guest takes all that a node has, and an
        instance that runs the least there is.
        """
        for name in {guest.job for guest in self._guests if guest.distinct_nodes and isinstance(guest.job, str)}:
            nodes = [one.instance.node for one in self._held if one.job.name == name]
            count = len(nodes)
            if count == len(set(nodes)):
                continue
            thing = f"a place beside {name}"
            self._nodes = {
                node: replace(one, resources=Map({**one.resources, thing: count})) for node, one in self._nodes.items()
            }
            self._held = [
                one._replace(instance=replace(one.instance, resources=Map({**one.instance.resources, thing: 1})))
                if one.job.name == name
                else one
                for one in self._held
            ]
            self._guests = {
                guest: replace(seen, resources=Map({**seen.resources, thing: count}), distinct_nodes=False)
                if guest.job == name and guest.distinct_nodes
                else seen
                for guest, seen in self._guests.items()
            }

    def made(self) -> Ruled:
        apart, scarce = self._jobs_apart(), self._scarce()
        none: frozenset[str] = frozenset()
        # What guests ask for is left out last: where they may stand is looked up, where others may is tried.
        asked = apart.intersection(guest.job for guest in self._guests)
        wanted = scarce.intersection(name for guest in self._guests.values() for name in guest.resources)
        kept_apart, kept_scarce = apart, scarce
        told = self._told(apart, scarce)
        unlike = [*dict.fromkeys(group for _, group in told)]
        groups = _numbered(unlike, apart, scarce)
        for less in ((apart, wanted), (asked, scarce), (asked, wanted), (none, none)):
            if len(groups) <= MAX_GROUPS:
                break
            kept_apart, kept_scarce = less
            groups = _numbered(unlike, *less)
        exact = (kept_apart, kept_scarce) == (apart, scarce)
        numbers = {group: groups[_less(group, kept_apart, kept_scarce)] for group in unlike}
        kinds: dict[tuple[str, int], Kind] = {}
        guests: dict[Guest, Kind] = {}
        for one, group in told:
            if isinstance(one, Held):
                kinds[one.job.name, one.number] = kind_of(one.instance.gpus, numbers[group])
            else:
                guests[one] = kind_of(one.gpus, numbers[group])
        rules = {} if len(groups) == 1 else dict(self._rules(tuple(groups), kept_apart, kept_scarce))
        return Ruled(tuple(groups), kinds, guests, rules, exact=exact)

    def _told(self, apart: frozenset[str | int], scarce: frozenset[str]) -> list[tuple[Held | Guest, Group]]:
        """Return the group of each movable instance and guest if only these jobs and resources matter."""

        def group(one: RunningInstance | Guest, job: str | int, nodes: frozenset[str] | None) -> Group:
            needs = sorted((name, n) for name, n in one.resources.items() if n and name in scarce)
            return Group(nodes, job if job in apart else None, tuple(needs))

        found: list[tuple[Held | Guest, Group]] = [
            (held, group(held.instance, held.job.name, self._allowed(held.instance.within, held.instance.node)))
            for held in self._held
            if held.instance.movable
        ]
        found += [(one, group(seen, one.job, self._allowed(one.within))) for one, seen in self._guests.items()]
        return found

    def _jobs_apart(self) -> frozenset[str | int]:
        """Return the jobs whose instances are on different nodes, have to be, and would fit on one."""
        held: defaultdict[str | int, list[RunningInstance]] = defaultdict(list)
        for job, _, instance in self._held:
            if job.distinct_nodes:
                held[job.name].append(instance)
        gpus = {
            name: [instance.gpus for instance in those]
            for name, those in held.items()
            if len(those) == len({instance.node for instance in those})
        }
        for guest in (self._guests[one] for one in self._listed):
            if guest.distinct_nodes:
                gpus.setdefault(guest.job, []).extend([guest.gpus] * min(guest.instances, 2))
        room = max((node.gpus for node in self._nodes.values()), default=0)
        return frozenset(name for name, those in gpus.items() if len(those) > 1 and sum(sorted(those)[:2]) <= room)

    def _allowed(self, within: tuple[str, ...], node: str = "") -> frozenset[str] | None:
        """Return the nodes of the pool where an instance may stand, that it is on included; None for all of them."""
        if within not in self._within:
            inside = frozenset(self._nodes).intersection(*(self._sets[name] for name in within))
            self._within[within] = None if len(inside) == len(self._nodes) else inside
        allowed = self._within[within]
        return allowed if allowed is None or not node or node in allowed else allowed | {node}

    def _scarce(self) -> frozenset[str]:
        """Return the resources of which some node may run out before its GPUs do."""
        most: dict[str, tuple[int, int]] = {}
        asking: list[RunningInstance | Guest] = [instance for _, _, instance in self._held if instance.movable]
        for one in (*asking, *self._guests.values()):
            for name, n in one.resources.items():
                dearest = most.get(name, (0, 1))
                if n * dearest[1] > dearest[0] * one.gpus:
                    most[name] = n, one.gpus
        return frozenset(
            name
            for node in self._nodes.values()
            for name, have in node.resources.items()
            if name in most and self._is_short(node, have - self._fixed[node.name, name], *most[name])
        )

    def _is_short(self, node: SnapshotNode, have: int, wanted: int, gpus: int) -> bool:
        """Whether a node that has so much of something may run out of it, if it is wanted with so many GPUs."""
        return have * gpus < wanted * max(0, node.gpus - self._fixed[node.name, ""])

    @cached_property
    def _fixed(self) -> Counter[tuple[str, str]]:
        """What instances that cannot move take of each node, their GPUs under the name ``""``."""
        taken: Counter[tuple[str, str]] = Counter()
        for _, _, instance in self._held:
            if not instance.movable:
                taken[instance.node, ""] += instance.gpus
                for name, n in instance.resources.items():
                    taken[instance.node, name] += n
        return taken

    def _rules(
        self, groups: Sequence[Group], apart: frozenset[str | int], scarce: frozenset[str]
    ) -> Iterable[tuple[str, Rules]]:
        stuck: defaultdict[str | int, set[str]] = defaultdict(set)
        taken: Counter[tuple[str, str]] = Counter()
        for job, _, instance in self._held:
            if instance.movable:
                for name in scarce.intersection(instance.resources):
                    taken[instance.node, name] += instance.resources[name]
            elif job.name in apart:
                stuck[job.name].add(instance.node)
        teams = {job: n for n, job in enumerate(dict.fromkeys(group.job for group in groups if group.job is not None))}
        for node in self._nodes.values():
            shut = {
                g
                for g, group in enumerate(groups)
                if (group.nodes is not None and node.name not in group.nodes)
                or (group.job is not None and node.name in stuck[group.job])
            }
            open_ = [(g, group) for g, group in enumerate(groups) if g not in shut]
            spare = {
                name: max(node.resources[name] - self._fixed[node.name, name], taken[node.name, name], 0)
                for name in sorted(scarce.intersection(node.resources))
            }
            needs = tuple(
                (g, tuple(dict(group.needs).get(name, 0) for name in spare))
                for g, group in open_
                if spare and any(name in spare for name, _ in group.needs)
            )
            teams_open = tuple((g, teams[group.job]) for g, group in open_ if group.job is not None)
            rules = Rules(tuple(sorted(shut)), teams_open, tuple(spare.values()) if needs else (), needs)
            if rules != FREE:
                yield node.name, rules


def _less(group: Group, apart: frozenset[str | int], scarce: frozenset[str]) -> Group:
    """Return the group of which only these jobs stand apart, and only these resources are scarce."""
    job = group.job if group.job in apart else None
    return Group(group.nodes, job, tuple(need for need in group.needs if need[0] in scarce))


def _numbered(groups: Iterable[Group], apart: frozenset[str | int], scarce: frozenset[str]) -> dict[Group, int]:
    """Return what is left of groups, with numbers, if only these jobs stand apart, and these resources are scarce."""
    numbers: dict[Group, int] = {ANYWHERE: 0}
    for group in groups:
        numbers.setdefault(_less(group, apart, scarce), len(numbers))
    return numbers
