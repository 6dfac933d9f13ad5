"""What every command of `sifopt` is made of: its parser, what runs it, and the outcome it returns.

Commands compute and return; `oracle.cli.program` alone prints and exits. So a command is a function from arguments to a
value, and every way a print can fail is handled once.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ExitStatus(IntEnum):
    """The statuses of `sifopt`, fixed by its contract."""

    DONE = 0
    ASKED_FOR = 1
    BAD_INPUT = 2
    UNSETTLED = 3


class UsageError(Exception):
    """The command line itself is wrong; the message names the command and the argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command has to say: text for standard output, notes for standard error, and the exit status.

    `for_machines` marks output another program reads: it is UTF-8 whatever the terminal's encoding.
    """

    text: str
    notes: tuple[str, ...] = ()
    status: ExitStatus = ExitStatus.DONE
    for_machines: bool = False


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, raised instead of printed."""

    def error(self, message: str) -> NoReturn:
        """Raise the complaint; argparse would print the whole usage before it."""
        raise UsageError(f"{self.prog}: {message} ({self.prog} --help says more)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: what its help says, which arguments it has, and what runs it on the arguments after its name."""

    name: str
    help: str
    description: str
    epilog: str
    add_arguments: Callable[[Parser], None]
    run: Callable[[Parser, Sequence[str]], Outcome]
