"""Slurm's two ways to write GPUs: generic resources (``gpu:a100:3(IDX:0,4-5)``) and TRES (``gres/gpu:a100=3``).

Both end in `Devices`, which keeps apart what a whole-GPU oracle must not add up: whole GPUs by type, MIG slices, and
the units of MPS and shard, which are shares of the whole GPUs of the same node.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from oracle.snapshots.model import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNTYPED = ""

# What Slurm prints where there is nothing to print.
_NOTHING = frozenset({"", "(null)", "n/a", "na", "none"})
_GPU = "gpu"
_SHARED = frozenset({"mps", "shard"})
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")
_PREFIX = re.compile(r"gres[:/]")
_COUNT = re.compile(r"(?P<digits>[0-9]{1,12})(?P<suffix>[KMGTPkmgtp]?)")
_SUFFIXES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_NUMBER_LIKE = re.compile(r"[-+0-9.]+")
# NVIDIA's profile names: 1g.10gb, 3g.40gb, a100_3g.20gb, 1g.10gb+me; and types that sites call mig outright.
_MIG = re.compile(r"(?<![0-9a-z])[1-9]g[._-]?[0-9]+gb|(?<![a-z])mig(?![a-z])", re.IGNORECASE)
_INDEX = re.compile(r"(?P<low>[0-9]{1,9})(?:-(?P<high>[0-9]{1,9}))?")
_PER_DEVICE = re.compile(r"\((?:[0-9]+/[0-9]+,?)+\)")
_FRACTION = re.compile(r"([0-9]+)/[0-9]+")


class GresError(ValueError):
    """A text that is no list of resources; the message says which part is wrong and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """MPS percentages or shards: how many units, and on how many GPUs they sit (None: the text does not say)."""

    units: int = 0
    touched: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """Devices of one node, one job or one request.

    `whole` and `mig` count devices by type, `shared` has the fractions by the type of the GPU they are cut from;
    `UNTYPED` stands for a type that is not given. `doubts` quotes the entries whose device list has another length
    than their count. The count holds then: Slurm's own sums are made of it.
    """

    whole: Mapping[str, int] = field(default_factory=dict[str, int])
    mig: Mapping[str, int] = field(default_factory=dict[str, int])
    shared: Mapping[str, Shared] = field(default_factory=dict[str, Shared])
    doubts: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        """Whole GPUs of all types."""
        return sum(self.whole.values())

    @property
    def slices(self) -> int:
        """MIG devices of all types."""
        return sum(self.mig.values())

    @property
    def units(self) -> int:
        """Units of MPS and shard on all types."""
        return sum(share.units for share in self.shared.values())

    def __bool__(self) -> bool:
        return bool(self.gpus or self.slices or self.units)


def is_nothing(text: str | None) -> bool:
    """Return whether Slurm printed a placeholder such as ``(null)`` or ``N/A``, or nothing at all."""
    return text is None or text.strip().lower() in _NOTHING


@dataclass(frozen=True, slots=True)
class _Item:
    text: str
    name: str
    type: str
    count: int
    detail: str


# Of the many thousand lists in a large input few differ.
@lru_cache(maxsize=4096)
def parse_gres(text: str | None) -> Devices:
    """Return the devices in a list of generic resources: Gres, GresUsed, gres_detail, tres_per_node and their like.

    Entries add up: ``gpu:tesla:2,gpu:kepler:2`` is four GPUs. Resources that are no GPUs are passed over.

    Raises
    ------
    GresError
        An entry is malformed, or its count is no whole number.
    """
    if text is None or is_nothing(text):
        return Devices()
    whole, mig, units = Counter[str](), Counter[str](), Counter[str]()
    touched: dict[str, int | None] = {}
    doubts: list[str] = []
    for item in _items(text):
        if item.name in _SHARED:
            units[item.type] += item.count
            touched[item.type] = _sum_known(touched.get(item.type, 0), _touched(item))
        elif item.name == _GPU:
            (mig if _MIG.search(item.type) else whole)[item.type] += item.count
            if _contradicts_index_list(item):
                doubts.append(item.text)
    shared = {type_: Shared(units=units[type_], touched=touched[type_]) for type_ in units}
    return Devices(whole=dict(whole), mig=dict(mig), shared=shared, doubts=tuple(doubts))


