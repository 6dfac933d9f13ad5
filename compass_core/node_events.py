"""What happens to nodes of a real cluster: one is added, drained, fails, returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compass_core.compact import settle
from compass_core.draft import Draft, every_move_counts_one
from compass_core.errors import PlacementError, VariantError
from compass_core.place import NoHostError, put_all
from compass_core.steps import Migration, shortened
from compass_core.variant import Variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from compass_core.model import Instance
    from compass_core.state import ClusterState


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What an event of a node did."""

    state: ClusterState
    """The new state; the old one itself where a drain was refused."""

    node: int
    """The node's index."""

    migrations: tuple[Migration, ...] = ()
    """In executable order; those off a drained node are among them."""

    done: bool = True
    reason: str = ""
    """Why a drain was refused."""

    lost: tuple[Instance, ...] = ()
    """Instances that vanished with a failed node. Their jobs stay known until `depart` ends what is left of them."""

    @property
    def jobs_hit(self) -> tuple[str, ...]:
        """The jobs that lost an instance, sorted."""
        return tuple(sorted({instance.job for instance in self.lost}))


def add_node(state: ClusterState, *, variant: Variant = Variant.COMPASS) -> NodeOutcome:
    """Add an idle node under a new index, and compact: under COMPASS it may be the home an orphan waits for."""
    larger, index = state.with_node()
    return _settled(larger, index, variant)


def return_node(state: ClusterState, index: int, *, variant: Variant = Variant.COMPASS) -> NodeOutcome:
    """Bring a drained or failed node back, idle, and compact.

    Raises
    ------
    PlacementError
        No offline node has that index.
    """
    return _settled(state.with_node_online(index), index, variant)


def fail_node(state: ClusterState, index: int, *, variant: Variant = Variant.COMPASS) -> NodeOutcome:
    """Take a node off together with its instances, and compact what is left.

    Raises
    ------
    PlacementError
        No online node has that index.
    """
    _check_online(state, index)
    lost = state.nodes[index].instances
    rest = state
    for instance in lost:
        rest = rest.remove(instance)
    return _settled(rest.with_node_offline(index), index, variant, lost)


def drain_node(
    state: ClusterState,
    index: int,
    *,
    variant: Variant = Variant.COMPASS,
    migration_cost: Callable[[Instance], float] = every_move_counts_one,
) -> NodeOutcome:
    """Move everything off a node and take it offline, or refuse and change nothing.

    Under EXACT and WCC refused exactly when the other nodes have too few GPUs free.

    Raises
    ------
    PlacementError
        No online node has that index.
    """
    _check_variant(variant)
    _check_online(state, index)
    leaving = state.nodes[index].instances
    others = state
    for instance in leaving:
        others = others.remove(instance)
    draft = Draft(others.with_node_offline(index), variant, migration_cost, drained=index)
    try:
        put_all(draft, leaving)  # anchors first, largest first: their fillers then find the vacancies
    except NoHostError:
        free = state.free_gpus - state.nodes[index].free
        reason = f"{state.nodes[index].used} GPUs have to leave node {index}, {free} are free on the others"
        return NodeOutcome(state, index, done=False, reason=reason)
    return NodeOutcome(draft.state, index, shortened(state, tuple(draft.moves)))


def _settled(after: ClusterState, index: int, variant: Variant, lost: tuple[Instance, ...] = ()) -> NodeOutcome:
    _check_variant(variant)
    draft = Draft(after, variant)
    settle(draft)
    return NodeOutcome(draft.state, index, shortened(after, tuple(draft.moves)), lost=lost)


def _check_variant(variant: Variant) -> None:
    if variant is Variant.PRINTED:
        raise VariantError("the printed algorithm knows no events of nodes; use COMPASS or EXACT")


def _check_online(state: ClusterState, index: int) -> None:
    if not state.is_online(index):
        raise PlacementError(f"no online node has the index {index}")
