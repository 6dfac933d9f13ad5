"""The repaired variants in every reachable state of small clusters, against recorded numbers of states.

A number that drifts means that the code, the space or the exploration has changed: the finding is then "unknown" until
the record is renewed on purpose (`python -m proofs.bounded --record quick`, or `full`), which also shows in review.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compass_core import Variant
from proofs.claim import Counterexample, Effort, Finding, Status
from proofs.exploration import Space, explore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proofs.exploration import Exploration

RECORD = Path(__file__).with_name("state_counts.json")

FEW_DEMANDS = (1, 3, 8)
"""Fillers, a demand that asks for one, and a friendly one: the condition holds in some states and not in others."""

METHOD = "exhaustive exploration of compass_core, every gang and every order of nodes (full nodes last)"

PROCESSES = {Effort.QUICK: 1, Effort.FULL: 2}

_REPAIRED = (Variant.COMPASS, Variant.EXACT)


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The figures of one exploration that are kept."""

    variant: str
    nodes: int
    demands: tuple[int, ...]
    max_instances: int | None
    states: int
    transitions: int
    refused: int
    depth: int
    most_migrations: int

    @classmethod
    def of(cls, found: Exploration) -> Counts:
        """Return the figures of an exploration."""
        space = found.space
        return cls(
            space.variant.value,
            space.nodes,
            space.demands,
            space.max_instances,
            found.states,
            found.transitions,
            found.refused,
            found.depth,
            found.most_migrations,
        )

    def is_of(self, space: Space) -> bool:
        """Whether these are the figures of that space."""
        mine = (self.variant, self.nodes, self.demands, self.max_instances)
        return mine == (space.variant.value, space.nodes, space.demands, space.max_instances)


def spaces(variant: Variant, effort: Effort) -> tuple[Space, ...]:
    """Return what is explored: all demands and gangs on few nodes; in a quick run some single instances on one more."""
    space = partial(Space, variant=variant)
    if effort is Effort.QUICK:
        return space(nodes=1), space(nodes=2), space(nodes=3, demands=FEW_DEMANDS, max_instances=1)
    return space(nodes=1), space(nodes=2), space(nodes=3), space(nodes=4)


def every_space() -> list[Space]:
    """Return what is explored at some effort, for both repaired variants."""
    return list(dict.fromkeys(space for v in _REPAIRED for effort in Effort for space in spaces(v, effort)))


def recorded() -> tuple[Counts, ...]:
    """Return the figures kept in the repository."""
    return msgspec.json.decode(RECORD.read_bytes(), type=tuple[Counts, ...])


def settle(variant: Variant, effort: Effort, explorer: Callable[[Space, int], Exploration] = explore) -> Finding:
    """Return whether some law of a repaired variant fails in some reachable state.

    Parameters
    ----------
    explorer
        `explore`, or a stand-in for it.
    """
    details: list[str] = []
    drifted: list[str] = []
    record = recorded()
    for space in spaces(variant, effort):
        found = explorer(space, PROCESSES[effort])
        if found.violations:
            first = found.violations[0]
            way = " → ".join(str(list(contents)) for contents in found.path_to(first.before))
            text = Counterexample(text=f"{space}: {first}; the state before by {way}", nodes=space.nodes)
            return Finding(status=Status.REFUTED, method=METHOD, counterexample=text)
        details.append(_in_words(found))
        kept = next((counts for counts in record if counts.is_of(space)), None)
        if kept != Counts.of(found):
            drifted.append(f"{space}: found {Counts.of(found)}, recorded {kept}")
    if drifted:
        return Finding(status=Status.UNKNOWN, method=METHOD, details=("the record differs", *drifted))
    bound = "; ".join(str(space).partition(", ")[2] for space in spaces(variant, effort))
    return Finding(status=Status.CHECKED, method=METHOD, bound=bound, details=tuple(details))


def _in_words(found: Exploration) -> str:
    return (
        f"{found.space}: {found.states:,} states, {found.transitions:,} transitions, {found.refused:,} refusals, all "
        f"states within {found.depth} events, at most {found.most_migrations} migrations an event"
    )


def compass_reachable(effort: Effort) -> Finding:
    """Settle the laws of COMPASS (C1 to C5, admission, no instance lost) in every reachable state of small clusters."""
    return settle(Variant.COMPASS, effort)


def exact_reachable(effort: Effort) -> Finding:
    """Settle the laws of EXACT (C1, C2, C6, C7, no instance lost) in every reachable state of small clusters."""
    return settle(Variant.EXACT, effort)


def record(effort: Effort) -> list[Counts]:
    """Return the record with the spaces of an effort explored afresh, the others as they are."""
    fresh = [Counts.of(explore(space, PROCESSES[effort])) for v in _REPAIRED for space in spaces(v, effort)]
    known = [*fresh, *(recorded() if RECORD.exists() else ())]
    return [found for space in every_space() for found in [next((c for c in known if c.is_of(space)), None)] if found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew the record of numbers of states; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proofs.bounded", description=main.__doc__)
    parser.add_argument("--record", required=True, choices=[effort.value for effort in Effort])
    chosen = Effort(parser.parse_args(arguments).record)
    lines = [msgspec.json.format(msgspec.json.encode(counts), indent=0).decode() for counts in record(chosen)]
    RECORD.write_text("[\n " + ",\n ".join(lines) + "\n]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
