"""The way into `compass-prove`: one line where what it needs is not installed.

Apart from `proofs.cli`, which cannot be imported without z3.
"""

from __future__ import annotations

import sys

from oracle.cli.command import ExitStatus
from oracle.cli.program import INTERRUPTED, missing_extra

_EXTRAS = {"z3": "proofs", "hypothesis": "proofs"}


def entry_point() -> None:
    """Run `compass-prove` on the process's arguments and exit with its status."""
    try:
        from proofs.cli import PROGRAM  # noqa: PLC0415 - what fails here is to become one line
    except ModuleNotFoundError as error:
        missing = missing_extra(error, _EXTRAS)
        if missing is None:
            raise
        sys.stderr.write(f"compass-prove: {missing}\n")
        sys.exit(ExitStatus.BAD_INPUT)
    except KeyboardInterrupt:  # the solver takes a second to load
        sys.stderr.write("compass-prove: interrupted\n")
        sys.exit(INTERRUPTED)
    PROGRAM.enter()