@lru_cache(maxsize=4096)
def parse_tres(text: str | None) -> Devices:
    """Return the devices in a TRES list: CfgTRES, AllocTRES, ReqTRES and their like.

    ``gres/gpu`` counts every GPU, those of ``gres/gpu:a100`` included, so that the two are never added together: what
    the total has beyond the types is untyped. Whether it has MIG slices in it, a TRES list does not tell.

    Raises
    ------
    GresError
        An entry is malformed, or the types have more GPUs than the total.
    """
    if text is None or is_nothing(text):
        return Devices()
    items = [_item(entry) for entry in text.strip().split(",") if _PREFIX.match(entry)]
    totals = [item.count for item in items if item.name == _GPU and not item.type]
    typed = [item for item in items if item.name == _GPU and item.type]
    whole, mig = Counter[str](), Counter[str]()
    for item in typed:
        (mig if _MIG.search(item.type) else whole)[item.type] += item.count
    if totals:
        untyped = max(totals) - sum(item.count for item in typed)
        if untyped < 0:
            raise GresError(f"gres/gpu={max(totals)} is less than the GPUs of its types in {shown(text)}")
        if untyped:
            whole[UNTYPED] = untyped
    shares = Counter[str]()
    for item in items:
        if item.name in _SHARED:
            # A typed entry repeats what the untyped total of its name has already, hence the largest and no sum.
            shares[UNTYPED] = max(shares[UNTYPED], item.count)
    shared = {type_: Shared(units=units, touched=None if units else 0) for type_, units in shares.items()}
    return Devices(whole=dict(whole), mig=dict(mig), shared=shared)


def _items(text: str) -> Iterator[_Item]:
    for entry in _COMMA_OUTSIDE_PARENTHESES.split(text.strip()):
        yield _item(entry)


def _item(entry: str) -> _Item:
    """Return one entry taken apart: ``[gres/]name[:type][:count][(detail)]``, or with ``=`` before the count."""
    body, parenthesis, rest = _PREFIX.sub("", entry.strip(), count=1).replace(":(null)", "").partition("(")
    if parenthesis and not (rest.endswith(")") and rest.count(")") == 1 and "(" not in rest):
        raise GresError(f"the parentheses in {shown(entry)} do not match")
    name, *values = re.split("[:=]", body)
    values = [value for value in values if value != "no_consume"]
    count = _COUNT.fullmatch(values[-1]) if values else None
    if count is not None:
        values.pop()
    if name == _GPU and (not _is_type(values, counted=count is not None) or ("=" in body and count is None)):
        raise GresError(
            f"{shown(entry)} is no number of GPUs, expected gpu:COUNT or gpu:TYPE:COUNT with a whole number"
        )
    detail = parenthesis + rest
    # Before Slurm 20.02 a job's own resources were printed as gpu(IDX:0-3), without a count.
    number = _listed(detail) if count is None else _number(count)
    return _Item(entry, name, ":".join(values), 1 if number is None else number, detail)


def _is_type(values: list[str], *, counted: bool) -> bool:
    """Return whether `values` are at most one type; 1080 is a type before a count, and 1.5 alone is a wrong count."""
    if len(values) > 1 or not all(values):
        return False
    return counted or not any(map(_NUMBER_LIKE.fullmatch, values))


def _number(count: re.Match[str]) -> int:
    return int(count["digits"]) * _SUFFIXES[count["suffix"].upper()]


def _touched(item: _Item) -> int | None:
    """Return on how many GPUs the units of MPS or shard sit; Slurm prints ``(0/4,2/4)``, used of all for each GPU."""
    if item.count == 0:
        return 0
    if not _PER_DEVICE.fullmatch(item.detail):
        return None
    return sum(bool(match[1].strip("0")) for match in _FRACTION.finditer(item.detail))


def _sum_known(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def index_count(text: str) -> int | None:
    """Return how many numbers a list such as ``0,2-3`` has; None where it is no such list."""
    ranges = [_INDEX.fullmatch(part) for part in text.split(",")]
    if None in ranges:
        return None
    return sum(1 if not r["high"] else int(r["high"]) - int(r["low"]) + 1 for r in ranges if r)


def _listed(detail: str) -> int | None:
    """Return how many devices ``(IDX:...)`` lists; None where nothing is listed, or nothing that can be read."""
    if not detail.startswith("(IDX:"):
        return None
    indexes = detail.removeprefix("(IDX:").removesuffix(")")
    return 0 if is_nothing(indexes) else index_count(indexes)


def _contradicts_index_list(item: _Item) -> bool:
    is_list = item.detail.startswith("(IDX:") and not is_nothing(item.detail.removeprefix("(IDX:").removesuffix(")"))
    return is_list and _listed(item.detail) != item.count
