"""The properties can fail: operators broken in one way each are caught, the sound ones are not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.proofs.mutants import MUTANTS, forget
from tests.proofs.property_suite import CHECKS, first_to_fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.proofs.mutants import Mutant


@pytest.fixture
def sound_afterwards() -> Iterator[None]:
    """Let no table that broken code filled outlive its test."""
    yield
    forget()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_sound_operators_pass(check: Callable[[], None]) -> None:
    check()


@pytest.mark.long
@pytest.mark.usefixtures("sound_afterwards")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_is_caught(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    mutant.break_it(monkeypatch)
    caught = first_to_fail()
    record_property("caught_by", caught)
    assert caught is not None, f"nothing notices that {mutant.breaks}"


def test_mutants_are_many_and_told_apart() -> None:
    assert len(MUTANTS) >= 20
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1


def test_the_page_lists_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mutations.md").read_text(encoding="utf-8")
    rows = [tuple(cell.strip() for cell in line.split("|")[1:4]) for line in page.splitlines() if line.startswith("| ")]
    assert [row[:2] for row in rows if row[:2] in {(m.name, m.breaks) for m in MUTANTS}] == [
        (mutant.name, mutant.breaks) for mutant in MUTANTS
    ]
    checks = {check.__name__.replace("_", " ") for check in CHECKS}
    assert all(row[2] in checks for row in rows[1 : len(MUTANTS) + 1])
