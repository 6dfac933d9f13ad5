"""How a job's instances and their GPUs are told from what a trace records of it.

Few traces say both w (instances) and g (GPUs of each). Most give the total, some the number of nodes as well. Each way
of telling is a `Shape` with a name and a description, and a loaded trace says how many of its jobs each one touched.
Whatever the way, w·g is the total that the trace records.
"""

from __future__ import annotations

from enum import Enum

_WHOLE_NODE = 8  # GPUs of a node in all the clusters that give a total only (Helios, Philly, Acme)


class Shape(Enum):
    """A way of telling (w, g)."""

    GIVEN = ("given", "the trace records instances and GPUs of each")
    BY_NODES = (
        "by-nodes",
        "one instance a recorded node: w = nodes, g = total / nodes, where that is whole and up to 8",
    )
    BY_SERVERS = ("by-servers", "one instance a server of the last attempt, where each server gave as many GPUs")
    BY_TOTAL = (
        "by-total",
        (
            "from the total alone: up to 8 GPUs one instance; a multiple of 8, instances of 8; "
            "otherwise instances of the largest divisor up to 8"
        ),
    )

    def __init__(self, label: str, description: str) -> None:
        self.label = label
        self.description = description


class ShapeRule(Enum):
    """What the reader may use to tell (w, g)."""

    RECORDED = ("recorded", "what the trace records of nodes or servers, and the total where that does not divide")
    TOTAL = ("total", "the total alone, except where the trace gives both numbers itself")

    def __init__(self, label: str, description: str) -> None:
        self.label = label
        self.description = description


def by_total(total: int) -> tuple[int, int]:
    """Return (w, g) for a job of which only the total of GPUs is known: `Shape.BY_TOTAL`.

    An assumption to state wherever results appear: nothing in such a trace says how the GPUs were spread.
    """
    if total <= _WHOLE_NODE:
        return 1, total
    gpus = next(g for g in range(_WHOLE_NODE, 0, -1) if total % g == 0)
    return total // gpus, gpus


def by_nodes(total: int, nodes: int, rule: ShapeRule) -> tuple[int, int, Shape]:
    """Return (w, g) and how they were told, for a job of `total` GPUs on `nodes` nodes.

    A share above 8 GPUs cannot be one of an 8-GPU node: the number of nodes is then not believed.
    """
    if rule is ShapeRule.RECORDED and nodes > 0 and total % nodes == 0 and total // nodes <= _WHOLE_NODE:
        return nodes, total // nodes, Shape.BY_NODES
    return *by_total(total), Shape.BY_TOTAL
