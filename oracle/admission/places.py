"""Nodes for the instances of waiting jobs, by name: whether each may stand where it is put, beside all others."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from oracle.admission.areas import is_in_one, nodes_within

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from oracle.admission.question import AskedJob, AskedPart, Waiting
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import NodeContent, Snapshot


@dataclass
class Ledger:
    """What nodes have for new instances, while these are put on them.

    Parameters
    ----------
    snapshot
        The cluster.
    contents
        Its nodes; only those that take instances are looked at.
    """

    snapshot: Snapshot
    contents: Sequence[NodeContent]

    def __post_init__(self) -> None:
        self.free = {one.name: one.capacity - one.used for one in self.contents if one.takes_instances}

    def put_most(self, job: AskedJob, pools: Collection[str] | None = None) -> dict[int, str]:
        """Put as many instances of a job on nodes as a rule of thumb finds room for; return the node of each by number.

        The largest come first, and the fullest nodes, of these pools only if they are named. They are the most there
        can be if all are alike.
        """
        found: dict[int, str] = {}
        shared = self._shared_with(job)
        nodes = sorted(
            (name for name in self.free if pools is None or self._pools[name] in pools),
            key=lambda name: (self.free[name], name),
        )
        for first, part in sorted(_numbered(job), key=lambda one: -one[1].gpus_per_instance):
            inside, left = nodes_within(self.snapshot, part), part.instances
            for name in nodes:
                if not left:
                    break
                if inside is not None and name not in inside:
                    continue
                for _ in range(min(left, self._copies(name, part, shared))):
                    found[first + part.instances - left] = name
                    left -= 1
                    self._take(name, part, shared)
        return found

    def remove(self, job: AskedJob, nodes: Mapping[int, str]) -> None:
        """Take instances of a job from their nodes again."""
        for first, part in _numbered(job):
            for i in range(first, first + part.instances):
                if i not in nodes:
                    break
                self._take(nodes[i], part, None, copies=-1)

    def put(self, job: AskedJob, nodes: Mapping[int, str]) -> bool:
        """Put instances of a job, by number, on nodes; return whether each may stand there beside all the others."""
        if not is_in_one(job, self.snapshot, nodes.values()):
            return False
        shared = self._shared_with(job)
        for first, part in _numbered(job):
            inside = nodes_within(self.snapshot, part)
            for i in range(first, first + part.instances):
                name = nodes.get(i)
                if name is None:
                    break
                if name not in self.free or (inside is not None and name not in inside):
                    return False
                if not self._copies(name, part, shared):
                    return False
                self._take(name, part, shared)
        return True

    def _shared_with(self, job: AskedJob) -> set[str] | None:
        """Return the nodes on which instances are that those of a job have to be apart from; None if there are none."""
        if not job.distinct_nodes:
            return None
        return {one.node for other in self.snapshot.jobs if other.name == job.more_of for one in other.instances}

    @cached_property
    def _pools(self) -> dict[str, str]:
        return {node.name: node.pool for node in self.snapshot.nodes}

    @cached_property
    def _spare(self) -> dict[str, dict[str, int]]:
        held = self.snapshot.used_resources
        spare: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for node in self.snapshot.nodes:
            spare[node.name] = {name: have - held[node.name, name] for name, have in node.resources.items()}
        return spare

    def _copies(self, name: str, part: AskedPart, shared: set[str] | None) -> int:
        copies = self.free[name] // part.gpus_per_instance
        if shared is not None:
            copies = min(copies, int(name not in shared))
        for resource, amount in part.resources.items():
            if amount and copies > 0 and resource in self._spare[name]:
                copies = min(copies, self._spare[name][resource] // amount)
        return max(0, copies)

    def _take(self, name: str, part: AskedPart, shared: set[str] | None, copies: int = 1) -> None:
        self.free[name] -= copies * part.gpus_per_instance
        if shared is not None:
            shared.add(name)
        for resource, amount in part.resources.items():
            if amount and resource in self._spare[name]:
                self._spare[name][resource] -= copies * amount


def _numbered(job: AskedJob) -> list[tuple[int, AskedPart]]:
    """Return the parts of a job, each with the number of its first instance."""
    return list(zip(job.firsts, job.parts, strict=True))


def spread(
    jobs: Sequence[Waiting], places: Mapping[Kind, Sequence[str]], counts: Sequence[Mapping[int, int]]
) -> list[dict[int, list[str]]]:
    """Return nodes for some instances of each part of some jobs, by position.

    Instances of one job get different nodes as far as that can be: those come first of which there are most, and the
    nodes that take most. Some get none if there are too few.

    Parameters
    ----------
    jobs
        The jobs.
    places
        Nodes by kind, each there as often as it takes instances.
    counts
        For each job how many instances of its parts, by position, get nodes.
    """
    left = {kind: Counter(names) for kind, names in places.items()}
    found: list[dict[int, list[str]]] = [{} for _ in jobs]
    used: list[set[str]] = [set() for _ in jobs]
    parts = [
        (job.distinct_nodes, number, -j, k)
        for j, (job, of_job) in enumerate(zip(jobs, counts, strict=True))
        for k, number in of_job.items()
    ]
    for distinct, number, minus_j, k in sorted(parts, reverse=True):
        j = -minus_j
        nodes, names = left.get(jobs[j].part_kinds[k], Counter()), found[j].setdefault(k, [])
        while nodes and len(names) < number:
            name = min(nodes, key=lambda name: (name in used[j], -nodes[name], name)) if distinct else next(iter(nodes))
            nodes[name] -= 1
            if not nodes[name]:
                del nodes[name]
            used[j].add(name)
            names.append(name)
    return found


def spread_one(job: Waiting, places: Mapping[Kind, Sequence[str]]) -> dict[int, str]:
    """Return a node for each instance of one job, by number, as far as there are enough."""
    (by_part,) = spread([job], places, [{k: part.instances for k, part in enumerate(job.parts)}])
    return {first + i: name for k, first in enumerate(job.firsts) for i, name in enumerate(by_part[k])}
