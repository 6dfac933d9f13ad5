"""`sifopt plan --resume`: what of a stored plan is done, and whether the rest can be carried out now."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from oracle.cli.command import ExitStatus, Outcome
from oracle.cli.move_table import move_sentences, move_table
from oracle.cli.sentences import data_outcome, lines, listed, overlooked_notes, skipped_notes
from oracle.moves.move import MoveError
from oracle.moves.stored import read_plan
from oracle.safe_text import json_text
from oracle.snapshots.document import decode_json
from oracle.snapshots.model import UnknownPoolError, check_pool
from oracle.snapshots.overlooked import overlooked
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.cli.options import MoveOptions
    from oracle.moves.stored import StoredPlan
    from oracle.planning.resumption import Resumption

SCHEMA = "compass-abs/resume/1"

_PLAN = "compass-abs/plan/2"
_RESUMABLE = (_PLAN, "compass-abs/admit/2", "compass-abs/admit/3")


def resume_plan(options: MoveOptions, stored: str) -> Outcome:
    """Return what is left of the plan in this file, and whether it can still be carried out."""
    from oracle.planning.resumption import resume  # noqa: PLC0415 - for those who resume

    document = options.read_result(stored)
    data = decode_json(document, object)
    if (schema := _schema(data)) not in _RESUMABLE:
        raise document.error("", f"expected a plan or an admission, got the schema {schema!r}")
    try:
        plan = read_plan(data)
    except MoveError as error:
        raise document.error("", str(error)) from error
    if plan.at_start is None and plan.moves:
        problem = "is missing: what ran when the plan was made; without it no instance is known again"
        raise document.error("jobs_at_start", f"{problem}; make the plan anew from its snapshot")
    snapshot = options.load()
    try:
        check_pool(plan.pool, snapshot)
    except UnknownPoolError as error:
        raise document.error("pool", str(error)) from error
    limit = options.max_per_job_at_once if options.max_per_job_at_once is not None else plan.max_per_job_at_once
    try:
        left = resume(
            snapshot,
            plan.moves,
            plan.stops,
            at_start=plan.at_start or (),
            protected=plan.protected,
            protected_now=options.protected or (),
            max_per_job_at_once=limit,
            max_per_budget=plan.max_per_budget if options.max_per_budget is None else options.max_per_budget,
            max_priority=plan.max_priority if options.max_priority is None else options.max_priority,
        )
    except MoveError as error:
        raise document.error("", str(error)) from error
    status = ExitStatus.DONE if left.holds else ExitStatus.ASKED_FOR
    if options.output == "json":
        return data_outcome(
            _json(left, plan),
            snapshot.skipped,
            verbose=options.verbose,
            overlooked=overlooked(snapshot, plan.pool),
            status=status,
        )
    table = move_table(left.remaining, left.remaining_stops, left.stopped)
    return Outcome(text=table + lines(_sentences(left, plan, verbose=options.verbose)), status=status)


def _schema(data: object) -> object:
    """Return what the data say they are; without a word they are taken for a plan, as moves of other origin may be."""
    return cast("dict[str, object]", data).get("schema", _PLAN) if isinstance(data, dict) else _PLAN


def _json(left: Resumption, plan: StoredPlan) -> str:
    now, after = left.partial_nodes(plan.pool)
    found: dict[str, object] = {
        "schema": SCHEMA,
        "holds": left.holds,
        "failure": None if left.failure is None else {"step": left.failure.step, "reason": left.failure.reason},
        "partial_nodes_now": now,
        "partial_nodes_after": after,
        "moves": [move.to_json() for move in left.remaining],
        "stopped_first": [stop.to_json() for stop in left.remaining_stops],
        "stopped": [stop.to_json() for stop in left.stopped],
        "missing": [instance.to_json() for instance in left.missing],
        "done": [move.to_json() for move in left.done],
        "gone": [move.to_json() for move in left.gone],
    }
    return json_text(found)


def _sentences(left: Resumption, plan: StoredPlan, *, verbose: bool) -> Iterator[str]:
    gone = f", {count(len(left.gone), 'move')} of instances that no longer run" if left.gone else ""
    yield f"{count(len(left.done), 'move')} done, {count(len(left.remaining), 'move')} left{gone}."
    if left.stopped:
        names = [f"{stop.called} ({count(stop.gpus, 'GPU')})" for stop in left.stopped]
        yield f"Stopped by the plan, and to be restarted whatever becomes of it: {listed(names, verbose=verbose)}."
    if left.missing:
        names = [f"{one.called} on {one.node} ({count(one.gpus, 'GPU')})" for one in left.missing]
        yield f"Not running any more, and not stopped by the plan: {listed(names, verbose=verbose)}."
    if left.failure is not None:
        yield f"The rest does not hold: {left.failure.reason}."
        yield "A new plan from this snapshot: sifopt plan SNAPSHOT."
    elif left.remaining:
        now, after = left.partial_nodes(plan.pool)
        yield f"The rest can be carried out as planned: partial nodes {now} -> {after}."
        yield from move_sentences(left.remaining, left.remaining_stops, live=plan.mode == "live", verbose=verbose)
    yield from overlooked_notes(overlooked(left.now, plan.pool), verbose=verbose)
    yield from skipped_notes(left.now.skipped, verbose=verbose)
