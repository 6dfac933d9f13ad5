"""How many instances may be stopped or moving at a time: of one job, and of those that share a disruption budget."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oracle.snapshots.stocks import Key, Stocks


class Group(NamedTuple):
    """Instances of which only so many may be down: those of a job, or of a disruption budget."""

    name: str
    is_budget: bool = False

    def __str__(self) -> str:
        return f"disruption budget {self.name}" if self.is_budget else repr(self.name)


class AtOnce:
    """How many instances of each group may be down at a time.

    Parameters
    ----------
    budgets, stocks
        What the disruption budgets of the cluster allow, by name, and its instances by their numbers.
    per_job
        At most so many instances of one job; None for any number.
    """

    def __init__(self, budgets: Mapping[str, int], stocks: Stocks, per_job: int | None = None) -> None:
        self._budgets = budgets
        self._instances = stocks.instances
        self._per_job = per_job
        self.any = per_job is not None or bool(budgets)

    def __str__(self) -> str:
        limits = [] if self._per_job is None else [f"at most {count(self._per_job, 'instance')} of one job at a time"]
        return " and ".join([*limits, *(["its disruption budgets kept"] if self._budgets else [])])

    def groups(self, key: Key) -> Iterator[tuple[Group, int]]:
        """Yield the groups of an instance in which the number is limited, and how many of each may be down."""
        if self._per_job is not None:
            yield Group(key[0]), self._per_job
        for budget in self._instances[key].budgets:
            yield Group(budget, is_budget=True), self._budgets[budget]

    def exceeded(self, down: Iterable[Key]) -> str:
        """Return what is wrong with these instances being down together, in words; nothing if it is allowed."""
        if not self.any:
            return ""
        most: dict[Group, int] = {}
        numbers: Counter[Group] = Counter()
        for key in down:
            for group, limit in self.groups(key):
                most[group] = limit
                numbers[group] += 1
        for group, number in numbers.items():
            if number > most[group]:
                return f"{count(number, 'instance')} of {group} would be down at a time, at most {most[group]} may"
        return ""
