"""What of a document is false, by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tests.oracle.forger.judge_admissions import judge_admission, judge_queue
from tests.oracle.forger.judge_certificates import judge_certificate, judge_migrations
from tests.oracle.forger.judge_measurements import judge_measurement
from tests.oracle.forger.judge_plans import judge_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.forger.scenes import Case, Data
    from tests.oracle.forger.truth import Falsehood


def falsehoods(data: Data, case: Case) -> frozenset[Falsehood] | None:
    """Return what is false of a document about the scene of a case; None if it has another form.

    `case.data` is what the library said.
    """
    try:
        return frozenset(_judge(data, case))
    except (msgspec.ValidationError, KeyError):
        return None


def _judge(data: Data, case: Case) -> Iterator[Falsehood]:
    match data["schema"]:
        case "compass-abs/measure/1":
            return judge_measurement(data, case.scene)
        case "compass-abs/plan/2":
            return judge_plan(data, case.scene)
        case "compass-abs/admit/2":
            return judge_admission(data, case.scene, case.data)
        case "compass-abs/admit-queue/2":
            return judge_queue(data, case.scene, case.data)
        case "compass-abs/certificate/2":
            return judge_certificate(data)
        case "compass-abs/migration-certificate/2":
            return judge_migrations(data)
        case other:
            raise KeyError(other)
