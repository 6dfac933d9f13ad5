"""Whole events on a few nodes' looks: everything the abstract rules allow an operator of COMPASS or EXACT to come to.

Only for clusters of a few nodes: all results are followed, so that a test can ask whether the code's is among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import Variant
from proofs.abstraction import (
    Kind,
    Looks,
    Rules,
    beside_ones,
    filling,
    looks,
    merging,
    placing,
    rehoming,
    removing,
    with_one_more,
)
from proofs.unbounded_admission import BLOCK, exchanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compass_core import ClusterState

Results = frozenset[Looks]


def abstract(state: ClusterState) -> Looks:
    """Return what the nodes of a state look like, in no order."""
    return looks(Kind.of(instance.gpus for instance in node.instances) for node in state.nodes)


def steps(state: Looks, rules: Rules) -> Iterator[Looks]:
    """Yield every result of one rule."""
    for before, results in rules.items():
        rest = _without(state, before)
        if rest is not None:
            for after in results:
                yield looks((*rest, *after))


def to_the_end(states: Iterable[Looks], rules: Rules, *, must: bool = True) -> Results:
    """Return what is left when no rule applies any more, along every way there.

    Parameters
    ----------
    must
        Whether the code goes on while a rule applies. Where it may stop before, all that is on the way counts too.
    """
    waiting, seen, ends = list(states), set[Looks](), set[Looks]()
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        following = list(steps(state, rules))
        waiting += following
        if not must or not following:
            ends.add(state)
    return frozenset(ends)


def settled(states: Iterable[Looks], variant: Variant) -> Results:
    """Return the results of what ends every event: fill, then merge.

    The code cannot carry out every merge that the rules allow, live on two nodes; so it may stop before.
    """
    return to_the_end(to_the_end(states, filling()), merging(variant), must=variant is Variant.EXACT)


def placed(state: Looks, demand: int, variant: Variant) -> Results:
    """Return the results of putting one instance somewhere, nothing if there is no way."""
    rules = placing(demand, variant)
    found = frozenset(steps(state, rules))
    if found:
        return found
    ready = settled([state], variant)
    found = frozenset(after for each in ready for after in steps(each, rules))
    for each in ready:
        if variant is Variant.EXACT:
            found |= frozenset(_with_exchange(each, demand))
        else:
            found |= frozenset(steps(each, beside_ones(demand)))
    return found


def _with_exchange(state: Looks, demand: int) -> Iterator[Looks]:
    """Yield the results of swapping the open node's slot of width 2 for two ones, and placing the instance there."""
    for host in {kind for kind in state if kind.open and BLOCK in kind.widths}:
        if not with_one_more(exchanged(host), demand).exists:
            continue
        others = [_without(state, (host,)) or ()]
        for _ in range(BLOCK):  # a one leaves some other node
            others = [
                looks((*rest, Kind(kind.widths, kind.balance + 1)))
                for each in others
                for kind in set(each)
                if kind.ones and (rest := _without(each, (kind,))) is not None
            ]
        for each in to_the_end(others, merging(Variant.EXACT)):
            for target in {kind for kind in each if kind.room == BLOCK}:
                moved = Kind(tuple(sorted((*target.widths, BLOCK), reverse=True)), target.balance)
                rest = _without(each, (target,)) or ()
                yield looks((*rest, moved, with_one_more(exchanged(host), demand)))


def arrived(state: Looks, demand: int, instances: int, variant: Variant) -> Results:
    """Return the results of a gang's arrival: what it comes to where it is admitted, the state itself if refused."""
    states: Results = frozenset([state])
    refused = False
    for _ in range(instances):
        following = [placed(each, demand, variant) for each in states]
        refused = refused or not all(following)
        states = frozenset[Looks]().union(*following)
    ends = settled(states, variant)
    if variant is Variant.COMPASS:
        refused = refused or any(kind.mixed for each in ends for kind in each)
        ends = frozenset(each for each in ends if not any(kind.mixed for kind in each))
    return ends | {state} if refused else ends


def departed(state: Looks, demand: int, instances: int, variant: Variant) -> Results:
    """Return the results of a gang's departure."""
    return settled(_all_removed(state, demand, instances), variant)


def _all_removed(state: Looks, demand: int, instances: int) -> Results:
    states: Results = frozenset([state])
    for _ in range(instances):
        states = frozenset(after for each in states for after in steps(each, removing(demand)))
    return states


def removed(state: Looks, demand: int, variant: Variant) -> Results:
    """Return the results of the operator Remove: one instance leaves, then vacancies are filled.

    COMPASS also re-homes ones off mixed nodes.
    """
    filled = to_the_end(_all_removed(state, demand, 1), filling())
    return to_the_end(filled, rehoming()) if variant is Variant.COMPASS else filled


def _without(state: Looks, some: Looks) -> Looks | None:
    left = list(state)
    for kind in some:
        if kind not in left:
            return None
        left.remove(kind)
    return looks(left)
