"""CPUs and memory: what jobs have of them on each node, and what a node has for the jobs that have its GPUs.

A job's total is what Slurm counts (AllocTRES); the list by node (CPU_IDs, the JSON's allocation) says how it is spread,
as long as the two agree. Ending jobs have none left in Slurm's counts. Whether memory is handed out at all is a setting
that no output shows (SelectTypeParameters). It is, if anything that runs has some.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Final

from oracle.snapshots.model import shown
from oracle.snapshots.slurm.records import hosts_at
from oracle.snapshots.slurm.states import holds_gpus, is_ending, is_full

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.slurm.records import JobRecord, NodeRecord, Place

CPU: Final = "cpu"
MEMORY: Final = "memory"

_AMOUNT = re.compile(r"(?:^|,)(?P<name>cpu|mem)=(?P<value>[^,]*)")
_VALUE = re.compile(r"(?P<digits>[0-9]{1,15}(?:\.[0-9]{1,9})?)(?P<suffix>[KMGTP]?)", re.IGNORECASE)
_NAMES = {"cpu": CPU, "mem": MEMORY}
# Memory without a unit is in MB; K and the rest are what Slurm prints of large counts, too.
_IN_MB = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_TIMES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


class AmountError(ValueError):
    """A text that is no list of amounts; the message says which part is wrong."""


@lru_cache(maxsize=4096)
def amounts_of(text: str) -> Mapping[str, int]:
    """Return the CPUs and the memory in MB of a TRES list, of those that are in it.

    Raises
    ------
    AmountError
        One of the two is no number.
    """
    found: dict[str, int] = {}
    for match in _AMOUNT.finditer(text):
        value = _VALUE.fullmatch(match["value"])
        if value is None:
            raise AmountError(f"{shown(match[0].strip(','))} is no amount, expected a number such as 8 or 16G")
        suffix = value["suffix"].upper()
        if match["name"] == "mem":
            found[MEMORY] = ceil(float(value["digits"]) * _IN_MB[suffix])
        else:
            found[CPU] = ceil(float(value["digits"]) * _TIMES[suffix])
    return found


def amounts_at(place: Place, key: str, text: str) -> Mapping[str, int]:
    """Return the CPUs and the memory of a TRES list; a malformed one is an error at its place."""
    try:
        return amounts_of(text)
    except AmountError as error:
        raise place.error(key, str(error)) from error


def counted(nodes: Iterable[NodeRecord], jobs: Iterable[JobRecord]) -> tuple[str, ...]:
    """Return which of the two this cluster hands out: CPUs always, memory if anything that runs has some."""
    in_use = any(amounts_at(node.place, "tres_used", node.tres_used).get(MEMORY) for node in nodes)
    given = in_use or any(
        amounts_at(job.place, "tres_alloc_str", job.alloc_tres).get(MEMORY) for job in jobs if holds_gpus(job.states)
    )
    return (CPU, MEMORY) if given else (CPU,)


def shares_of(job: JobRecord, name: str) -> Mapping[str, int] | None:
    """Return what a running job has of CPUs or memory on each of its nodes, None where that is not told."""
    if is_ending(job.states):
        return {}
    hosts = hosts_at(job.place, "nodes", job.nodes)
    total = amounts_at(job.place, "tres_alloc_str", job.alloc_tres).get(name, job.cpus if name == CPU else 0)
    if total is None or not hosts:
        return None
    listed = _listed(job, name, hosts)
    if listed is not None and sum(listed.values()) == total:
        return listed
    return None if total % len(hosts) else dict.fromkeys(hosts, total // len(hosts))


def _listed(job: JobRecord, name: str, hosts: Sequence[str]) -> dict[str, int] | None:
    listed: dict[str, int] = {}
    for text, cpus, memory in job.shares:
        amount = cpus if name == CPU else memory
        if amount is None:
            return None
        listed |= dict.fromkeys(hosts_at(job.place, "job_resources", text), amount)
    return listed if listed.keys() == set(hosts) else None


def request_of(job: JobRecord, name: str, instances: int) -> tuple[int | None, bool]:
    """Return what a waiting job asks of each of its nodes at least, and whether each gets the same.

    ReqTRES is Slurm's own reckoning: it rounds CPUs up to whole cores, and has all memory of a node for ``--mem=0``.
    """
    total = amounts_at(job.place, "tres_req_str", job.req_tres).get(name, job.cpus if name == CPU else None)
    least = job.min_cpus or 0 if name == CPU else 0
    if total is None:
        return least or None, True
    return max(least, total // instances), not total % instances


def total_of(node: NodeRecord, name: str) -> int | None:
    """Return how much a node has for jobs, None where it does not say."""
    return node.cpus if name == CPU else node.memory


def offered(node: NodeRecord, name: str, held: int) -> int | None:
    """Return what a node has for its jobs with GPUs, which have `held` of it: all but what others have.

    None where the node does not say how much it has. A node that is called ALLOCATED has no CPU left.
    """
    total, used = total_of(node, name), node.cpus_used if name == CPU else node.memory_used
    if total is None:
        return None
    if name == CPU and is_full(node.states):
        used = total
    elif used is None:
        used = held
    return total - max(0, min(used, total) - held)
