"""What is no variant is refused: a string would match none of them and act as a fourth."""

from __future__ import annotations

from typing import Any

import pytest

from compass_core import ClusterState, Job, Variant, VariantError, arrive, compact, depart, drain_node, fail_node


@pytest.mark.parametrize("variant", ["exact", "printed", None, 1])
def test_only_variants_are_taken(variant: Any) -> None:  # noqa: ANN401 - wrong types are meant
    state = arrive(ClusterState.empty(2), Job("a")).state
    with pytest.raises(VariantError, match="expected a Variant"):
        arrive(state, Job("b"), variant=variant)
    with pytest.raises(VariantError, match="expected a Variant"):
        depart(state, "a", variant=variant)
    with pytest.raises(VariantError, match="expected a Variant"):
        compact(state, variant=variant)


def test_the_printed_algorithm_knows_no_node_events() -> None:
    state = ClusterState.empty(2)
    with pytest.raises(VariantError, match="no events of nodes"):
        drain_node(state, 0, variant=Variant.PRINTED)
    with pytest.raises(VariantError, match="no events of nodes"):
        fail_node(state, 0, variant=Variant.PRINTED)
