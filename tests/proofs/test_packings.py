"""Trying every placement: against a count by hand, and against the closed form on every small workload."""

from __future__ import annotations

import pytest

from oracle.optimum.closed_form import fewest_partial_nodes
from proofs.packing_faults import (
    fewest_nodes_not_best,
    fewest_partial_not_fewest_nodes,
    none_attains_both,
    procedure_not_best,
    smallest,
)
from proofs.packings import best_packing, counts_of, packings, partial_nodes, workloads


def test_every_way_to_place_three_instances() -> None:
    assert packings((4, 4, 1)) == {((4, 4), (1,)), ((4, 1), (4,)), ((4,), (4,), (1,))}
    assert packings((4, 4, 1), nodes=2) == {((4, 4), (1,)), ((4, 1), (4,))}
    assert packings((4, 4), capacity=4) == {((4,), (4,))}


@pytest.mark.parametrize(("gpus", "partitions"), [(1, 1), (4, 5), (8, 22), (9, 29), (10, 40)])
def test_the_workloads_of_a_total(gpus: int, partitions: int) -> None:
    """Partitions of n into parts of at most 8: p(9) = 30 and p(10) = 42 less those with a larger part."""
    every = list(workloads(gpus))
    assert len(set(every)) == len(every) == partitions
    assert {sum(demands) for demands in every} == {gpus}


def test_the_closed_form_is_right_for_every_workload_of_up_to_12_gpus() -> None:
    for gpus in range(13):
        for demands in workloads(gpus):
            assert fewest_partial_nodes(counts_of(demands)) == partial_nodes(best_packing(demands)), demands


class TestPacked:
    """The predicates by which P9 and P10 are settled tell what they should."""

    def test_fewest_nodes(self) -> None:
        assert fewest_nodes_not_best((4, 4, 1)) == ((4, 1), (4,))
        assert fewest_nodes_not_best((4, 4)) is None

    def test_fewest_partial_nodes(self) -> None:
        assert fewest_partial_not_fewest_nodes((4, 4, 1)) is None
        assert none_attains_both((4, 3, 4, 3)) is None

    def test_the_procedure(self) -> None:
        assert procedure_not_best((3, 3, 2, 1)) == ((3, 2, 1), (3,))
        assert procedure_not_best((3, 3, 2)) is None

    def test_the_first_is_the_smallest(self) -> None:
        assert smallest(lambda demands: (demands,) if len(demands) == 3 else None, gpus=5) == ((1, 1, 1), ((1, 1, 1),))
        assert smallest(lambda _: None, gpus=3) is None
