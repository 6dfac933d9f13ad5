"""One value of a document made another: still of its type, and of the words that its key knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tests.oracle.forger.trees import DROPPED, changed, key_of, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracle.forger.scenes import Data, Scene
    from tests.oracle.forger.trees import Way

# Powers of two that programs use for "no number known", or that are where numbers end.
FAR = (1 << 31, 1 << 40, 1 << 53)

_WORDS: dict[str, tuple[str, ...]] = {
    "status": ("optimal", "unknown"),
    "empty_nodes_after_status": ("optimal", "unknown"),
    "mode": ("checkpoint", "live"),
    "verdict": ("fits_now", "fits_after", "cannot", "unknown"),
    "constraint": ("cordoned", "immovable", "distinct nodes", "partition"),
    "reason": ("spread", "licenses"),
    "kind": ("capacity", "cordon", "demand", "immovable", "node", "overcommitted"),
    "proof": ("", "total of free GPUs", "weights 1 for a new instance", "search over live moves"),
}

# What is evidence says nothing itself: it has to prove what is said.
_EVIDENCE = ("argument", "further", "arguments", "plans")


def lies(data: Data, scene: Scene) -> list[tuple[Way, object]]:
    """Return places and what could stand there instead: every value in every way."""
    found = [
        (way, other)
        for way, value in values(data)
        if way[-1] != "schema" and not set(_EVIDENCE).intersection(way)
        for other in _others(way, value, scene)
        if other != value or isinstance(other, bool) is not isinstance(value, bool)
    ]
    dropped = [(way, DROPPED) for way, _ in values(data) if isinstance(way[-1], str)]
    return [*found, *dropped, *_unknown_keys(data)]


def told(data: Data, lie: tuple[Way, object]) -> Data:
    """Return the data with a lie in it."""
    return cast("Data", changed(data, *lie))


def _unknown_keys(data: Data) -> Iterator[tuple[Way, object]]:
    """Yield one key more, in every object that is not a table of names."""
    for way, value in [((), data), *values(data)]:
        if isinstance(value, dict) and (not way or way[-1] not in {"instances", "weights", "resources"}):
            yield (*way, "saved"), 7


def _others(way: Way, value: object, scene: Scene) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, value + 2, 0, *FAR)
    elif isinstance(value, float):
        yield from (value + 0.25, 0.0, 1.0)
    elif isinstance(value, str):
        yield from _texts(way, value, scene)
    elif isinstance(value, list):
        yield from _lists(way, cast("list[object]", value), scene)
    elif isinstance(value, dict) and way[-1] in {"instances", "weights"}:
        table = cast("dict[str, int]", value)
        yield from ({**table, key: count + 1} for key, count in table.items())
        yield from ({}, {**table, "5": 1} if way[-1] == "instances" else {**table, "j9": 0})
        if way[-1] == "weights":
            yield dict.fromkeys(scene.jobs, 0)
    if value is None:
        yield from _for_nothing(way, scene)
    elif way[-1] in {"pool", "wcc", "joint", "first", "migrations"} or str(way[-1]).startswith("max_"):
        yield None


def _for_nothing(way: Way, scene: Scene) -> Iterator[object]:
    if way[-1] == "pool":
        yield from scene.pools
    elif way[-1] == "wcc":
        yield from (True, False)
    elif way[-1] == "joint":
        yield from ({"partial_panels": k, "partial_domains": k, "open_panels": k} for k in (0, 1))
    elif way[-1] == "migrations" or str(way[-1]).startswith("max_"):
        yield from (-1, 0, 1, 2)


def _texts(way: Way, value: str, scene: Scene) -> Iterator[str]:
    name = _name(way)
    nodes = [f"n{n}" for n in range(len(scene.world.nodes))]
    names: dict[str, Sequence[str]] = {
        "from": nodes, "to": nodes, "node": nodes, "overcommitted": nodes, "pool": [*scene.pools, "c"],
        "job": [*scene.jobs, *(job.name for job in scene.pending)], "protected": [*scene.jobs, "j9"],
        "name": [*(job.name for job in scene.pending), "p0", "p1"], "index": ["0", "1"],
        "jobs": [job.name for job in scene.pending],
    }  # fmt: skip
    yield from names.get(name, _WORDS.get(name, ()))
    if name in {"reason", "proof", "text"}:
        digits = [i for i, letter in enumerate(value) if letter.isdigit()]
        yield from (f"{value[:i]}{(int(value[i]) + 1) % 10}{value[i + 1 :]}" for i in digits)
        yield "zzz"


def _lists(way: Way, value: list[object], scene: Scene) -> Iterator[Sequence[object]]:
    yield from ([], value[1:], value[:-1], value[::-1], [*value[1:], *value[:1]])
    name = way[-1]
    if name in {"protected", "overcommitted"}:
        names = scene.jobs if name == "protected" else [f"n{n}" for n in range(len(scene.world.nodes))]
        yield from (sorted({*cast("list[str]", value), more}) for more in names)


def _name(way: Way) -> str:
    return next(str(step) for step in reversed(way) if isinstance(step, str))


def statements(data: Data) -> set[str]:
    """Return the keys of a document that say something, without numbers."""
    return {
        key_of(way)
        for way, value in values(data)
        if isinstance(way[-1], str)
        and way[-1] != "schema"
        and not set(_EVIDENCE).intersection(way)
        and not (isinstance(value, dict) and way[-1] not in {"instances", "weights"})
        and not (len(way) > 1 and way[-2] in {"instances", "weights"})
    }
