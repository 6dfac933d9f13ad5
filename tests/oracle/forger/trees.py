"""JSON data as trees: where values are, and copies in which one is another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.forger.scenes import Data

DROPPED = object()
"""Stands for no value where there was one."""

Way: TypeAlias = tuple[str | int, ...]
"""Where a value is."""


def values(data: object, way: Way = ()) -> Iterator[tuple[Way, object]]:
    """Yield every value below the whole, leaves and containers."""
    if way:
        yield way, data
    if isinstance(data, dict):
        for key, value in cast("Data", data).items():
            yield from values(value, (*way, key))
    elif isinstance(data, list):
        for i, value in enumerate(cast("list[object]", data)):
            yield from values(value, (*way, i))


def key_of(way: Way) -> str:
    """Return a way without its numbers: `pools[].status`."""
    return re.sub(r"\.\[\]", "[]", ".".join("[]" if isinstance(step, int) else step for step in way))


def at(data: object, *way: str | int) -> object:
    """Return what is at a place."""
    for step in way:
        data = cast("dict[str | int, object]", data)[step]
    return data


def item(data: object, *way: str | int) -> Data:
    """Return the object at a place."""
    return cast("Data", at(data, *way))


def items(data: object, *way: str | int) -> list[Data]:
    """Return the objects of the list at a place."""
    return cast("list[Data]", at(data, *way))


def integer(data: object, *way: str | int) -> int:
    """Return the number at a place; 0 where none is."""
    found = at(data, *way)
    return found if isinstance(found, int) else 0


def text(data: object, *way: str | int) -> str:
    """Return the text at a place."""
    return str(at(data, *way))


def changed(data: object, way: Way, value: object) -> object:
    """Return the data in which one place has another value; what is beside the way there is shared."""
    if not way:
        return value
    if isinstance(data, list):
        other = list(cast("list[object]", data))
        other[cast("int", way[0])] = changed(other[cast("int", way[0])], way[1:], value)
        return other
    table = dict(cast("Data", data))
    key = str(way[0])
    if way[1:] or value is not DROPPED:
        table[key] = changed(table.get(key), way[1:], value)
    else:
        del table[key]
    return table


def copied(data: object) -> object:
    """Return a copy of which nothing is shared."""
    if isinstance(data, dict):
        return {key: copied(value) for key, value in cast("Data", data).items()}
    return [copied(value) for value in cast("list[object]", data)] if isinstance(data, list) else data


def different(data: Data, other: Data) -> set[str]:
    """Return the keys of what is not the same in two documents, without numbers."""
    leaves, others = (
        {way: value for way, value in values(one) if not isinstance(value, dict)} for one in (data, other)
    )
    nothing = object()
    ways = leaves.keys() | others.keys()
    return {key_of(way) for way in ways if leaves.get(way, nothing) != others.get(way, nothing)}
