"""Lists of nodes that some traces come with: how many there are of which size. They say what the cluster was."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.traces.rows import MAX_GPUS, RowProblem, whole
from simulation.traces.table import Columns

if TYPE_CHECKING:
    from simulation.traces.table import Table


@dataclass(frozen=True, slots=True, order=True)
class NodeGroup:
    """Nodes of one model and one number of GPUs."""

    model: str
    gpus: int
    nodes: int


def read_nodes(table: Table) -> tuple[NodeGroup, ...]:
    """Return the nodes with GPUs, grouped, in order of model and GPUs; OpenB's list or the spot trace's.

    Raises
    ------
    TraceError
        A row that cannot be read: a list of nodes with holes is no list of nodes.
    """
    columns = Columns(table.header or ())
    gpus, model = ("gpu", "model") if columns.get("gpu_capacity_num") is None else ("gpu_capacity_num", "gpu_model")
    groups: Counter[tuple[str, int]] = Counter()
    for line, fields in table.rows():
        if len(fields) != columns.width:
            raise table.error(line, f"{len(fields)} fields, expected {columns.width}")
        try:
            count = whole(fields[columns[gpus]], gpus, MAX_GPUS)
        except RowProblem as problem:
            raise table.error(line, str(problem)) from problem
        if count:
            groups[fields[columns[model]], count] += 1
    return tuple(sorted(NodeGroup(name, count, nodes) for (name, count), nodes in groups.items()))
