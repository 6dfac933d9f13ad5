"""Interruptions: deadlines close at once, in their context only, and solvers that would run for ever stop."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import oracle.admission.jobs
from oracle.admission.answer import Verdict
from oracle.admission.jobs import admit
from oracle.admission.room import make_room
from oracle.measurement.measure import measure
from oracle.optimum.interruption import Interruption, current, interruptible
from oracle.optimum.solver import Deadline, Outcome, Program, Row, solve_integers
from oracle.planning.planner import plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from oracle.verification import verify
from tests.oracle.small_pools import clusters, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oracle.admission.question import Waiting
    from oracle.admission.room import Room
    from oracle.optimum.model import NodeKind
    from oracle.optimum.solver import IntegerAnswer


def endless() -> Program:
    """Return a market split problem of 6 rows and 50 columns, which no solver settles in hours."""
    rng = random.Random(6)
    rows: list[Row] = []
    for _ in range(6):
        coefficients = [rng.randrange(100) for _ in range(50)]
        half = sum(coefficients) // 2
        rows.append(Row(half, half, tuple(enumerate(coefficients))))
    return Program(costs=(1,) * 50, uppers=(1,) * 50, rows=tuple(rows))


class TestDeadline:
    def test_closes_at_the_request(self) -> None:
        interruption = Interruption()
        with interruptible(interruption):
            never, later = Deadline(), Deadline(1000)
            assert never.is_open()
            interruption.request()
            assert [never.seconds_left, later.seconds_left] == [0.0, 0.0]
            assert not Deadline().is_open()

    def test_of_another_context_stays_open(self) -> None:
        interruption = Interruption()
        deadline = Deadline()
        with interruptible(interruption):
            interruption.request()
            assert current() is interruption
        assert current() is None
        assert deadline.is_open()


@pytest.mark.parametrize("solve", [solve_integers])
def test_a_solver_stops(solve: Callable[[Program, Deadline], IntegerAnswer]) -> None:
    interruption = Interruption()
    answers: list[IntegerAnswer] = []

    def work() -> None:
        with interruptible(interruption):
            answers.append(solve(endless(), Deadline()))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    for _ in range(300):
        interruption.request()
        thread.join(0.1)
        if not thread.is_alive():
            break
    assert [answer.outcome for answer in answers] == [Outcome.GAVE_UP]


@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_plans_that_were_interrupted_before_they_began_keep_their_bounds(mode: str) -> None:
    interruption = Interruption()
    interruption.request()
    for cluster in clusters(20, 3):
        snapshot = snapshot_of(cluster)
        best = plan(snapshot, moves=mode)
        with interruptible(interruption):
            found = plan(snapshot, moves=mode)
        assert found.interrupted
        assert not best.interrupted
        assert found.partial_nodes_lower_bound <= best.partial_nodes_after <= found.partial_nodes_after
        if found.partial_nodes_after == best.partial_nodes_after:
            assert found.migrations_lower_bound <= best.migrations <= found.migrations


def crowded(rng: random.Random) -> Snapshot:
    """Return six nodes of 8 GPUs with one or two instances of 3 or 4."""
    jobs = [
        RunningJob(name=f"{n}-{k}", instances=(RunningInstance(node=f"n{n}", gpus=rng.randint(3, 4)),))
        for n in range(6)
        for k in range(rng.randint(1, 2))
    ]
    return Snapshot.build(nodes=[SnapshotNode(name=f"n{n}", gpus=8) for n in range(6)], jobs=jobs)


@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_admissions_that_were_interrupted_claim_nothing_else(mode: str) -> None:
    interruption = Interruption()
    interruption.request()
    unsettled = 0
    rng = random.Random(4)
    for _ in range(10):
        snapshot = crowded(rng)
        for gpus in (5, 6, 8):
            answer = admit(snapshot, instances=1, gpus=gpus, moves=mode)
            with interruptible(interruption):
                found = admit(snapshot, instances=1, gpus=gpus, moves=mode)
            assert (answer.interrupted, found.interrupted) == (False, True)
            assert found.verdict in {answer.verdict, Verdict.UNKNOWN}
            unsettled += found.verdict is Verdict.UNKNOWN
            assert "time ran out" not in found.reason, "there was no time limit"
            if answer.migrations is not None and found.migrations is not None:
                assert found.lower_bound <= answer.migrations <= found.migrations
    assert unsettled > 0


@pytest.mark.parametrize("mode", ["checkpoint", "live"])
def test_moves_found_before_an_interruption_are_kept(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    def without_proof(nodes: Mapping[NodeKind, int], job: Waiting, deadline: Deadline) -> Room:
        room = make_room(nodes, job, deadline)
        if (interruption := current()) is not None:
            interruption.request()
        return room if room.changes is None else replace(room, outcome=Outcome.FOUND, lower_bound=0)

    kept = dropped = 0
    rng = random.Random(7)
    for _ in range(10):
        snapshot = crowded(rng)
        for gpus in (5, 6, 8):
            answer = admit(snapshot, instances=2, gpus=gpus, moves=mode)
            with monkeypatch.context() as patch, interruptible(Interruption()):
                patch.setattr(oracle.admission.jobs, "make_room", without_proof)
                found = admit(snapshot, instances=2, gpus=gpus, moves=mode)
            if answer.verdict is not Verdict.FITS_AFTER:
                continue
            dropped += found.verdict is not Verdict.FITS_AFTER
            if answer.migrations is not None and found.migrations is not None:
                kept += 1
                assert found.interrupted
                assert found.lower_bound <= answer.migrations <= found.migrations
                assert all(check.holds is not False for check in verify(found.to_dict(), snapshot))
    assert kept > 0
    # Not every way that stops instances is one that parking them makes live.
    assert mode == "live" or not dropped


def test_a_measurement_that_was_interrupted_has_bounds() -> None:
    interruption = Interruption()
    interruption.request()
    for cluster in clusters(20, 5):
        snapshot = snapshot_of(cluster)
        best = measure(snapshot)
        with interruptible(interruption):
            found = measure(snapshot)
        assert found.inherent_lower_bound <= best.inherent_partial_nodes <= found.inherent_partial_nodes
