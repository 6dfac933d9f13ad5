"""The manual: a page for each program, made from the parsers that read its arguments."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from oracle.cli.main import SIFOPT
from proofs import cli as prove
from simulation.cli.main import COMPASS_SIM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.cli.command import Parser
    from oracle.cli.program import Program

_SECTION = re.compile(r"^(examples?|exit status):\n((?:  .*(?:\n|$))+)", re.MULTILINE)
_STATUS = re.compile(r"^  (\d+)  (.*)$", re.MULTILINE)
_WITHOUT_STATUSES = "  0  done\n  2  bad input or bad usage; one line says where and what was expected\n"
_INTERRUPTED = "  130  interrupted by Ctrl-C before there was a result\n"

_MADE = "<!-- made by `python -m docs.making`; change the parsers, not this page -->"


def manual_pages() -> dict[str, str]:
    """Return the pages of the manual by file name."""
    return {
        "manual/sifopt.md": _program_page(SIFOPT),
        "manual/compass-sim.md": _program_page(COMPASS_SIM),
        "manual/compass-prove.md": _prove_page(),
    }


def parsers_of(program: Program) -> dict[str, Parser]:
    """Return the parser of each command of a program."""
    # the manual shows what the program itself reads
    return program._parsers()[1]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def statuses(parser: Parser) -> dict[int, str]:
    """Return the exit statuses a command may end with, and what each means."""
    return _statuses(_sections(parser.epilog or "").get("exit status", _WITHOUT_STATUSES) + _INTERRUPTED)


def _program_page(program: Program) -> str:
    parsers = parsers_of(program)
    names = ", ".join(f"[`{name}`](#{program.name}-{name})" for name in parsers)
    examples = _sections(program.epilog).get("examples", "")
    lines = [
        _MADE,
        "",
        f"# {program.name}",
        "",
        program.description,
        "",
        f"`{program.name}` *COMMAND* ... — commands: {names}.",
        f"`{program.name} --version` prints the version, `{program.name}` *COMMAND* `--help` the options of a command.",
        "",
        *_fenced(examples),
    ]
    for parser in parsers.values():
        lines += [f"## {parser.prog}", "", *_described(parser), *_exit_statuses(statuses(parser))]
    return "\n".join(lines).rstrip() + "\n"


def _prove_page() -> str:
    parser, parsers = prove._parsers()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as above
    lines = [_MADE, "", "# compass-prove", "", *_described(parser), *_exit_statuses(statuses(parser))]
    lines += ["The claims by their ids: [the register](../claims.md).", ""]
    for command in parsers.values():
        lines += [f"## {command.prog}", "", *_described(command), *_exit_statuses(statuses(command))]
    return "\n".join(lines).rstrip() + "\n"


def _described(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield " ".join((parser.description or "").split())
    yield ""
    actions = [action for action in _actions(parser) if action.help is not argparse.SUPPRESS]
    yield from _fenced(_synopsis(parser.prog, actions))
    for action in actions:
        forms = ", ".join(f"`{form}`" for form in _forms(action))
        yield forms
        yield f": {_help(action)}"
        yield ""
    examples = _sections(parser.epilog or "")
    yield from _fenced(examples.get("examples", examples.get("example", "")))


def _actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    """Return the arguments, without `--help` and commands: argparse shows them to its own formatter only."""
    found = parser._actions  # noqa: SLF001 - there is no public way
    return [action for action in found if action.dest not in {"help", argparse.SUPPRESS}]


def _synopsis(prog: str, actions: Sequence[argparse.Action]) -> str:
    lines, line = list[str](), prog
    ordered = sorted(actions, key=lambda action: not action.option_strings)
    for part in [_usage(action) for action in ordered]:
        if len(line) + 1 + len(part) > 100:
            lines.append(line)
            line = " " * (len(prog))
        line += f" {part}"
    return "".join(f"  {text}\n" for text in [*lines, line])


def _usage(action: argparse.Action) -> str:
    value = _value(action)
    if action.option_strings:
        form = " ".join(filter(None, (action.option_strings[-1], value)))
        return form if action.required else f"[{form}]"
    return {"*": f"[{value} ...]", "+": f"{value} [{value} ...]", "?": f"[{value}]"}.get(str(action.nargs), value)


def _forms(action: argparse.Action) -> Iterator[str]:
    value = _value(action)
    for option in action.option_strings:
        yield " ".join(filter(None, (option, value)))
    if not action.option_strings:
        yield value


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _help(action: argparse.Action) -> str:
    text = " ".join((action.help or "").split()) % {**vars(action)}
    return re.sub(r"([*_<>])", r"\\\1", text)


def _sections(epilog: str) -> dict[str, str]:
    return {found[1]: found[2] for found in _SECTION.finditer(epilog + "\n")}


def _statuses(text: str) -> dict[int, str]:
    return {int(found[1]): found[2] for found in _STATUS.finditer(text)}


def _exit_statuses(found: dict[int, str]) -> Iterator[str]:
    yield "| exit status | meaning |"
    yield "|---|---|"
    for status, meaning in found.items():
        yield f"| {status} | {meaning} |"
    yield ""


def _fenced(text: str) -> Iterator[str]:
    if text:
        yield "```sh"
        yield from (line[2:] for line in text.splitlines())
        yield "```"
        yield ""
