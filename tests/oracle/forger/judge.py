"""What of a document is false, by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tests.oracle.forger.judge_admissions import judge_admission, judge_queue
from tests.oracle.forger.judge_certificates import judge_certificate, judge_migrations
from tests.oracle.forger.judge_measurements import judge_measurement
from tests.oracle.forger.judge_plans import judge_plan
from tests.oracle.forger.trees import item
from tests.oracle.forger.truth import Falsehood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.forger.scenes import Case, Data, Scene


def falsehoods(data: Data, case: Case) -> frozenset[Falsehood] | None:
    """Return what is false of a document about the scene of a case; None if it has another form.

    `case.data` is what the library said.
    """
    try:
        return frozenset([*_judge(data, case), *_judge_overlooked(data, case.scene)])
    except (msgspec.ValidationError, KeyError):
        return None


def _judge_overlooked(data: Data, scene: Scene) -> Iterator[Falsehood]:
    """Yield whether what was not looked at is not named; an answer about one pool names the jobs there."""
    if "certificate" in str(data["schema"]):
        return
    pool = item(data, "job")["pool"] if "job" in data else data.get("pool")
    places = {f"j{one.job}": set[str]() for one in scene.world.instances}
    for one in scene.world.instances:
        places[f"j{one.job}"].add(scene.world.nodes[one.home].pool)
    waiting = {job.name: job.pool for job in scene.pending}
    named = [
        (
            reason,
            [
                job
                for job in jobs
                if pool is None or pool in places.get(job, ()) or waiting.get(job, "") in {None, pool}
            ],
        )
        for reason, jobs in scene.overlooked
    ]
    expected = [{"reason": reason, "jobs": jobs} for reason, jobs in named if jobs]
    if data.get("not_looked_at", []) != expected:
        yield Falsehood("not_looked_at", "looked at")


def _judge(data: Data, case: Case) -> Iterator[Falsehood]:
    match data["schema"]:
        case "compass-abs/measure/1":
            return judge_measurement(data, case.scene)
        case "compass-abs/plan/2":
            return judge_plan(data, case.scene)
        case "compass-abs/admit/3":
            return judge_admission(data, case.scene, case.data)
        case "compass-abs/admit-queue/3":
            return judge_queue(data, case.scene, case.data)
        case "compass-abs/certificate/2":
            return judge_certificate(data)
        case "compass-abs/migration-certificate/2":
            return judge_migrations(data)
        case other:
            raise KeyError(other)
