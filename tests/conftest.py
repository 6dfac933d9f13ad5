"""Profiles of hypothesis, and where the real data are."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator

# A tiny profile while you work (`make quick`), a small one for every change, a large one for the night (`make
# test-full`). Tests carry no timings, so there is no deadline; but for the night they are derandomised, so that a red
# test is red for everybody.
settings.register_profile("quick", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("COMPASS_HYPOTHESIS_PROFILE", "default"))

_DATA = Path(os.environ.get("COMPASS_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(autouse=True)
def sigint_of_the_foreground(request: pytest.FixtureRequest) -> Generator[None]:
    """Let tests marked `signals`, and what they start, hear Ctrl-C although SIGINT is ignored: under nohup, say."""
    node: pytest.Item = request.node
    if node.get_closest_marker("signals") is None:
        yield
        return
    # What a process handles itself, those that it starts find as the system has it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real traces and snapshots; skip the test where it is absent."""
    if not _DATA.is_dir():
        pytest.skip("the real data are not here: set COMPASS_DATA")
    return _DATA
