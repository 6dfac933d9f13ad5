"""Train the placement policy of DRR: ``python -m simulation.schedulers.drr_training WEIGHTS``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from compass_core import CompassError
from simulation.schedulers.drr_policy import imitate_best_fit

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, write the weights, and return the exit status: 0 done, 2 bad usage or no PyTorch."""
    parser = argparse.ArgumentParser(prog="drr_training", description="Learn placement by imitation of best fit.")
    parser.add_argument("weights", type=Path, help="file to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument(
        "--demands",
        default="1,1,1,1,2,2,3,4,4,5,6,7,8,8",
        help="GPUs of the instances to learn from, separated by commas; one given twice is twice as frequent",
    )
    options = parser.parse_args(arguments)
    try:
        demands = [int(gpus) for gpus in options.demands.split(",")]
        if not all(1 <= gpus <= 8 for gpus in demands):
            raise ValueError  # noqa: TRY301 - said in one place below
    except ValueError:
        parser.error(f"--demands: expected numbers from 1 to 8, got {options.demands!r}")
    try:
        imitate_best_fit(demands, seed=options.seed, steps=options.steps).save(options.weights)
    except CompassError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
