"""Every key of a stored result says how it is rechecked, and what it says is so: keys are changed one by one."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import msgspec
import pytest

from docs.making.forms import DOCUMENTS, Form
from docs.making.forms.rechecked import RECHECKED, How, how_rechecked
from oracle.measurement.domains import measure_domains
from oracle.measurement.measure import measure
from oracle.verification import ResultError, verify
from tests.docs.test_json import reachable
from tests.oracle.brute_moves import random_world
from tests.oracle.mutations import mutations
from tests.oracle.test_verification import MAKERS, documents, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.snapshots.model import Snapshot
    from oracle.verification import Check
    from tests.oracle.mutations import Way

    Data = dict[str, object]

VERIFIED = ("measure", "plan", "admit", "admit-queue", "certificate", "migration-certificate")
FORMS = {form for name in VERIFIED for form in reachable(DOCUMENTS[name])}


@pytest.mark.parametrize("form", sorted(FORMS, key=repr))
def test_every_key_says_how_it_is_rechecked(form: type[Form]) -> None:
    said = [key for base in form.__mro__ for keys in RECHECKED.get(base, {}).values() for key in keys.split()]
    assert Counter(said) == Counter(form.__struct_encode_fields__)


def test_nothing_is_said_of_other_forms() -> None:
    assert {base for form in FORMS for base in form.__mro__} >= set(RECHECKED)
    assert all(not how_rechecked(form) for form in DOCUMENTS.values() if form not in FORMS)


# What is said is so


def _stored(data: Data) -> Data:
    return msgspec.json.decode(msgspec.json.encode(data), type=dict[str, object])


def _hierarchical(rng: random.Random) -> tuple[Snapshot, Data]:
    snapshot = random_world(rng).snapshot()
    nodes = tuple(replace(node, domain=rng.choice(["d", "e", None])) for node in snapshot.nodes)
    snapshot = replace(snapshot, nodes=nodes)
    data = {**measure(snapshot).to_dict(), "domains": measure_domains(snapshot).to_dict()}
    return snapshot, _stored(data)


def _cases(kind: str, count: int) -> Iterator[tuple[Snapshot, Data]]:
    if kind == "hierarchical":
        rng = random.Random(kind)
        for _ in range(count):
            yield _hierarchical(rng)
        return
    for world, data in documents(kind, count, 11):
        yield snapshot_of(world), data


def _outcome(data: Data, snapshot: Snapshot) -> tuple[Check, ...] | None:
    """Return the checks of what is not refused; None for what is."""
    try:
        checks = verify(data, snapshot)
    except ResultError:
        return None
    return None if any(check.holds is False for check in checks) else checks


def _form(data: Data) -> Form:
    return msgspec.convert(data, DOCUMENTS[str(data["schema"]).split("/")[1]])


def _how(document: Form, way: Way) -> How:
    """Return what is said of the last key of a form on the way."""
    place: object = document
    found: list[How] = []
    for step in way:
        match place:
            case Form():
                said = how_rechecked(type(place))
                found += [said[str(step)]] if step in said else []
                names = dict(zip(place.__struct_encode_fields__, place.__struct_fields__, strict=True))
                place = cast("object", getattr(place, names[str(step)])) if step in names else None
            case dict():
                place = cast("dict[str | int, object]", place)[step]
            case tuple():
                place = cast("tuple[object, ...]", place)[int(step)]
            case _:
                break
    return found[-1]


def _at(data: Data, way: Way) -> object:
    """Return what is there; nothing if the key was dropped."""
    place: object = data
    for step in way:
        if isinstance(place, dict) and step not in place:
            return msgspec.UNSET
        place = cast("dict[str | int, object]", place)[step]
    return place


def _changes(data: Data, rng: random.Random, most: int | None) -> Iterator[tuple[Way, Data]]:
    """Yield changed documents; what may be left out, because older files do not have it, is left in."""
    changed = list(mutations(data))
    for way, other in changed if most is None else rng.sample(changed, min(most, len(changed))):
        before, after = _at(data, way), _at(other, way)
        same = before == after and isinstance(before, bool) is isinstance(after, bool)
        if after is not msgspec.UNSET and not same:
            yield way, other


def _judge(kind: str, count: int, *, most: int | None) -> Counter[How]:
    rng = random.Random(kind)
    tried: Counter[How] = Counter()
    for snapshot, data in _cases(kind, count):
        assert _outcome(data, snapshot) is not None
        document = _form(data)
        for way, other in _changes(data, rng, most):
            how = _how(document, way)
            tried[how] += 1
            if how is How.DERIVED:
                assert _outcome(other, snapshot) is None, (way, _at(other, way))
            elif how is How.NAMED:
                checks = _outcome(other, snapshot)
                assert checks is None or any(check.holds is None for check in checks), (way, _at(other, way))
    return tried


KINDS = ("hierarchical", *MAKERS)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_derived_is_refused_and_what_is_named_is_named(kind: str) -> None:
    assert _judge(kind, 3, most=60)[How.DERIVED] > 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_what_is_derived_or_named(kind: str) -> None:
    assert _judge(kind, 4, most=None)[How.DERIVED] > 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_nobody_knows_is_refused_wherever_it_is(kind: str) -> None:
    for snapshot, data in _cases(kind, 2):
        for other in _with_more(data):
            for known in (snapshot, None):
                with pytest.raises(ResultError):
                    verify(other, known)


def _with_more(data: Data) -> Iterator[Data]:
    """Yield the document with one more key in each of its objects; those whose keys are names are left alone."""
    document = _form(data)

    def places(value: object, way: Way) -> Iterator[Way]:
        if isinstance(value, Form):
            yield way
            for name, field in zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True):
                yield from places(getattr(value, field), (*way, name))
        elif isinstance(value, tuple):
            for i, item in enumerate(cast("tuple[object, ...]", value)):
                yield from places(item, (*way, i))

    for way in places(document, ()):
        copied = _stored(data)
        cast("dict[str, object]", _at(copied, way))["more"] = 1
        yield copied
