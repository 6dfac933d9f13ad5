"""Terms mean to the solver what they mean to Python."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.smt import Verdict, prove
from proofs.smtlib import Lemma, script
from proofs.terms import (
    Formula,
    Term,
    choose,
    equal,
    every,
    greatest,
    holds,
    implies,
    indicator,
    least,
    some,
    term,
    total,
    value,
    variable,
)

X, Y = variable("x"), variable("y")


def _terms() -> st.SearchStrategy[Term]:
    leaves = st.one_of(st.sampled_from([X, Y]), st.integers(-9, 9).map(term))

    def larger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.map(lambda pair: pair[0] + pair[1]),
            two.map(lambda pair: pair[0] - pair[1]),
            st.tuples(inner, st.integers(-4, 4)).map(lambda pair: pair[0] * pair[1]),
            st.tuples(inner, st.integers(1, 9)).map(lambda pair: pair[0] // pair[1]),
            st.tuples(inner, st.integers(1, 9)).map(lambda pair: pair[0] % pair[1]),
            st.tuples(_formulas(inner), inner, inner).map(lambda parts: choose(*parts)),
            two.map(lambda pair: least(*pair)),
            two.map(lambda pair: greatest(*pair)),
        )

    return st.recursive(leaves, larger, max_leaves=8)


def _formulas(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Formula]:
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda pair: pair[0] <= pair[1]),
        two.map(lambda pair: pair[0] > pair[1]),
        two.map(lambda pair: equal(*pair)),
        two.map(lambda pair: ~(pair[0] < pair[1]) | (pair[0] >= 3)),
        two.map(lambda pair: every([pair[0] >= 0, pair[1] >= 0])),
        two.map(lambda pair: some([pair[0] >= 0, pair[1] >= 0])),
    )


@settings(max_examples=60)
@given(of=_terms(), x=st.integers(-30, 30), y=st.integers(-30, 30))
def test_the_solver_evaluates_terms_as_python_does(of: Term, x: int, y: int) -> None:
    # The value by Python is the only one that z3 admits.
    known = (equal(X, x), equal(Y, y))
    found = value(of, {"x": x, "y": y})
    assert prove(Lemma("value", equal(of, found), known)).verdict is Verdict.PROVED


def test_division_rounds_down() -> None:
    assert value(X // 8, {"x": -1}) == -1
    assert value(X % 8, {"x": -1}) == 7
    with pytest.raises(ValueError, match="positive divisor"):
        _ = X // 0


def test_words_for_formulas() -> None:
    low = {"x": 1, "y": 5}
    assert holds(implies(X > 3, Y > 9), low)
    assert not holds(implies(X < 3, Y > 9), low)
    assert value(indicator(X < Y), low) == 1
    assert value(total([X, Y, 4]), low) == 10
    assert value(5 - X, low) == 4
    assert value(-X, low) == -1
    assert holds(every(()), low)
    assert not holds(some(()), low)


def test_a_script_asks_for_a_counterexample() -> None:
    text = script(Lemma("half", X + X <= 2 * Y, (X <= Y,))).text
    assert text.splitlines() == [
        "; half",
        "; unsat: proved. sat: refuted.",
        "(set-logic QF_LIA)",
        "(declare-const x Int)",
        "(declare-const y Int)",
        "(define-fun b.0 () Bool (<= x y))",
        "(define-fun i.1 () Int (+ x x))",
        "(define-fun i.2 () Int (* 2 y))",
        "(define-fun b.3 () Bool (<= i.1 i.2))",
        "(define-fun b.4 () Bool (not b.3))",
        "(assert b.0)",
        "(assert b.4)",
        "(check-sat)",
    ]


def test_a_script_writes_shared_parts_once() -> None:
    shared = X + 1
    for _ in range(40):  # written out in full this would be 2^40 additions
        shared = shared + shared
    assert len(script(Lemma("shared", shared >= 0)).text) < 4_000
