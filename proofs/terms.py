"""Linear integer terms and formulas as plain values: claims are written in them, and solvers are given them.

They evaluate on ordinary numbers too, so the very formula that was proved can be compared with the code it speaks of.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class TermKind(Enum):
    """What a term is made of."""

    VARIABLE = "variable"
    CONSTANT = "constant"
    SUM = "sum"
    MULTIPLE = "multiple"  # a constant times a term: nothing here leaves linear arithmetic
    QUOTIENT = "quotient"  # by a positive constant, rounded down
    REMAINDER = "remainder"  # by a positive constant, never negative
    CHOICE = "choice"


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A whole number that depends on variables. Terms compare by identity: use `equal` to say that two agree."""

    kind: TermKind
    terms: tuple[Term, ...] = ()
    number: int = 0
    name: str = ""
    condition: Formula | None = None

    def __add__(self, other: Term | int) -> Term:
        return Term(TermKind.SUM, (self, term(other)))

    __radd__ = __add__

    def __sub__(self, other: Term | int) -> Term:
        return self + -1 * term(other)

    def __rsub__(self, other: int) -> Term:
        return other + -1 * self

    def __mul__(self, factor: int) -> Term:
        return Term(TermKind.MULTIPLE, (self,), factor)

    __rmul__ = __mul__

    def __neg__(self) -> Term:
        return -1 * self

    def __floordiv__(self, divisor: int) -> Term:
        return Term(TermKind.QUOTIENT, (self,), _positive(divisor))

    def __mod__(self, divisor: int) -> Term:
        return Term(TermKind.REMAINDER, (self,), _positive(divisor))

    def __le__(self, other: Term | int) -> Formula:
        return Formula(FormulaKind.AT_MOST, terms=(self, term(other)))

    def __ge__(self, other: Term | int) -> Formula:
        return term(other) <= self

    def __lt__(self, other: Term | int) -> Formula:
        return ~(self >= other)

    def __gt__(self, other: Term | int) -> Formula:
        return ~(self <= other)


class FormulaKind(Enum):
    """What a formula is made of."""

    AT_MOST = "at most"
    EQUAL = "equal"
    ALL = "all"
    ANY = "any"
    NOT = "not"


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """Something that is true or false of the variables."""

    kind: FormulaKind
    terms: tuple[Term, ...] = ()
    parts: tuple[Formula, ...] = ()

    def __and__(self, other: Formula) -> Formula:
        return Formula(FormulaKind.ALL, parts=(self, other))

    def __or__(self, other: Formula) -> Formula:
        return Formula(FormulaKind.ANY, parts=(self, other))

    def __invert__(self) -> Formula:
        return Formula(FormulaKind.NOT, parts=(self,))


def _positive(divisor: int) -> int:
    if divisor < 1:
        raise ValueError(f"expected a positive divisor, got {divisor}")
    return divisor


def variable(name: str) -> Term:
    """Return the variable of that name; two of one name are the same variable."""
    return Term(TermKind.VARIABLE, name=name)


def term(value: Term | int) -> Term:
    """Return a term as it is, and a number as a constant."""
    return value if isinstance(value, Term) else Term(TermKind.CONSTANT, number=value)


def total(terms: Iterable[Term | int]) -> Term:
    """Return the sum."""
    return Term(TermKind.SUM, tuple(term(one) for one in terms))


def equal(left: Term | int, right: Term | int) -> Formula:
    """Return the formula that two terms have one value."""
    return Formula(FormulaKind.EQUAL, terms=(term(left), term(right)))


def every(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction; true if there are no parts."""
    return Formula(FormulaKind.ALL, parts=tuple(parts))


def some(parts: Iterable[Formula]) -> Formula:
    """Return the disjunction; false if there are no parts."""
    return Formula(FormulaKind.ANY, parts=tuple(parts))


def implies(condition: Formula, consequence: Formula) -> Formula:
    """Return the implication."""
    return ~condition | consequence


def choose(condition: Formula, then: Term | int, otherwise: Term | int) -> Term:
    """Return the term that is `then` where the condition holds."""
    return Term(TermKind.CHOICE, (term(then), term(otherwise)), condition=condition)


def indicator(condition: Formula) -> Term:
    """Return 1 where the condition holds, else 0."""
    return choose(condition, 1, 0)


def least(*terms: Term | int) -> Term:
    """Return the smallest."""
    return reduce(lambda a, b: choose(a <= b, a, b), (term(one) for one in terms))


def greatest(*terms: Term | int) -> Term:
    """Return the largest."""
    return reduce(lambda a, b: choose(a >= b, a, b), (term(one) for one in terms))


def value(of: Term, numbers: Mapping[str, int]) -> int:
    """Return what a term comes to when its variables have these values.

    Raises
    ------
    KeyError
        A variable has none.
    """
    match of.kind:
        case TermKind.VARIABLE:
            found = numbers[of.name]
        case TermKind.CONSTANT:
            found = of.number
        case TermKind.SUM:
            found = sum(value(one, numbers) for one in of.terms)
        case TermKind.MULTIPLE:
            found = of.number * value(of.terms[0], numbers)
        case TermKind.QUOTIENT:
            found = value(of.terms[0], numbers) // of.number
        case TermKind.REMAINDER:
            found = value(of.terms[0], numbers) % of.number
        case TermKind.CHOICE:
            then = of.condition is None or holds(of.condition, numbers)
            found = value(of.terms[0 if then else 1], numbers)
        case _:
            assert_never(of.kind)
    return found


def holds(formula: Formula, numbers: Mapping[str, int]) -> bool:
    """Return whether a formula is true when its variables have these values.

    Raises
    ------
    KeyError
        A variable has none.
    """
    match formula.kind:
        case FormulaKind.AT_MOST:
            return value(formula.terms[0], numbers) <= value(formula.terms[1], numbers)
        case FormulaKind.EQUAL:
            return value(formula.terms[0], numbers) == value(formula.terms[1], numbers)
        case FormulaKind.ALL:
            return all(holds(part, numbers) for part in formula.parts)
        case FormulaKind.ANY:
            return any(holds(part, numbers) for part in formula.parts)
        case FormulaKind.NOT:
            return not holds(formula.parts[0], numbers)
    assert_never(formula.kind)
