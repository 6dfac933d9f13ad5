"""From a name to bytes: the one place where input is read, and never more of it than a limit allows.

A few bytes of gzip unpack to as many as anybody likes, and a device or a pipe need not end at all. So both what is read
and what is unpacked are counted as they come.
"""

from __future__ import annotations

import io
import sys
import zlib
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from compass_core.errors import CompassError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

STANDARD_INPUT: Final = "-"

# Kubernetes goes up to 5,000 nodes and 150,000 pods, and kubectl prints some 5 kB of JSON a pod and 20 kB a node.
MAX_INPUT: Final = 1 << 30

# What is decoded without knowing its form, and YAML, takes up to a hundred times its size.
COSTLY: Final = 16

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib's word for gzip
_PACKED = 1 << 16
_UNPACKED = 1 << 20

# Members without content cost time as well, however short they are: each counts as so many bytes.
_LEAST_MEMBER = 1 << 10


class InputError(CompassError):
    """Input that cannot be read whole; the message says why, and is about one input."""


def read_bytes(source: str | Path, limit: int) -> bytes:
    """Return the content of a file, or of standard input for ``-``; gzip is unpacked, whatever the name.

    Parameters
    ----------
    source
        What is read.
    limit
        Bytes at most, both as they stand there and unpacked.

    Raises
    ------
    InputError
        It cannot be read, is damaged gzip, or holds more than `limit`.
    """
    try:
        with _opened(source) as file:
            pieces = _pieces(file, limit)
            first = next(pieces, b"")
            while len(first) < len(_GZIP_MAGIC) and (more := next(pieces, b"")):  # a pipe gives what it has
                first += more
            whole = chain((first,), pieces)
            return _unpacked(whole, limit) if first.startswith(_GZIP_MAGIC) else _joined(whole)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name no file can have, such as one with a NUL
        raise InputError(f"cannot be read: {error}") from error
    except zlib.error as error:
        raise InputError(f"damaged gzip: {error}") from error


def too_large(limit: int, what: str = "unpacked") -> InputError:
    """Return the error for more input than `limit`."""
    return InputError(f"more than {size_text(limit)} {what}; a larger limit can be set with --max-input")


def size_text(size: int) -> str:
    """Return a number of bytes in the largest unit that it is a multiple of."""
    for bits, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size and not size % (1 << bits):
            return f"{size >> bits} {unit}"
    return f"{size} bytes"


@contextmanager
def _opened(source: str | Path) -> Generator[BinaryIO, None, None]:
    if source != STANDARD_INPUT:
        with Path(source).open("rb") as file:
            yield file
    elif sys.stdin is None:  # the caller closed it
        raise OSError("it is closed")
    else:
        yield sys.stdin.buffer


def _pieces(file: BinaryIO, limit: int) -> Iterator[bytes]:
    left = limit
    while piece := file.read(min(_PACKED, left + 1)):
        left -= len(piece)
        if left < 0:
            raise too_large(limit)
        yield piece


def _joined(pieces: Iterable[bytes]) -> bytes:
    # Not bytes.join, which holds all of it twice.
    content = io.BytesIO()
    for piece in pieces:
        content.write(piece)
    return content.getvalue()


def _unpacked(pieces: Iterable[bytes], limit: int) -> bytes:
    """Return the content of all members; zeros behind one are padding, as for gzip itself."""
    content, counted = io.BytesIO(), 0
    member = zlib.decompressobj(_GZIP_WINDOW)
    for piece in pieces:
        packed = piece
        while True:
            if member.eof:
                packed = packed.lstrip(b"\0")
                if not packed:
                    break
                member = zlib.decompressobj(_GZIP_WINDOW)
                counted += _LEAST_MEMBER
            part = member.decompress(packed, _UNPACKED)
            counted += len(part)
            if counted > limit:
                raise too_large(limit)
            content.write(part)
            packed = member.unused_data if member.eof else member.unconsumed_tail
            if not member.eof and len(part) < _UNPACKED:  # it wants more
                break
    if not member.eof:
        raise InputError("damaged gzip: it is cut off")
    return content.getvalue()
