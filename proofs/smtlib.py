"""Lemmas as SMT-LIB text: what every solver is given, and what `compass-prove --smt2` writes down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from proofs.terms import Formula, FormulaKind, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Lemma:
    """A claim about whole numbers: `claim` follows from `given`, whatever values the variables have.

    Attributes
    ----------
    label
        What it says, in words; unique among the lemmas of one claim.
    claim
        The formula that should follow.
    given
        The formulas it should follow from.
    """

    label: str
    claim: Formula
    given: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A question to a solver, and the names of the variables it is about."""

    text: str
    variables: tuple[str, ...]


def script(lemma: Lemma) -> Script:
    """Return a script that asks for a counterexample: the lemma holds if and only if the answer is ``unsat``."""
    writer = _Writer()
    asserted = [writer.formula(part) for part in (*lemma.given, ~lemma.claim)]
    lines = [f"; {lemma.label}", "; unsat: proved. sat: refuted.", "(set-logic QF_LIA)"]
    lines += [f"(declare-const {name} Int)" for name in writer.variables]
    lines += writer.definitions
    lines += [f"(assert {text})" for text in asserted]
    return Script("\n".join([*lines, "(check-sat)", ""]), tuple(writer.variables))


@dataclass(slots=True)
class _Writer:
    """Writes each part once and names it: terms share parts, and written out in full they would grow without end."""

    variables: dict[str, None] = field(default_factory=dict[str, None])
    definitions: list[str] = field(default_factory=list[str])
    _names: dict[int, str] = field(default_factory=dict[int, str])
    _alive: list[Term | Formula] = field(default_factory=list["Term | Formula"])  # so that no id is used twice

    def term(self, of: Term) -> str:
        match of.kind:
            case TermKind.VARIABLE:
                self.variables[of.name] = None
                return of.name
            case TermKind.CONSTANT:
                return _numeral(of.number)
            case _:
                return self._named(of, "Int")

    def formula(self, of: Formula) -> str:
        return self._named(of, "Bool")

    def _named(self, of: Term | Formula, sort: str) -> str:
        if id(of) not in self._names:
            text = self._composed_term(of) if isinstance(of, Term) else self._composed_formula(of)
            name = f"{sort[0].lower()}.{len(self.definitions)}"
            self.definitions.append(f"(define-fun {name} () {sort} {text})")
            self._names[id(of)] = name
            self._alive.append(of)
        return self._names[id(of)]

    def _composed_term(self, of: Term) -> str:
        parts = [self.term(part) for part in of.terms]
        match of.kind:
            case TermKind.SUM:
                return _applied("+", parts, empty="0")
            case TermKind.MULTIPLE:
                return f"(* {_numeral(of.number)} {parts[0]})"
            case TermKind.QUOTIENT:
                return f"(div {parts[0]} {of.number})"
            case TermKind.REMAINDER:
                return f"(mod {parts[0]} {of.number})"
            case TermKind.CHOICE if of.condition is not None:
                return f"(ite {self.formula(of.condition)} {parts[0]} {parts[1]})"
            case _:
                raise AssertionError(f"a term without parts is written where it stands: {of.kind}")

    def _composed_formula(self, of: Formula) -> str:
        parts = [self.formula(part) for part in of.parts] or [self.term(part) for part in of.terms]
        match of.kind:
            case FormulaKind.AT_MOST:
                return f"(<= {parts[0]} {parts[1]})"
            case FormulaKind.EQUAL:
                return f"(= {parts[0]} {parts[1]})"
            case FormulaKind.ALL:
                return _applied("and", parts, empty="true")
            case FormulaKind.ANY:
                return _applied("or", parts, empty="false")
            case FormulaKind.NOT:
                return f"(not {parts[0]})"
        assert_never(of.kind)


def _numeral(number: int) -> str:
    return str(number) if number >= 0 else f"(- {-number})"


def _applied(operator: str, parts: Sequence[str], *, empty: str) -> str:
    if len(parts) < 2:
        return parts[0] if parts else empty
    return f"({operator} {' '.join(parts)})"
