"""Which format a file is in, told from its header: file names prove nothing, and standard input has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from oracle.snapshots.model import shown
from simulation.jobs import TraceError
from simulation.traces.helios import ACME, HELIOS, HELIOS_REPACKAGED
from simulation.traces.native import NATIVE
from simulation.traces.openb import OPENB
from simulation.traces.pai import JOB_COLUMNS, PAI, STATUSES, TASK_COLUMNS
from simulation.traces.philly import JSON_NAME, PHILLY_REPACKAGED
from simulation.traces.spot import SPOT, SPOT_SAMPLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simulation.traces.formats import CsvFormat

CSV_FORMATS: Final[Mapping[str, CsvFormat]] = {
    format_.name: format_
    for format_ in (NATIVE, HELIOS, HELIOS_REPACKAGED, PHILLY_REPACKAGED, OPENB, SPOT, SPOT_SAMPLE, PAI, ACME)
}
"""The CSV formats by name; Philly's JSON log is the one that is none."""

FORMAT_NAMES: Final = tuple(sorted((*CSV_FORMATS, JSON_NAME)))
"""What ``--trace-format`` takes."""

PAI_JOBS: Final = "alibaba-pai jobs"
NODE_LIST: Final = "nodes"

_NODE_COLUMNS = ({"sn", "gpu", "model"}, {"node_name", "gpu_model", "gpu_capacity_num"})


def is_json(content: bytes) -> bool:
    """Whether a file is JSON rather than CSV."""
    return content.lstrip()[:1] in {b"[", b"{"}


def kind_of(name: str, first: Sequence[str]) -> str:
    """Return the name of the format whose columns the first row of a CSV file names; it may be a part of a trace.

    Parts are `PAI_JOBS`, the job table of PAI, and `NODE_LIST`, a list of nodes.

    Raises
    ------
    TraceError
        No known format.
    """
    names = set(first)
    if any(columns <= names for columns in _NODE_COLUMNS):
        return NODE_LIST
    known = [format_ for format_ in CSV_FORMATS.values() if names.issuperset(format_.columns)]
    if known:
        return max(known, key=lambda format_: len(format_.columns)).name
    if names.issuperset(JOB_COLUMNS) or (len(first) == len(JOB_COLUMNS) and first[3] in STATUSES):
        return PAI_JOBS
    if len(first) == len(TASK_COLUMNS) and first[3] in STATUSES:
        return PAI.name
    line = ",".join(first)
    problem = (
        f"not the header of a known trace: {shown(line)}; expected the columns of one of {', '.join(FORMAT_NAMES)}"
    )
    raise TraceError(f"{name}:1: {problem}")
