"""C10: how many instances an event moves, bounded by how many came or left, for every N and every history.

Give every look a height, 0 for nodes that are empty or closed. The heights below were found by linear programming; what
counts is what is checked of them here, over every node and every pair of nodes:

- a merge lowers the sum of heights by at least the instances it moves (`short_merges`: none falls short);
- one instance that comes or leaves raises it by `rise` at most, and one filling, with its own move, by `filling_rise`;
- after every event it is at most `REST` (z3, over counters).

So an event moves at most what was there before and what it added, REST + m · (rise + fillings · filling_rise +
exchange_rise) for a gang of m. An instance asks for w*(g) − g fillings at most, and a 1-GPU instance leaves one vacancy
behind; an exchange is needed only for an arriving 5, 6 or 7 under EXACT (C7). Each instance costs the same to move.
"""

from __future__ import annotations

import random
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, Variant, arrive, depart
from compass_core.merging import divisions
from proofs.abstraction import DEMANDS, KINDS, Kind, beside_ones, filling, looks, may_merge, placing, removing, width_of
from proofs.counters import COUNTERS, summed
from proofs.smtlib import Lemma
from proofs.soundness import divided, node_shapes
from proofs.unbounded_admission import BLOCK, EXCHANGED, exchanged
from proofs.unbounded_compaction import other_mixed_looks, settled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.abstraction import Looks

Heights = dict[Kind, int]


def _heights(words: str) -> Heights:
    """Return the heights written as ``name:height``; every other look has height 0."""
    known = dict(word.split(":") for word in words.split())
    found = {kind: int(known.pop(kind.name, "0")) for kind in KINDS}
    if known:
        raise AssertionError(f"no such looks: {known}")
    return found


HEIGHTS: dict[Variant, Heights] = {
    Variant.COMPASS: _heights(
        "n_o1:2 n_o2:2 n_o3:3 n_o4:2 n_o5:3 n_o6:2 n_o7:2 n2_o0:2 n22_o0:2 n222_o0:3 n4_o0:2 n4_v1:2 n42_o0:2 n42_v1:2 "
        "n2_o1:5 n2_o2:5 n2_o3:6 n2_o4:5 n2_o5:7 n2_o6:6 n22_o1:5 n22_o2:6 n22_o3:7 n22_o4:6 n222_o1:6 n222_o2:7 "
        "n4_o1:5 n4_o2:6 n4_o3:8 n4_o4:8 n42_o1:5 n42_o2:7"
    ),
    Variant.EXACT: _heights(
        "n_o1:2 n_o2:3 n_o3:3 n_o4:3 n_o5:3 n_o6:3 n_o7:3 n2_o0:2 n2_o1:2 n2_o2:2 n2_o3:3 n2_o4:2 n2_o5:2 n22_o0:3 "
        "n22_o1:3 n22_o2:2 n22_o3:2 n222_o0:3 n222_o1:2 n4_o0:4 n4_o1:3 n4_o2:3 n4_o3:2 n4_v1:4 n42_o0:3 n42_o1:2 "
        "n42_v1:3"
    ),
}


def _height(of: Looks, heights: Mapping[Kind, int]) -> int:
    return sum(heights[kind] for kind in of)


def short_merges(variant: Variant, heights: Mapping[Kind, int]) -> Iterator[str]:
    """Yield every merge of the code that moves more instances than it lowers the heights by."""
    for first, second in combinations_with_replacement(node_shapes(), 2):
        before = looks((Kind.of(first.demands), Kind.of(second.demands)))
        if not all(may_merge(kind, variant) for kind in before):
            continue
        if any(kind.ones for kind in before) and any(kind.vacancies for kind in before):
            continue  # filled first
        ways = divisions(first, second, apart=variant is Variant.COMPASS)
        for way in ways:
            # The arriving job's own instances move free, so any of the ways may be the cheapest: it costs at most what
            # the shortest of them moves.
            moves = len(ways[0].steps)
            fall = _height(before, heights) - _height(divided(first, second, way), heights)
            if fall < moves:
                yield f"merging {first.demands} and {second.demands}: {moves} moves, height falls by {fall}"


