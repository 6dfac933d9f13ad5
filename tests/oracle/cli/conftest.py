"""How the tests of the command line call it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from oracle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Result:
    """What one call printed and the status it ended with."""

    status: int
    out: str
    err: str


class Sifopt(Protocol):
    """Calls `sifopt` inside this process."""

    def __call__(self, *arguments: str | Path) -> Result: ...


@pytest.fixture
def sifopt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Sifopt:
    """Return what calls the command; an exception it did not expect fails the test instead of becoming a line."""
    monkeypatch.setenv("SIFOPT_TRACEBACK", "1")

    def call(*arguments: str | Path) -> Result:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call
