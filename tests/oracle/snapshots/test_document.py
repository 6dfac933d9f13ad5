"""Reading and decoding: whatever the bytes, the answer is a value or an error that names the input."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.document import Document, convert, decode_json, decode_yaml, read_document
from oracle.snapshots.model import SnapshotError

if TYPE_CHECKING:
    from pathlib import Path


class TestReading:
    """Any file, standard input, gzip or not."""

    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_bytes(b"{}")
        assert read_document(path) == Document(str(path), b"{}")

    def test_gzip_is_told_from_the_content_not_from_the_name(self, tmp_path: Path) -> None:
        path = tmp_path / "plain-name.json"
        path.write_bytes(gzip.compress(b"{}"))
        assert read_document(str(path)).content == b"{}"

    def test_several_gzip_members_make_one_content(self, tmp_path: Path) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(b"{") + gzip.compress(b"}"))
        assert read_document(path).content == b"{}"

    @pytest.mark.parametrize("damage", [slice(0, 12), slice(0, -4), slice(0, 3)])
    def test_truncated_gzip(self, tmp_path: Path, damage: slice) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(b"x" * 100)[damage])
        with pytest.raises(SnapshotError, match=r"a\.gz: damaged gzip: "):
            read_document(path)

    @given(st.binary(max_size=40))
    def test_anything_that_calls_itself_gzip(self, tail: bytes) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\x1f\x8b" + tail)))
            try:
                read_document("-")
            except SnapshotError as error:
                assert "damaged gzip" in str(error)  # noqa: PT017 - whole gzip is possible too

    def test_a_byte_order_mark_is_dropped(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_bytes(b"\xef\xbb\xbf{}")
        assert read_document(path).content == b"{}"

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"{}"))))
        assert read_document("-") == Document("standard input", b"{}")

    def test_closed_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(SnapshotError, match="standard input: cannot be read"):
            read_document("-")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(SnapshotError, match=r"nowhere\.json: cannot be read: No such file or directory"):
            read_document(tmp_path / "nowhere.json")

    def test_a_directory(self, tmp_path: Path) -> None:
        with pytest.raises(SnapshotError, match="cannot be read: Is a directory"):
            read_document(tmp_path)

    def test_a_file_one_may_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.json"
        path.write_bytes(b"{}")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
        with pytest.raises(SnapshotError, match="cannot be read: Permission denied"):
            read_document(path)

    def test_a_name_no_file_can_have(self) -> None:
        with pytest.raises(SnapshotError, match="cannot be read: "):
            read_document("a\0b")


class Nested(msgspec.Struct):
    """Something with a list, and with room for things nobody asked for."""

    a: list[int] = []
    name: str = ""


class TestJson:
    """Decoding errors name the input, and the place where there is one."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "f: not valid JSON: the input is empty"),
            (b" \n", "f: not valid JSON: the input is empty"),
            (b'{"a": [1, 2', "f: not valid JSON: Input data was truncated"),
            (b'{"a": [1]} x', "f: not valid JSON: JSON is malformed: trailing characters (byte 12)"),
            (b'{"a": [1]}\n{"a": [2]}\n', "f: not valid JSON: a second JSON document begins at byte 12; give the"),
            (b'{"a": [1]}[]', "f: not valid JSON: a second JSON document begins at byte 11; give the documents as sep"),
            (b'{"a": [1,]}', "f: not valid JSON: JSON is malformed: trailing comma in array (byte 9)"),
            (b'{"name": "\xff"}', "f: not valid JSON: Invalid UTF-8 encoded string"),
            (b'{"else": ' + b"[" * 200_000, "f: nested too deep to be a snapshot"),
            (b'{"a": [1, "x"]}', "f: a[1]: Expected 'int', got 'str'"),
            (b"[]", "f: Expected 'object', got 'array'"),
        ],
    )
    def test_messages(self, content: bytes, message: str) -> None:
        with pytest.raises(SnapshotError) as caught:
            decode_json(Document("f", content), Nested)
        assert str(caught.value).startswith(message)


# What YAML takes as it stands, between quotes.
_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc", "Cs"]), max_size=6)


