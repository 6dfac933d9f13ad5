"""The solver's three answers, and what is made of them."""

from __future__ import annotations

import os
import random
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from proofs import smt
from proofs.claim import Status
from proofs.second_solver import SecondSolverMissingError, ask_cvc5, milliseconds_of, second_solver_installed
from proofs.smt import Answer, DisagreementError, Session, Verdict, prove, prove_all, use_session
from proofs.smtlib import Lemma
from proofs.terms import equal, every, total, variable

if TYPE_CHECKING:
    from pathlib import Path

X, Y = variable("x"), variable("y")
TRUE = Lemma("twice", 2 * X >= X, (X >= 0,))
FALSE = Lemma("twice, whatever the sign", 2 * X >= X, (Y >= X,))
# To choose among 40 things so that six sums come out: many seconds, and not one millisecond on any machine.
CHOICES = tuple(variable(f"choice{i}") for i in range(40))
WORTH = [[(37 * (i + 1) * (k + 3) ** 3 + 11 * i**3) % 97 for i in range(40)] for k in range(6)]
HARD = Lemma(
    "no way to choose",
    ~every(
        equal(total(worth * choice for worth, choice in zip(row, CHOICES, strict=True)), sum(row) // 2) for row in WORTH
    ),
    tuple(bound for choice in CHOICES for bound in (choice >= 0, choice <= 1)),
)


def test_proved() -> None:
    assert prove(TRUE) == Answer(Verdict.PROVED)


def test_refuted_with_values() -> None:
    answer = prove(FALSE)
    assert answer.verdict is Verdict.REFUTED
    assert answer.model is not None
    assert answer.model["x"] < 0
    assert answer.model["y"] >= answer.model["x"]


def test_gave_up_is_unknown() -> None:
    with use_session(Session(seconds_a_query=0.001)):
        answer = prove(HARD)
    assert answer.verdict is Verdict.UNKNOWN
    assert answer.reason


@pytest.mark.parametrize(("seconds", "limit"), [(1e-9, 1), (0.25, 250), (120.0, 120_000), (1e300, 10**9)])
def test_limits_are_what_solvers_take(seconds: float, limit: int) -> None:
    assert milliseconds_of(seconds) == limit


def test_an_interrupted_solver_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # z3 takes Ctrl-C for itself and gives up on the lemma it is at: the next must not begin.
    def check(_: object) -> str:
        return "unknown"

    def reason(_: object) -> str:
        return "interrupted from keyboard"

    monkeypatch.setattr("z3.Solver.check", check)
    monkeypatch.setattr("z3.Solver.reason_unknown", reason)
    with pytest.raises(KeyboardInterrupt):
        prove(TRUE)


def endless() -> Lemma:
    """Return that no choice of thirty numbers has four sums of its weights right: a market split."""
    rng = random.Random(1)
    chosen = [variable(f"x{i}") for i in range(30)]
    weights = [[rng.randrange(100) for _ in chosen] for _ in range(4)]
    split = [equal(total(w * x for w, x in zip(row, chosen, strict=True)), sum(row) // 2) for row in weights]
    return Lemma("market split", ~every(split), tuple(bound for x in chosen for bound in (x >= 0, x <= 1)))


@pytest.mark.signals
class TestCtrlC:
    """The signal comes while z3 is at a lemma that it does not settle in hours."""

    def test_ends_the_run(self) -> None:
        with pytest.raises(KeyboardInterrupt), use_session(Session(seconds_a_query=60.0)):
            self.interrupted()

    def test_is_not_heard_where_it_is_ignored(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # set back by the fixture of these tests
        with use_session(Session(seconds_a_query=1.0)):
            answer = self.interrupted()
        assert answer.verdict is Verdict.UNKNOWN
        assert "interrupted" not in answer.reason

    def interrupted(self) -> Answer:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            return prove(endless())
        finally:
            timer.cancel()


class TestProof:
    """A proof is one only if every lemma was settled."""

    def test_all(self) -> None:
        finding = prove_all([TRUE, TRUE]).finding("by z3", "more")
        assert (finding.status, finding.details) == (Status.PROVED, ("2 lemmas, each settled by z3", "more"))

    def test_one_false(self) -> None:
        proof = prove_all([TRUE, FALSE, HARD])
        assert (proof.asked, proof.failed) == (2, FALSE)
        finding = proof.finding("by z3")
        assert finding.status is Status.REFUTED
        assert finding.counterexample is not None
        assert finding.counterexample.text.startswith("twice, whatever the sign: fails for x = -")

    def test_gave_up(self) -> None:
        with use_session(Session(seconds_a_query=0.001)):
            finding = prove_all([HARD]).finding("by z3")
        assert finding.status is Status.UNKNOWN
        assert "no way to choose" in finding.method


class TestSession:
    """Lemmas are settled by the options of the session in force."""

    def test_counts_queries_and_keeps_the_slowest(self) -> None:
        with use_session(Session()) as session:
            prove_all([TRUE, FALSE])
        assert session.queries == 2
        assert 0 < session.slowest[0] <= session.seconds
        assert session.slowest[1] in {TRUE.label, FALSE.label}

    def test_does_not_outlive_its_block(self) -> None:
        with use_session(Session()) as session:
            prove(TRUE)
        prove(TRUE)
        assert session.queries == 1

    def test_writes_each_lemma(self, tmp_path: Path) -> None:
        with use_session(Session(directory=tmp_path)):
            prove_all([TRUE, TRUE, FALSE])
        assert sorted(file.name for file in tmp_path.iterdir()) == [
            "twice-1.smt2",
            "twice-2.smt2",
            "twice-whatever-the-sign-1.smt2",
        ]
        assert "(check-sat)" in (tmp_path / "twice-1.smt2").read_text(encoding="utf-8")


def says(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Put something in cvc5's place that gives these answers."""
    following = iter(answers)

    def answer(text: str, *, seconds: float) -> str:
        assert "(check-sat)" in text
        assert seconds > 0
        return next(following)

    monkeypatch.setattr(smt, "ask_cvc5", answer)


def installed(monkeypatch: pytest.MonkeyPatch, *, program: Path | None) -> None:
    """Leave cvc5 without a Python package, and with this program or none."""

    def package(name: str) -> None:
        assert name == "cvc5"

    def which(name: str) -> str | None:
        assert name == "cvc5"
        return str(program) if program else None

    monkeypatch.setattr("proofs.second_solver.importlib.util.find_spec", package)
    monkeypatch.setattr("proofs.second_solver.shutil.which", which)


class TestSecondSolver:
    """What cvc5 says is compared with what z3 says."""

    def test_agrees(self, monkeypatch: pytest.MonkeyPatch) -> None:
        says(monkeypatch, "unsat", "sat", "unknown")
        with use_session(Session(second_solver=True)) as session:
            assert prove(TRUE).verdict is Verdict.PROVED
            assert prove(FALSE).verdict is Verdict.REFUTED
            assert prove(TRUE).verdict is Verdict.PROVED
        assert (session.queries, session.rechecked) == (3, 2)

    def test_contradicts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        says(monkeypatch, "sat")
        with use_session(Session(second_solver=True)), pytest.raises(DisagreementError, match="z3 says proved"):
            prove(TRUE)

    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        installed(monkeypatch, program=None)
        assert not second_solver_installed()
        with pytest.raises(SecondSolverMissingError, match="pip install cvc5"):
            ask_cvc5("(check-sat)", seconds=1)

    def test_program(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        program = tmp_path / "cvc5"
        program.write_text('#!/bin/sh\ncat > "$0.input"\necho unsat\n', encoding="utf-8")
        program.chmod(0o755)
        installed(monkeypatch, program=program)
        assert ask_cvc5("(check-sat)\n", seconds=1) == "unsat"
        assert (tmp_path / "cvc5.input").read_text(encoding="utf-8") == "(check-sat)\n"

    @pytest.mark.skipif(not second_solver_installed(), reason="cvc5 is not installed")
    def test_itself(self) -> None:
        with use_session(Session(second_solver=True)) as session:
            prove_all([TRUE, TRUE])
            prove(FALSE)
        assert session.rechecked == 3
