"""``compass-prove``: settle the register of claims, and fail where a status got worse than recorded."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from oracle.cli.command import ExitStatus, Outcome, Parser, UsageError
from oracle.cli.completion import completion_command
from oracle.cli.program import Program, add_commands
from oracle.cli.progress import Progress
from oracle.safe_text import printable_json
from proofs import record
from proofs.claim import Claim, Effort, Finding
from proofs.claims_page import page
from proofs.register import REGISTER
from proofs.second_solver import second_solver_installed
from proofs.smt import DisagreementError, Session, use_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DESCRIPTION = "Settle every claim of the paper and of this project, by machine."

_EPILOG = """exit status:
  0  done
  1  the status of a claim is worse than the recorded one, or two solvers contradict each other
  2  bad usage, or a file that cannot be written
  3  interrupted by Ctrl-C: what was settled by then is printed, and recorded with --record

examples:
  compass-prove
  compass-prove --claim C3 --claim C6 -o json
  compass-prove --full --smt2 lemmas/ --second-solver"""


_WIDTH = 100  # of a statement in the table


class _Options(argparse.Namespace):
    effort: Effort
    claims: list[str]
    output: Literal["table", "json"]
    verbose: bool
    smt2: Path | None
    second_solver: bool
    time_limit: float
    record: bool
    write_docs: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A claim, what settling it came to, how long that took, and why it fell, if it did."""

    claim: Claim
    finding: Finding
    seconds: float
    fell: str | None


