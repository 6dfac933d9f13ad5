"""Waiting jobs: which wait for room, and in which shape; what is open stays open and is listed."""

from __future__ import annotations

import pytest

from oracle.snapshots.slurm import waiting as waiting_module
from tests.oracle.snapshots.slurm_inputs import Fields, fault_of, job, listed, node, on, read, skipped, waiting, wrapped

NODES = [node("n1"), node("n2"), node("n3")]


def nodes_of(count: int) -> Fields:
    """Return the fields of a job that asks for so many nodes, not one more."""
    return {"node_count": wrapped(count), "max_nodes": wrapped(count)}


def shapes(*fields: Fields) -> list[tuple[str, int, int]]:
    jobs = [waiting(number, **more) for number, more in enumerate(fields, start=1)]
    return [(p.name, p.instances, p.gpus_per_instance) for p in read(NODES, jobs).pending]


class TestShapes:
    """Nodes times GPUs a node, where the request leaves no other shape open."""

    @pytest.mark.parametrize(
        ("fields", "instances", "gpus"),
        [
            ({"tres_per_node": "gres/gpu:4"}, 1, 4),
            ({"tres_per_node": "gres:gpu:4"}, 1, 4),
            ({"tres_per_node": "gpu:titanxp:1"}, 1, 1),
            ({"tres_per_node": "gres/gpu:h100:8", "node_count": wrapped(16)}, 16, 8),
            ({"tres_per_node": "gres/gpu:8", "node_count": 3, "max_nodes": 3}, 3, 8),
            ({"tres_per_node": "gres/gpu:4", "tres_per_job": "gres/gpu:12"}, 3, 4),
            ({"tres_per_node": "gres/gpu:4", "tres_per_job": "gres/gpu:12", "node_count": wrapped(3)}, 3, 4),
            ({"tres_per_task": "gres/gpu:2", "tasks": wrapped(4), **nodes_of(1)}, 1, 8),
            ({"tres_per_task": "cpu=4,gres/gpu:1", "tasks": 16, "tasks_per_node": 8, **nodes_of(2)}, 2, 8),
            ({"tres_per_task": "gres/gpu:1", "tasks": 16, "tasks_per_node": 65534, **nodes_of(2)}, 2, 8),
            ({"tres_per_task": "gres/gpu:1", "tasks": 4, "tres_per_job": "gres/gpu:4", **nodes_of(1)}, 1, 4),
            ({"tres_per_task": "gres/gpu:4", "tasks": 1}, 1, 4),
            ({"tres_per_job": "gres/gpu:4", **nodes_of(1)}, 1, 4),
            ({"tres_per_job": "gres/gpu:1"}, 1, 1),
            ({"tres_per_job": "gres/gpu:12", **nodes_of(3)}, 3, 4),
            ({"tres_req_str": "cpu=8,mem=1G,node=1,gres/gpu=4,gres/gpu:a100=4", **nodes_of(1)}, 1, 4),
            ({"tres_req_str": "cpu=8,mem=1G,node=2,gres/gpu=16", **nodes_of(2)}, 2, 8),
            ({"tres_per_node": "gres/gpu:0", "tres_req_str": "gres/gpu=2", **nodes_of(1)}, 1, 2),
            ({"tres_per_job": "gres/gpu:4", "tres_req_str": "gres/gpu=1", **nodes_of(1)}, 1, 4),
        ],
    )
    def test_told(self, fields: Fields, instances: int, gpus: int) -> None:
        assert shapes(fields) == [("1", instances, gpus)]

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            (
                {"tres_per_node": "gres/gpu:8", "node_count": wrapped(2), "max_nodes": wrapped(4)},
                "number of nodes is open",
            ),
            ({"tres_per_node": "gres/gpu:8", "node_count": wrapped(None)}, "number of nodes is open"),
            ({"tres_per_job": "gres/gpu:16"}, "number of nodes is open"),
            ({"tres_per_job": "gres/gpu:2"}, "number of nodes is open"),
            ({"tres_per_job": "gres/gpu:12", "node_count": wrapped(3)}, "number of nodes is open"),
            ({"tres_per_task": "gres/gpu:1", "tasks": 2}, "number of nodes is open"),
            ({"tres_req_str": "cpu=8,gres/gpu=4"}, "number of nodes is open"),
            ({"tres_per_job": "gres/gpu:7", "node_count": wrapped(2)}, "do not divide evenly"),
            ({"tres_per_job": "gres/gpu:7", "tres_per_node": "gres/gpu:2"}, "per node and per job do not agree"),
            (
                {"tres_per_job": "gres/gpu:8", "tres_per_node": "gres/gpu:2", "node_count": wrapped(3)},
                "per node and per job do not agree",
            ),
            ({"tres_per_task": "gres/gpu:2", "tasks": 4, "tres_per_job": "gres/gpu:4"}, "do not agree"),
            ({"tres_per_task": "gres/gpu:2"}, "do not say how many tasks"),
            ({"tres_per_task": "gres/gpu:2", "tasks": 6, "node_count": 4}, "do not divide evenly"),
            (
                {"tres_per_task": "gres/gpu:1", "tasks": 9, "tasks_per_node": 3, "node_count": 3},
                "number of nodes is open",
            ),
            ({"tres_per_socket": "gres/gpu:2"}, "per socket"),
            ({"tres_per_node": "gres/gpu:a100:2,gres/gpu:h100:1"}, "several types of GPU"),
            ({"tres_per_node": "gres/gpu:1g.10gb:1"}, "MIG devices"),
            ({"tres_per_node": "gres/shard:2"}, "MPS or shard"),
            ({"tres_per_node": "gres/mps:50"}, "MPS or shard"),
            ({"tres_per_node": "license:2"}, "jobs without GPUs"),
            ({"tres_req_str": "cpu=4,node=1"}, "jobs without GPUs"),
        ],
    )
    def test_open_or_not_covered(self, fields: Fields, words: str) -> None:
        snapshot = read(NODES, [waiting(5, **fields)])
        assert snapshot.pending == ()
        assert listed(snapshot, words) == ("5",)

    def test_a_total_is_left_open_unless_the_number_of_nodes_is_settled(self) -> None:
        """Slurm prints one node for `--gpus=16` and gives more, as the real job 5981 of Slurm-web shows."""
        assert shapes({"tres_per_job": "gres/gpu:16", "max_nodes": wrapped(1)}) == [("1", 1, 16)]

    @pytest.mark.parametrize("field", ["tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket"])
    def test_malformed(self, field: str) -> None:
        assert f"jobs[0].{field}: 'gres/gpu:x:y:1' is no number" in fault_of(
            NODES, [waiting(**{field: "gres/gpu:x:y:1"})]
        )


