"""The options that commands share, and how each is declared."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Literal, get_args

from oracle.cli.values import integer, positive_number, seconds, size, whole_number
from oracle.snapshots.detection import Format
from oracle.snapshots.document import read_document
from oracle.snapshots.loader import load_snapshot
from oracle.snapshots.source import COSTLY, MAX_INPUT

if TYPE_CHECKING:
    from oracle.cli.command import Parser
    from oracle.snapshots.document import Document
    from oracle.snapshots.model import Snapshot


class SnapshotOptions(argparse.Namespace):
    """The options every command that reads a snapshot has."""

    snapshots: list[str]
    format: Format | None
    resources: list[str] | None
    pool_label: str | None
    domain_label: str | None = None
    verbose: bool
    max_input: int

    def load(self) -> Snapshot:
        """Return the snapshot that is asked about."""
        return load_snapshot(
            *self.snapshots,
            format=self.format,
            resources=self.resources,
            pool_label=self.pool_label,
            domain_label=self.domain_label,
            max_input=self.max_input,
        )

    def read_result(self, source: str) -> Document:
        """Return a stored result, of which less is read than of a snapshot: what it holds is not known before."""
        return read_document(source, max_input=self.max_input // COSTLY)


class MoveOptions(SnapshotOptions):
    """The options of every command that answers with moves."""

    output: Literal["table", "json"]
    moves: Literal["checkpoint", "live"]
    protected: list[str] | None
    max_per_job_at_once: int | None
    max_per_budget: int | None
    max_priority: int | None
    pool: str | None
    time_limit: float | None


def add_snapshot_arguments(parser: Parser, *, optional: bool = False) -> None:
    """Declare the arguments of `SnapshotOptions`; with `optional` the command itself asks for the files."""
    parser.add_argument(
        "snapshots",
        metavar="SNAPSHOT",
        nargs="*" if optional else "+",
        help="file with the snapshot, or - for standard input; gzip is unpacked. Several files are the parts of one "
        "snapshot, such as nodes and pods",
    )
    add_reader_arguments(parser)


def add_reader_arguments(parser: Parser) -> None:
    """Declare the arguments of `SnapshotOptions` but for the files and the label of domains."""
    parser.add_argument(
        "--format", choices=get_args(Format), help="format of the snapshot; told from the content if left out"
    )
    parser.add_argument(
        "--resource",
        dest="resources",
        metavar="R",
        action="append",
        help="Kubernetes: resource that counts as a GPU, such as amd.com/gpu; may be given several times",
    )
    parser.add_argument(
        "--pool-label",
        metavar="L",
        help="what makes a pool. Kubernetes: the value of this node label (default: nvidia.com/gpu.product). "
        "Slurm: type, the type of the GPUs (the default), or partition",
    )
    add_input_argument(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="list what was left out, and why")


def add_input_argument(parser: Parser) -> None:
    """Declare how much is read of a file."""
    parser.add_argument(
        "--max-input",
        metavar="SIZE",
        type=size,
        default=MAX_INPUT,
        help=f"read and unpack at most SIZE of each file, such as 500M or 4G (default: {MAX_INPUT >> 30}G); a "
        "sixteenth of it if it is YAML or a stored result",
    )


def add_domain_argument(parser: Parser) -> None:
    """Declare which node label names domains, for commands that read them."""
    parser.add_argument(
        "--domain-label",
        metavar="L",
        help="Kubernetes: the node label whose value is the node's domain (default: nvidia.com/gpu.clique)",
    )


def add_output_argument(parser: Parser, *more: str) -> None:
    """Declare the form of the output: a table, JSON, or `more`."""
    forms = ("table", "json", *more)
    parser.add_argument("-o", "--output", choices=forms, default="table", help="form of the output (default: table)")


def add_time_argument(parser: Parser, told: str, *, default: float | None = None) -> None:
    """Declare after how many seconds to end; the help is told what becomes of what is not done by then."""
    parser.add_argument("--time-limit", metavar="S", type=seconds, default=default, help=told)


def add_move_arguments(parser: Parser) -> None:
    """Declare the arguments of `MoveOptions`, but for those of the snapshot and the pool."""
    add_output_argument(parser)
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
        "--max-per-budget",
        metavar="K",
        type=whole_number,
        help="stop or move at most K instances of one disruption budget at a time; what the budgets of the snapshot "
        "allow is kept to anyway",
    )
    parser.add_argument(
        "--max-priority",
        metavar="P",
        type=integer,
        help="move nothing of jobs whose priority is above P or not known",
    )
    add_time_argument(parser, "give up after S seconds, such as 10; the best found by then is printed, with its bounds")
