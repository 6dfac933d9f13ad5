"""From bytes to typed values: the one place where input is decoded and where decoding errors get their words."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, cast

import msgspec
import yaml
from yaml.constructor import ConstructorError

from oracle.snapshots.model import SnapshotError, shown
from oracle.snapshots.source import COSTLY, MAX_INPUT, STANDARD_INPUT, InputError, read_bytes, too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

# Enough for a cluster of jobs of one instance each, as densely written as can be.
_BYTES_AN_ARRAY = 32

_JSON = re.compile(rb"\s*[{\[]")
_TRAILING = re.compile(r"trailing characters \(byte (?P<byte>[0-9]+)\)")
_AT_PATH = re.compile(r"^(?P<problem>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one input, the name to call it by in messages, and how many bytes it was allowed."""

    name: str
    content: bytes
    max_input: int = field(default=MAX_INPUT, compare=False)

    def error(self, path: str, problem: str) -> SnapshotError:
        """Return the error for `problem` at `path` inside this document."""
        return SnapshotError(f"{self.name}: {path}" if path else self.name, problem)


def read_document(source: str | Path, *, max_input: int = MAX_INPUT) -> Document:
    """Return the content of a file, or of standard input for ``-``; gzip is unpacked, whatever the name.

    JSON has every key of an object once: programs differ in which of two they read.

    Parameters
    ----------
    source
        What is read.
    max_input
        Bytes at most, unpacked.

    Raises
    ------
    SnapshotError
        The file cannot be read, is damaged gzip, too large, or JSON with a key twice in one object.
    """
    name = "standard input" if source == STANDARD_INPUT else str(source)
    try:
        content = read_bytes(source, max_input)
    except InputError as error:
        raise SnapshotError(name, str(error)) from error
    document = Document(name, content.removeprefix(b"\xef\xbb\xbf"), max_input)
    for line in json_lines(document.content) or [document.content]:
        if _JSON.match(line):
            _check_keys(Document(document.name, line, document.max_input))
    return document


def json_lines(content: bytes) -> list[bytes]:
    """Return the lines of JSON that has a value on each of several lines, as `jq -c` prints it; else nothing."""
    first, _, rest = content.strip().partition(b"\n")
    first = first.rstrip()
    if not (first.startswith(b"{") and first.endswith(b"}") and rest.lstrip().startswith(b"{")):
        return []
    return [line for line in content.split(b"\n") if line.strip()]


def _check_keys(document: Document) -> None:
    """Refuse JSON in which a key is there twice. Of what is no JSON nothing is said: its decoder says it better."""
    # An array of three characters takes the memory of sixty: few bytes each mean that it is no snapshot.
    if document.content.count(b"[") * _BYTES_AN_ARRAY > document.max_input:
        raise document.error("", str(too_large(document.max_input, f"(an array counts {_BYTES_AN_ARRAY} bytes)")))

    any_twice = False

    def unique(pairs: list[tuple[str, object]]) -> _Twice | None:
        nonlocal any_twice
        if len(dict(pairs)) < len(pairs):
            any_twice = True
            counts = Counter(name for name, _ in pairs)
            return _Twice(next(name for name, count in counts.items() if count > 1))
        if not any_twice:
            return None
        inside = ((name, _twice_in(value)) for name, value in pairs)
        return next((_Twice(found.key, f".{name}{found.path}") for name, found in inside if found is not None), None)

    # msgspec cannot be asked. The standard library's decoder takes no longer for this than all the rest of reading.
    try:
        found = _twice_in(
            json.loads(document.content.decode(), object_pairs_hook=unique, parse_int=_nothing, parse_float=_nothing)
        )
    except RecursionError as error:
        raise document.error("", "nested too deep") from error
    except ValueError:
        return
    if found is not None:
        raise document.error(found.path.removeprefix("."), f"the key {shown(found.key)} is there twice, expected once")


@dataclass(frozen=True, slots=True)
class _Twice:
    """Stands for an object in which a key is there twice, or for one around it."""

    key: str
    path: str = ""


def _twice_in(value: object) -> _Twice | None:
    if isinstance(value, list):
        inside = ((i, _twice_in(item)) for i, item in enumerate(cast("list[object]", value)))
        return next((_Twice(found.key, f"[{i}]{found.path}") for i, found in inside if found is not None), None)
    return value if isinstance(value, _Twice) else None


def _nothing(_: str) -> None:
    """Stand for a number: its value is not asked for, and one of many digits would take long to convert."""


