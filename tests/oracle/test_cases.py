"""The collected cases: situations from bug reports and from search, with their expected figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict, cast

import pytest

from oracle.measurement.measure import measure
from oracle.optimum.certificate import Status
from oracle.snapshots.document import Document
from oracle.snapshots.native import read_native

if TYPE_CHECKING:
    from pathlib import Path

FIGURES = ("partial_nodes", "inherent_partial_nodes", "ideal_partial_nodes", "used_gpus", "overcommitted")


class Case(TypedDict):
    id: str
    snapshot: dict[str, object]
    expected: dict[str, object]


@pytest.fixture(scope="module")
def cases(real_data: Path) -> list[Case]:
    return cast("list[Case]", json.loads((real_data / "cases.json").read_bytes()))


@pytest.mark.real_data
def test_every_case_has_the_expected_figures(cases: list[Case]) -> None:
    assert cases
    for case in cases:
        snapshot = read_native(Document(case["id"], json.dumps(case["snapshot"]).encode()))
        measured = measure(snapshot)
        figures = measured.to_dict()
        expected: dict[str, object] = {"overcommitted": [], **case["expected"]}
        assert {key: figures[key] for key in FIGURES} == {key: expected[key] for key in FIGURES}, case["id"]
        assert measured.status is Status.OPTIMAL
        for pool in measured.pools:
            assert pool.certificate.holds()
            assert pool.ideal_certificate.holds()
