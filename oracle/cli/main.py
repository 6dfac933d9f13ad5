"""The way into `sifopt` and out of it: find the command, print what it returns, turn every failure into one line."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from compass_core.errors import CompassError
from oracle.cli.admit import ADMIT
from oracle.cli.command import EXIT_STATUS_HELP, ExitStatus, Outcome, Parser, UsageError, printable
from oracle.cli.convert import CONVERT, SCHEMA
from oracle.cli.measure import MEASURE
from oracle.cli.plan import PLAN
from oracle.cli.verify import VERIFY

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERRUPTED = 130  # 128 + SIGINT, what a shell reports for a command stopped by Ctrl-C
_TRACEBACK_VARIABLE = "SIFOPT_TRACEBACK"

_DESCRIPTION = "Measure how fragmented a GPU cluster is, and mend it with the fewest moves."

_EPILOG = f"""examples:
  kubectl get nodes,pods -A -o json | sifopt measure -
  sifopt measure nodes.json squeue.json -o json
  sifopt plan cluster.json
  sifopt admit cluster.json --job 2x8

{EXIT_STATUS_HELP}"""

_COMMANDS = (MEASURE, PLAN, ADMIT, VERIFY, CONVERT, SCHEMA)


class _VersionAction(argparse.Action):
    """Print the version; looked up only when asked for, because the look-up is slow."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - start-up time of every other call

        print(f"sifopt {version('compass-abs')}")
        parser.exit()


def entry_point() -> None:
    """Run `sifopt` on the process's arguments and exit with its status."""
    # A snapshot is millions of small values, none of them in a cycle: looking for cycles would double the time of a
    # large one, and the process ends soon.
    gc.disable()
    status = main(sys.argv[1:])
    try:
        sys.stdout.flush()  # the help text; Python's own flush at exit would print a traceback where the pipe is gone
    except (OSError, AttributeError):
        _abandon_stdout()
    sys.exit(status)


def main(arguments: Sequence[str]) -> int:
    """Run `sifopt` on `arguments` and return its exit status; nothing is raised."""
    try:
        return _print_outcome(_run(arguments))
    except SystemExit as done:  # argparse, after it printed the help or the version
        return done.code if isinstance(done.code, int) else ExitStatus.DONE
    except KeyboardInterrupt:
        _complain("sifopt: interrupted")
        return _INTERRUPTED
    except UsageError as error:
        _complain(str(error))
    except CompassError as error:
        _complain(f"sifopt: {error}")
    except MemoryError:
        _complain("sifopt: not enough memory for this snapshot")
    except Exception as error:  # the last wall: the contract promises one line and status 2
        if os.environ.get(_TRACEBACK_VARIABLE):
            raise
        _complain(
            f"sifopt: a fault of the program itself, please report it: {type(error).__name__}: {error} "
            f"({_TRACEBACK_VARIABLE}=1 shows where)"
        )
    return ExitStatus.BAD_INPUT


def _run(arguments: Sequence[str]) -> Outcome:
    parser, parsers = _parsers()
    for command in _COMMANDS:
        if arguments and arguments[0] == command.name:
            # Not through argparse's own dispatch: it would refuse files on both sides of an option.
            return command.run(parsers[command.name], arguments[1:])
    parser.parse_args(arguments)
    raise UsageError(f"sifopt: expected a command: {', '.join(parsers)} (sifopt --help says more)")


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of `sifopt` itself, for its help and its complaints, and that of each command."""
    parser = Parser(
        prog="sifopt",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_VersionAction, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=Parser)
    parsers: dict[str, Parser] = {}
    for command in _COMMANDS:
        parsers[command.name] = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.description,
            epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(parsers[command.name])
    return parser, parsers


def _print_outcome(outcome: Outcome) -> int:
    try:
        _write(sys.stdout, outcome)
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough: the command's own status stands.
        _abandon_stdout()
    except OSError as error:
        _abandon_stdout()
        _complain(f"sifopt: cannot write the output: {error.strerror or error}")
        return ExitStatus.BAD_INPUT
    for note in outcome.notes:
        _complain(note)
    return outcome.status


def _write(stream: TextIO | None, outcome: Outcome) -> None:
    if stream is None:
        raise OSError("standard output is closed")
    stream.flush()
    buffer = getattr(stream, "buffer", None)
    if not isinstance(buffer, io.BufferedIOBase | io.RawIOBase):  # a stand-in, such as a notebook's
        stream.write(outcome.text)
        stream.flush()
        return
    # Not through the text layer: a terminal of another encoding would make "Φ" an error, and JSON is UTF-8 always.
    encoding = "utf-8" if outcome.for_machines else stream.encoding
    rest = memoryview(outcome.text.encode(encoding, "backslashreplace"))
    while rest:  # with PYTHONUNBUFFERED the buffer is the bare file, which may take less than it is given
        written = buffer.write(rest)
        if written is None:
            raise BlockingIOError("standard output does not take more now")
        rest = rest[written:]
    buffer.flush()


def _abandon_stdout() -> None:
    """Send what is still buffered nowhere, so that Python's own flush at exit does not fail again, aloud."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _complain(line: str) -> None:
    if sys.stderr is None:  # closed by the caller; print would fall back on standard output
        return
    with contextlib.suppress(OSError):
        print(printable(line), file=sys.stderr)