class Row(msgspec.Struct, frozen=True):
    """A claim in the JSON of ``-o json``."""

    id: str
    statement: str
    status: str
    bound: str | None
    method: str
    seconds: float
    counterexample: dict[str, str | int] | None
    source: str
    details: tuple[str, ...]
    fell: str | None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What ``-o json`` prints."""

    schema: str = "compass-abs/register/1"
    claims: list[Row]
    not_settled: list[str]


class _Prove(Program):
    """A program of one command: printing, and every way it can fail, as for the others."""

    def _run(self, arguments: Sequence[str]) -> Outcome:
        if arguments[:1] == [_COMPLETION.name]:
            return _COMPLETION.run(_parsers()[1][_COMPLETION.name], arguments[1:])
        try:
            return run(arguments, REGISTER)
        except OSError as error:  # a folder or file of --smt2, --record or --write-docs
            raise UsageError(f"{self.name}: {error}") from error
        except DisagreementError as error:  # then no status stands
            return Outcome(text="", notes=(f"{self.name}: {error}",), status=ExitStatus.ASKED_FOR)


PROGRAM = _Prove(name="compass-prove", description=_DESCRIPTION, epilog=_EPILOG, commands=(), subject="register")


def main(arguments: Sequence[str]) -> int:
    """Run `compass-prove` on `arguments` and return its exit status; nothing is raised."""
    return PROGRAM.main(arguments)


def run(arguments: Sequence[str], register: Sequence[Claim], known: record.Record | None = None) -> Outcome:
    """Settle what the arguments ask for and return what is to be printed.

    Parameters
    ----------
    known
        What to compare findings with; the record of the package by default.

    Raises
    ------
    UsageError
        The arguments make no sense.
    """
    parser, _ = _parsers(register)
    options = parser.parse_args(arguments, namespace=_Options())
    chosen = _chosen(parser, options.claims, register)
    known = (record.load() if record.RECORD.exists() else {}) if known is None else known
    if options.write_docs is not None:
        options.write_docs.write_text(page(known), encoding="utf-8")
        return Outcome(text=f"wrote {options.write_docs}\n")
    if options.second_solver and not second_solver_installed():
        parser.error("--second-solver: cvc5 is not installed (pip install cvc5)")
    if options.record:
        record.check_writable()  # before an hour of proofs, not after it
    if options.smt2 is not None:
        options.smt2.mkdir(parents=True, exist_ok=True)
    session = Session(options.time_limit, directory=options.smt2, second_solver=options.second_solver)
    with use_session(session):
        settled = _settle_in_turn(chosen, options.effort, known)
    missing = [claim.id for claim in chosen[len(settled) :]]
    if options.record:
        record.save({one.claim.id: one.finding for one in settled}, options.effort)
    text = _json(settled, missing) if options.output == "json" else _table(settled, missing, verbose=options.verbose)
    fallen = [f"{one.claim.id} fell: {one.fell}" for one in settled if one.fell and not options.record]
    interrupted = [f"compass-prove: interrupted; not settled: {', '.join(missing)}"] if missing else []
    unfallen = ExitStatus.UNSETTLED if missing else ExitStatus.DONE
    return Outcome(
        text=text,
        notes=(*_session_notes(session), *fallen, *interrupted),
        status=ExitStatus.ASKED_FOR if fallen else unfallen,
        for_machines=options.output == "json",
    )


def _settle_in_turn(claims: Sequence[Claim], effort: Effort, known: record.Record) -> list[Settled]:
    """Settle claims one by one, and say on a terminal which; an interrupt leaves those that are settled by then.

    Raises
    ------
    KeyboardInterrupt
        There are none yet.
    """
    settled: list[Settled] = []
    progress: Progress | None = None
    try:
        if sys.stderr is not None and sys.stderr.isatty():
            progress = Progress("", kept="the claims settled so far", total=len(claims))
        for claim in claims:
            if progress is not None:
                progress.show(f"{claim.id}  {claim.title}", done=len(settled))
            settled.append(settle(claim, effort, known))
    except KeyboardInterrupt:
        if not settled:
            raise
    finally:
        if progress is not None:
            progress.stop()
    return settled


def settle(
    claim: Claim, effort: Effort, known: record.Record, clock: Callable[[], float] = time.perf_counter
) -> Settled:
    """Settle one claim and compare it with the record of that effort."""
    started = clock()
    finding = claim.settle(effort)
    entry = known.get(effort, {}).get(claim.id)
    return Settled(claim=claim, finding=finding, seconds=clock() - started, fell=record.fell(finding, entry))


def _parsers(register: Sequence[Claim] = REGISTER) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the program itself, and that of its one command."""
    width = max(len(claim.id) for claim in register)
    listed = "".join(f"  {claim.id:{width}}  {claim.title}\n" for claim in register)
    parser = Parser(
        prog="compass-prove",
        description=_DESCRIPTION,
        epilog=f"claims (-v prints each in full):\n{listed}\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(effort=Effort.QUICK)
    add = parser.add_mutually_exclusive_group().add_argument
    quick, full = (
        "a minute on two free cores, four on busy ones (the default)",
        "under an hour on two free cores: wider bounds",
    )
    add("--quick", dest="effort", action="store_const", const=Effort.QUICK, help=quick)
    add("--full", dest="effort", action="store_const", const=Effort.FULL, help=full)
    add = parser.add_argument
    add("--claim", dest="claims", metavar="ID", action="append", default=[], help="settle this claim; may be repeated")
    add("-o", dest="output", choices=("table", "json"), default="table", help="what to print (default: table)")
    add("-v", "--verbose", action="store_true", help="print with each claim what it says, and where it is from")
    add("--smt2", metavar="DIR", type=Path, help="write each lemma there as an SMT-LIB file")
    add("--second-solver", action="store_true", help="have cvc5 re-check each lemma (pip install cvc5)")
    add("--time-limit", metavar="S", type=_seconds, default=120.0, help="seconds for each lemma (default: 120)")
    add("--record", action="store_true", help="write the statuses into the record they are compared with")
    add("--write-docs", metavar="FILE", type=Path, help="write the page of claims from the record, and stop")
    return parser, add_commands(parser, [_COMPLETION])


_COMPLETION = completion_command("compass-prove", (), _parsers)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")
    return seconds


def _chosen(parser: Parser, names: Sequence[str], register: Sequence[Claim]) -> list[Claim]:
    known = {claim.id: claim for claim in register}
    unknown = [name for name in names if name.upper() not in known]
    if unknown:
        parser.error(f"--claim {unknown[0]}: expected one of {', '.join(known)}")
    wanted = {name.upper() for name in names} or set(known)
    return [claim for claim in register if claim.id in wanted]


def _table(settled: Sequence[Settled], missing: Sequence[str], *, verbose: bool) -> str:
    rows = [("claim", "status", "seconds", "method and bound, or counterexample")]
    for one in settled:
        status = one.finding.status.value + (" (fell)" if one.fell else "")
        rows.append((one.claim.id, status, f"{one.seconds:.1f}", _words(one.finding)))
    rows += [(name, "not settled", "", "interrupted") for name in missing]
    rows.append(("", "", f"{sum(one.seconds for one in settled):.1f}", ""))
    first, second, third, _ = (max(len(cell) for cell in column) for column in zip(*rows, strict=True))
    lines = [f"{a:{first}}  {b:{second}}  {c:>{third}}  {d}".rstrip() for a, b, c, d in rows]
    if verbose:
        for at, one in enumerate(settled, start=1):
            said = f"{one.claim.statement} ({one.claim.source})"
            lines[at] += "\n" + textwrap.indent(textwrap.fill(said, _WIDTH, break_on_hyphens=False), "  " + first * " ")
    return "".join(f"{line}\n" for line in lines)


def _words(finding: Finding) -> str:
    found = finding.counterexample
    if found is not None:
        return f"{found.events} on {found.nodes} nodes: {found.text}" if found.events else found.text
    return f"{finding.method} [{finding.bound}]" if finding.bound else finding.method


def _json(settled: Sequence[Settled], missing: list[str]) -> str:
    document = Document(claims=[_row(one) for one in settled], not_settled=missing)
    return printable_json(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


def _row(settled: Settled) -> Row:
    finding, found = settled.finding, settled.finding.counterexample
    example: dict[str, str | int] = {}
    if found is not None:
        parts = {"text": found.text, "nodes": found.nodes, "events": found.events}
        example = {name: part for name, part in parts.items() if part is not None}
    return Row(
        id=settled.claim.id,
        statement=settled.claim.statement,
        status=finding.status.value,
        bound=finding.bound,
        method=finding.method,
        seconds=round(settled.seconds, 3),
        counterexample=example or None,
        source=settled.claim.source,
        details=finding.details,
        fell=settled.fell,
    )


def _session_notes(session: Session) -> tuple[str, ...]:
    if not session.queries:
        return ()
    seconds, label = session.slowest
    notes = [f"z3 settled {session.queries} lemmas in {session.seconds:.1f} s, the slowest in {seconds:.1f} s: {label}"]
    if session.second_solver:
        notes.append(f"cvc5 gave the same answer to {session.rechecked} of {session.queries}")
    return tuple(notes)