class TestYaml:
    """YAML as kubectl prints it, and nothing that could unfold to more."""

    def test_several_documents(self) -> None:
        assert decode_yaml(Document("f", b"a: 1\n---\n- b\n")) == [{"a": 1}, ["b"]]

    def test_time_stamps_stay_strings_as_in_json(self) -> None:
        assert decode_yaml(Document("f", b"at: 2024-01-01T00:00:00Z\n")) == [{"at": "2024-01-01T00:00:00Z"}]

    @pytest.mark.parametrize(
        "word",
        [
            *(
                "=",
                "==",
                "<",
                "<<",
                "<>",
                "0x_",
                "0b_",
                "-0x_",
                "0x1F",
                "0b1",
                "0o7",
                "010",
                "-010",
                "1_000",
                "+5",
                "0-1",
            ),
            *(
                "1:30",
                "12:30:45",
                "1:30.5",
                "yes",
                "no",
                "On",
                "off",
                "y",
                "N",
                "tRUE",
                "nULL",
                "2024-01-01",
                "2024-99-99",
            ),
            *(".inf", "-.INF", ".nan", "1e3", "1e+06", "1.", ".5"),
        ],
    )
    def test_words_that_json_does_not_have_are_strings(self, word: str) -> None:
        assert decode_yaml(Document("f", word.encode())) == [word]
        assert decode_yaml(Document("f", f"a: {word}".encode())) == [{"a": word}]

    @given(st.text("0123456789_xob:.eE+-=<~yYnNoOfFsStTrRuUaAlL", min_size=1, max_size=8))
    def test_any_word_is_what_json_says_or_itself(self, word: str) -> None:
        text = f"- {word}\n"
        if word[0] in "-:" and word[1:2] in {"", ":"}:
            return  # a sequence or a mapping
        try:
            (found,) = decode_yaml(Document("f", text.encode()))
        except SnapshotError as error:
            assert "not valid YAML" in str(error)  # noqa: PT017 - `a:` and the like have a meaning of their own
            return
        assert isinstance(found, list)
        if isinstance(found[0], dict | list):
            return
        assert found[0] == self.meaning(word)

    def meaning(self, word: str) -> object:
        """Return what a word without quotes is: JSON's value, in the three spellings of YAML 1.2, else the word."""
        if word.lower() in {"true", "false", "null"} and word in {word.lower(), word.upper(), word.capitalize()}:
            return json.loads(word.lower())
        if word == "~":
            return None
        try:
            value: object = json.loads(word)
        except ValueError:
            return word
        return value if isinstance(value, int) or "." in word else word

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | _TEXT
            | st.sampled_from(["<<", "=", "1:30", "0x_", "yes", "010"]),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
        )
    )
    def test_json_is_read_as_what_it_is(self, value: object) -> None:
        assert decode_yaml(Document("f", json.dumps({"a": value}, ensure_ascii=False).encode())) == [{"a": value}]

    def test_a_number_of_any_length_is_a_number_or_an_error(self) -> None:
        assert decode_yaml(Document("f", b"a: " + b"9" * 4300)) == [{"a": int("9" * 4300)}]
        with pytest.raises(SnapshotError, match=r"^f: not valid YAML: '9{80}\.\.\.' is no number .* line 1, column 4$"):
            decode_yaml(Document("f", b"a: " + b"9" * 4301))

    @pytest.mark.parametrize(
        "tag", ["int", "float", "bool", "null", "timestamp", "binary", "set", "omap", "merge", "str"]
    )
    @pytest.mark.parametrize("value", ["zz", "''", "0x_", "-", "2024-99-99", "[1]", "{a: 1}", "=", "1:2", "9" * 5000])
    def test_tags_never_crash(self, tag: str, value: str) -> None:
        try:
            decode_yaml(Document("f", f"x: 1\na: !!{tag} {value}\n".encode()))
        except SnapshotError as error:
            assert str(error).startswith("f: not valid YAML: ")  # noqa: PT017 - a few are valid
            assert "line 2" in str(error)  # noqa: PT017
            assert len(str(error)) < 400  # noqa: PT017

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"a: !!int zz", "f: not valid YAML: 'zz' is no int in"),
            (b"a: !!timestamp 2024-99-99", "f: not valid YAML: could not determine a constructor for the tag"),
            (b"a: {<<: {b: 1}}", "f: not valid YAML: merge keys (<<) are not accepted"),
            (b"a: &x [1]\nb: *x\n", "f: not valid YAML: the value at line 1 is used again by an alias"),
            (b"a: [1", "f: not valid YAML: "),
            (b"a: !!python/object/apply:os.system [echo]\n", "f: not valid YAML: could not determine a constructor"),
            (b"a: \xff\n", "f: not UTF-8: invalid start byte at byte 3"),
            (b"a: \x00\n", "f: not valid YAML: "),
            (b"a: &x [*x]\n", "f: not valid YAML: the value at line 1 is used again by an alias"),
            (b"[" * 20_000, "f: n"),
            (b"- " * 20_000, "f: n"),
        ],
    )
    def test_messages(self, content: bytes, message: str) -> None:
        with pytest.raises(SnapshotError) as caught:
            decode_yaml(Document("f", content))
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)

    @given(
        st.binary(max_size=60) | st.text(alphabet="{}[]:-&*!|>'\"?,#% \n\ta0~=<_xbint.\\U", max_size=40).map(str.encode)
    )
    def test_arbitrary_bytes(self, content: bytes) -> None:
        try:
            decode_yaml(Document("f", content))
        except SnapshotError as error:
            assert str(error).startswith("f: ")  # noqa: PT017 - much of this is valid YAML


class TestConversion:
    """Plain data, such as a part of a YAML document, become typed values or an error with the path."""

    def test_a_value(self) -> None:
        assert convert(Document("f", b""), {"a": 1}, dict[str, int]) == {"a": 1}

    def test_the_path(self) -> None:
        with pytest.raises(SnapshotError, match=r"^f: \[1\]: Expected 'int', got 'bool'$"):
            convert(Document("f", b""), [1, True], list[int])
