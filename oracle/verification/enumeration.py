"""Small questions settled by trying everything, node by node: no solver, and no code shared with the searches.

Each answer is None where there is too much to try.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from oracle.optimum.interruption import break_off_if_requested
from oracle.snapshots.kinds import FREE, gpus_of, total_gpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from oracle.optimum.model import NodeKind
    from oracle.optimum.node_classes import NodeClass, PackingProblem
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import Pattern

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
    kinds = [kind for kind, _ in problem.demands]
    best = _best(problem, kinds, dict(problem.demands), lambda kind, load, _: price(kind, load), max_steps)
    return None if best is None else best.get((0,) * len(kinds))


def most_placed(problem: PackingProblem, wanted: Mapping[Kind, int], *, max_steps: int = MAX_STEPS) -> int | None:
    """Return the most of some instances that fit besides those of a problem; None if that is too much to try.

    -1 if not even those of the problem do.
    """
    first, *others = wanted
    running = Counter(dict(problem.demands))
    if others:
        counts = running + Counter(wanted)
        kinds = sorted(counts)
        best = _best(problem, kinds, counts, _nothing, max_steps)
        if best is None:
            return None
        # Of a kind that also runs those that run come first.
        left = (
            sum(rest) for rest in best if all(n <= wanted.get(kind, 0) for kind, n in zip(kinds, rest, strict=True))
        )
        return max((sum(wanted.values()) - rest for rest in left), default=-1)
    kinds = sorted(running)
    best = _best(problem, kinds, running, lambda kind, _, held: -_copies(kind, held, first), max_steps)
    if best is None:
        return None
    least = best.get((0,) * len(kinds))
    return -1 if least is None else min(wanted[first], -least)


def _best(
    problem: PackingProblem,
    kinds: Sequence[Kind],
    counts: Mapping[Kind, int],
    price: Callable[[NodeClass, int, Pattern], int],
    max_steps: int,
) -> dict[_Counts, int] | None:
    """Return the least total price for every number of instances that can be left over; None if there are too many."""
    best: dict[_Counts, int] = {tuple(counts[kind] for kind in kinds): 0}
    steps = 0
    for node_class, count in zip(problem.classes, problem.nodes, strict=True):
        if count > max_steps:
            return None
        for _ in range(count):
            after: dict[_Counts, int] = {}
            for left, total in best.items():
                break_off_if_requested()
                for rest, load, held in _ways(node_class, kinds, left):
                    steps += 1 + len(kinds) // _SIZES_A_STEP
                    if steps > max_steps:
                        return None
                    cost = total + price(node_class, load, held)
                    after[rest] = min(cost, after.get(rest, cost))
            best = after
    return best


def _nothing(_: NodeClass, __: int, ___: Pattern) -> int:
    return 0


def _copies(node: NodeClass, held: Pattern, kind: Kind) -> int:
    """Return how many instances of a kind have room beside what a node holds."""
    return node.rules.most_beside(held, kind, max(0, node.room - total_gpus(held)) // gpus_of(kind))


def _ways(node: NodeClass, kinds: Sequence[Kind], left: _Counts) -> Iterator[tuple[_Counts, int, Pattern]]:
    """Yield what is left, the GPUs taken and the instances for each thing that a node may hold."""
    own = Counter(node.own)
    room = sum(min(count, own[kind]) * gpus_of(kind) for kind, count in zip(kinds, left, strict=True))
    pending: list[tuple[int, _Counts, int, bool]] = [(0, left, 0, True)]
    while pending:
        i, rest, load, kept = pending.pop()
        if i == len(kinds):
            counts = zip(kinds, left, rest, strict=True)
            held = tuple(kind for kind, before, after in counts for _ in range(before - after))
            if kept or node.rules == FREE or node.rules.allow(held):
                yield rest, load, held
            continue
        kind = kinds[i]
        for copies in range(rest[i] + 1):
            taken = load + copies * gpus_of(kind)
            still = kept and copies <= own[kind]
            if taken > node.room and not (still and taken <= room):
                break
            pending.append((i + 1, (*rest[:i], rest[i] - copies, *rest[i + 1 :]), taken, still))


def most_within(
    nodes: Mapping[NodeKind, int], wanted: Mapping[Kind, int], moves: int, *, max_steps: int = MAX_STEPS
) -> int | None:
    """Return how many new instances fit after at most so many moves, over-booking on the way allowed.

    Parameters
    ----------
    nodes
        The nodes that take instances, by kind.
    wanted
        What is waiting, by kind.
    moves
        Instances that may change their node.
    max_steps
        When to give up; then the answer is None.
    """
    kinds = sorted({held for kind in nodes for held in kind.holds})
    first, *others = wanted
    nothing: _Counts = (0,) * len(kinds)
    # What arrived less what left so far, by kind, how many arrived and left, how many of the other new kinds are there:
    # the most instances of the first.
    best: dict[tuple[_Counts, int, int, _Counts], int] = {(nothing, 0, 0, (0,) * len(others)): 0}
    steps = 0
    for kind, count in nodes.items():
        ways = _changes(kind, kinds, first, {one: wanted[one] for one in others}, moves, max_steps - steps)
        if ways is None:
            return None
        steps += len(ways)
        # Where one kind waits only, a node that stays as it is adds what it has room for, whatever the others do.
        as_it_is = max(gain for *change, gain in ways if change == [nothing, 0, 0, ()]) if not others else 0
        changing = count if others else min(count, 2 * moves)
        for _ in range(changing):
            after: dict[tuple[_Counts, int, int, _Counts], int] = {}
            for (balance, came, went, placed), total in best.items():
                break_off_if_requested()
                for change, more, less, new, gain in ways:
                    steps += 1
                    if steps > max_steps:
                        return None
                    if came + more > moves or went + less > moves:
                        continue
                    key = (
                        tuple(a + b for a, b in zip(balance, change, strict=True)),
                        came + more,
                        went + less,
                        tuple(min(wanted[one], a + b) for one, a, b in zip(others, placed, new, strict=True)),
                    )
                    after[key] = max(total + gain, after.get(key, total + gain))
            best = after
        best = {key: total + (count - changing) * as_it_is for key, total in best.items()}
    return max(
        min(wanted[first], total) + sum(placed) for (balance, _, _, placed), total in best.items() if balance == nothing
    )


def _changes(  # noqa: PLR0917 - a node, what is told apart, and limits
    kind: NodeKind,
    kinds: Sequence[Kind],
    first: Kind,
    others: Mapping[Kind, int],
    moves: int,
    max_steps: int,
) -> list[tuple[_Counts, int, int, _Counts, int]] | None:
    """Return how a node can change: balance by kind, arrivals, departures, new ones of other kinds, of the first."""
    node, own = kind.node_class, Counter(kind.holds)
    found: list[tuple[_Counts, int, int, _Counts, int]] = []
    asked = [*kinds, *others]
    pending: list[tuple[_Counts, int, int, int]] = [((), 0, 0, node.room - total_gpus(kind.holds))]
    while pending:
        if len(found) + len(pending) > max_steps:
            return None
        counts, came, went, left = pending.pop()
        at = len(counts)
        if at == len(asked):
            change, new = counts[: len(kinds)], counts[len(kinds) :]
            held = tuple(one for one, n in zip(kinds, change, strict=True) for _ in range(own[one] + n))
            held += tuple(one for one, n in zip(others, new, strict=True) for _ in range(n))
            if left >= 0 and (node.rules == FREE or node.rules.allow(held)):
                found.append((change, came, went, new, _copies(node, held, first)))
            continue
        one = asked[at]
        if at >= len(kinds):
            most = min(others[one], max(0, left) // gpus_of(one))
            pending += [((*counts, n), came, went, left - n * gpus_of(one)) for n in range(most + 1)]
            continue
        most = min(moves - came, node.room // gpus_of(one) - own[one])
        for n in range(-min(own[one], moves - went), most + 1):
            pending.append(((*counts, n), came + max(n, 0), went + max(-n, 0), left - n * gpus_of(one)))
    return found
