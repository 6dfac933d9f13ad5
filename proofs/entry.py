"""The way into `compass-prove`: one line where z3 is not installed, which is loaded with the first lemma only."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from oracle.cli.command import ExitStatus
from oracle.cli.program import INTERRUPTED


def entry_point() -> None:
    """Run `compass-prove` on the process's arguments and exit with its status."""
    if find_spec("z3") is None:
        sys.stderr.write("compass-prove: z3 is not installed, expected: pip install 'compass-abs[proofs]'\n")
        sys.exit(ExitStatus.BAD_INPUT)
    try:
        from proofs.cli import PROGRAM  # noqa: PLC0415 - the solvers that it loads take a second
    except KeyboardInterrupt:
        sys.stderr.write("compass-prove: interrupted\n")
        sys.exit(INTERRUPTED)
    PROGRAM.enter()
