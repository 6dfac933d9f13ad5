"""Events of a cluster as values, and the notation of event lists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from compass_core import Job

if TYPE_CHECKING:
    from collections.abc import Iterable


class NodeEventKind(Enum):
    """What happens to a node."""

    ADD = "add"
    DRAIN = "drain"
    FAIL = "fail"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job arrives."""

    job: Job


@dataclass(frozen=True, slots=True)
class Departure:
    """The job of that name departs. It may have been refused when it arrived: then there is nothing to do."""

    name: str


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """Something happens to a node; `node` is its index, and means nothing where a node is added.

    The index is below the number of nodes the cluster ever had, but the node need not be in a state for it: it may be
    offline when it is to be drained.
    """

    kind: NodeEventKind
    node: int


Event = Arrival | Departure | NodeEvent


def parse_events(text: str) -> tuple[Arrival | Departure, ...]:
    """Return the events of a list in the notation of the register.

    Parameters
    ----------
    text
        Comma-separated: ``3x2`` is the arrival of a job of 3 instances of 2 GPUs, ``-2`` the departure of the second
        job that arrived. Jobs are named by their number, from ``"1"``.
    """
    events: list[Arrival | Departure] = []
    arrived = 0
    for word in text.replace(" ", "").split(","):
        if word.startswith("-"):
            events.append(Departure(word[1:]))
        else:
            arrived += 1
            instances, gpus = word.split("x")
            events.append(Arrival(Job(str(arrived), int(instances), int(gpus))))
    return tuple(events)


def format_events(events: Iterable[Event]) -> str:
    """Return jobs' events in the notation that `parse_events` reads; events of nodes as ``add`` or ``drain 3``."""
    number: dict[str, int] = {}
    words: list[str] = []
    for event in events:
        match event:
            case Arrival(job):
                number[job.name] = len(number) + 1
                words.append(f"{job.instances}x{job.gpus}")
            case Departure(name):
                words.append(f"-{number[name]}")
            case NodeEvent(NodeEventKind.ADD):
                words.append("add")
            case NodeEvent(kind, node):
                words.append(f"{kind.value} {node}")
    return ", ".join(words)
