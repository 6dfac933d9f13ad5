"""`compass-sim --drr-policy`: placement by weights of a file, whether PyTorch is installed or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from simulation.engine import replay
from simulation.schedulers.drr import DrrScheduler
from simulation.schedulers.drr_policy import LearntPolicy
from simulation.schedulers.greedy import worst_fit
from simulation.traces import load_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from simulation.cluster import Cluster
    from tests.simulation.cli.conftest import CompassSim


def test_the_policy_of_the_file_places(
    compass_sim: CompassSim, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worst fit stands for what was learnt: it differs from the teacher on two nodes, and from no other scheduler."""
    weights = tmp_path / "weights.pt"

    def read(path: Path) -> Callable[[Cluster, int], int]:
        assert path == weights
        return worst_fit

    monkeypatch.setattr(LearntPolicy, "load", read)
    options = ("--nodes", "2", "--schedulers", "gfs,drr", "-o", "json")
    taught = json.loads(compass_sim("compare", trace, *options).out)
    learnt = json.loads(compass_sim("compare", trace, *options, "--drr-policy", weights).out)
    jobs = load_trace(str(trace)).trace
    teacher, policy = (replay(jobs, DrrScheduler(2, *rest)).result for rest in ((), (worst_fit,)))
    assert teacher.afr != policy.afr
    assert [taught[1]["afr"], learnt[1]["afr"]] == [teacher.afr, policy.afr]
    assert taught[0]["afr"] == learnt[0]["afr"]
    assert [taught[1]["drr_policy"], learnt[1]["drr_policy"]] == [None, str(weights)]


def test_weights_that_cannot_be_read(compass_sim: CompassSim, trace: Path, tmp_path: Path) -> None:
    """One line: either PyTorch is missing, and the extra is named, or the file is."""
    result = compass_sim("run", trace, "--schedulers", "drr", "--drr-policy", tmp_path / "absent.pt")
    assert (result.status, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "compass-abs[learn]" in result.err or "absent.pt: no weights of this policy" in result.err


def test_a_policy_that_nobody_reads(compass_sim: CompassSim, trace: Path, tmp_path: Path) -> None:
    result = compass_sim("compare", trace, "--schedulers", "gfs,exact", "--drr-policy", tmp_path / "weights.pt")
    assert (result.status, result.out) == (2, "")
    assert "--drr-policy: expected drr among the schedulers" in result.err
