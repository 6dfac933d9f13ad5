"""Running jobs: which hold GPUs, how many on which node, and whether they can be moved."""

from __future__ import annotations

import pytest

from tests.oracle.snapshots.slurm_inputs import (
    Fields,
    fault_of,
    held,
    job,
    listed,
    node,
    on,
    read,
    skipped,
    wrapped,
)

NODES = [node("n1"), node("n2"), node("n3")]
TWO = on("n[1-2]", "gpu:a100:4(IDX:0-3)", "gpu:a100:2(IDX:6-7)")


class TestStates:
    """A job holds its GPUs from their allocation until the last process and the epilog are over."""

    @pytest.mark.parametrize(
        "state",
        [
            *("RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT", "COMPLETING"),
            *(["RUNNING", "CONFIGURING"], ["COMPLETED", "COMPLETING"], ["PENDING", "COMPLETING"]),
            ["RUNNING", "NOVELTY"],
        ],
    )
    def test_holds(self, state: str | list[str]) -> None:
        assert held(read(NODES, [job(job_state=state, **TWO)])) == {"1": [("n1", 4), ("n2", 2)]}

    @pytest.mark.parametrize("state", ["COMPLETING", ["FAILED", "COMPLETING"], "STAGE_OUT", ["RUNNING", "RESIZING"]])
    def test_an_ending_job_cannot_be_moved(self, state: str | list[str]) -> None:
        assert not any(i.movable for i in read(NODES, [job(job_state=state, **TWO)]).jobs[0].instances)

    @pytest.mark.parametrize(
        "state",
        [
            *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
            *("TIMEOUT", ["COMPLETED"], ["FAILED", "LAUNCH_FAILED"], "REVOKED", ["PENDING", "REVOKED"]),
        ],
    )
    def test_a_finished_job_holds_nothing_and_is_listed(self, state: str | list[str]) -> None:
        snapshot = read(NODES, [job(job_state=state, **TWO)])
        assert snapshot.jobs == ()
        assert skipped(snapshot) == {"finished jobs": ("1",)}

    @pytest.mark.parametrize("state", ["NOVELTY", ["NOVELTY", "RARITY"], []])
    def test_a_state_of_unknown_meaning_is_refused(self, state: str | list[str]) -> None:
        assert "jobs[0].job_state: job 5 is in a state of unknown meaning" in fault_of(NODES, [job(5, job_state=state)])


class TestMovable:
    """Slurm moves a job by requeueing it: batch jobs only, and not those that forbid it."""

    @pytest.mark.parametrize(
        ("fields", "movable"),
        [
            ({}, True),
            ({"requeue": True, "batch_flag": True}, True),
            ({"requeue": 1, "batch_flag": 1}, True),
            ({"requeue": False}, False),
            ({"requeue": 0}, False),
            ({"batch_flag": False}, False),
            ({"batch_flag": 0}, False),
            ({"job_state": "SUSPENDED"}, True),
        ],
    )
    def test_movable(self, fields: Fields, movable: bool) -> None:
        snapshot = read(NODES, [{**job(), **TWO, **fields}])
        assert {i.movable for i in snapshot.jobs[0].instances} == {movable}