def decode_json(document: Document, type_: type[T]) -> T:
    """Return the document's JSON as a value of `type_`, a msgspec struct or anything msgspec can validate.

    Raises
    ------
    SnapshotError
        Malformed or truncated JSON, text that is not UTF-8, nesting too deep, or a value of the wrong type, with
        the path to it.
    """
    try:
        return msgspec.json.decode(document.content, type=type_)
    except msgspec.ValidationError as error:
        raise validation_error(document, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise document.error("", f"not valid JSON: {_describe(document, error)}") from error
    except RecursionError as error:
        raise document.error("", "nested too deep to be a snapshot") from error


def decode_yaml(document: Document) -> list[object]:
    """Return the YAML documents of the input as plain values (dicts, lists, strings, numbers).

    Words without quotes are what they are in JSON, else strings: time stamps, ``yes``, ``1:30``, ``010``, ``=``.
    Aliases are refused: kubectl prints none, and a few of them can unfold to more than any memory holds.

    Raises
    ------
    SnapshotError
        Malformed YAML, text that is not UTF-8, nesting too deep, a tag that JSON has no value for, or a value that its
        tag does not allow.
    """
    if len(document.content) > document.max_input // COSTLY:
        problem = str(too_large(document.max_input // COSTLY, "of YAML, which takes far more memory than JSON"))
        raise document.error("", problem)
    try:
        text = document.content.decode("utf-8")
        return list(_yaml_documents(text))
    except UnicodeDecodeError as error:
        raise document.error("", f"not UTF-8: {error.reason} at byte {error.start}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise document.error("", f"not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise document.error("", "nested too deep to be a snapshot") from error


def convert(document: Document, value: object, type_: type[T]) -> T:
    """Return plain data (such as a part of `decode_yaml`'s result) as a validated value of `type_`."""
    try:
        return msgspec.convert(value, type=type_)
    except msgspec.ValidationError as error:
        raise validation_error(document, error) from error
    except RecursionError as error:
        raise document.error("", "nested too deep to be a snapshot") from error


def validation_error(document: Document, error: msgspec.ValidationError) -> SnapshotError:
    """Return msgspec's complaint in our form: ``file: path: problem``."""
    match = _AT_PATH.match(str(error))
    problem = match["problem"] if match else str(error)
    path = (match["path"] or "") if match else ""
    return document.error(path.removeprefix("$").removeprefix("."), problem.replace("`", "'"))


def _describe(document: Document, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} at byte {error.start}"
    if not document.content.strip():
        return "the input is empty"
    trailing = _TRAILING.search(str(error))
    # Counted from 1: the first byte that is not white space behind the first value.
    if trailing and document.content[int(trailing["byte"]) - 1 :].startswith((b"{", b"[")):
        second = f"a second JSON document begins at byte {trailing['byte']}"
        return f"{second}; give the documents as separate files, or each on a line"
    return str(error)


if TYPE_CHECKING:
    _SafeLoader = yaml.SafeLoader
else:
    # The C loader is about eight times faster, but not every build of PyYAML has it.
    _SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_TAG = "tag:yaml.org,2002:"

# What a word without quotes is, by the characters it may begin with: JSON's own words, and the spellings of them that
# YAML 1.2 has. YAML 1.1 knows many more, and no two programs agree on them. kubectl writes with go-yaml, which puts
# every string in quotes that YAML 1.1 could take for something else (`"yes"`, `"1:30"`, `"010"`, `"0x1F"`, `"<<"`),
# and true and false, digits, and null for the rest. It leaves `=` as it is, as well as `0x_`. So whatever stands
# there without quotes and is not one of these words was meant as a string. A number with an exponent and no point
# (1e+06) is a number to go-yaml and a string to PyYAML: it stays a string, which quantities may be as well.
_WORDS: Final = (
    ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), "tTfF"),
    ("int", re.compile(r"-?(?:0|[1-9][0-9]*)\Z"), "-0123456789"),
    ("float", re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?\Z"), "-0123456789"),
    ("null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ("~", "n", "N", "")),
    ("merge", re.compile(r"<<\Z"), "<"),
)
_PATTERNS: Final = {name: pattern for name, pattern, _ in _WORDS}


class _JsonLikeLoader(_SafeLoader):
    """YAML as JSON would have it: no time stamps, sets or binary data, no merging, no aliases."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML reads this class attribute
        first: [(_TAG + name, pattern) for name, pattern, firsts in _WORDS if first in firsts]
        for first in {first for _, _, firsts in _WORDS for first in firsts}
    }

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        # Refused here and not when composing: the C loader composes without asking Python. Only an alias brings a
        # node back a second time.
        if node in self.constructed_objects or node in self.recursive_objects:
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"the value at line {line} is used again by an alias: aliases are not accepted")
        return super().construct_object(node, deep)  # pyright: ignore[reportUnknownMemberType]  # half typed stubs

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Refuse a key that is there twice, of which one would be lost in silence.

        So would ``<<`` be, where others merge another mapping into this one.
        """
        keys: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in keys:
                    raise ConstructorError(None, None, f"the key {shown(key.value)} is there twice", key.start_mark)
                keys.add((key.tag, key.value))
            if key.tag == _TAG + "merge":
                raise ConstructorError(None, None, "merge keys (<<) are not accepted", key.start_mark)

    def word(self, node: yaml.Node) -> object:
        """Return the value of a scalar that is, or is tagged to be, one of JSON's words."""
        text, name = str(self.construct_scalar(node)), node.tag.removeprefix(_TAG)  # type: ignore[arg-type]  # raises for others
        if _PATTERNS[name].match(text) is None:
            raise ConstructorError(None, None, f"{shown(text)} is no {name}", node.start_mark)
        try:
            return _FROM_WORD[name](text)
        except ValueError:  # Python converts no number of more than some thousand digits
            problem = f"{shown(text)} is no number anyone can use"
            raise ConstructorError(None, None, problem, node.start_mark) from None


_FROM_WORD: Final[dict[str, Callable[[str], object]]] = {
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
    "null": lambda _: None,
    "merge": str,
}

_JsonLikeLoader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.removeprefix(_TAG) in {"str", "seq", "map"}
} | {_TAG + name: _JsonLikeLoader.word for name in _FROM_WORD}


def _yaml_documents(text: str) -> Iterator[object]:
    yield from yaml.load_all(text, Loader=_JsonLikeLoader)
