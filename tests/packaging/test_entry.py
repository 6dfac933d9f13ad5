"""The way into `compass-prove`, which must not need what it is to ask for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proofs.entry import entry_point


def status(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """Return what the process would exit with."""
    monkeypatch.setattr(sys, "argv", ["compass-prove", *arguments])
    with pytest.raises(SystemExit) as ended:
        entry_point()
    return ended.value.code


def test_it_passes_arguments_and_status_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, "completion", "bash") == 0
    assert "complete " in capsys.readouterr().out
    assert status(monkeypatch, "--claim", "nonsense") == 2


def test_a_missing_module_that_no_extra_brings_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "proofs.cli", None)
    with pytest.raises(ModuleNotFoundError):
        entry_point()


def test_importing_it_loads_nothing_of_an_extra() -> None:
    code = "import sys, proofs.entry; print(sorted({'z3', 'hypothesis', 'matplotlib', 'polars'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
