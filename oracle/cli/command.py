"""What every command of `sifopt` is made of: its parser, its options, and the outcome it returns.

Commands compute and return; `oracle.cli.program` alone prints and exits. So a command is a function from arguments to a
value, and every way a print can fail is handled once.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn, get_args

from oracle.cli.values import size
from oracle.snapshots.detection import Format
from oracle.snapshots.document import read_document
from oracle.snapshots.loader import load_snapshot
from oracle.snapshots.source import COSTLY, MAX_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.snapshots.document import Document
    from oracle.snapshots.model import Skipped, Snapshot

EXIT_STATUS_HELP = """exit status:
  0  done
  1  only with --exit-code: SIF is above 0
  2  bad input or bad usage, or with --exit-code nothing to measure; one line says which
  3  not settled within --time-limit, or interrupted"""


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


class SnapshotOptions(argparse.Namespace):
    """The options every command that reads a snapshot has."""

    snapshots: list[str]
    format: Format | None
    resources: list[str] | None
    pool_label: str | None
    verbose: bool
    max_input: int

    def load(self, *, domain_label: str | None = None) -> Snapshot:
        """Return the snapshot that is asked about."""
        return load_snapshot(
            *self.snapshots,
            format=self.format,
            resources=self.resources,
            pool_label=self.pool_label,
            domain_label=domain_label,
            max_input=self.max_input,
        )

    def read_result(self, source: str) -> Document:
        """Return a stored result, of which less is read than of a snapshot: what it holds is not known before."""
        return read_document(source, max_input=self.max_input // COSTLY)


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


def add_domain_argument(parser: Parser) -> None:
    """Declare which node label names domains, for commands that read them."""
    parser.add_argument(
        "--domain-label",
        metavar="L",
        help="Kubernetes: the node label whose value is the node's domain (default: nvidia.com/gpu.clique)",
    )


def add_reader_arguments(parser: Parser) -> None:
    """Declare the arguments of `SnapshotOptions` but for the files."""
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


def notes_beside(skipped: Sequence[Skipped], *, verbose: bool) -> tuple[str, ...]:
    """Return what is to be known of a snapshot where the output is for machines: with `verbose` all of it."""
    told = skipped if verbose else [group for group in skipped if group.kept]
    return tuple(skipped_notes(told, verbose=verbose))


def skipped_notes(skipped: Sequence[Skipped], *, verbose: bool) -> list[str]:
    """Return what the reader wants known: notes on what it kept, and how much it left out.

    With `verbose` each item is named under its reason.
    """
    kept = [group for group in skipped if group.kept]
    left_out = [group for group in skipped if not group.kept]
    if verbose:
        return [*_listed("Note", kept), *_listed("Left out", left_out)]
    lines = [f"Note: {group.reason} ({len(group.items)}; -v lists them)." for group in kept]
    if left_out:
        reasons = "; ".join(f"{group.reason} ({len(group.items)})" for group in left_out)
        lines.append(f"Left out {_total(left_out)} (-v lists them): {reasons}.")
    return lines


def _listed(heading: str, groups: Sequence[Skipped]) -> list[str]:
    lines = [f"{heading} {_total(groups)}:"] if groups else []
    for group in groups:
        lines.append(f"  {group.reason} ({len(group.items)}):")
        lines.extend(f"    {item}" for item in group.items)
    return lines


def _total(groups: Sequence[Skipped]) -> int:
    return sum(len(group.items) for group in groups)
