"""The page on JSON documents, and their JSON Schemas, made from the forms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec import inspect

from docs.making.forms import DOCUMENTS
from docs.making.forms.rechecked import how_rechecked
from oracle.snapshots.native_form import NativeSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docs.making.forms import Form

_HEAD = """<!-- made by `python -m docs.making`; change docs/making/forms, not this page -->

# The JSON of every command

With `-o json` a command prints one JSON document. Its key `schema` says which, with a version: `compass-abs/plan/2`. A
document may gain keys; those it has keep their names, types and meanings while the version stays.

Conventions: counts are integers, times are seconds, shares are numbers from 0 to 1. *Attained* is what was found and
anybody can check; *proved* is a bound that nothing can beat. Where the two are equal the status is `optimal`, otherwise
`unknown`, which claims nothing but the bounds. A key marked *optional* is left out where it has no meaning.

The column *verify* says how `sifopt verify` rechecks a key. *Asked*: it is the question, and every claim is checked as
an answer to it. *Derived*: it is written again from the snapshot, the moves and the certificates, and any other value
fails. *Proved*: it is a bound or what attains one, and an argument is recomputed, moves are played, packings are
counted; what rests on a search or a solver is named. *Named*: it is derived where it can be, and otherwise named as not
rechecked. A key that is in none of these tables is refused.

The tests hold these tables against what the commands print: no key is missing there, and none is missing here. Each
document has a JSON Schema of its own in `docs/schemas`. The input format, `compass-abs/snapshot/2`, has
[a page of its own](snapshot-format.md).
"""

_PLAIN: dict[type[inspect.Type], str] = {
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.StrType: "string",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
}


def json_page() -> str:
    """Return the page: every document with its keys, then the objects that stand in several places."""
    lines = [_HEAD]
    seen: set[type] = set()
    for name, form in DOCUMENTS.items():
        lines += [f"## compass-abs/{name}/1", "", f"JSON Schema: [schemas/{name}.json](schemas/{name}.json)", ""]
        lines += _objects(form, seen, level="###")
    return "\n".join(lines).rstrip() + "\n"


def snapshot_page(text: str) -> str:
    """Return the page on the native snapshot format with the tables of its keys between the two comments."""
    before, start, rest = text.partition("<!-- made by `python -m docs.making`: the keys -->\n")
    _, end, after = rest.partition("<!-- end -->\n")
    tables = "\n".join(_objects(NativeSnapshot, set(), level="##"))
    return f"{before}{start}\n{tables}\n{end}{after}"


def schemas() -> dict[str, str]:
    """Return the JSON Schema of every document by file name."""
    return {f"schemas/{name}.json": _schema(name, form) for name, form in DOCUMENTS.items()}


def _schema(name: str, form: type[Form]) -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"compass-abs/{name}/1"}
    return json.dumps(head | msgspec.json.schema(form), indent=2, ensure_ascii=False) + "\n"


def _objects(form: type, seen: set[type], level: str) -> Iterator[str]:
    """Yield the table of a form and then those of the forms in it that no earlier table had."""
    waiting = [form]
    while waiting:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen.add(current)
        info = inspect.type_info(current)
        assert isinstance(info, inspect.StructType)  # noqa: S101 - for the type checker
        if current is not form:
            yield f"{level} {current.__name__}"
            yield ""
        yield " ".join((current.__doc__ or "").split())
        yield ""
        yield from _table(info)
        waiting += [found.cls for field in info.fields for found in structs(field.type)]


def _table(info: inspect.StructType) -> Iterator[str]:
    rows = [(info.tag_field, f"`{json.dumps(info.tag)}`", "which kind of object this is")] if info.tag_field else []
    for field in sorted(info.fields, key=lambda field: field.encode_name != "schema"):
        kind = _in_words(field.type)
        if not field.required:
            kind += ", optional"
        rows.append((field.encode_name, kind, meaning(field.type)))
    how = how_rechecked(info.cls)
    yield "| key | type | meaning |" + " verify |" * bool(how)
    yield "|---|---|---|" + "---|" * bool(how)
    for key, kind, about in rows:
        rechecked = f" {how[key].value if key in how else 'read'} |" * bool(how)
        yield f"| `{key}` | {kind} | {about} |{rechecked}"
    yield ""


def meaning(kind: inspect.Type) -> str:
    """Return what a key of this type says of itself; nothing if it says nothing."""
    if isinstance(kind, inspect.Metadata):
        described = cast("dict[str, str]", getattr(kind, "extra_json_schema", None) or {})
        return described.get("description", "").replace("*", r"\*")
    return "name and version of the document" if isinstance(kind, inspect.LiteralType) else ""


def _in_words(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata():
            words = _in_words(kind.type)
        case inspect.StructType():
            words = f"[{kind.cls.__name__}](#{kind.cls.__name__.lower()})"
        case inspect.LiteralType():
            words = " or ".join(f"`{json.dumps(value)}`" for value in kind.values)
        case inspect.VarTupleType():
            words = f"list of {_in_words(kind.item_type)}"
        case inspect.TupleType():
            words = "[" + ", ".join(_in_words(item) for item in kind.item_types) + "]"
        case inspect.DictType():
            words = f"object: {_in_words(kind.key_type)} to {_in_words(kind.value_type)}"
        case inspect.UnionType():
            words = " or ".join(_in_words(item) for item in kind.types)
        case _:
            words = _PLAIN[type(kind)]
    return words


def structs(kind: inspect.Type) -> Iterator[inspect.StructType]:
    """Yield the objects that a value of this type may be, or have in it."""
    match kind:
        case inspect.Metadata():
            yield from structs(kind.type)
        case inspect.StructType():
            yield kind
        case inspect.VarTupleType():
            yield from structs(kind.item_type)
        case inspect.UnionType():
            for item in kind.types:
                yield from structs(item)
        case _:
            pass