class TestEligible:
    """Room is what a job waits for if Slurm calls it eligible: not held, no open dependency, begin time reached."""

    @pytest.mark.parametrize(
        "reason",
        [
            *("Resources", "Priority", "None", "", "WaitingForScheduling"),
            *("ReqNodeNotAvail,_UnavailableNodes:node8,nodek4", "ReqNodeNotAvail, UnavailableNodes:node[8-9]"),
            "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
        ],
    )
    def test_waits(self, reason: str) -> None:
        assert shapes({"tres_per_node": "gres/gpu:4", "state_reason": reason}) == [("1", 1, 4)]

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"state_reason": "Dependency"}, "its dependency is not met"),
            ({"state_reason": "DependencyNeverSatisfied"}, "its dependency can never be met"),
            ({"state_reason": "JobHeldUser"}, "held by its user"),
            ({"state_reason": "JobHeldAdmin"}, "held by an administrator"),
            ({"state_reason": "BeginTime"}, "its begin time has not come"),
            ({"state_reason": "PartitionDown,_why"}, "its partition is down"),
            ({"hold": True}, "start: held"),
            ({"priority": wrapped(0)}, "start: held"),
            ({"job_state": ["PENDING", "REQUEUE_HOLD"]}, "start: held"),
            ({"job_state": "SPECIAL_EXIT"}, "start: held"),
            ({"state_reason": "JobArrayTaskLimit"}, "as many tasks of its array run as may at a time"),
            ({"state_reason": "QOSMaxGRESPerUser"}, "limit of its user/account/QOS reached (QOSMaxGRESPerUser)"),
            ({"state_reason": "AssocGrpGRES"}, "limit of its user/account/QOS reached (AssocGrpGRES)"),
            ({"state_reason": "MaxGRESPerAccount"}, "limit of its user/account/QOS reached (MaxGRESPerAccount)"),
            ({"state_reason": "QOSNotAllowed"}, "start: QOSNotAllowed"),
            ({"state_reason": "PartitionTimeLimit"}, "start: PartitionTimeLimit"),
            ({"state_reason": "ReqNodeNotAvail,_Reserved_for_maintenance"}, "Reserved for maintenance"),
            ({"state_reason": "ReqNodeNotAvail,_UnavailableNodes:n9,n[2-3]"}, "start: ReqNodeNotAvail, Unavail"),
            ({"state_reason": "ReqNodeNotAvail, UnavailableNodes:n["}, "start: ReqNodeNotAvail, UnavailableNodes"),
            ({"state_reason": "Resources", "state_description": "job requeued in held state"}, "job requeued in held"),
            ({"state_reason": "InventedIn26.05"}, "start: InventedIn26.05"),
        ],
    )
    def test_barred(self, fields: Fields, words: str) -> None:
        snapshot = read(NODES, [waiting(5, tres_per_node="gres/gpu:4", **fields)])
        assert snapshot.pending == ()
        assert listed(snapshot, words) == ("5",)

    def test_a_priority_that_is_not_set_holds_nothing(self) -> None:
        fields: list[Fields] = [
            {"priority": wrapped(None)},
            {"priority": None},
            {"priority": 4294967295},
            {"hold": False},
        ]
        assert len(shapes(*({"tres_per_node": "gres/gpu:4", **more} for more in fields))) == 4

    @pytest.mark.parametrize("state", ["PENDING", ["PENDING", "REQUEUED"], "REQUEUE_FED"])
    def test_states(self, state: str | list[str]) -> None:
        assert shapes({"tres_per_node": "gres/gpu:4", "job_state": state}) == [("1", 1, 4)]