class TestDetails:
    """gres_detail has one entry a node, in the order of the job's resources."""

    def test_the_order_is_the_written_one(self) -> None:
        jobs = [job(**on("n[3,1]", "gpu:a100:1(IDX:0)", "gpu:a100:8(IDX:0-7)"))]
        assert held(read(NODES, jobs)) == {"1": [("n3", 1), ("n1", 8)]}

    @pytest.mark.parametrize(
        "resources",
        [
            {"nodes": "n[2,1]", "allocated_hosts": 2, "allocated_nodes": {"0": {"memory": 1}, "1": {"memory": 1}}},
            {"nodes": "n[1-2]", "allocated_nodes": [{"nodename": "n2"}, {"nodename": "n1"}]},
            {"nodes": {"count": 2, "list": "n[1-2]", "allocation": [{"name": "n2"}, {"name": "n1"}]}},
            {"nodes": {"count": 2, "list": "n[2,1]"}},
        ],
        ids=["v0.0.37", "v0.0.39", "v0.0.41", "v0.0.41 without allocation"],
    )
    def test_the_resources_of_every_version(self, resources: Fields) -> None:
        jobs = [job(job_resources=resources, **on("n[1-2]", "gpu:a100:1(IDX:0)", "gpu:a100:2(IDX:0-1)"))]
        assert held(read(NODES, jobs)) == {"1": [("n2", 1), ("n1", 2)]}

    def test_an_ending_job_holds_what_it_has_on_the_nodes_where_it_still_ends(self) -> None:
        """Slurm takes nodes that are done off `nodes`, and leaves them in the resources."""
        resources = {"nodes": {"count": 2, "list": "n[1-2]", "allocation": [{"name": "n1"}, {"name": "n2"}]}}
        jobs = [job(job_state=["COMPLETED", "COMPLETING"], job_resources=resources, **{**TWO, "nodes": "n2"})]
        assert held(read(NODES, jobs)) == {"1": [("n2", 2)]}

    @pytest.mark.parametrize("details", [["gpu:a100:4(IDX:0-3)"], ["gpu:1", "gpu:1", "gpu:1"]])
    def test_another_number_of_entries_than_of_nodes(self, details: list[str]) -> None:
        message = fault_of(NODES, [job(nodes="n[1-2]", gres_detail=details)])
        assert (
            f"jobs[0].gres_detail: expected one entry for each of the 2 nodes of the job, got {len(details)}" in message
        )

    def test_a_node_of_the_job_that_its_resources_do_not_list(self) -> None:
        jobs = [job(4, nodes="n[1-2]", job_resources={"nodes": "n1"}, gres_detail=["gpu:a100:1"])]
        assert "job 4 has node n2, but lists no resources for it" in fault_of(NODES, jobs)

    def test_a_node_twice(self) -> None:
        assert "job 1 has node n1 twice" in fault_of(NODES, [job(**on("n1,n1", "gpu:1", "gpu:1"))])

    def test_a_node_that_is_not_among_the_nodes(self) -> None:
        message = fault_of(NODES, [job(3), job(4, **on("n9", "gpu:a100:1(IDX:0)"))])
        assert "jobs[1].nodes: job 4 holds GPUs on node n9, which is not among the nodes" in message

    def test_a_job_without_gpus_may_be_anywhere(self) -> None:
        snapshot = read(NODES, [job(4, nodes="cpu-7", gres_detail=[""], tres_alloc_str="cpu=4,node=1")])
        assert skipped(snapshot) == {"jobs without GPUs": ("4",)}

    def test_malformed_hostlist(self) -> None:
        assert "jobs[0].nodes: 'n[1-' is no host name" in fault_of(NODES, [job(**on("n[1-", "gpu:1"))])

    def test_a_device_list_that_contradicts_its_count(self) -> None:
        """Slurm's sums are made of the counts, and the larger number is the one that is surely not free."""
        snapshot = read(NODES, [job(**on("n1", "gpu:a100:8(IDX:0-3)"))])
        assert held(snapshot) == {"1": [("n1", 8)]}
        assert listed(snapshot, "contradict their count") == ("1: gpu:a100:8(IDX:0-3)",)

    def test_whole_gpus_and_fractions_in_one_job(self) -> None:
        snapshot = read([node(gres="gpu:a100:6,gpu:1g.10gb:7")], [job(**on("n1", "gpu:a100:2(IDX:0-1),gpu:1g.10gb:3"))])
        assert held(snapshot) == {"1": [("n1", 2)]}
        assert listed(snapshot, "running jobs on MIG") == ("1",)

    def test_more_than_the_node_offers_is_real(self) -> None:
        snapshot = read(NODES, [job(1, **on("n1", "gpu:a100:8(IDX:0-7)")), job(2, **on("n1", "gpu:a100:2(IDX:0-1)"))])
        assert snapshot.used_gpus()["n1"] == 10


