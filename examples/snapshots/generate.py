"""Write all example snapshots anew: ``python examples/snapshots/generate.py``. A test compares the files with it."""

from __future__ import annotations

from pathlib import Path

from examples.snapshots.generate_kubernetes import kubernetes_example
from examples.snapshots.generate_native import native_example
from examples.snapshots.generate_slurm import slurm_example, slurm_text_example

FOLDER = Path(__file__).parent


def examples() -> dict[str, str]:
    """Return the content of every example by file name."""
    nodes, jobs = slurm_text_example()
    return {
        "kubernetes.json": kubernetes_example(),
        "slurm.json": slurm_example(),
        "slurm_nodes.txt": nodes,
        "slurm_jobs.txt": jobs,
        "native.json": native_example(),
    }


if __name__ == "__main__":
    for name, text in examples().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote {name}")
