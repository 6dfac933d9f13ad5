"""Slurm's short form of many host names, ``gpu[1-3,7],login``, spelled out.

The only module that touches ClusterShell, which has no types. ClusterShell is asked for single ranges only. Its node
sets are sets: they sort, while Slurm zips other lists with the *written* order (``worker-[1,0]`` is worker-1, then
worker-0), and they know groups and operators that a file must not be able to reach.
"""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import cast

from ClusterShell.RangeSet import RangeSet  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from oracle.snapshots.model import MAX_NODES, shown

# Slurm refuses longer lists than 64 Ki hosts a range. Without a limit ten characters of input could fill any memory.
MAX_HOSTS = MAX_NODES

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_ELEMENT = re.compile(r"(?:[A-Za-z0-9._-]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[(?P<ranges>[^\[\]]*)\]|(?P<plain>[^\[\]]+)")
_RANGE = re.compile(r"(?P<low>[0-9]{1,18})(?:-(?P<high>[0-9]{1,18}))?")
_COMMA_OUTSIDE_BRACKETS = re.compile(r",(?![^\[]*\])")


class HostlistError(ValueError):
    """A text that is no hostlist; the message says which part is wrong and what was expected."""


def expand_hostlist(text: str) -> tuple[str, ...]:
    """Return the host names of a Slurm hostlist, in the order they are written; none for an empty text.

    Raises
    ------
    HostlistError
        The text is no hostlist, a range runs backwards, or it names more than `MAX_HOSTS` hosts.

    Examples
    --------
    >>> expand_hostlist("gpu[08-10],login")
    ('gpu08', 'gpu09', 'gpu10', 'login')
    >>> expand_hostlist("worker-[1,0]")
    ('worker-1', 'worker-0')
    """
    stripped = text.strip()
    if not stripped:
        return ()
    if _NAME.fullmatch(stripped):
        return (stripped,)
    elements = [_parts_of(element) for element in _COMMA_OUTSIDE_BRACKETS.split(stripped)]
    size = sum(prod(sum(_size(low, high) for low, high in part) for part in parts) for parts in elements)
    if size > MAX_HOSTS:
        raise HostlistError(f"{_shown(stripped)} names {size} hosts, expected at most {MAX_HOSTS}")
    return tuple(name for parts in elements for name in _names(parts))


def _parts_of(element: str) -> list[list[tuple[str, str]]]:
    """Return an element as parts in a row, each with the ranges to choose from; plain text is a range to itself."""
    if not _ELEMENT.fullmatch(element):
        expected = "names of letters, digits, '.', '_' and '-', with ranges in brackets"
        raise HostlistError(f"{_shown(element)} is no host name or hostlist, expected {expected}")
    return [
        [_bounds(element, item) for item in match["ranges"].split(",")]
        if match["plain"] is None
        else [(match["plain"], "")]
        for match in _PART.finditer(element)
    ]


def _bounds(element: str, text: str) -> tuple[str, str]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise HostlistError(f"{_shown(text)} in {_shown(element)} is no range, expected numbers such as 3 or 08-11")
    low, high = match["low"], match["high"] or match["low"]
    if int(high) < int(low):
        raise HostlistError(f"the range {_shown(text)} in {_shown(element)} runs backwards")
    return low, high


def _size(low: str, high: str) -> int:
    return int(high) - int(low) + 1 if high else 1


def _names(parts: list[list[tuple[str, str]]]) -> list[str]:
    choices = [[text for low, high in part for text in _numbers(low, high)] for part in parts]
    return ["".join(chosen) for chosen in product(*choices)]


def _numbers(low: str, high: str) -> list[str]:
    """Return the numbers of one range as text, as wide as its low end at least: ``08-101`` is 08, ..., 99, 100, 101."""
    if not high:
        return [low]
    width = len(low)
    last = int(high)
    widest = min(last, 10**width - 1)
    # ClusterShell refuses bounds of different width, so what outgrows the padding is a second range.
    ranges = [f"{low}-{widest:0{width}d}"]
    if last > widest:
        ranges.append(f"{widest + 1}-{last}")
    return [number for text in ranges for number in _expand_range(text)]


def _expand_range(text: str) -> list[str]:
    return list(cast("list[str]", RangeSet(text)))


def _shown(text: str) -> str:
    return shown(text, limit=60)
