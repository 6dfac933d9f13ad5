"""A command line of several commands: find the command, print what it returns, turn every failure into one line."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TextIO

from compass_core.errors import CompassError
from oracle.cli.command import ExitStatus, Outcome, Parser, UsageError
from oracle.cli.completion import completion_command
from oracle.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.cli.command import Command

INTERRUPTED = 130  # 128 + SIGINT, what a shell reports for a command stopped by Ctrl-C


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program and its commands.

    Attributes
    ----------
    name, description, epilog
        What its help says.
    commands
        In the order of the help; `completion` is added to them.
    subject
        What the program reads, in its complaints.
    extras
        Modules that come with an extra of the distribution, and its name: the message where one is missing.
    """

    name: str
    description: str
    epilog: str
    commands: tuple[Command, ...]
    subject: str
    extras: Mapping[str, str] = field(default_factory=dict[str, str])

    def enter(self) -> NoReturn:
        """Run the program on the process's arguments and exit with its status."""
        status = self.main(sys.argv[1:])
        try:
            sys.stdout.flush()  # the help text; Python's own flush at exit would print a traceback on a closed pipe
        except (OSError, AttributeError):
            _abandon_stdout()
        sys.exit(status)

    def main(self, arguments: Sequence[str]) -> int:
        """Run the program on `arguments` and return its exit status; nothing is raised."""
        try:
            return self._print_outcome(self._run(arguments))
        except SystemExit as done:  # argparse, after it printed the help or the version
            return done.code if isinstance(done.code, int) else ExitStatus.DONE
        except KeyboardInterrupt as stop:
            _complain(f"{self.name}: interrupted" + (f": {stop}" if stop.args else ""))
            return INTERRUPTED
        except UsageError as error:
            _complain(str(error))
        except CompassError as error:
            _complain(f"{self.name}: {error}")
        except MemoryError:
            _complain(f"{self.name}: not enough memory for this {self.subject}")
        except Exception as error:  # the last wall: the contract promises one line and status 2
            missing = missing_extra(error, self.extras)
            if missing is None and os.environ.get(self._traceback_variable):
                raise
            _complain(f"{self.name}: {missing or self._fault(error)}")
        return ExitStatus.BAD_INPUT

    @property
    def _traceback_variable(self) -> str:
        return f"{self.name.upper().replace('-', '_')}_TRACEBACK"

    def _fault(self, error: Exception) -> str:
        return (
            f"a fault of the program itself, please report it: {type(error).__name__}: {error} "
            f"({self._traceback_variable}=1 shows where)"
        )

    def _run(self, arguments: Sequence[str]) -> Outcome:
        parser, parsers = self._parsers()
        for command in self._all_commands():
            if arguments and arguments[0] == command.name:
                # Not through argparse's own dispatch: it would refuse files on both sides of an option.
                return command.run(parsers[command.name], arguments[1:])
        parser.parse_args(arguments)
        raise UsageError(f"{self.name}: expected a command: {', '.join(parsers)} ({self.name} --help says more)")

    def _all_commands(self) -> tuple[Command, ...]:
        return (*self.commands, completion_command(self.name, self.commands, self._parsers))

    def _parsers(self) -> tuple[Parser, dict[str, Parser]]:
        """Return the parser of the program itself, for its help and its complaints, and that of each command."""
        parser = Parser(
            prog=self.name,
            description=self.description,
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument("--version", action=_VersionAction, nargs=0, help="print the version and exit")
        return parser, add_commands(parser, self._all_commands())

    def _print_outcome(self, outcome: Outcome) -> int:
        try:
            _write(sys.stdout, outcome)
        except BrokenPipeError:
            # The reader, such as `head`, has seen enough: the command's own status stands.
            _abandon_stdout()
        except OSError as error:
            _abandon_stdout()
            _complain(f"{self.name}: cannot write the output: {error.strerror or error}")
            return ExitStatus.BAD_INPUT
        for note in outcome.notes:
            _complain(note)
        return outcome.status


def add_commands(parser: Parser, commands: Sequence[Command]) -> dict[str, Parser]:
    """Add commands to the parser of a program, and return the parser of each."""
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=Parser)
    parsers: dict[str, Parser] = {}
    for command in commands:
        parsers[command.name] = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.description,
            epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(parsers[command.name])
    return parsers


def missing_extra(error: Exception, extras: Mapping[str, str]) -> str | None:
    """Return what to install if a module is missing that comes with an extra; None if that is not the matter."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    module = (name or "").partition(".")[0]
    if module not in extras:
        return None
    return f"{module} is not installed, expected: pip install 'compass-abs[{extras[module]}]'"


class _VersionAction(argparse.Action):
    """Print the version; looked up only when asked for, because the look-up is slow."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - start-up time of every other call

        print(f"{parser.prog} {version('compass-abs')}")
        parser.exit()


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
