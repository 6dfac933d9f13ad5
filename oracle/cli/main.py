"""The way into `sifopt`: its commands, and what its help says."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from oracle.cli.admit import ADMIT
from oracle.cli.convert import CONVERT, SCHEMA
from oracle.cli.measure import MEASURE
from oracle.cli.plan import PLAN
from oracle.cli.program import Program
from oracle.cli.verify import VERIFY

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = "Measure how fragmented a GPU cluster is, and mend it with the fewest moves."

_EPILOG = """examples:
  kubectl get nodes,pods -A -o json | sifopt measure -
  sifopt measure nodes.json squeue.json -o json
  sifopt plan cluster.json
  sifopt admit cluster.json --job 2x8

exit status:
  0  done
  1  measure --exit-code: SIF is above 0; plan --resume: the rest of the plan cannot be carried out;
     admit: the job cannot start; verify: a claim does not hold
  2  bad input or bad usage; one line says where and what was expected
  3  not settled within --time-limit, or interrupted"""

SIFOPT = Program(
    name="sifopt",
    description=_DESCRIPTION,
    epilog=_EPILOG,
    commands=(MEASURE, PLAN, ADMIT, VERIFY, CONVERT, SCHEMA),
    subject="snapshot",
)


def entry_point() -> None:
    """Run `sifopt` on the process's arguments and exit with its status."""
    # A snapshot is millions of small values, none of them in a cycle: looking for cycles would double the time of a
    # large one, and the process ends soon.
    gc.disable()
    SIFOPT.enter()


def main(arguments: Sequence[str]) -> int:
    """Run `sifopt` on `arguments` and return its exit status; nothing is raised."""
    return SIFOPT.main(arguments)
