"""The refuted claims of the paper that a list of events refutes: P1 to P3, P5 to P8, P12 to P14 (theory §2).

Each finding replays the recorded counterexample (`proofs.counterexamples`) on the printed algorithm, asks whether the
clause really fails there, and searches again for a shorter list. Should a list be found that is shorter, or the
recorded one no longer fail, the finding is "unknown": the record has to be looked at.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from compass_core import MoveReason, NodeKind, Variant, compact
from compass_core.printed import AS_PROSE, PrintedOptions
from oracle import inherent_partial_nodes
from proofs.canonical import contents_of
from proofs.claim import Counterexample, Effort, Finding, Status
from proofs.counterexamples import EventExample, load, replayed
from proofs.event_search import Searched, job_sizes, last_step, shortest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compass_core import ClusterState
    from proofs.event_search import Shortest, Step

METHOD = "breadth-first search over event lists of compass_core.printed; the shortest list is replayed"
FRIENDLY = (2, 4, 8)
AS_PSEUDOCODE = PrintedOptions(refill=False)


def breaks_the_bound(step: Step) -> bool:
    """Whether more than two partial nodes are avoidable although the workload composition condition holds."""
    return step.after is not None and step.after.wcc and avoidable(step.after) > 2


def avoidable(state: ClusterState) -> int:
    """Return N·SIF = Φ − Φ* of a state; exact for any workload and capacity."""
    partial = sum(0 < sum(node) < state.capacity for node in contents_of(state))
    if partial <= 2:
        return partial - min(partial, inherent_partial_nodes(state.counts, capacity=state.capacity))
    return partial - inherent_partial_nodes(state.counts, capacity=state.capacity)


def three_partial(step: Step) -> bool:
    """Whether an event leaves three partial nodes or more."""
    return step.after is not None and step.after.partial_nodes > 2


def undefined_departure(step: Step) -> bool:
    """Whether the print does not say what a departure does."""
    return step.after is None and step.events[-1].startswith("-")


def undefined_arrival(step: Step) -> bool:
    """Whether the print does not say where a job goes although enough GPUs are free and nothing is fragmented."""
    return step.after is None and not step.events[-1].startswith("-")


def chooses_itself(step: Step) -> bool:
    """Whether a slot's filler has to be re-homed before the slot dissolves, and the only vacancy is that slot's own."""
    if not step.events[-1].startswith("-"):
        return False
    (leaving,) = set(step.before.jobs_by_name) - set(
        step.after.jobs_by_name if step.after is not None else step.before.jobs_by_name
    ) or {""}
    slots = [slot for node in step.before.nodes for slot in node.slots if slot.vacancy]
    return len(slots) == 1 and slots[0].anchor.job == leaving and bool(slots[0].fillers)


def fails_without_refill_only(step: Step) -> bool:
    """Whether the bound fails as the pseudocode has it and holds as the prose has it."""
    if not breaks_the_bound(step):
        return False
    with_refill = last_step(", ".join(step.events), nodes=step.before.node_count, options=AS_PROSE)
    return not breaks_the_bound(with_refill)


def reaches_the_bound(step: Step) -> bool:
    """Whether two partial nodes are avoidable."""
    return step.after is not None and step.after.wcc and avoidable(step.after) == 2


def strands_a_panel(step: Step) -> bool:
    """Whether the bound fails, and every partial domain but one lacks a single panel, which no slot can ever use.

    Slots have even widths, so on a domain of an odd number of panels no repair of Compact that moves slots helps.
    """
    if step.after is None or step.after.partial_nodes <= 2 or not breaks_the_bound(step):
        return False
    partial = [node for node in step.after.nodes if 0 < node.used < node.capacity]
    return (
        sum(node.kind is NodeKind.SLOTTED and node.residual == node.free == 1 for node in partial) >= len(partial) - 1
    )


def drags_fillers(step: Step) -> bool:
    """Whether Compact moves a slot, and with its anchor a filler that a list of moved slots would not count."""
    merges = [move for move in step.migrations if move.reason is MoveReason.MERGE]
    return any(
        first.instance.gpus > 1 == second.instance.gpus
        and (first.source, first.destination) == (second.source, second.destination)
        for first, second in pairwise(merges)
    )


@cache
def _shortest(searched: Searched, fails: Callable[[Step], bool]) -> Shortest:
    return shortest(searched, fails)  # P1 and P3 ask the same question


def p1(effort: Effort) -> Finding:
    """Settle Theorem 7: at most 2 partial nodes and SIF ≤ 2/N under WCC."""
    searches = [Searched(nodes=3, events=3, jobs=job_sizes(24))]
    if effort is Effort.FULL:
        searches += [Searched(nodes=nodes, events=2, jobs=job_sizes(8 * nodes)) for nodes in (4, 5, 6)]
    return _settle("P1", breaks_the_bound, searches)


def p2(effort: Effort) -> Finding:
    """Settle the bound for friendly demands alone."""
    if effort is Effort.QUICK:
        return _settle("P2", three_partial, [Searched(nodes=4, events=4, jobs=job_sizes(32, demands=FRIENDLY))])
    ranges = ((3, 5), (4, 5), (5, 4))
    searches = [Searched(nodes=n, events=length, jobs=job_sizes(8 * n, demands=FRIENDLY)) for n, length in ranges]
    return _settle("P2", three_partial, searches)


def p3(effort: Effort) -> Finding:
    """Settle whether repeating the passes of Compact repairs P1."""
    del effort
    searched = Searched(nodes=3, events=3, jobs=job_sizes(24))
    failing = [step.after for step in _shortest(searched, breaks_the_bound).steps]
    states = [state for state in failing if state is not None]
    unchanged = sum(compact(state, variant=Variant.PRINTED).state == state for state in states)
    details = (f"{unchanged} of the {len(states)} states of the shortest failing lists are left as they are",)
    return _finding("P3", [searched], last_holds=0 < unchanged == len(states), details=details)


def p5(effort: Effort) -> Finding:
    """Settle Proposition 6: Σ is closed under Remove."""
    del effort
    return _settle("P5", undefined_departure, [Searched(nodes=n, events=3, jobs=job_sizes(8 * n)) for n in (1, 2)])


def p6(effort: Effort) -> Finding:
    """Settle whether fillers can be re-homed before their slot dissolves."""
    del effort
    return _settle("P6", chooses_itself, [Searched(nodes=n, events=3, jobs=job_sizes(8 * n)) for n in (1, 2)])


def p7(effort: Effort) -> Finding:
    """Settle whether the pseudocode of Remove, which refills no vacancy, keeps the bound."""
    demands = tuple(range(1, 9)) if effort is Effort.FULL else (1, 3, 4)
    searches = [Searched(nodes=3, events=3, jobs=job_sizes(24, demands=demands), options=AS_PSEUDOCODE)]
    if effort is Effort.FULL:
        searches.append(Searched(nodes=3, events=4, jobs=job_sizes(24, demands=(1, 3)), options=AS_PSEUDOCODE))
    return _settle("P7", fails_without_refill_only, searches)


def p8(effort: Effort) -> Finding:
    """Settle whether the paper's example reaches 2/N."""
    del effort
    example = last_step("1x4, 6x1", nodes=4)
    if example.after is None or (example.after.used_gpus % 8, avoidable(example.after)) != (2, 1):
        return _broken("P8", "the paper's example is not what it was")
    return _settle("P8", reaches_the_bound, [Searched(nodes=2, events=2, jobs=job_sizes(16))])


