"""Results that were forged to cost time or memory: one line or an honest answer, and soon."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.optimum.certificate import Certificate
from oracle.optimum.evidence import CertificateError
from oracle.optimum.interruption import BrokenOffError, Interruption, break_off_if_requested, checking, interruptible
from oracle.optimum.migration_certificate import MigrationCertificate
from oracle.snapshots.model import MAX_NODES
from oracle.verification import ResultError, verify
from tests.oracle.cli.files import data_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.oracle.cli.conftest import Sifopt

CLUSTER: dict[str, object] = {
    "schema": "compass-abs/snapshot/1",
    "nodes": [{"name": f"n{i}", "gpus": 8, "pool": "ab"[i % 2]} for i in range(6)],
    "jobs": [{"name": "x", "gpus_per_instance": 2, "instances": [{"node": f"n{i}"} for i in range(6)]}],
}


def halves(nodes: int) -> dict[str, object]:
    """Return a problem of nodes that are half full."""
    kind: dict[str, object] = {"capacity": 8, "held": 0, "room": 8, "own": []}
    return {"classes": [kind], "nodes": [nodes], "demands": [[4, nodes]]}


def certificate(nodes: int) -> dict[str, object]:
    """Return a certificate that states so many nodes."""
    return {
        "schema": Certificate.SCHEMA,
        "problem": halves(nodes),
        "packing": [{"node_class": 0, "pattern": [4], "nodes": nodes}],
        "partial_nodes": nodes,
        "lower_bound": 0,
        "argument": {"argument": "load bound"},
        "status": "unknown",
    }


def migrations(nodes: int) -> dict[str, object]:
    """Return a certificate of migrations that states so many nodes."""
    argument = {"argument": "weights", "partial": 0, "arrival": 1, "demands": [0]}
    return {
        "schema": MigrationCertificate.SCHEMA,
        "problem": halves(nodes),
        "present": [{"node_class": 0, "pattern": [4], "nodes": nodes}],
        "max_partial_nodes": nodes,
        "changes": [],
        "partial_nodes": nodes,
        "migrations": 0,
        "lower_bound": 0,
        "argument": argument,
        "status": "optimal",
    }


def plan(*pools: int) -> dict[str, object]:
    """Return a plan that does nothing in pools of so many nodes."""
    total = sum(pools)
    zeros = ("migrations", "migrations_lower_bound", "jobs_disturbed", "jobs_disturbed_lower_bound")
    return {
        "schema": "compass-abs/plan/2",
        "status": "unknown",
        "mode": "checkpoint",
        "max_partial_nodes": None,
        "max_migrations": None,
        "protected": [],
        "partial_nodes_before": total,
        "partial_nodes_after": total,
        "partial_nodes_lower_bound": 0,
        "empty_nodes_before": 0,
        "empty_nodes_after": 0,
        "live": True,
        "moves": [],
        "stopped_first": [],
        "certificate": {
            "pools": [
                {"pool": f"p{i}", "inherent": certificate(nodes), "migrations": migrations(nodes)}
                for i, nodes in enumerate(pools)
            ]
        },
        **dict.fromkeys(zeros, 0),
    }


def between_small_ones(nodes: int) -> dict[str, object]:
    """Return a plan in which one pool of several states so many nodes."""
    return plan(1, nodes, 1)


def wide() -> dict[str, object]:
    """Return a true certificate whose load bound takes many minutes: classes with hundreds of loads to choose from."""
    own = [gpus for gpus in (7, 5, 3, 1) for _ in range(100)]
    helds = range(1, 200)
    return {
        "schema": Certificate.SCHEMA,
        "problem": {
            "classes": [{"capacity": 1024, "held": held, "room": 1024 - held, "own": own} for held in helds],
            "nodes": [50 for _ in helds],
            "demands": [[gpus, 50 * 100 * len(helds)] for gpus in (7, 5, 3, 1)],
        },
        "packing": [{"node_class": c, "pattern": own, "nodes": 50} for c in range(len(helds))],
        "partial_nodes": 0,
        "lower_bound": 0,
        "argument": {"argument": "load bound"},
        "status": "optimal",
    }


class TestNumbersThatAreOnlyStated:
    """No memory in proportion to a number: such a result is refused, whatever it is about."""

    @pytest.mark.parametrize("nodes", [MAX_NODES + 1, 10**9, 10**30])
    @pytest.mark.parametrize("made", [certificate, migrations, plan, between_small_ones])
    def test_nodes(self, made: Callable[[int], dict[str, object]], nodes: int) -> None:
        data = made(nodes)
        tracemalloc.start()
        try:
            with pytest.raises(
                ResultError, match=f"expected certificates about {MAX_NODES} nodes at most, got [0-9]+$"
            ):
                verify(data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1 << 20

    def test_nodes_of_all_pools_together(self) -> None:
        with pytest.raises(ResultError, match="nodes at most"):
            verify(plan(MAX_NODES, 1))

    @pytest.mark.parametrize("nodes", [1, 1000, MAX_NODES])
    def test_as_many_as_a_cluster_has_are_read(self, nodes: int) -> None:
        assert Certificate.from_json(certificate(nodes)).problem.nodes == (nodes,)

    def test_a_certificate_alone(self) -> None:
        with pytest.raises(CertificateError, match="nodes at most, got 10000000"):
            Certificate.from_json(certificate(10_000_000))

    @given(st.data())
    def test_digits(self, data: st.DataObject) -> None:
        stored: dict[str, object] = plan(3, 2)
        objects: list[dict[str, object]] = [stored]
        for one in objects:
            for value in one.values():
                below = cast("list[object]", value) if isinstance(value, list) else [value]
                objects.extend(cast("dict[str, object]", item) for item in below if isinstance(item, dict))
        chosen = data.draw(st.sampled_from(objects))
        chosen[data.draw(st.sampled_from(sorted(chosen)))] = data.draw(st.sampled_from([1, -1])) * 10 ** data.draw(
            st.integers(100, 5000)
        )
        with pytest.raises(ResultError, match="expected numbers of at most 100 digits"):
            verify(stored)

    def test_one_line(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = tmp_path / "result.json"
        path.write_text(json.dumps(plan(10**30)))
        result = sifopt("verify", path)
        assert (result.status, result.out) == (2, "")
        assert result.err.startswith(f"sifopt: {path}: expected certificates about")
        assert result.err.count("\n") == 1


class TestTimeLimit:
    """What is not checked in time is named; it neither holds nor fails."""

    def test_work_without_end_is_broken_off(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = tmp_path / "result.json"
        path.write_text(json.dumps(wide()))
        result = sifopt("verify", path, "--time-limit", "0.2")
        assert result.status == 3
        assert result.out == (
            "not rechecked  partial nodes: not finished: time ran out (--time-limit)\n"
            "Not finished: what was checked holds; 1 of 1 claim is open.\n"
        )

    @pytest.mark.parametrize("command", [["plan"], ["plan", "--frontier"], ["measure"], ["admit", "--job", "1x8"]])
    @pytest.mark.parametrize("about", [True, False])
    def test_no_time_at_all(self, sifopt: Sifopt, tmp_path: Path, command: list[str], about: bool) -> None:
        cluster, path = tmp_path / "cluster.json", tmp_path / "result.json"
        cluster.write_text(json.dumps(CLUSTER))
        path.write_text(sifopt(*command, cluster, "-o", "json").out)
        snapshot: list[str | Path] = ["--snapshot", cluster] if about else []
        whole = data_of(sifopt("verify", path, *snapshot, "-o", "json").out)
        found = sifopt("verify", path, *snapshot, "-o", "json", "--time-limit", "0")
        told = data_of(found.out)
        if command[0] == "admit":  # so little is to be done that it is done all the same
            assert told == whole
            return
        assert found.status == 3
        assert (told["holds"], told["finished"], told["complete"]) == (False, False, False)
        checks = cast("list[dict[str, str]]", told["checks"])
        open_ = [check for check in checks if check["detail"].startswith("not finished: time ran out")]
        assert open_
        assert all(check["result"] == "not rechecked" for check in open_)
        # What was checked all the same came out as it does with time.
        known = cast("list[dict[str, str]]", whole["checks"])
        assert all(check in known for check in checks if check not in open_)

    def test_what_fails_fails_before_the_time_is_over(self, sifopt: Sifopt, tmp_path: Path) -> None:
        path = tmp_path / "result.json"
        path.write_text(json.dumps(plan(2) | {"migrations": 5}))
        result = sifopt("verify", path, "--time-limit", "0")
        assert result.status == 1
        assert "Everything holds" not in result.out

    def test_searches_are_not_broken_off(self) -> None:
        interruption = Interruption()
        interruption.request()
        with interruptible(interruption):
            break_off_if_requested()

    def test_an_interruption_breaks_a_check_off(self) -> None:
        interruption = Interruption()
        with interruptible(interruption), checking(None):
            break_off_if_requested()
            interruption.request()
            with pytest.raises(BrokenOffError, match="interrupted"):
                break_off_if_requested()

    def test_many_pools_of_many_nodes(self) -> None:
        tracemalloc.start()
        try:
            found = verify(plan(*[MAX_NODES >> 7] * 127), time_limit=1)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert not found[-1].finished
        assert peak < 200 << 20
