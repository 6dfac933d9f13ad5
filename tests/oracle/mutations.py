"""Stored results with one thing changed, systematically."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

Way: TypeAlias = tuple[str | int, ...]
"""Where a value is in JSON data."""

_WORDS = ("", "optimal", "unknown", "fits_now", "fits_after", "cannot", "checkpoint", "live", "a", "b")


def mutations(data: dict[str, object]) -> Iterator[tuple[Way, dict[str, object]]]:
    """Yield the data with one value changed, dropped, swapped, reordered or doubled, and where that is."""
    strings: dict[str, set[str]] = {}
    for way, value in _values(data):
        if isinstance(value, str):
            strings.setdefault(_key(way), set()).add(value)
    for way, value in _values(data):
        for other in _others(value, strings.get(_key(way), set())):
            if other != value or type(other) is not type(value):
                yield way, _changed(data, way, other)
        if way and isinstance(way[-1], str):
            yield way, _dropped(data, way)


def _key(way: Way) -> str:
    return next((str(step) for step in reversed(way) if isinstance(step, str)), "")


def _values(data: object, way: Way = ()) -> Iterator[tuple[Way, object]]:
    if isinstance(data, dict):
        for key, value in cast("dict[str, object]", data).items():
            yield from _values(value, (*way, key))
    elif isinstance(data, list):
        for i, value in enumerate(cast("list[object]", data)):
            yield from _values(value, (*way, i))
    if way:
        yield way, data


def _others(value: object, same_key: set[str]) -> Iterator[object]:
    yield None
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, value + 2, 0, 1, -1, 10**20, -(10**20), float(value) + 0.5, str(value))
    elif isinstance(value, float):
        yield from (value + 0.25, -value, 1e308, 0)
    elif isinstance(value, str):
        yield from (*sorted(same_key), *_WORDS)
    elif isinstance(value, list):
        items = cast("list[object]", value)
        yield from ([], items[1:], items[:-1], items[::-1], [*items, *items[:1]], [*items[1:], *items[:1]])
    elif isinstance(value, dict):
        yield {}
    elif value is None:
        yield from (0, 1, "a", [])


def _place(data: dict[str, object], way: Way) -> dict[str | int, object]:
    place: object = data
    for step in way[:-1]:
        place = cast("dict[str | int, object]", place)[step]
    return cast("dict[str | int, object]", place)


def _changed(data: dict[str, object], way: Way, value: object) -> dict[str, object]:
    copied = copy.deepcopy(data)
    _place(copied, way)[way[-1]] = copy.deepcopy(value)
    return copied


def _dropped(data: dict[str, object], way: Way) -> dict[str, object]:
    copied = copy.deepcopy(data)
    del _place(copied, way)[way[-1]]
    return copied
