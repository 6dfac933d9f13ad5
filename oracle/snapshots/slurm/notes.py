"""What a reader has to say besides the snapshot: what it left out, and which constraints it did not look at."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.snapshots.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def _lists() -> defaultdict[str, list[str]]:
    return defaultdict(list)


@dataclass(slots=True)
class Notes:
    """Things by reason, in the order in which they were met."""

    _skipped: defaultdict[str, list[str]] = field(default_factory=_lists)
    _overlooked: defaultdict[str, list[str]] = field(default_factory=_lists)

    def skip(self, reason: str, items: Iterable[str]) -> None:
        """Note what is left out, or what is to be known about what is kept."""
        listed = list(items)
        if listed:
            self._skipped[reason].extend(listed)

    def overlook(self, constraints: Iterable[str], job: str) -> None:
        """Note constraints of a job that the snapshot does not have."""
        for words in constraints:
            self._overlooked[words].append(job)

    def skipped(self, kept: Collection[str]) -> list[Skipped]:
        """Return what was left out; of the reasons in `kept`, things that are in the snapshot all the same."""
        return [
            Skipped(reason=reason, items=tuple(items), kept=reason in kept) for reason, items in self._skipped.items()
        ]

    def not_looked_at(self) -> list[Skipped]:
        """Return the constraints that the snapshot does not have, each with the jobs that have it."""
        return [
            Skipped(reason=words, items=tuple(dict.fromkeys(jobs)), kept=True)
            for words, jobs in self._overlooked.items()
        ]
