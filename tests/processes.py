"""Processes that tests start."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    from collections.abc import Generator
    from subprocess import Popen


@contextmanager
def ended(process: Popen[AnyStr]) -> Generator[Popen[AnyStr]]:
    """Provide a process, and kill it if it still runs in the end: a test that fails must not wait for it for ever."""
    with process:
        try:
            yield process
        finally:
            process.kill()
