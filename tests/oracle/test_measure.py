"""`measure`: what is counted, how pools add up, and what is said when time runs out."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, cast

import pytest
from immutables import Map

import oracle.optimum.exact
from oracle.measurement.measure import measure
from oracle.optimum.certificate import Certificate, Status
from oracle.optimum.node_classes import constrained_problem, ideal_problem
from oracle.snapshots.model import PendingJob, RunningInstance, RunningJob, Snapshot, SnapshotNode, UnknownPoolError
from tests.oracle import brute_force
from tests.oracle.small_pools import clusters, no_packing, nothing_is_uniform, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.measurement.measure import Measurement

CONTRACT = [
    *("nodes", "gpus", "used_gpus", "instances", "partial_nodes", "inherent_partial_nodes", "ideal_partial_nodes"),
    *("avoidable_partial_nodes", "sif", "empty_nodes", "largest_free_block", "overcommitted"),
    *("wcc", "wcc_supply", "wcc_need", "status"),
]
ADDED = [
    *("partial_nodes", "inherent_partial_nodes", "ideal_partial_nodes", "avoidable_partial_nodes"),
    *("inherent_lower_bound", "ideal_lower_bound", "empty_nodes", "empty_nodes_after", "full_nodes"),
    *("nodes", "gpus", "used_gpus", "free_gpus", "unschedulable_nodes", "wcc_supply", "wcc_need"),
]


def cluster(
    nodes: Mapping[str, list[int]],
    *,
    gpus: int | Mapping[str, int] = 8,
    pools: Mapping[str, str] | None = None,
    cordoned: tuple[str, ...] = (),
    stuck: tuple[str, ...] = (),
) -> Snapshot:
    """Return a snapshot from node names and the demands on them; on nodes in `stuck` nothing can move."""
    offered = dict.fromkeys(nodes, gpus) if isinstance(gpus, int) else {**dict.fromkeys(nodes, 8), **gpus}
    return Snapshot.build(
        nodes=[
            SnapshotNode(
                name=name, gpus=offered[name], pool=(pools or {}).get(name, "default"), schedulable=name not in cordoned
            )
            for name in nodes
        ],
        jobs=[
            RunningJob(
                name=f"{name}-{i}", instances=(RunningInstance(node=name, gpus=demand, movable=name not in stuck),)
            )
            for name, demands in nodes.items()
            for i, demand in enumerate(demands)
        ],
    )


class TestOnePool:
    def test_avoidable_and_inherent(self) -> None:
        measured = measure(cluster({"a": [4, 3], "b": [4, 3], "c": [1], "d": []}))
        assert measured.partial_nodes == 3
        assert measured.inherent_partial_nodes == measured.ideal_partial_nodes == 1  # {4,4}, and 7 GPUs
        assert measured.avoidable_partial_nodes == 2
        assert measured.sif == pytest.approx(0.5)
        assert (measured.empty_nodes, measured.empty_nodes_after) == (1, 2)
        assert (measured.gpus, measured.used_gpus, measured.free_gpus) == (32, 15, 17)
        assert measured.largest_free_block == 8
        assert measured.instances == {1: 1, 3: 2, 4: 2}

    @pytest.mark.parametrize(
        ("held", "waiting", "block"),
        [
            ({"cpu": 8}, {"cpu": 1}, 4),  # a has no CPU left, and all that runs and waits takes some
            ({"cpu": 7}, {"cpu": 1}, 6),
            ({"cpu": 8}, {}, 6),  # what waits needs none
            ({}, {"cpu": 1}, 6),
        ],
    )
    def test_the_free_block_of_a_node_that_has_nothing_else_left(
        self, held: dict[str, int], waiting: dict[str, int], block: int
    ) -> None:
        snapshot = Snapshot.build(
            nodes=[SnapshotNode(name="a", gpus=8, resources=Map({"cpu": 8})), SnapshotNode(name="b", gpus=8)],
            jobs=[
                RunningJob(name="j", instances=(RunningInstance(node="a", gpus=2, resources=Map(held)),)),
                RunningJob(name="k", instances=(RunningInstance(node="b", gpus=4, resources=Map({"cpu": 60})),)),
            ],
            pending=[PendingJob(name="w", instances=1, gpus_per_instance=6, resources=Map(waiting))],
        )
        measured = measure(snapshot)
        assert (measured.largest_free_block, measured.free_gpus) == (block, 10 if block == 6 else 4)

    @pytest.mark.parametrize(("cpus", "free", "block"), [({"cpu": 0}, 4, 4), ({"cpu": 1}, 12, 8), ({}, 12, 8)])
    def test_a_pool_where_nothing_runs_takes_what_runs_elsewhere(
        self, cpus: dict[str, int], free: int, block: int
    ) -> None:
        """What holds the CPUs of a has no GPU, and is not in the snapshot."""
        snapshot = Snapshot.build(
            nodes=[SnapshotNode(name="a", gpus=8, pool="x", resources=Map(cpus)), SnapshotNode(name="b", gpus=8)],
            jobs=[RunningJob(name="k", instances=(RunningInstance(node="b", gpus=4, resources=Map({"cpu": 60})),))],
        )
        measured = measure(snapshot)
        assert (measured.free_gpus, measured.largest_free_block) == (free, block)

    def test_no_nodes(self) -> None:
        measured = measure(Snapshot.build(nodes=[]))
        assert measured.nodes == measured.partial_nodes == measured.inherent_partial_nodes == 0
        assert measured.sif == 0.0
        assert measured.wcc
        assert measured.status is Status.OPTIMAL
        assert measured.pools == ()

    def test_a_node_without_gpus_is_neither_partial_nor_empty_nor_full(self) -> None:
        measured = measure(cluster({"a": []}, gpus=0))
        assert (measured.partial_nodes, measured.empty_nodes, measured.full_nodes) == (0, 0, 0)
        assert (measured.empty_nodes_after, measured.largest_free_block) == (0, 0)

    def test_cordoned_nodes_keep_what_they_have_and_take_nothing(self) -> None:
        measured = measure(cluster({"a": [4, 2], "b": [6]}, cordoned=("a", "b")))
        assert measured.partial_nodes == measured.inherent_partial_nodes == 2
        assert measured.ideal_partial_nodes == 1  # {6,2}, and 4 alone
        measured = measure(cluster({"a": [4, 2], "b": [2]}, cordoned=("a",)))
        assert measured.inherent_partial_nodes == 0  # what is on a may leave
        assert (measured.unschedulable_nodes, measured.free_gpus, measured.largest_free_block) == (1, 6, 6)
        measured = measure(cluster({"a": [4], "b": [4, 2, 1]}, cordoned=("a",)))
        assert measured.inherent_partial_nodes == 2  # {4,4} would need 2 and 1 to go to a
        assert measured.ideal_partial_nodes == 1

    def test_immovable_instances(self) -> None:
        measured = measure(cluster({"a": [3], "b": [3], "c": [2]}, stuck=("a", "b")))
        assert measured.inherent_partial_nodes == 2
        assert measured.ideal_partial_nodes == 0

    def test_an_overcommitted_node_is_full_and_takes_nothing(self) -> None:
        measured = measure(cluster({"a": [4, 4], "b": [3]}, gpus={"a": 7}))
        assert measured.overcommitted == ("a",)
        assert (measured.partial_nodes, measured.full_nodes) == (1, 1)
        assert (measured.gpus, measured.used_gpus, measured.free_gpus) == (15, 11, 5)
        assert measured.inherent_partial_nodes == 1
        # Repacked: {4,3} fills the seven GPUs of a, the other 4 is alone on b.
        assert measured.ideal_partial_nodes == 1

    def test_a_demand_that_fits_nowhere_any_more(self) -> None:
        measured = measure(cluster({"a": [10], "b": [1]}))
        assert measured.inherent_partial_nodes == measured.ideal_partial_nodes == 1
        assert measured.status is Status.OPTIMAL


class TestCompositionCondition:
    @pytest.mark.parametrize(
        ("demands", "need"),
        [([3], 1), ([5], 3), ([6], 2), ([7], 1), ([1, 2, 4, 8, 16], 0), ([9], 7), ([12, 15], 5), ([3, 3, 5], 5)],
    )
    def test_need(self, demands: list[int], need: int) -> None:
        measured = measure(cluster({"a": demands}, gpus=64))
        assert measured.wcc_need == need
        assert measured.wcc_supply == demands.count(1)
        assert measured.wcc == (need <= demands.count(1))

    def test_fillers_of_another_pool_do_not_help(self) -> None:
        measured = measure(cluster({"a": [3], "b": [1]}, pools={"a": "x", "b": "y"}))
        assert (measured.wcc_supply, measured.wcc_need) == (1, 1)
        assert not measured.wcc


class TestPools:
    TWO = cluster({"a": [4], "b": [4], "c": [4]}, pools={"a": "x", "b": "x", "c": "y"})

    def test_instances_stay_in_their_pool(self) -> None:
        measured = measure(self.TWO)
        assert [pool.pool for pool in measured.pools] == ["x", "y"]
        assert [pool.inherent_partial_nodes for pool in measured.pools] == [0, 1]
        assert (measured.partial_nodes, measured.inherent_partial_nodes) == (3, 1)
        assert measured.sif == pytest.approx(2 / 3)

    def test_one_pool_alone(self) -> None:
        measured = measure(self.TWO, pool="y")
        assert (measured.nodes, measured.partial_nodes) == (1, 1)
        assert measured.pools == measure(self.TWO).pools[1:]

    def test_an_unknown_pool(self) -> None:
        with pytest.raises(UnknownPoolError, match="'z'; pools: 'x', 'y'"):
            measure(self.TWO, pool="z")
        with pytest.raises(UnknownPoolError, match="pools: none"):
            measure(Snapshot.build(nodes=[]), pool="z")

    def test_totals_are_sums(self) -> None:
        for measured in map(measure, map(snapshot_of, clusters(100, seed=21))):
            data = measured.to_dict()
            pools = [pool.to_dict() for pool in measured.pools]
            for key in ADDED:
                assert data[key] == sum(cast("int", pool[key]) for pool in pools), key
            assert measured.largest_free_block == max(pool.largest_free_block for pool in measured.pools)
            assert measured.avoidable_partial_nodes == measured.partial_nodes - measured.inherent_partial_nodes


class TestAgainstExhaustiveSearch:
    def test_both_optima(self) -> None:
        for small in clusters(100, seed=22):
            measured = measure(snapshot_of(small))
            partial, empty = brute_force.inherent(small)
            assert (measured.inherent_partial_nodes, measured.empty_nodes_after) == (partial, -empty), small
            assert measured.ideal_partial_nodes == brute_force.ideal(small)[0], small
            assert measured.ideal_partial_nodes <= measured.inherent_partial_nodes <= measured.partial_nodes

    def test_the_order_of_nodes_and_jobs_does_not_matter(self) -> None:
        rng = random.Random(23)
        for small in clusters(50, seed=23):
            snapshot = snapshot_of(small)
            shuffled = Snapshot.build(
                nodes=rng.sample(snapshot.nodes, len(snapshot.nodes)),
                jobs=rng.sample(snapshot.jobs, len(snapshot.jobs)),
            )
            assert measure(snapshot) == measure(shuffled)


class TestJson:
    def test_the_keys_of_the_contract(self) -> None:
        data = measure(TestPools.TWO).to_dict()
        assert data["schema"] == "compass-abs/measure/1"
        assert set(CONTRACT) <= data.keys()
        assert data["pool"] is None
        assert measure(TestPools.TWO, pool="x").to_dict()["pool"] == "x"
        for pool in cast("list[dict[str, object]]", data["pools"]):
            assert set(CONTRACT) <= pool.keys()
            assert pool.keys() - data.keys() == {"certificate", "ideal_certificate", "constraints"}
        assert (data["status"], data["instances"], data["overcommitted"]) == ("optimal", {"4": 3}, [])

    def test_certificates_survive_the_file(self) -> None:
        snapshot = cluster({"a": [4, 3], "b": [4, 3], "c": [3, 2]}, cordoned=("c",))
        data = json.loads(json.dumps(measure(snapshot).to_dict()))
        contents = snapshot.contents["default"]
        for key, value, placed in (
            ("certificate", "inherent_partial_nodes", constrained_problem(contents)),
            ("ideal_certificate", "ideal_partial_nodes", ideal_problem(contents)),
        ):
            certificate = Certificate.from_json(data["pools"][0][key])
            assert certificate.holds()
            assert certificate.problem == placed.problem
            assert certificate.partial_nodes == data[value]


class TestOutOfTime:
    SNAPSHOT = cluster(
        {**{f"g{i}": [6, 2] if i < 2 else [2] for i in range(5)}, "h": [8], "i": [8], "j": [4, 3], "k": [4]}
    )

    def test_bounds_instead_of_a_value(self, monkeypatch: pytest.MonkeyPatch) -> None:
        settled = measure(self.SNAPSHOT)
        monkeypatch.setattr(oracle.optimum.exact, "is_uniform", nothing_is_uniform)
        monkeypatch.setattr(oracle.optimum.exact, "greedy_packing", no_packing)
        hurried = measure(self.SNAPSHOT, time_limit=0)
        assert hurried.status is Status.UNKNOWN
        assert hurried.empty_nodes_after_status is Status.UNKNOWN
        assert hurried.inherent_lower_bound < settled.inherent_partial_nodes < hurried.inherent_partial_nodes
        assert 0 <= hurried.avoidable_partial_nodes < settled.avoidable_partial_nodes
        assert hurried.to_dict()["status"] == "unknown"
        _assert_verified(hurried)
        _assert_verified(settled)


def _assert_verified(measured: Measurement) -> None:
    for pool in measured.pools:
        pool.certificate.verify()
        pool.ideal_certificate.verify()
