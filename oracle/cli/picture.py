"""Writing a picture beside the output of a command: if it cannot be written, the output is there all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.cli.command import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.cli.command import Outcome


def written(outcome: Outcome, command: str, name: str, draw: Callable[[Path], None]) -> Outcome:
    """Return the outcome of a command once the picture is written, or with why it is not."""
    try:
        draw(Path(name))
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        note = f"{command}: cannot write the picture to {name!r}: {reason}"
        return replace(outcome, notes=(*outcome.notes, note), status=ExitStatus.BAD_INPUT)
    return outcome
