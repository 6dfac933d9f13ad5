"""Integer programs: what is optimal says so with its own cost, and what has no solution is called so."""

from __future__ import annotations

import random
from itertools import product

import pytest

from oracle.optimum.solver import Outcome, Program, Row, solve_integers


@pytest.mark.parametrize(
    "rows",
    [
        (Row(3, 3, ((0, 2),)),),
        (Row(1, 5, ((0, 6), (1, -12))),),
        (Row(1, 1, ()),),
        (Row(None, -1, ()),),
        (Row(0, 4, ((0, 1),)), Row(5, 5, ((0, 2), (1, 2)))),
    ],
    ids=str,
)
def test_a_row_that_no_whole_numbers_fulfil(rows: tuple[Row, ...]) -> None:
    answer = solve_integers(Program((1, 1), (9, 9), rows))
    assert (answer.outcome, answer.values, answer.bound) == (Outcome.INFEASIBLE, (), None)


def test_a_row_without_terms_that_holds() -> None:
    answer = solve_integers(Program((1,), (9,), (Row(0, 0, ()), Row(None, 3, ()), Row(4, None, ((0, 2),)))))
    assert (answer.outcome, answer.values, answer.bound) == (Outcome.OPTIMAL, (2,), 2)


def test_small_programs_by_trying_all_values() -> None:
    rng = random.Random(1)
    outcomes = set[Outcome]()
    for _ in range(150):
        columns = rng.randint(1, 3)
        costs = tuple(rng.randint(-3, 3) for _ in range(columns))
        uppers = tuple(rng.randint(0, 3) for _ in range(columns))
        rows: list[Row] = []
        for _ in range(rng.randint(0, 3)):
            factor, lower = rng.choice([1, 2, 3]), rng.choice([None, rng.randint(-4, 6)])
            upper = rng.choice([None, lower, rng.randint(-2, 9)])
            if lower is not None and upper is not None and lower > upper:
                lower, upper = upper, lower
            rows.append(Row(lower, upper, tuple((c, factor * rng.choice([-2, -1, 1, 2])) for c in range(columns))))
        values = [
            sum(cost * value for cost, value in zip(costs, chosen, strict=True))
            for chosen in product(*(range(upper + 1) for upper in uppers))
            if all(
                (row.lower is None or sum(k * chosen[c] for c, k in row.terms) >= row.lower)
                and (row.upper is None or sum(k * chosen[c] for c, k in row.terms) <= row.upper)
                for row in rows
            )
        ]
        answer = solve_integers(Program(costs, uppers, tuple(rows)))
        outcomes.add(answer.outcome)
        if values:
            assert (answer.outcome, answer.bound) == (Outcome.OPTIMAL, min(values))
            assert sum(cost * value for cost, value in zip(costs, answer.values, strict=True)) == min(values)
        else:
            assert (answer.outcome, answer.bound) == (Outcome.INFEASIBLE, None)
    assert outcomes == {Outcome.OPTIMAL, Outcome.INFEASIBLE}
