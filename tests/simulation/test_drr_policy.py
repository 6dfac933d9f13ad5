"""The learnt placement of DRR, where PyTorch is installed; and what is said where it is not."""

from __future__ import annotations

import importlib.util
from pickle import UnpicklingError
from typing import TYPE_CHECKING

import pytest

from simulation.cluster import Cluster
from simulation.engine import replay
from simulation.schedulers import drr_training
from simulation.schedulers.drr import DrrScheduler
from simulation.schedulers.drr_policy import LearningUnavailableError, LearntPolicy, imitate_best_fit
from simulation.schedulers.greedy import best_fit
from tests.simulation.recording import jobs_of

if TYPE_CHECKING:
    from pathlib import Path

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed (extra [learn])")

DEMANDS = range(1, 9)


@pytest.mark.skipif(HAS_TORCH, reason="PyTorch is installed")
class TestWithoutTorch:
    def test_the_extra_is_named(self) -> None:
        with pytest.raises(LearningUnavailableError, match=r"compass-abs\[learn\]"):
            imitate_best_fit(DEMANDS, seed=1)

    def test_the_command_says_so_in_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert drr_training.main([str(tmp_path / "weights.pt")]) == 2
        assert capsys.readouterr().err.count("\n") == 1


class _NoWeights:
    """PyTorch, and a network, reading a file that holds something else."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def load(self, path: str, *, weights_only: bool) -> None:
        assert weights_only, path
        raise self.error

    def load_state_dict(self, state_dict: object) -> None:
        raise AssertionError(state_dict)


@pytest.mark.parametrize(
    "error", [UnpicklingError("invalid load key, 'j'."), TypeError("expected state_dict to be dict-like"), EOFError()]
)
def test_whatever_is_wrong_with_the_file_is_one_line(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = _NoWeights(error)

    def network(seed: int) -> object:
        assert seed == 0
        return fake

    monkeypatch.setattr("simulation.schedulers.drr_policy._network", network)
    monkeypatch.setattr("simulation.schedulers.drr_policy._torch", lambda: fake)
    with pytest.raises(LearningUnavailableError, match="no weights"):
        LearntPolicy.load(tmp_path / "notes.txt")


@needs_torch
class TestLearnt:
    def test_it_never_chooses_a_node_without_room(self) -> None:
        policy = imitate_best_fit(DEMANDS, seed=1, steps=1)
        cluster = Cluster(3)
        cluster.take(0, 6)
        cluster.take(1, 8)
        assert [policy(cluster, gpus) for gpus in range(3, 9)] == [2] * 6

    def test_it_learns_best_fit(self) -> None:
        policy = imitate_best_fit(DEMANDS, seed=1)
        right = total = 0
        for first in range(9):
            for second in range(9):
                cluster = Cluster(2)
                cluster.take(0, 8 - first)
                cluster.take(1, 8 - second)
                for gpus in range(1, max(first, second) + 1):
                    total += 1
                    right += policy(cluster, gpus) == best_fit(cluster, gpus)
        assert right >= 0.95 * total

    def test_the_seed_decides_and_weights_survive_a_file(self, tmp_path: Path) -> None:
        policy = imitate_best_fit(DEMANDS, seed=1, steps=20)
        assert imitate_best_fit(DEMANDS, seed=1, steps=20).scores == policy.scores
        assert imitate_best_fit(DEMANDS, seed=2, steps=20).scores != policy.scores
        path = tmp_path / "weights.pt"
        policy.save(path)
        assert LearntPolicy.load(path).scores == policy.scores

    def test_what_is_no_file_of_weights_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(LearningUnavailableError, match="no weights"):
            LearntPolicy.load(tmp_path / "absent.pt")

    def test_it_places_for_drr(self, tmp_path: Path) -> None:
        path = tmp_path / "weights.pt"
        assert drr_training.main([str(path), "--steps", "50", "--demands", "1,2,4,8"]) == 0
        jobs = jobs_of((0, 10, 2, 3), (0, 10, 1, 8), (1, 10, 3, 4))
        result = replay(jobs, DrrScheduler(4, LearntPolicy.load(path))).result
        assert result.completed_jobs == 3


def test_demands_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        drr_training.main([str(tmp_path / "w.pt"), "--demands", "1,9"])
    assert stopped.value.code == 2
    assert "from 1 to 8" in capsys.readouterr().err