class TestTotals:
    """Where the list by node is blank, the total is used if only one distribution of it is possible."""

    def test_one_node(self) -> None:
        jobs = [job(nodes="n1", tres_alloc_str="cpu=64,node=1,gres/gpu=3,gres/gpu:a100=3")]
        assert held(read(NODES, jobs)) == {"1": [("n1", 3)]}

    def test_one_blank_node_has_the_rest(self) -> None:
        jobs = [job(tres_alloc_str="gres/gpu=5", **on("n[1-2]", "gpu:a100:4(IDX:0-3)", ""))]
        assert held(read(NODES, jobs)) == {"1": [("n1", 4), ("n2", 1)]}

    def test_a_blank_node_of_a_job_whose_gpus_are_all_accounted_for_has_none(self) -> None:
        jobs = [job(tres_alloc_str="gres/gpu=4", **on("n[1-2]", "gpu:a100:4(IDX:0-3)", ""))]
        assert held(read(NODES, jobs)) == {"1": [("n1", 4)]}

    def test_as_many_on_each_node_as_it_asked_for(self) -> None:
        jobs = [job(nodes="n[1-2]", tres_alloc_str="gres/gpu=6", tres_per_node="gres/gpu:3")]
        assert held(read(NODES, jobs)) == {"1": [("n1", 3), ("n2", 3)]}

    def test_all_gpus_of_the_nodes(self) -> None:
        jobs = [job(nodes="n[1-2]", tres_alloc_str="gres/gpu=16", tres_per_job="gres/gpu:16")]
        assert held(read(NODES, jobs)) == {"1": [("n1", 8), ("n2", 8)]}

    def test_an_exclusive_job_has_what_it_has_and_not_what_it_asked_for(self) -> None:
        jobs = [job(nodes="n1", tres_alloc_str="gres/gpu=8", tres_per_node="gres/gpu:0")]
        assert held(read(NODES, jobs)) == {"1": [("n1", 8)]}

    @pytest.mark.parametrize(
        "fields",
        [
            {"tres_alloc_str": "gres/gpu=6"},
            {"tres_alloc_str": "gres/gpu=6", "tres_per_job": "gres/gpu:6"},
            {"tres_alloc_str": "gres/gpu=6", "tres_per_node": "gres/gpu:2"},
            {"tres_per_task": "gres/gpu:1"},
            {"tres_per_job": "gres/gpu:6"},
            {"tres_alloc_str": "cpu=2", "tres_per_node": "gres/gpu:2", "shared": ["none"]},
            {"tres_alloc_str": "cpu=2", "tres_per_node": "gres/gpu:2", "exclusive": ["true"]},
        ],
    )
    def test_nothing_is_guessed(self, fields: Fields) -> None:
        message = fault_of(NODES, [job(77, nodes="n[1-2]", **fields)])
        assert "jobs[0]: job 77: " in message
        assert "how many on each node is not told; expected gres_detail" in message

    def test_what_it_asked_for_where_no_tres_counts_gpus_and_nothing_is_listed_by_node(self) -> None:
        jobs = [job(nodes="n[1-2]", tres_alloc_str="cpu=2", tres_per_node="gres/gpu:2")]
        assert held(read(NODES, jobs)) == {"1": [("n1", 2), ("n2", 2)]}
        assert held(read(NODES, [job(nodes="n1", tres_per_job="gres/gpu:6")])) == {"1": [("n1", 6)]}

    def test_an_ending_job_whose_list_slurm_has_blanked_holds_what_it_asked_for(self) -> None:
        ending: Fields = {"job_state": ["PENDING", "COMPLETING"], "gres_detail": [], "tres_alloc_str": "cpu=1"}
        one = job(nodes="n1", node_count=wrapped(1), tres_per_node="gres/gpu:1", **ending)
        snapshot = read(NODES, [one])
        assert held(snapshot) == {"1": [("n1", 1)]}
        assert not snapshot.jobs[0].instances[0].movable
        two = job(nodes="n1", node_count=wrapped(2), tres_per_job="gres/gpu:4", **ending)
        assert listed(read(NODES, [two]), "ending jobs whose GPUs per node are not told") == ("1",)

    def test_a_job_that_holds_gpus_nowhere(self) -> None:
        message = fault_of(NODES, [job(5, tres_alloc_str="gres/gpu=2")])
        assert "jobs[0].nodes: job 5 holds GPUs, but the list of its nodes is empty" in message
        assert "job 5 holds GPUs" in fault_of(NODES, [job(5, tres_per_node="gres/gpu:2")])

    def test_an_ending_job_that_is_done_with_its_nodes(self) -> None:
        snapshot = read(NODES, [job(5, job_state=["COMPLETED", "COMPLETING"], tres_alloc_str="gres/gpu=2")])
        assert snapshot.jobs == ()

    @pytest.mark.parametrize("nodes", ["n1", "n[1-2]"])
    def test_an_ending_job_of_which_only_the_total_is_known_leaves_it_to_its_nodes(self, nodes: str) -> None:
        fields: Fields = {"nodes": nodes, "tres_alloc_str": "gres/gpu=12", "node_count": wrapped(3)}
        nodes_in_use = [node("n1", gres_used="gpu:a100:4(IDX:0-3)"), node("n2"), node("n3")]
        snapshot = read(nodes_in_use, [job(5, job_state=["COMPLETED", "COMPLETING"], **fields)])
        assert held(snapshot) == {"unexplained:n1": [("n1", 4)]}
        assert listed(snapshot, "ending jobs whose GPUs per node are not told") == ("5",)

    def test_an_ending_job_on_all_its_nodes(self) -> None:
        fields: Fields = {"nodes": "n1", "tres_alloc_str": "gres/gpu=3", "node_count": wrapped(1)}
        assert held(read(NODES, [job(job_state="COMPLETING", **fields)])) == {"1": [("n1", 3)]}
        fields = {"nodes": "n[1-2]", "tres_alloc_str": "gres/gpu=3", "node_count": wrapped(2)}
        assert held(read(NODES, [job(job_state="COMPLETING", **fields)])) == {}


