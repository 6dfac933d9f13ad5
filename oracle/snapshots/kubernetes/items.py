"""From documents to single objects: lists, lists within lists, several YAML documents in one file.

Nothing but the frame is decoded here. Each object stays undecoded until its kind is known, so that a list may hold
Services and custom resources whose fields clash with those of nodes and pods, and so that of a large cluster only one
object is unpacked at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec

from oracle.snapshots.document import Document, convert, decode_json, decode_yaml, json_lines
from oracle.snapshots.model import SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

NULL = "null"
_JSON = re.compile(rb"\s*[{\[]")
_CORE_API = "v1"

# kubectl never nests lists, scripts that merge its output do so once or twice. Each level is scanned once more for
# every level above it, so that deep nesting would cost time without bound.
_MAX_NESTING = 8

# Sections of an envelope, and the objects they have: those may not say it themselves.
_KINDS_OF_SECTIONS = {
    "nodes": ("Node", _CORE_API),
    "pods": ("Pod", _CORE_API),
    "priorityClasses": ("PriorityClass", "scheduling.k8s.io/v1"),
    "podDisruptionBudgets": ("PodDisruptionBudget", "policy/v1"),
    "resourceClaims": ("ResourceClaim", "resource.k8s.io/v1"),
    "resourceSlices": ("ResourceSlice", "resource.k8s.io/v1"),
}

# Enough to see how a JSON value begins, white space before it included.
_LOOK_AHEAD = 64


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: the document and the path inside it, such as ``items[12].spec``."""

    document: Document
    path: str = ""

    def at(self, path: str) -> Place:
        """Return the place of a part of what stands here."""
        return Place(self.document, _join(self.path, path))

    def error(self, path: str, problem: str) -> SnapshotError:
        """Return the error for `problem` at `path` inside this place."""
        return self.document.error(_join(self.path, path), problem)

    def __str__(self) -> str:
        return f"{self.document.name}: {self.path}" if self.path else self.document.name


@dataclass(frozen=True, slots=True)
class Item:
    """One object of the input, still undecoded.

    `kind` is ``Node`` or ``Pod`` for those of the core API, `NULL` for a null, the kind with its API group for
    everything else (``Node (longhorn.io/v1beta2)`` is no node), and for a list the list's own kind.
    """

    place: Place
    kind: str
    value: object

    def decode(self, type_: type[T]) -> T:
        """Return the object as a value of `type_`; errors name the path from the top of the document."""
        return _decode(self.place, self.value, type_)


class _JsonFrame(msgspec.Struct, frozen=True, rename="camel"):
    """What tells one object from another, its items left as bytes."""

    kind: str | None = None
    api_version: str | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET
    nodes: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    pods: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    raw_objects: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _YamlFrame(msgspec.Struct, frozen=True, rename="camel"):
    """The same for plain values."""

    kind: str | None = None
    api_version: str | None = None
    items: list[object] | msgspec.UnsetType | None = msgspec.UNSET
    nodes: object = msgspec.UNSET
    pods: object = msgspec.UNSET
    raw_objects: object = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class _Implied:
    """What a list says of items that do not say it themselves."""

    kind: str = ""
    api_version: str | None = None


def items_of(document: Document) -> Iterator[Item]:
    """Yield every list and every object of a document, each list before its items.

    Raises
    ------
    SnapshotError
        Malformed JSON or YAML, an empty document, or an object without a kind.
    """
    top = Place(document)
    if lines := json_lines(document.content):
        for number, line in enumerate(lines):
            yield from _walk(top.at(f"lines[{number}]"), msgspec.Raw(line), _Implied(), 0)
        return
    if _JSON.match(document.content):
        yield from _walk(top, msgspec.Raw(document.content), _Implied(), 0)
        return
    values = [value for value in decode_yaml(document) if value is not None]
    if not values:
        raise document.error("", "the input is empty; expected the output of `kubectl get nodes,pods -A -o json`")
    for number, value in enumerate(values):
        yield from _walk(top.at(f"documents[{number}]") if len(values) > 1 else top, value, _Implied(), 0)


