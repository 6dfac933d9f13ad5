"""How the tests of `compass-sim` call it, and a small trace to call it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from simulation.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "job_id,submit_s,duration_s,instances,gpus_per_instance,pool\n"

# Two nodes under best fit: a and b leave 4 GPUs on each, so that c waits until a ends, and d behind it.
SMALL = HEADER + "a,0,100,1,4,x\nb,0,200,1,4,x\nc,10,50,1,8,y\nd,86400,30,2,8,x\n"


@dataclass(frozen=True)
class Result:
    """What one call printed and the status it ended with."""

    status: int
    out: str
    err: str


class CompassSim(Protocol):
    """Calls `compass-sim` inside this process."""

    def __call__(self, *arguments: str | Path) -> Result: ...


@pytest.fixture
def compass_sim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CompassSim:
    """Return what calls the command; an exception it did not expect fails the test instead of becoming a line."""
    monkeypatch.setenv("COMPASS_SIM_TRACEBACK", "1")

    def call(*arguments: str | Path) -> Result:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return call


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return the file of the small trace."""
    path = tmp_path / "trace.csv"
    path.write_text(SMALL)
    return path