class TestNames:
    """Jobs have the names that Slurm shows, and no two of them the same."""

    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            ({}, "12"),
            ({"array_job_id": wrapped(0), "array_task_id": wrapped(None)}, "12"),
            ({"array_job_id": wrapped(10), "array_task_id": wrapped(0)}, "10_0"),
            ({"array_job_id": 10, "array_task_id": 3}, "10_3"),
            ({"array_job_id": 0, "array_task_id": 4294967294}, "12"),
            ({"array_job_id": 10, "array_task_id": None, "array_task_string": "28-59%100"}, "10_[28-59%100]"),
            ({"het_job_id": wrapped(11), "het_job_offset": wrapped(1)}, "11"),
            ({"het_job_id": wrapped(12), "het_job_offset": wrapped(0)}, "12"),
        ],
    )
    def test_names(self, fields: Fields, name: str) -> None:
        assert list(held(read(NODES, [job(12, **TWO, **fields)]))) == [name]

    def test_a_job_printed_twice_is_one_job(self) -> None:
        assert held(read(NODES, [job(**TWO), job(**TWO)])) == {"1": [("n1", 4), ("n2", 2)]}

    def test_a_job_printed_twice_with_other_values(self) -> None:
        jobs = [job(**TWO), job(job_state="COMPLETED", **TWO)]
        assert "jobs[1]: job 1 was printed before with other values" in fault_of(NODES, jobs)

    def test_two_jobs_of_one_name(self) -> None:
        task: Fields = {"array_job_id": 10, "array_task_id": 3}
        jobs = [job(12, **on("n1", "gpu:1"), **task), job(13, **on("n2", "gpu:1"), **task)]
        assert "jobs[1].job_id: jobs 12 and 13 both are 10_3" in fault_of(NODES, jobs)