def rise(variant: Variant, demand: int) -> int:
    """Return by how much one instance that comes or leaves raises the sum of heights, at most."""
    heights = HEIGHTS[variant]
    steps = [placing(demand, variant), removing(demand)]
    if variant is Variant.COMPASS:
        steps.append(beside_ones(demand))
    return max(
        _height(after, heights) - _height(before, heights)
        for rules in steps
        for before, results in rules.items()
        for after in results
    )


def filling_rise(variant: Variant) -> int:
    """Return by how much one filling raises the sum of heights at most, its own move counted."""
    heights = HEIGHTS[variant]
    steps = ((before, after) for before, results in filling().items() for after in results)
    return 1 + max(_height(after, heights) - _height(before, heights) for before, after in steps)


def exchange_rise(variant: Variant, demand: int) -> int:
    """Return the same of the exchange that placing an instance may need: two ones come, the slot of width 2 leaves."""
    if variant is not Variant.EXACT or demand not in {5, 6, 7}:
        return 0
    heights = HEIGHTS[variant]
    donors = max(heights[Kind(kind.widths, kind.balance + 1)] - heights[kind] for kind in KINDS if kind.ones)
    host = max(heights[exchanged(kind)] - heights[kind] for kind in EXCHANGED)
    return BLOCK + 1 + BLOCK * donors + max(0, host)


def fillings(demand: int) -> int:
    """Return how many vacancies an instance that comes or leaves has filled at most."""
    return 1 if demand == 1 else width_of(demand) - demand


REST = {Variant.COMPASS: 6, Variant.EXACT: 4}
"""The most that the heights come to after an event."""


def bound(variant: Variant, demand: int, instances: int) -> int:
    """Return how many instances an event moves at most when a gang of so many comes or leaves."""
    each = rise(variant, demand) + fillings(demand) * filling_rise(variant) + exchange_rise(variant, demand)
    return REST[variant] + instances * each


def rests(variant: Variant, rest: int | None = None) -> Iterator[Lemma]:
    """Yield that the heights come to so little after every event."""
    given = settled(variant)
    if variant is Variant.COMPASS:
        given = (*given, *other_mixed_looks())
    most = REST[variant] if rest is None else rest
    label = f"{variant.value}: what is left open is at most {most} high"
    yield Lemma(label, summed(COUNTERS, HEIGHTS[variant].__getitem__) <= most, given)


class BoundExceededError(Exception):
    """An event moved more instances than is claimed."""


def measured(variant: Variant, *, events: int, nodes: int = 6, seed: int = 1) -> tuple[int, float]:
    """Return the most moves of an event with one instance, and the most moves for each instance of any event.

    Runs random gangs of 1 to 4 instances on a cluster that is nearly full most of the time.

    Raises
    ------
    BoundExceededError
        An event moved more than `bound` says.
    """
    rng = random.Random(seed)  # noqa: S311 - a measurement that has to be repeatable
    state = ClusterState.empty(nodes=nodes)
    running: dict[str, Job] = {}
    single, most = 0, 0.0
    for number in range(events):
        job = Job(str(number), rng.randint(1, 4), rng.choice((1, 1, 1, *DEMANDS)))
        if running and rng.random() < state.used_gpus / state.total_gpus - 0.1:
            job = running.pop(rng.choice(sorted(running)))
            out = depart(state, job.name, variant=variant)
        else:
            out = arrive(state, job, variant=variant)
            if out.admitted:
                running[job.name] = job
        state = out.state
        moves = len(out.migrations)
        if moves > bound(variant, job.gpus, job.instances):
            raise BoundExceededError(
                f"{variant.value}: event {number} of seed {seed} on {nodes} nodes moves {moves} for {job}"
            )
        single = max(single, moves if job.instances == 1 else 0)
        most = max(most, moves / job.instances)
    return single, most