def _walk(place: Place, value: object, implied: _Implied, depth: int) -> Iterator[Item]:
    if _is_null(value):
        yield Item(place, NULL, None)
        return
    if depth > _MAX_NESTING:
        raise place.error("", f"lists nested more than {_MAX_NESTING} deep")
    frame = _frame(place, value)
    if isinstance(frame, list):
        for number, item in enumerate(frame):
            yield from _walk(place.at(f"[{number}]"), item, _Implied(), depth + 1)
        return
    if not (frame.kind or implied.kind) and frame.items is msgspec.UNSET:
        if frame.raw_objects is not msgspec.UNSET:
            yield from _walk(place.at("rawObjects"), frame.raw_objects, _Implied(), depth + 1)
            return
        if frame.nodes is not msgspec.UNSET or frame.pods is not msgspec.UNSET:
            yield from _sections(place, value, depth)
            return
    kind, api_version = frame.kind or implied.kind, frame.api_version or implied.api_version
    if frame.items is msgspec.UNSET:
        yield Item(place, _named(place, kind, api_version), value)
        return
    yield Item(place, kind or "List", None)
    # Items of a NodeList need not repeat that they are nodes; those of a plain List must say what they are.
    below = _Implied((kind or "").removesuffix("List"), api_version)
    for number, item in enumerate(frame.items or ()):
        yield from _walk(place.at(f"items[{number}]"), item, below, depth + 1)


def _sections(place: Place, value: object, depth: int) -> Iterator[Item]:
    """Yield the objects of an envelope that has a list for each kind, as exports of schedulers have."""
    for section, items in _contents(place, value).items():
        kind, api_version = _KINDS_OF_SECTIONS.get(section, ("", None))
        there = place.at(section)
        if not kind:
            yield Item(there, section, None)  # whatever it is, it is noted
            continue
        yield Item(there, f"{kind}List", None)
        for number, item in enumerate(_listed(there, items)):
            yield from _walk(there.at(f"[{number}]"), item, _Implied(kind, api_version), depth + 1)


def _contents(place: Place, value: object) -> dict[str, object]:
    if isinstance(value, msgspec.Raw):
        return {**_decode(place, value, dict[str, msgspec.Raw])}
    return _decode(place, value, dict[str, object])


def _listed(place: Place, value: object) -> list[object]:
    if _is_null(value):
        return []
    return (
        [*_decode(place, value, list[msgspec.Raw])]
        if isinstance(value, msgspec.Raw)
        else _decode(place, value, list[object])
    )


def _is_null(value: object) -> bool:
    return value is None or (
        isinstance(value, msgspec.Raw) and bytes(memoryview(value)[:_LOOK_AHEAD]).strip() == b"null"
    )


def _frame(place: Place, value: object) -> _JsonFrame | _YamlFrame | list[object]:
    if isinstance(value, msgspec.Raw):
        is_array = bytes(memoryview(value)[:_LOOK_AHEAD]).lstrip().startswith(b"[")
        return [*_decode(place, value, list[msgspec.Raw])] if is_array else _decode(place, value, _JsonFrame)
    if isinstance(value, list):
        return _decode(place, value, list[object])  # pyright: ignore[reportUnknownArgumentType]  # checked there
    return _decode(place, value, _YamlFrame)


def _named(place: Place, kind: str | None, api_version: str | None) -> str:
    if not kind:
        raise place.error("kind", "missing; expected Node, Pod or List, as `kubectl get nodes,pods -A -o json` prints")
    # Other API groups have a Node of their own (Longhorn, OpenShift); theirs offers no GPUs.
    return kind if api_version in {None, _CORE_API} else f"{kind} ({api_version})"


def _decode(place: Place, value: object, type_: type[T]) -> T:
    if isinstance(value, msgspec.Raw) and not place.path:
        return decode_json(place.document, type_)
    # A part is decoded as a document of its own; its errors get the path to the part put before theirs.
    name = place.document.name
    try:
        if isinstance(value, msgspec.Raw):
            return decode_json(Document(name, bytes(value)), type_)
        return convert(Document(name, b""), value, type_)
    except SnapshotError as error:
        inner = error.path.removeprefix(name).removeprefix(": ")
        raise place.error(inner, error.problem) from error


def _join(path: str, inner: str) -> str:
    if not path or not inner:
        return path or inner
    return f"{path}{inner}" if inner.startswith("[") else f"{path}.{inner}"
