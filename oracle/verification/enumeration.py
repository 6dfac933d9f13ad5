"""Small questions settled by trying everything, node by node: no solver, and no code shared with the searches.

Each answer is None where there is too much to try.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.interruption import break_off_if_requested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from oracle.optimum.model import NodeKind
    from oracle.optimum.node_classes import NodeClass, PackingProblem

# Steps of work: some seconds.
MAX_STEPS = 500_000

# What is kept of a step grows with the different sizes: so many of them count as one step more.
_SIZES_A_STEP = 16

_Counts: TypeAlias = tuple[int, ...]


def fewest_partial(problem: PackingProblem, *, max_steps: int = MAX_STEPS) -> int | None:
    """Return the fewest partial nodes of all packings; None if there are too many, or none at all."""
    return least_price(problem, lambda kind, load: int(kind.is_partial(load)), max_steps=max_steps)


def least_price(
    problem: PackingProblem, price: Callable[[NodeClass, int], int], *, max_steps: int = MAX_STEPS
) -> int | None:
    """Return the least total price of all packings; None if there are too many, or none at all.

    Parameters
    ----------
    problem
        The nodes, and the instances to be packed.
    price
        What a node of a class costs that holds so many movable GPUs.
    max_steps
        When to give up.
    """
    sizes = [demand for demand, _ in problem.demands]
    best: dict[_Counts, int] = {tuple(count for _, count in problem.demands): 0}
    steps = 0
    for kind, count in zip(problem.classes, problem.nodes, strict=True):
        if count > max_steps:
            return None
        for _ in range(count):
            after: dict[_Counts, int] = {}
            for left, total in best.items():
                break_off_if_requested()
                for rest, load in _ways(kind, sizes, left):
                    steps += 1 + len(sizes) // _SIZES_A_STEP
                    if steps > max_steps:
                        return None
                    cost = total + price(kind, load)
                    after[rest] = min(cost, after.get(rest, cost))
            best = after
    return best.get((0,) * len(sizes))


def _ways(kind: NodeClass, sizes: Sequence[int], left: _Counts) -> Iterator[tuple[_Counts, int]]:
    """Yield what is left and the GPUs taken for each thing that a node may hold."""
    own = Counter(kind.own)
    room = sum(min(count, own[size]) * size for size, count in zip(sizes, left, strict=True))
    pending: list[tuple[int, _Counts, int, bool]] = [(0, left, 0, True)]
    while pending:
        i, rest, load, kept = pending.pop()
        if i == len(sizes):
            yield rest, load
            continue
        size = sizes[i]
        for copies in range(rest[i] + 1):
            taken = load + copies * size
            still = kept and copies <= own[size]
            if taken > kind.room and not (still and taken <= room):
                break
            pending.append((i + 1, (*rest[:i], rest[i] - copies, *rest[i + 1 :]), taken, still))


def fits_within(
    nodes: Mapping[NodeKind, int], instances: int, gpus: int, moves: int, *, max_steps: int = MAX_STEPS
) -> bool | None:
    """Return whether so many new instances fit after at most so many moves, over-booking on the way allowed.

    Parameters
    ----------
    nodes
        The nodes of a pool that take instances, by kind.
    instances, gpus
        What is waiting.
    moves
        Instances that may change their node.
    max_steps
        When to give up.
    """
    sizes = sorted({demand for kind in nodes for demand in kind.holds})
    nothing: _Counts = (0,) * len(sizes)
    # What arrived less what left so far, by demand, and how many arrived and left: the most instances that fit more.
    best: dict[tuple[_Counts, int, int], int] = {(nothing, 0, 0): 0}
    steps = 0
    fit = 0
    for kind, count in nodes.items():
        fit += count * ((kind.node_class.room - sum(kind.holds)) // gpus)
        ways = _changes(kind, sizes, gpus, moves, max_steps - steps)
        if ways is None:
            return None
        steps += len(ways)
        for _ in range(min(count, 2 * moves)):
            after = dict(best)
            for (balance, came, went), gain in best.items():
                break_off_if_requested()
                for change, more, less, change_gain in ways:
                    steps += 1
                    if steps > max_steps:
                        return None
                    if came + more > moves or went + less > moves:
                        continue
                    key = tuple(a + b for a, b in zip(balance, change, strict=True)), came + more, went + less
                    after[key] = max(gain + change_gain, after.get(key, gain + change_gain))
            best = after
    return fit + max(gain for (balance, _, _), gain in best.items() if balance == nothing) >= instances


def _changes(
    kind: NodeKind, sizes: Sequence[int], gpus: int, moves: int, max_steps: int
) -> list[tuple[_Counts, int, int, int]] | None:
    """Return how a node can change: the balance by demand, arrivals, departures, and how many instances fit more."""
    own = Counter(kind.holds)
    free = kind.node_class.room - sum(kind.holds)
    found: list[tuple[_Counts, int, int, int]] = []
    pending: list[tuple[_Counts, int, int, int]] = [((), 0, 0, free)]
    while pending:
        if len(found) + len(pending) > max_steps:
            return None
        balance, came, went, left = pending.pop()
        if len(balance) == len(sizes):
            if left >= 0:
                found.append((balance, came, went, left // gpus - free // gpus))
            continue
        size = sizes[len(balance)]
        most = min(moves - came, kind.node_class.room // size - own[size])
        for change in range(-min(own[size], moves - went), most + 1):
            more, less = max(change, 0), max(-change, 0)
            pending.append(((*balance, change), came + more, went + less, left - change * size))
    return found
