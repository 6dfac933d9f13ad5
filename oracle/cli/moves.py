"""The options that commands which answer with moves share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from oracle.cli.command import SnapshotOptions
from oracle.cli.values import positive_number, seconds

if TYPE_CHECKING:
    from oracle.cli.command import Parser


class MoveOptions(SnapshotOptions):
    """The options of every command that answers with moves."""

    output: Literal["table", "json"]
    moves: Literal["checkpoint", "live"]
    protected: list[str] | None
    max_per_job_at_once: int | None
    pool: str | None
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
        help="move nothing of this job (team/train), of the jobs in this namespace (team or team/*), or this instance "
        "(team/train:0 or team/train:NAME); may be given several times",
    )
    parser.add_argument(
        "--max-per-job-at-once",
        metavar="K",
        type=positive_number,
        help="stop or move at most K instances of one job at a time, such as 1 for a service that must not be down",
    )
    parser.add_argument(
        "--time-limit",
        metavar="S",
        type=seconds,
        help="give up after S seconds, such as 10; the best found by then is printed, with its bounds",
    )
