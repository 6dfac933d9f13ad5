"""What the rules of thumb about moves find where there is little room, against everything there is."""

from __future__ import annotations

import pytest

from tests.oracle.tight_worlds import figures


@pytest.mark.long
def test_few_are_missed() -> None:
    """Nothing is claimed that is false, which `figures` asserts, and what the pages say of how much is missed holds."""
    found = figures(seed=2, worlds=60)
    assert found["orders that stop more than the fewest"] <= found["orders"] / 3
    assert found["live plans that leave more partial nodes than need be"] <= 1
    assert found["admissions after live moves that are not found"] <= 3
