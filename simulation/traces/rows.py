"""What a reader makes of one row: a job, a reason to leave it out, or a problem.

The three are kept apart. A row is *left out* where a stated rule says so (no GPU, never started, still running); it is
*bad* where it contradicts itself or cannot be read. Both are counted and listed; strict reading fails on bad rows.
"""

from __future__ import annotations

import contextlib
import math
import re
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from oracle.snapshots.model import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.traces.shapes import Shape

# A gang of more instances is a misread column (a memory size, a time): the largest published one has 332.
MAX_INSTANCES: Final = 100_000
# Beyond 30,000 years a time is a misread number, and sums of times are no longer exact to the millisecond.
MAX_NUMBER: Final = 1e12
# As for nodes of snapshots: the largest scale-up domain sold as one node has 72 GPUs.
MAX_GPUS: Final = 1024

_MIG = re.compile(r"(?<![a-z0-9])(?:mig|[0-9]+g\.[0-9]+gb)(?![a-z0-9])", re.IGNORECASE)
_CALENDAR = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH = _EPOCH_UTC.replace(tzinfo=None)


class RowProblem(ValueError):  # noqa: N818 - a row has a problem; the trace has an error only under strict reading
    """A row that cannot be read: what stood there and what was expected."""


class Exclusion(Enum):
    """Why a sound row gives no job. The value is what the report says."""

    NO_GPU = "asks for no GPU"
    FRACTION = "asks for a part of a GPU"
    MIG = "asks for a MIG device"
    NEVER_STARTED = "never started"
    NOT_FINISHED = "has no end: still running or waiting when the trace was taken"


class Note(Enum):
    """What was done with a row that did give a job. The value is what the report says."""

    ZERO_DURATION = "ran for 0 s: kept, it ends at once"
    OTHER_DURATION = "the duration column is not end minus start: the difference was taken"
    ROUNDED_UP = "a part of a GPU rounded up to whole ones, as asked for"
    LAUNCH_TIME = "no time of submission without the job table: the time of launch was taken"
    OPEN_ATTEMPT = "an attempt lacks its start or its end: only the others were added up"
    STILL_RUNNING = "recorded as running, yet with an end: kept, with the time up to it"


class Fractions(Enum):
    """What is done with a job that asks for a part of a GPU. No scheduler here divides a GPU."""

    LEAVE_OUT = "leave-out"
    ROUND_UP = "round-up"


class Draft(NamedTuple):
    """A job as its row tells it; times are still in the trace's own origin."""

    name: str
    submit_s: float
    duration_s: float
    instances: int
    gpus: int
    pool: str | None
    shape: Shape
    state: str = ""
    notes: tuple[Note, ...] = ()


Reading: TypeAlias = "Draft | Exclusion"
RowReader: TypeAlias = "Callable[[Sequence[str]], Reading]"


def name_of(text: str, column: str) -> str:
    """Return a name, which no row may lack."""
    if not text:
        raise RowProblem(f"{column}: expected a name, got nothing")
    return text


def number(text: str, column: str) -> float:
    """Return a number, up to a million million either way."""
    value = _float(text)
    if not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise RowProblem(f"{column}: expected a number of at most {MAX_NUMBER:g}, got {shown(text)}")
    return value


def _float(text: str) -> float:
    """Return a number, NaN if the text is none; ``1_000``, which Python takes for one, is none."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def seconds(text: str, column: str) -> float:
    """Return a span of time: finite, 0 or more."""
    value = number(text, column)
    if value < 0:
        raise RowProblem(f"{column}: expected 0 s or more, got {shown(text)}")
    return value


def whole(text: str, column: str, most: int) -> int:
    """Return a whole number from 0 to `most`; ``8.0`` is one, as pandas writes columns that have gaps."""
    value = _float(text)
    if not (0 <= value <= most and value.is_integer()):
        raise RowProblem(f"{column}: expected a whole number from 0 to {most}, got {shown(text)}")
    return int(value)


def instances(text: str, column: str) -> int:
    """Return a number of instances, at least 1."""
    count = whole(text, column, MAX_INSTANCES)
    if count == 0:
        raise RowProblem(f"{column}: expected at least 1 instance, got {shown(text)}")
    return count


def total_gpus(text: str, column: str) -> int:
    """Return the GPUs of a whole gang."""
    return whole(text, column, MAX_INSTANCES * MAX_GPUS)


def is_blank(text: str) -> bool:
    """Whether a field says that there is no value, in any of the spellings of the published traces."""
    return not text or text.isspace() or text.strip().lower() in {"nan", "none", "null", "nat", "unknown"}


def is_mig(device: str) -> bool:
    """Whether the name of a device is that of a MIG slice, such as ``A100-MIG-1g.5gb``."""
    return _MIG.search(device) is not None


class Clock:
    """Reads the calendar times of one trace, which carry their offset from UTC all or none.

    A time without one is the wall clock of the cluster. It is read as if that clock never changed: a trace that spans
    a change of daylight saving is an hour off on one side of it.
    """

    __slots__ = ("_first", "_offset_s")

    def __init__(self) -> None:
        self._first = True
        self._offset_s: float | None = None

    def read(self, text: str, column: str) -> float:
        """Return the time as seconds since 1970 by the clock of the trace: with the offset of its first time."""
        moment = _calendar(text, column)
        offset = moment.utcoffset()
        if self._first:
            self._first, self._offset_s = False, None if offset is None else offset.total_seconds()
        elif (offset is None) is not (self._offset_s is None):
            expected = "without an offset from UTC" if self._offset_s is None else "with its offset from UTC"
            raise RowProblem(f"{column}: expected a time {expected}, like those before it, got {shown(text)}")
        if self._offset_s is None:
            return (moment - _EPOCH).total_seconds()
        return (moment - _EPOCH_UTC).total_seconds() + self._offset_s


def _calendar(text: str, column: str) -> datetime:
    if _CALENDAR.fullmatch(text):
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(text)
    raise RowProblem(f"{column}: expected a time such as 2020-06-09 18:41:01, got {shown(text)}")


def span(start_s: float, end_s: float, what: str) -> float:
    """Return the time between two moments, which must not run backwards."""
    if end_s < start_s:
        raise RowProblem(f"{what}: expected an end no earlier than the start, got {start_s - end_s:.0f} s before it")
    return end_s - start_s


def whole_gpus(share: float, fractions: Fractions) -> tuple[int, tuple[Note, ...]] | Exclusion:
    """Return the GPUs of an instance from a number that may be fractional, such as 0.5, by the rule asked for."""
    if share <= 0:
        return Exclusion.NO_GPU
    if share == int(share):
        return int(share), ()
    if fractions is Fractions.LEAVE_OUT:
        return Exclusion.FRACTION
    return math.ceil(share), (Note.ROUNDED_UP,)
