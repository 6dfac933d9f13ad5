"""Nothing false passes `verify`: forged documents of every kind, judged by trying everything.

`python -m tests.oracle.forger` prints what became of them; see `tests.oracle.forger.forging`.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from tests.oracle.forger.__main__ import report
from tests.oracle.forger.designs import DESIGNS
from tests.oracle.forger.forging import LARGE, SMALL, forge
from tests.oracle.forger.judge import falsehoods
from tests.oracle.forger.lies import lies, statements, told
from tests.oracle.forger.scenes import KINDS, cases
from tests.oracle.forger.trees import different, key_of

if TYPE_CHECKING:
    from tests.oracle.forger.forging import Profile


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("profile", "seed"),
    [pytest.param(SMALL, 1, id="small"), pytest.param(LARGE, 2, id="large", marks=pytest.mark.slow)],
)
def test_nothing_false_passes_and_nothing_true_fails(kind: str, profile: Profile, seed: int) -> None:
    tallies = forge(profile, [kind], seed)
    tally = tallies[kind]
    assert tally.documents == profile.documents
    assert tally.refused > 10
    assert (tally.passed, tally.failing, tally.faults) == ([], [], []), report(tallies)


@pytest.mark.long
def test_what_the_library_says_is_true() -> None:
    """The judge holds no document of ours false: so what it does hold false was made so."""
    for kind in KINDS:
        for case in cases(kind, 5, 4):
            assert falsehoods(case.data, case) == frozenset(), case


# Which pools have evidence, and weights about them, prove what is said and say nothing themselves.
_EVIDENCE = re.compile(r"certificate\.(frontier|pools$|pools\[\]\.(pool$|most|moves))")

# What a job asks for besides GPUs in a pool: `test_forged_ruled_admissions` lies about that.
_ASKED = re.compile(r"jobs?(\[\])?\.(within|resources|distinct_nodes|further_parts|together|more_of)")


@pytest.mark.long
@pytest.mark.parametrize("subject", sorted({kind.split()[0] for kind in KINDS}))
def test_every_statement_is_lied_about(subject: str) -> None:
    """Every key of every document is another in some false one: by itself, or together with what follows from it."""
    every: set[str] = set()
    lied: set[str] = set()
    for kind in (kind for kind in KINDS if kind.split()[0] == subject):
        for case in cases(kind, 3, 5):
            every |= statements(case.data)
            rng = random.Random(kind)
            for way, value in lies(case.data, case.scene):
                data = told(case.data, (way, value))
                if key_of(way) not in lied and falsehoods(data, case):
                    lied.add(key_of(way))
            for design in DESIGNS.values():
                for data in design(case, rng):
                    new = different(case.data, data) - lied
                    if new and falsehoods(data, case):
                        lied |= new
    assert sorted(key for key in every - lied if not _EVIDENCE.search(key) and not _ASKED.match(key)) == []
