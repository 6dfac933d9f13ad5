"""Shell completion: the script that a shell sources, made by shtab from the program's own parsers.

So it cannot name an option that is not there. The script is static: pressing Tab starts no Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.command import Command, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.cli.command import Parser

SHELLS = ("bash", "zsh", "fish")
"""The shells there are scripts for."""

_FILES = frozenset({"FILE", "NOW", "PLAN", "RESULT", "SNAPSHOT", "TRACE"})
_FOLDERS = frozenset({"DIR"})
"""What arguments are called in the help whose values are files, and folders: all else completes to nothing."""


def completion_command(
    program: str, commands: Sequence[Command], parsers: Callable[[], tuple[Parser, dict[str, Parser]]]
) -> Command:
    """Return the command that prints the script.

    Parameters
    ----------
    program, commands
        Name of the program, and its other commands.
    parsers
        Returns its parser and those of its commands, this one among them.
    """

    def add_arguments(parser: Parser) -> None:
        parser.add_argument("shell", choices=SHELLS, help="the shell the script is for")

    def run(parser: Parser, arguments: Sequence[str]) -> Outcome:
        shell: str = parser.parse_args(arguments).shell
        own, by_name = parsers()
        for command in commands:  # a description is several lines, of which a shell would show the first
            by_name[command.name].description = command.help
        return Outcome(text=_script(own, [own, *by_name.values()], shell))

    return Command(
        name="completion",
        help="print a script that completes commands and options in a shell",
        description="Print the script that lets a shell complete commands, options, their values and files.",
        epilog=f"""examples:
  {program} completion bash > ~/.local/share/bash-completion/completions/{program}
  {program} completion zsh > ~/.zfunc/_{program}      (a folder of $fpath)
  {program} completion fish > ~/.config/fish/completions/{program}.fish

exit status:
  0  done
  2  bad usage""",
        add_arguments=add_arguments,
        run=run,
    )


def _script(program: Parser, parsers: Sequence[Parser], shell: str) -> str:
    """Return the completion script of a program, of whose parsers any can have files among its arguments."""
    import shtab  # noqa: PLC0415 - for those who ask for a script

    for parser in parsers:
        for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list the arguments
            if action.metavar in _FILES:
                vars(action)["complete"] = shtab.FILE
            elif action.metavar in _FOLDERS:
                vars(action)["complete"] = shtab.DIRECTORY
    return shtab.complete(program, shell=shell)
