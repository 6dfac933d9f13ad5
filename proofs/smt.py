"""The solver behind one function, `prove`: the only module that touches z3.

Every query has a time limit, and its answer is one of three: proved, refuted with the values that refute it, unknown.
"""

from __future__ import annotations

import importlib
import re
import signal
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, cast

from proofs.claim import Counterexample, Finding, Status
from proofs.second_solver import ask_cvc5, milliseconds_of
from proofs.smtlib import script
from proofs.terms import every, holds

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from pathlib import Path

    from proofs.smtlib import Lemma, Script


class Verdict(Enum):
    """What a solver says of a lemma."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


_VERDICTS = {"unsat": Verdict.PROVED, "sat": Verdict.REFUTED}
"""What solvers say when asked for a counterexample."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict; where it is `REFUTED`, values of the variables for which the lemma is false."""

    verdict: Verdict
    model: Mapping[str, int] | None = None
    reason: str = ""


class DisagreementError(Exception):
    """Two solvers contradict each other, or a model does not refute what it is said to: no proof is worth anything."""


@dataclass(slots=True)
class Session:
    """How lemmas are settled for the time being, and what it took.

    Attributes
    ----------
    seconds_a_query
        Time limit of each query.
    directory
        Where to write each lemma as an SMT-LIB file, if anywhere.
    second_solver
        Whether to ask cvc5 too.
    queries, seconds
        What z3 was asked so far, and the time it took.
    slowest
        Seconds and label of the slowest query.
    """

    seconds_a_query: float = 120.0
    directory: Path | None = None
    second_solver: bool = False
    queries: int = 0
    rechecked: int = 0
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    _files: dict[str, int] = field(default_factory=dict[str, int])

    def file_for(self, label: str) -> Path | None:
        """Return the file that a lemma is written to, or None; lemmas of one label get files of their own."""
        if self.directory is None:
            return None
        stem = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:80]
        self._files[stem] = self._files.get(stem, 0) + 1
        return self.directory / (f"{stem}-{self._files[stem]}.smt2")


_SESSION: ContextVar[Session] = ContextVar("proofs.smt.session")


def current_session() -> Session:
    """Return the session in force; there is always one."""
    session = _SESSION.get(None)
    if session is None:
        session = Session()
        _SESSION.set(session)
    return session


@contextmanager
def use_session(session: Session) -> Generator[Session]:
    """Settle every lemma inside the block by this session's options."""
    token = _SESSION.set(session)
    try:
        yield session
    finally:
        _SESSION.reset(token)


def prove(lemma: Lemma) -> Answer:
    """Return whether a lemma holds for all whole numbers, as z3 finds, and cvc5 too if the session asks for it.

    Raises
    ------
    DisagreementError
        The solvers contradict each other, or a model turns out not to refute the lemma.
    """
    session = current_session()
    asked = script(lemma)
    file = session.file_for(lemma.label)
    if file is not None:
        file.write_text(asked.text, encoding="utf-8")
    answer = _ask_z3(lemma, asked, session)
    if session.second_solver and answer.verdict is not Verdict.UNKNOWN:
        said = ask_cvc5(asked.text, seconds=session.seconds_a_query)
        second = _VERDICTS.get(said, Verdict.UNKNOWN)
        session.rechecked += second is not Verdict.UNKNOWN
        if second not in {answer.verdict, Verdict.UNKNOWN}:
            raise DisagreementError(f"{lemma.label}: z3 says {answer.verdict.value}, cvc5 {second.value}")
    return answer


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of some lemmas: how many were asked, and the first that was not proved, with its answer."""

    asked: int
    failed: Lemma | None = None
    answer: Answer = Answer(Verdict.PROVED)

    @property
    def verdict(self) -> Verdict:
        """Proved if every lemma was."""
        return self.answer.verdict

    def finding(self, method: str, *details: str) -> Finding:
        """Return the proof as a finding: proved for every N, refuted by the values, or unknown."""
        if self.failed is None:
            return Finding(
                status=Status.PROVED, method=method, details=(f"{self.asked} lemmas, each settled by z3", *details)
            )
        if self.verdict is Verdict.UNKNOWN:
            return Finding(status=Status.UNKNOWN, method=f"z3 gave up on: {self.failed.label} ({self.answer.reason})")
        values = ", ".join(f"{name} = {number}" for name, number in sorted((self.answer.model or {}).items()) if number)
        return Finding(
            status=Status.REFUTED,
            method=method,
            counterexample=Counterexample(text=f"{self.failed.label}: fails for {values or 'all variables 0'}"),
        )


def prove_all(lemmas: Iterable[Lemma]) -> Proof:
    """Prove lemmas one by one until one is not."""
    asked = 0
    for lemma in lemmas:
        asked += 1
        answer = prove(lemma)
        if answer.verdict is not Verdict.PROVED:
            return Proof(asked, lemma, answer)
    return Proof(asked)


# z3 has no types of its own: what is used of it is written down here.


class _Value(Protocol):
    def as_long(self) -> int: ...


class _Declaration(Protocol):
    def name(self) -> str: ...


class _Model(Protocol):
    def decls(self) -> list[_Declaration]: ...
    def __getitem__(self, declaration: _Declaration, /) -> _Value: ...


class _Solver(Protocol):
    def set(self, option: str, setting: int, /) -> None: ...
    def from_string(self, text: str, /) -> None: ...
    def check(self) -> object: ...
    def model(self) -> _Model: ...
    def reason_unknown(self) -> str: ...


class _Z3(Protocol):
    def SolverFor(self, logic: str, /) -> _Solver: ...  # noqa: N802 - z3's name


def _ask_z3(lemma: Lemma, asked: Script, session: Session) -> Answer:
    solver = cast("_Z3", importlib.import_module("z3")).SolverFor("QF_LIA")
    solver.set("timeout", milliseconds_of(session.seconds_a_query))
    # z3 handles Ctrl-C itself while it runs, even where SIGINT is to be ignored: in the background.
    solver.set("ctrl_c", signal.getsignal(signal.SIGINT) is not signal.SIG_IGN)
    solver.from_string(asked.text)
    started = time.perf_counter()
    outcome = str(solver.check())
    spent = time.perf_counter() - started
    session.queries += 1
    session.seconds += spent
    session.slowest = max(session.slowest, (spent, lemma.label))
    if outcome == "unsat":
        return Answer(Verdict.PROVED)
    if outcome != "sat":
        reason = solver.reason_unknown()
        if "interrupted" in reason:
            raise KeyboardInterrupt  # z3 takes Ctrl-C for itself, and would have the next lemma begin
        return Answer(Verdict.UNKNOWN, reason=reason)
    model = solver.model()
    # z3 also lists some of the script's definitions
    known = [declaration for declaration in model.decls() if declaration.name() in asked.variables]
    numbers = _Zero({declaration.name(): model[declaration].as_long() for declaration in known})
    if holds(lemma.claim, numbers) or not holds(every(lemma.given), numbers):
        raise DisagreementError(f"{lemma.label}: z3's values do not refute it: {dict(numbers)}")
    return Answer(Verdict.REFUTED, dict(numbers))


class _Zero(dict[str, int]):
    """A model: a variable that z3 leaves out may have any value."""

    def __missing__(self, name: str) -> int:
        return 0
