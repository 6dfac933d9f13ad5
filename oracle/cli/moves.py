"""What commands that answer with moves share: their options, and lists in words."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Literal

from oracle.cli.command import SnapshotOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.cli.command import Parser

# Enough to see what kind of thing it is; -v lists all.
MAX_LISTED = 5


class MoveOptions(SnapshotOptions):
    """The options of every command that answers with moves."""

    output: Literal["table", "json"]
    moves: Literal["checkpoint", "live"]
    protected: list[str] | None
    time_limit: float | None


def add_move_arguments(parser: Parser) -> None:
    """Declare the arguments of `MoveOptions`, but for those of the snapshot."""
    parser.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="form of the output (default: table)"
    )
    parser.add_argument(
        "--moves",
        choices=("checkpoint", "live"),
        default="checkpoint",
        help="checkpoint: an instance may be stopped before its destination is free (default); "
        "live: every move goes into free space",
    )
    parser.add_argument(
        "--protect",
        dest="protected",
        metavar="NAME",
        action="append",
        help="move nothing of this job, or of the jobs in this namespace; may be given several times",
    )
    parser.add_argument(
        "--time-limit", metavar="S", type=seconds, help="give up after S seconds; what is known is printed"
    )


def seconds(text: str) -> float:
    """Return a number of seconds from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, 0 or more, got {text!r}")
    return value


def whole_number(text: str) -> int:
    """Return a number of things from the command line."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number, 0 or more, got {text!r}")
    return int(text[:18])


def listed(items: Sequence[str], *, verbose: bool) -> str:
    """Return the first few items, or all."""
    if verbose or len(items) <= MAX_LISTED:
        return ", ".join(items)
    return f"{', '.join(items[:MAX_LISTED])} and {len(items) - MAX_LISTED} more (-v lists them)"


def count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
