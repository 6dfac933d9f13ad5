"""No more is read than a limit allows, and what is within it comes back as it was written."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
import tracemalloc
import zlib
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.document import Document, decode_yaml, read_document
from oracle.snapshots.model import SnapshotError
from oracle.snapshots.source import COSTLY, InputError, read_bytes, size_text

MEGABYTE = 1 << 20


def of_standard_input(content: bytes, limit: int) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return read_bytes("-", limit)


def of_document(content: bytes) -> Document:
    """Return the document that standard input is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return read_document("-")


class Endless(io.RawIOBase):
    """A stream that gives the same bytes for ever."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._contents = repeat(content)

    def readable(self) -> bool:
        return True

    def read(self, _size: int = -1, /) -> bytes:
        return next(self._contents)


@st.composite
def members(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Return gzip of one member or more, with padding behind them, and what is in it."""
    contents = draw(st.lists(st.binary(max_size=200), min_size=1, max_size=5))
    packed = [gzip.compress(content, mtime=0) + bytes(draw(st.integers(0, 3))) for content in contents]
    return b"".join(packed), b"".join(contents)


class TestWithinTheLimit:
    """Gzip is read as the standard library reads it, whatever the pieces it comes in."""

    @given(st.binary(max_size=200).filter(lambda content: not content.startswith(b"\x1f\x8b")))
    def test_what_is_no_gzip(self, content: bytes) -> None:
        assert of_standard_input(content, len(content)) == content

    @given(members())
    def test_gzip(self, packed: tuple[bytes, bytes]) -> None:
        assert of_standard_input(packed[0], MEGABYTE) == packed[1] == gzip.decompress(packed[0])

    @given(st.binary(max_size=60), members(), st.integers(0, 100))
    def test_damage_is_told_where_the_standard_library_tells_it(
        self, tail: bytes, packed: tuple[bytes, bytes], cut: int
    ) -> None:
        damaged = packed[0][: max(2, len(packed[0]) - cut)] + tail
        try:
            expected = gzip.decompress(damaged)
        except (OSError, EOFError, zlib.error):
            with pytest.raises(InputError, match="damaged gzip: "):
                of_standard_input(damaged, MEGABYTE)
        else:
            assert of_standard_input(damaged, MEGABYTE) == expected

    @pytest.mark.parametrize("size", [65_536, 65_537, MEGABYTE, MEGABYTE + 1, 3 * MEGABYTE])
    def test_contents_as_long_as_the_pieces_they_are_unpacked_in(self, size: int) -> None:
        content = bytes(size)
        assert of_standard_input(gzip.compress(content, mtime=0), size) == content
        assert of_standard_input(content, size) == content

    def test_a_pipe_that_gives_byte_after_byte(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)

        def write() -> None:
            with pipe.open("wb", buffering=0) as file:
                for byte in gzip.compress(b"content", mtime=0):
                    file.write(bytes((byte,)))

        writer = threading.Thread(target=write)
        writer.start()
        assert read_bytes(pipe, 100) == b"content"
        writer.join()


class TestBeyondTheLimit:
    """It is refused after as much as the limit, in one line that names the option."""

    @given(st.binary(min_size=1, max_size=200), st.integers(0, 300))
    def test_the_limit_is_exact(self, content: bytes, limit: int) -> None:
        for packed in (content, gzip.compress(content, mtime=0)):
            if len(content) <= limit and len(packed) <= limit:
                continue
            if packed is content and content.startswith(b"\x1f\x8b"):
                continue
            with pytest.raises(InputError, match=r"^more than .* unpacked; .* --max-input$"):
                of_standard_input(packed, limit)

    def test_a_bomb_takes_no_more_memory_than_the_limit(self, tmp_path: Path) -> None:
        bomb = tmp_path / "bomb.gz"
        with gzip.open(bomb, "wb") as file:
            for _ in range(64):
                file.write(bytes(MEGABYTE))
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match="more than 4 MiB unpacked"):
                read_bytes(bomb, 4 * MEGABYTE)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * MEGABYTE

    @pytest.mark.parametrize(
        "piece",
        [b"\0", b"[", gzip.compress(b"", mtime=0), gzip.compress(b"x", mtime=0), gzip.compress(b"", mtime=0) + b"\0"],
    )
    def test_endless_input(self, monkeypatch: pytest.MonkeyPatch, piece: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", type("Stream", (), {"buffer": Endless(piece)}))
        with pytest.raises(InputError, match="more than 1 MiB unpacked"):
            read_bytes("-", MEGABYTE)

    @pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
    def test_a_device_without_end(self, tmp_path: Path) -> None:
        link = tmp_path / "zero"
        link.symlink_to("/dev/zero")
        with pytest.raises(SnapshotError, match=r"zero: more than 1 MiB unpacked"):
            read_document(link, max_input=MEGABYTE)

    def test_yaml_has_a_limit_of_its_own(self) -> None:
        text = b"kind: List\n"
        assert decode_yaml(Document("f", text, len(text) * COSTLY)) == [{"kind": "List"}]
        with pytest.raises(SnapshotError, match="f: more than 10 bytes of YAML"):
            decode_yaml(Document("f", text, len(text) * COSTLY - COSTLY))

    def test_arrays_count_as_what_they_take(self, tmp_path: Path) -> None:
        path = tmp_path / "arrays.json"
        path.write_bytes(b'{"nodes": [' + b"[]," * 100_000 + b"[]]}")
        with pytest.raises(SnapshotError, match=r"more than 1 MiB \(an array counts 32 bytes\)"):
            read_document(path, max_input=MEGABYTE)


@pytest.mark.parametrize(
    ("size", "text"),
    [(1 << 30, "1 GiB"), (3 << 20, "3 MiB"), (5 << 10, "5 KiB"), (1000, "1000 bytes"), (2 << 40, "2 TiB")],
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert size_text(size) == text
