"""What `sifopt plan` tells people: a table of moves, then in sentences what is gained, who pauses, what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.move_table import move_sentences, move_table
from oracle.cli.sentences import bounded, lines, overlooked_notes, skipped_notes
from oracle.cli.tables import Column, draw
from oracle.moves.pool_part import part_of
from oracle.snapshots.overlooked import overlooked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.planning.frontier import PlanFrontierPoint
    from oracle.planning.result import Plan
    from oracle.snapshots.model import Snapshot

_ROWS = 24  # of a frontier


def report(found: Plan, frontier: Sequence[PlanFrontierPoint] | None, snapshot: Snapshot, *, verbose: bool) -> str:
    """Return the tables and the sentences about them."""
    sentences = [
        *_gain(found),
        *move_sentences(found.moves, found.stops, live=found.mode == "live", verbose=verbose),
        *(_proof(found) if snapshot.nodes else ()),
        *overlooked_notes(overlooked(snapshot, found.asked.pool), verbose=verbose),
        *_disturbance(found),
        *skipped_notes(snapshot.skipped, verbose=verbose),
    ]
    text = move_table(found.moves, found.stops) + lines(sentences)
    return text if frontier is None else f"{text}\n{_frontier(frontier, live=found.mode == 'live', verbose=verbose)}"


def _frontier(frontier: Sequence[PlanFrontierPoint], *, live: bool, verbose: bool) -> str:
    last = frontier[-1]
    shown = frontier if verbose else _summary(frontier)
    migrations = [bounded(point.lower_bound, point.migrations) for point in shown]
    columns = [
        Column("partial nodes", [f"{point.partial_nodes}" for point in shown], f"{last.partial_nodes} at least"),
        # The plan above it counts live moves then.
        Column("fewest migrations" + " (--moves checkpoint)" * live, migrations, f"{last.migrations} at most"),
    ]
    left_out = len(frontier) - len(shown)
    notes = [f"{count(left_out, 'row')} of {len(frontier)} left out (-v lists them).\n"] if left_out else []
    if frontier[0].partial_nodes - last.partial_nodes >= len(shown):
        notes.append("Between two rows: at least the migrations of the upper one, at most those of the lower one.\n")
    return draw(columns) + "".join(notes)


def _summary(frontier: Sequence[PlanFrontierPoint]) -> list[PlanFrontierPoint]:
    """Return all points if they fit a screen; of more, the first, the last and others at equal distances."""
    rows = min(len(frontier), _ROWS)
    return [frontier[k * (len(frontier) - 1) // max(1, rows - 1)] for k in range(rows)]


def _gain(found: Plan) -> Iterator[str]:
    before, after = found.partial_nodes_before, found.partial_nodes_after
    where = "" if found.asked.pool is None else f" in pool {found.asked.pool}"
    if not found.snapshot.nodes:
        yield "The snapshot has no GPU nodes."
        return
    if not found.moves:
        yield f"Nothing to move{where}: {count(before, 'partial node')}, {found.empty_nodes_before} empty."
        yield from _fixed(found)
        return
    gained = found.empty_nodes_after - found.empty_nodes_before
    yield (
        f"{count(found.migrations, 'move')} in {count(found.steps, 'step')}{where}: partial nodes {before} -> {after}, "
        f"empty nodes {found.empty_nodes_before} -> {found.empty_nodes_after} ({gained:+d})."
    )


def _fixed(found: Plan) -> Iterator[str]:
    """Yield how many instances stay because they have to: else "nothing to move" looks like a good cluster."""
    part = part_of(found.snapshot, found.asked.pool).snapshot
    movable = [instance.movable for job in part.jobs for instance in job.instances]
    if found.partial_nodes_before and not all(movable):
        yield f"Immovable or protected: {movable.count(False)} of {count(len(movable), 'instance')}."


def _proof(found: Plan) -> Iterator[str]:
    kind = "live plan" if found.mode == "live" else "plan"
    asked, after = found.asked, found.partial_nodes_after
    if found.status == "optimal":
        limited = {asked.max_partial_nodes, asked.max_migrations, asked.max_jobs_disturbed} != {None}
        limits = " within the limits" if limited else ""
        yield f"Proved: no {kind}{limits} leaves fewer partial nodes, or as few with fewer moves."
    else:
        fewest = min(found.partial_nodes_lower_bound, after)
        yield (
            f"Not proved to be the best: every {kind} within the limits leaves at least {fewest} "
            f"partial nodes ({after} here); so few take at least {count(found.migrations_lower_bound, 'move')} "
            f"({found.migrations} here)."
        )
    inherent = sum(pool.inherent.partial_nodes for pool in found.evidence)
    limited = asked.max_migrations is not None or asked.max_jobs_disturbed is not None
    if found.mode == "live" and not limited and after > max(inherent, asked.max_partial_nodes or 0):
        yield f"If instances may be stopped first (--moves checkpoint), {inherent} partial would do."


def _disturbance(found: Plan) -> Iterator[str]:
    """Say how few jobs any plan as good disturbs, if that is not settled."""
    if not found.moves or found.disturbance_status == "optimal":
        return
    fewest = found.disturbance_lower_bound
    few = f"jobs of weight {fewest} at least" if found.asked.weights else f"at least {count(fewest, 'job')}"
    yield f"Plans with as few moves disturb {few} ({found.disturbance} here); fewer may be possible."