class TestArrays:
    """Each waiting task of an array is a waiting job of its own, as many as may run at a time."""

    @pytest.mark.parametrize(
        ("tasks", "numbers"),
        [
            ("1-4", [1, 2, 3, 4]),
            ("1-10%4", [1, 2, 3, 4]),
            ("1-3%4", [1, 2, 3]),
            ("[7-8%1]", [7]),
            ("3,7-9,12%3", [3, 7, 8]),
            ("0-8:4", [0, 4, 8]),
            ("5", [5]),
        ],
    )
    def test_tasks(self, tasks: str, numbers: list[int]) -> None:
        array: Fields = {"array_job_id": wrapped(90), "array_task_id": wrapped(None), "array_task_string": tasks}
        assert shapes({"tres_per_node": "gres/gpu:2", **array}) == [(f"90_{n}", 1, 2) for n in numbers]

    def test_ten_thousand_tasks_are_ten_thousand_jobs(self) -> None:
        array: Fields = {"array_job_id": 90, "array_task_string": "0-9999"}
        pending = read(NODES, [waiting(tres_per_node="gres/gpu:2", **array)]).pending
        assert len({p.name for p in pending}) == 10_000

    def test_no_more_tasks_wait_for_room_than_may_run_beside_those_that_run(self) -> None:
        array: Fields = {"array_job_id": 90, "array_task_string": "2-9%3", "array_max_tasks": wrapped(3)}
        task: Fields = {"array_job_id": 90, "array_max_tasks": wrapped(3)}
        running = [job(91, array_task_id=1, **task, **on("n1", "gpu:a100:1(IDX:0)"))]
        jobs = [*running, waiting(90, tres_per_node="gres/gpu:2", **array)]
        snapshot = read(NODES, jobs)
        assert [p.name for p in snapshot.pending] == ["90_2", "90_3"]
        assert listed(snapshot, "beyond those that their array may run at a time") == ("90_[2-9%3]: 6",)
        single = waiting(92, tres_per_node="gres/gpu:2", array_task_id=7, **task)
        assert [p.name for p in read(NODES, [running[0], single, jobs[1]]).pending] == ["90_7", "90_2"]
        jobs[1] = waiting(90, tres_per_node="gres/gpu:2", **{**array, "array_max_tasks": wrapped(1)})
        assert read(NODES, jobs).pending == ()

    def test_a_list_that_slurm_cut_off(self) -> None:
        array: Fields = {"array_job_id": 90, "array_task_string": "1,3,5,7,..."}
        snapshot = read(NODES, [waiting(tres_per_node="gres/gpu:2", **array)])
        assert listed(snapshot, "SLURM_BITSTR_LEN=0") == ("90_[1,3,5,7,...]",)

    def test_more_tasks_than_any_slurm_takes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        array: Fields = {"array_job_id": 90, "array_task_string": "0-999999999"}
        assert listed(read(NODES, [waiting(tres_per_node="gres/gpu:2", **array)]), "beyond 1000000 tasks") == (
            "90_[0-999999999]",
        )
        monkeypatch.setattr("oracle.snapshots.slurm.queue.MAX_WAITING_TASKS", 5)
        jobs = [waiting(n, tres_per_node="gres/gpu:2", array_job_id=n, array_task_string="0-2") for n in range(90, 93)]
        snapshot = read(NODES, jobs)
        assert [p.name for p in snapshot.pending] == ["90_0", "90_1", "90_2"]
        assert listed(snapshot, "beyond") == ("91_[0-2]", "92_[0-2]")
        assert waiting_module.MAX_WAITING_TASKS == 1_000_000

    @pytest.mark.parametrize("tasks", ["4-1", "a-b", "1-", "1;2", "[1-2"[::-1], "1--2", "1-5:0"])
    def test_malformed(self, tasks: str) -> None:
        array: Fields = {"array_job_id": 90, "array_task_string": tasks}
        message = fault_of(NODES, [waiting(tres_per_node="gres/gpu:2", **array)])
        assert "jobs[0].array_task_string: expected the tasks of an array, such as 1-10%4" in message

    def test_an_array_that_is_listed_is_listed_once(self) -> None:
        array: Fields = {"array_job_id": 90, "array_task_string": "0-9999%50", "state_reason": "JobHeldUser"}
        snapshot = read(NODES, [waiting(tres_per_node="gres/gpu:2", **array)])
        assert listed(snapshot, "held by its user") == ("90_[0-9999%50]",)

    def test_a_task_of_a_running_array_and_its_waiting_rest(self) -> None:
        running = job(91, nodes="n1", gres_detail=["gpu:a100:2(IDX:0-1)"], array_job_id=90, array_task_id=1)
        rest = waiting(90, tres_per_node="gres/gpu:2", array_job_id=90, array_task_string="2-3")
        snapshot = read(NODES, [running, rest])
        assert [j.name for j in snapshot.jobs] == ["90_1"]
        assert [p.name for p in snapshot.pending] == ["90_2", "90_3"]
        assert skipped(snapshot) == {}
