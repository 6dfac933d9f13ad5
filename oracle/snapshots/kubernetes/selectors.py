"""Selectors of labels: which nodes or pods they take, by the rules of Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.snapshots.model import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.kubernetes.items import Place
    from oracle.snapshots.kubernetes.objects import LabelSelector, NodeSelectorTerm, Requirement

NODE_NAME = "metadata.name"

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a label, in a form that can be compared; `key` may be the field `NODE_NAME`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str | None]) -> bool:
        """Return whether labels fulfil it."""
        value = labels.get(self.key) if self.key in labels else None
        if self.operator in {"In", "NotIn"}:
            is_one = self.key in labels and (value or "") in self.values
            return is_one == (self.operator == "In")
        if self.operator in {"Exists", "DoesNotExist"}:
            return (self.key in labels) == (self.operator == "Exists")
        number, limit = _number(value), _number(self.values[0] if len(self.values) == 1 else None)
        if number is None or limit is None:
            return False
        return number > limit if self.operator == "Gt" else number < limit

    def __str__(self) -> str:
        if self.operator == "In" and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator}" + (f" ({', '.join(self.values)})" if self.values else "")


Term = frozenset[Condition]
"""Conditions that must all hold."""


def equal_to(labels: Mapping[str, str | None]) -> Term:
    """Return the conditions that each of the labels is there with its value."""
    return frozenset(Condition(key, "In", (value or "",)) for key, value in labels.items())


def read_terms(place: Place, terms: Iterable[NodeSelectorTerm]) -> tuple[Term, ...]:
    """Return alternatives, without those that hold nowhere because they say nothing."""
    read = [
        read_conditions(place.at(f"[{n}].matchExpressions"), term.match_expressions or ())
        | read_conditions(place.at(f"[{n}].matchFields"), term.match_fields or ())
        for n, term in enumerate(terms)
    ]
    return tuple(dict.fromkeys(term for term in read if term))


def read_selector(place: Place, selector: LabelSelector) -> Term:
    """Return the conditions of a selector of pods; none of them: it takes all."""
    return equal_to(selector.match_labels or {}) | read_conditions(
        place.at("matchExpressions"), selector.match_expressions or ()
    )


def read_conditions(place: Place, requirements: Iterable[Requirement]) -> Term:
    """Return conditions as the API has them.

    Raises
    ------
    SnapshotError
        An operator that Kubernetes does not have.
    """
    conditions: set[Condition] = set()
    for n, requirement in enumerate(requirements):
        if requirement.operator not in _OPERATORS:
            problem = f"expected one of {', '.join(_OPERATORS)}, got {shown(requirement.operator)}"
            raise place.error(f"[{n}].operator", problem)
        conditions.add(Condition(requirement.key, requirement.operator, tuple(sorted(set(requirement.values or ())))))
    return frozenset(conditions)


def holds(term: Term, labels: Mapping[str, str | None]) -> bool:
    """Return whether labels fulfil all conditions."""
    return all(condition.holds(labels) for condition in term)


class LabelIndex:
    """Things by their labels, so that a selector is answered without asking each of them."""

    def __init__(self, labels: Mapping[str, Mapping[str, str | None]]) -> None:
        self._labels = labels
        self._all = frozenset(labels)
        self._by_label: dict[str, dict[str, set[str]]] = {}
        for name, own in labels.items():
            for key, value in own.items():
                self._by_label.setdefault(key, {}).setdefault(value or "", set()).add(name)

    def taken_by(self, terms: Sequence[Term]) -> frozenset[str]:
        """Return the names of what at least one of the terms takes."""
        return frozenset[str]().union(*(self._all_of(term) for term in terms))

    def _all_of(self, term: Term) -> frozenset[str]:
        # The few that some label names come first: what is then asked of each costs little.
        found = self._all
        for condition in sorted(term, key=lambda condition: (condition.operator != "In", str(condition))):
            if condition.operator == "In":
                values = self._by_label.get(condition.key, {})
                found &= frozenset[str]().union(*(values.get(value, ()) for value in condition.values))
            else:
                found = frozenset(name for name in found if condition.holds(self._labels[name]))
        return found


def _number(text: str | None) -> int | None:
    # As much as 64 bits hold, as Kubernetes has it.
    sign, digits = ("-", text[1:]) if text and text.startswith("-") else ("", text or "")
    return int(sign + digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None
