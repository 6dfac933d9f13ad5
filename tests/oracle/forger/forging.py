"""The forger: it makes false documents, asks `verify` about each, and counts what became of them.

A lie changes one value. From there it looks for what makes the document consistent again: of all changes that follow,
and a few more lies, the one after which the fewest checks fail is made, and so on. The checks lead the way to what
passes; what is false only the judge says, who shares no code with them.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.verification import ResultError, verify
from tests.oracle.forger.designs import DESIGNS
from tests.oracle.forger.following import following
from tests.oracle.forger.judge import falsehoods
from tests.oracle.forger.lies import lies, statements, told
from tests.oracle.forger.scenes import KINDS, cases
from tests.oracle.forger.trees import different, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oracle.verification import Check
    from tests.oracle.forger.scenes import Case, Data
    from tests.oracle.forger.trees import Way
    from tests.oracle.forger.truth import Falsehood

_REFUSED = 1000
"""More than checks can fail: the document is not read at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How much is forged.

    Attributes
    ----------
    documents
        Of each kind.
    lies
        Of each document, at most; all of them for None. From each of them `depth` changes follow.
    depth
        Changes that follow a lie, at most.
    more
        Further lies that are tried beside each change that follows.
    """

    documents: int
    lies: int | None
    depth: int
    more: int = 2


SMALL = Profile(documents=1, lies=12, depth=2)
LARGE = Profile(documents=10, lies=60, depth=3, more=4)


@dataclass(frozen=True, slots=True)
class Passed:
    """A false document that nothing was said against."""

    kind: str
    way: str
    lies: frozenset[Falsehood]
    case: Case
    data: Data
    named: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """What became of the documents of one kind."""

    documents: int = 0
    failing: list[tuple[Case, str]] = field(default_factory=list["tuple[Case, str]"])
    statements: set[str] = field(default_factory=set[str])
    lied: Counter[str] = field(default_factory=Counter[str])
    faults: list[tuple[Data, str]] = field(default_factory=list["tuple[Data, str]"])
    forged: Counter[str] = field(default_factory=Counter[str])
    refused: int = 0
    named: int = 0
    true: int = 0
    passed: list[Passed] = field(default_factory=list[Passed])


def forge(profile: Profile, kinds: Iterable[str] = KINDS, seed: int = 1) -> dict[str, Tally]:
    """Forge documents of these kinds, and tell what became of them."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for kind in kinds:
        tally = tallies[kind]
        for number, case in enumerate(cases(kind, profile.documents, seed)):
            tally.documents += 1
            tally.statements |= statements(case.data)
            _Forger(case, profile, random.Random(f"forger {kind} {seed} {number}"), tally).run()
    return tallies


class _Forger:
    def __init__(self, case: Case, profile: Profile, rng: random.Random, tally: Tally) -> None:
        self._case = case
        self._profile = profile
        self._rng = rng
        self._tally = tally
        self._seen: set[str] = set()
        self._snapshot = None if "certificate" in case.kind else case.scene.snapshot

    def run(self) -> None:
        """Forge the document in every way."""
        case = self._case
        for check in self._recheck(case.data) or ():
            if check.holds is False:
                self._tally.failing.append((case, f"{check.claim}: {check.detail}"))
        self._seen.add(json.dumps(case.data))
        for lie in self._chosen(lies(case.data, case.scene)):
            self._follow(key_of(lie[0]), told(case.data, lie), self._profile.depth)
        for name, design in DESIGNS.items():
            for data in design(case, self._rng):
                self._follow(name, data, self._profile.depth - 1)  # much has followed already

    def _chosen(self, possible: list[tuple[Way, object]]) -> Iterable[tuple[Way, object]]:
        """Return some lies, one about each statement, first about those that were lied about least."""
        if self._profile.lies is None:
            return possible
        self._rng.shuffle(possible)
        of_key = {key_of(way): (way, value) for way, value in possible}
        return [of_key[key] for key in sorted(of_key, key=self._tally.lied.__getitem__)][: self._profile.lies]

    def _follow(self, way: str, data: Data, depth: int) -> None:
        failing = self._count(way, 0, data)
        for step in range(1, depth + 1):
            if failing == 0:
                return
            others = [*following(data, self._case.scene), *self._more(data)]
            tried = [(self._count(way, step, other), k) for k, other in enumerate(others)]
            if not tried:
                return
            failing, best = min(tried)
            data = others[best]

    def _more(self, data: Data) -> Iterator[Data]:
        more = lies(data, self._case.scene)
        yield from (told(data, lie) for lie in self._rng.sample(more, min(self._profile.more, len(more))))

    def _count(self, way: str, step: int, data: Data) -> int:
        """Return how many checks fail, and put down what became of a document not seen before."""
        checks = self._recheck(data)
        failing = _REFUSED if checks is None else sum(check.holds is False for check in checks)
        text = json.dumps(data)
        if text not in self._seen:
            self._seen.add(text)
            self._put_down(way, step, data, checks if failing == 0 else None, more='"saved"' in text)
        return failing

    def _recheck(self, data: Data) -> tuple[Check, ...] | None:
        try:
            return verify(data, self._snapshot)
        except ResultError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be told with what led to it
            self._tally.faults.append((data, repr(error)))
            return None

    def _put_down(self, way: str, step: int, data: Data, checks: tuple[Check, ...] | None, *, more: bool) -> None:
        """Put down what became of a document; with `more` it has a key that no document has."""
        tally = self._tally
        found = falsehoods(data, self._case)
        if found is None:
            if checks is not None:
                tally.passed.append(Passed(self._case.kind, f"{way}: of another form", frozenset(), self._case, data))
            return
        if not found and not more:
            tally.true += 1
            return
        tally.forged[way if way in DESIGNS else f"{min(step + 1, 3)} changes"] += 1
        tally.lied.update(different(self._case.data, data))
        if checks is None:
            tally.refused += 1
            return
        open_ = tuple(check.claim for check in checks if check.holds is None)
        quiet = frozenset(lie for lie in found if not lie.is_named(open_))
        if quiet or more:
            tally.passed.append(Passed(self._case.kind, way, quiet, self._case, data, open_))
        else:
            tally.named += 1