def p12(effort: Effort) -> Finding:
    """Settle whether Place is defined whenever enough GPUs are free."""
    del effort
    return _settle("P12", undefined_arrival, [Searched(nodes=1, events=2, jobs=job_sizes(8))])


def p13(effort: Effort) -> Finding:
    """Settle Appendix D's bound for domains of an odd number of panels."""
    del effort
    jobs = job_sizes(27, demands=tuple(range(1, 10)))
    return _settle("P13", strands_a_panel, [Searched(nodes=3, events=2, jobs=jobs, capacity=9)])


def p14(effort: Effort) -> Finding:
    """Settle whether the number of slots moved is the number of instances moved."""
    searches = [Searched(nodes=2, events=3, jobs=job_sizes(16))]
    if effort is Effort.FULL:
        searches += [
            Searched(nodes=3, events=3, jobs=job_sizes(24)),
            Searched(nodes=2, events=4, jobs=job_sizes(16, demands=(1, 2, 3, 4))),
        ]
    return _settle("P14", drags_fillers, searches)


def _settle(claim: str, fails: Callable[[Step], bool], searches: Sequence[Searched]) -> Finding:
    """Return the finding on a claim that fails where `fails` says so."""
    example = _example(claim)
    options = PrintedOptions(refill=example.refill)
    last = last_step(example.events, nodes=example.nodes, capacity=example.capacity, options=options)
    details: list[str] = []
    for searched in searches:
        found = _shortest(searched, fails)
        looked_at = f"{sum(found.looked_at):,} lists looked at"
        if found.steps and found.length < len(last.events):
            return _broken(claim, f"{found.lists[0]!r} is shorter than the recorded list ({searched})")
        result = f"{len(found.steps)} of {found.length} events, none shorter" if found.steps else "none"
        details.append(f"{searched}: {result} ({looked_at})")
    return _finding(claim, searches, last_holds=fails(last), details=tuple(details))


def _finding(claim: str, searches: Sequence[Searched], *, last_holds: bool, details: tuple[str, ...]) -> Finding:
    example = _example(claim)
    if not last_holds or replayed(example) != example:
        return _broken(claim, "the recorded counterexample does not replay")
    text = Counterexample(text=example.fails, nodes=example.nodes, events=example.events)
    searched = "searched for a shorter list: " + "; ".join(map(str, searches))
    return Finding(status=Status.REFUTED, method=METHOD, bound=searched, counterexample=text, details=details)


def _broken(claim: str, reason: str) -> Finding:
    return Finding(status=Status.UNKNOWN, method=METHOD, details=(f"{claim}: {reason}",))


def _example(claim: str) -> EventExample:
    example = load(claim)
    if not isinstance(example, EventExample):
        raise TypeError(f"{claim}: expected a list of events, got {type(example).__name__}")
    return example
