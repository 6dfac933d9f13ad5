"""The most instances of a waiting job that have room without a move, and where: by name, and exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oracle.admission.fitting import open_nodes
from oracle.admission.places import Ledger, spread_one
from oracle.moves.move import protect
from oracle.moves.naming import Naming, by_kind
from oracle.optimum.model import Model, Pool
from oracle.optimum.node_classes import contents_after
from oracle.optimum.solver import solve_integers

if TYPE_CHECKING:
    from oracle.admission.areas import Area
    from oracle.optimum.solver import Deadline
    from oracle.snapshots.model import Snapshot


@dataclass(frozen=True, slots=True)
class Fit:
    """Where instances of a job have room: the node of each by its number, and how many have room at most."""

    nodes: dict[int, str]
    most: int

    @property
    def count(self) -> int:
        """How many have room."""
        return len(self.nodes)


def fit(area: Area, after: Snapshot, deadline: Deadline) -> Fit:
    """Return where the most instances of the job of an area have room in a snapshot after moves, or before any.

    Parameters
    ----------
    area
        The area, before any move.
    after
        Its snapshot after some.
    deadline
        When to give up; what a rule of thumb finds needs no time.
    """
    job, size = area.waiting, area.waiting.size
    contents = contents_after(area.snapshot, after)[area.pool]
    found = Ledger(after, contents).put_most(job)
    if len(found) == size or not job.further_parts:
        return Fit(found, len(found))
    # Among unlike instances the rule of thumb may choose badly. Nothing else moves here, so nothing else has a kind.
    still = protect(after, [one.name for one in after.jobs])
    seen = replace(still, guests=job.guests())
    waiting = job.in_pool(area.pool, seen.guest_kinds(area.pool))
    held = contents_after(area.snapshot, seen)[area.pool]
    model = Model([Pool(open_nodes(held), {}, waiting.wanted)])
    placed = tuple((column, -1) for kind in waiting.wanted for column, _ in model.placed(0, kind))
    answer = solve_integers(model.program(placed), deadline)
    most = size if answer.bound is None else min(size, -answer.bound)
    if answer.values:
        better = spread_one(waiting, Naming(seen).name(by_kind(held), model.decode(answer.values)[0]).places)
        if len(better) > len(found) and Ledger(after, contents).put(job, better):
            return Fit(better, most)
    return Fit(found, most)
