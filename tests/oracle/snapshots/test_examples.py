"""The examples are what their script makes, and all of them can be measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.snapshots.generate import FOLDER, examples
from oracle import load_snapshot, measure


def test_the_files_are_what_the_script_makes() -> None:
    for name, text in examples().items():
        assert (FOLDER / name).read_bytes() == text.encode(), f"run {Path('examples/snapshots/generate.py')}"


def test_every_file_has_its_generator() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.suffix in {".json", ".txt"}} == set(examples())


@pytest.mark.parametrize(
    "files", [["kubernetes.json"], ["slurm.json"], ["slurm_nodes.txt", "slurm_jobs.txt"], ["native.json"]]
)
def test_each_is_fragmented_and_has_something_waiting(files: list[str]) -> None:
    snapshot = load_snapshot(*(FOLDER / name for name in files))
    measurement = measure(snapshot)
    assert measurement.sif > 0
    assert measurement.unschedulable_nodes > 0
    assert len(measurement.pools) > 1
    assert snapshot.pending


def test_both_forms_of_the_slurm_example_are_one_cluster() -> None:
    text = load_snapshot(FOLDER / "slurm_nodes.txt", FOLDER / "slurm_jobs.txt")
    assert measure(text).to_dict() == measure(load_snapshot(FOLDER / "slurm.json")).to_dict()


def test_the_native_example_has_one_of_each_trouble() -> None:
    snapshot = load_snapshot(FOLDER / "native.json")
    assert len(snapshot.nodes) == 16
    assert {node.gpus for node in snapshot.nodes} == {4, 7, 8}
    assert measure(snapshot).overcommitted == ("h100-5",)
    assert [job.name for job in snapshot.jobs if not all(i.movable for i in job.instances)] == ["notebook"]
