"""Nodes: what they offer, which of it can be used, and whether they take new work."""

from __future__ import annotations

import pytest

from oracle.snapshots.model import SnapshotNode
from oracle.snapshots.slurm import SlurmOptions
from oracle.snapshots.slurm.states import NODE_STATES, state_words, takes_new_work
from tests.oracle.snapshots.slurm_inputs import Fields, fault_of, held, job, listed, node, on, read, skipped, waiting

OPEN = [
    "IDLE", "idle", "ALLOCATED", "alloc", "ALLOCATED+", "mixed", "MIXED", "mixed-", "idle-", "IDLE+PLANNED", "comp",
    "COMPLETING", "MIXED+COMPLETING", "idle~", "IDLE+CLOUD", "IDLE+CLOUD+POWERED_DOWN", "idle#", "MIXED+POWERING_UP",
    "IDLE+DYNAMIC_NORM", "IDLE+DYNAMIC_FUTURE", "idle@", "MIXED+REBOOT_REQUESTED", "reboot@",
]  # fmt: skip
CLOSED = [
    "DOWN", "down*", "IDLE+DRAIN", "drain", "drained", "drained*", "DRAINING", "drng", "MIXED+DRAIN", "ALLOCATED+DRAIN",
    "FAIL", "failing", "failg", "MAINT", "IDLE+MAINTENANCE", "idle$", "mixed$", "RESERVED", "IDLE+RESERVED", "resv",
    "idle*", "MIXED*+CLOUD", "IDLE+NOT_RESPONDING", "idle!", "IDLE+POWER_DOWN", "idle%", "POWERING_DOWN", "idle^",
    "IDLE+REBOOT_ISSUED", "FUTURE", "futr", "UNKNOWN", "unk*", "INVAL", "IDLE+INVALID_REG", "ERROR", "npc", "BLOCKED",
    "IDLE+EXTERNAL", "DOWN+CLOUD+POWERED_DOWN", "drain~", "IDLE*+DRAIN", "IDLE+POWER_DRAIN", "mixed-*",
]  # fmt: skip


IDLE = "gpu:a100:0(IDX:N/A)"


class TestStates:
    """A node takes new work when every word of its state says so."""

    @pytest.mark.parametrize("state", OPEN)
    def test_open(self, state: str) -> None:
        assert read([node(state=state, gres_used=IDLE)]).nodes[0].schedulable

    @pytest.mark.parametrize("state", CLOSED)
    def test_closed(self, state: str) -> None:
        assert not read([node(state=state, gres_used=IDLE)]).nodes[0].schedulable

    def test_a_list_of_words_and_a_word_with_flags_beside_it(self) -> None:
        """v0.0.39 and later print a list; v0.0.37 prints a word and its flags apart, in lower and upper case."""
        assert not read([node(state=["IDLE", "DRAIN"])]).nodes[0].schedulable
        assert not read([node(state="idle", state_flags=["DRAIN"])]).nodes[0].schedulable
        assert read([node(state="idle", state_flags=[])]).nodes[0].schedulable

    def test_a_word_of_a_later_version_closes_the_node_and_is_listed(self) -> None:
        snapshot = read([node(state=["IDLE", "HIBERNATING"])])
        assert not snapshot.nodes[0].schedulable
        assert listed(snapshot, "node states of unknown meaning") == ("n1: HIBERNATING",)

    def test_no_state(self) -> None:
        assert "nodes[0].state: expected the state of node n1" in fault_of([node(state=None)])
        assert not read([node(state=[])]).nodes[0].schedulable

    def test_the_table_knows_every_state_of_the_json_and_no_other_spelling_hides_one(self) -> None:
        for word in NODE_STATES:
            assert state_words([word.lower()]) == {word}
        assert not takes_new_work(frozenset())


class TestGpus:
    """`gpus` is what whole-GPU instances can use; the pool is the type."""

    @pytest.mark.parametrize(
        ("fields", "gpus", "pool"),
        [
            ({"gres": "gpu:8(S:0-1)"}, 8, "gpu"),
            ({"gres": "gpu:a100:4,mps:a100:400"}, 4, "a100"),
            ({"gres": "gpu:nvidia_h100_80gb_hbm3:1(S:0)"}, 1, "nvidia_h100_80gb_hbm3"),
            ({"gres": "gpu:rtx_2080:9"}, 9, "rtx_2080"),
            ({"gres": "(null)", "tres": "cpu=80,mem=386619M,billing=136,gres/gpu=8"}, 8, "gpu"),
            ({"gres": None, "tres": "cpu=80,gres/gpu=8,gres/gpu:a100=8"}, 8, "a100"),
            ({"gres": "", "tres": "cpu=80,gres/gpu:a100=8"}, 8, "a100"),
            ({"gres": "justarandomfield", "tres": "gres/gpu=8"}, 8, "gpu"),
            ({"gres": "gpu:a100:8", "tres": "gres/gpu=4"}, 8, "a100"),
            ({"gres": "gpu:a100:8", "gres_drained": "gpu:a100:1"}, 7, "a100"),
            ({"gres": "gpu:a100:8", "gres_drained": "gpu:2"}, 6, "a100"),
            ({"gres": "gpu:a100:8", "gres_drained": "gpu:a100:9"}, 0, "a100"),
            ({"gres": "gpu:a100:6,gpu:1g.10gb:14"}, 6, "a100"),
        ],
    )
    def test_counted(self, fields: Fields, gpus: int, pool: str) -> None:
        assert read([node(**fields)]).nodes == (SnapshotNode(name="n1", gpus=gpus, pool=pool),)

    def test_a_node_without_gpus_is_listed_and_no_node(self) -> None:
        snapshot = read([node(gres="", tres="cpu=64,mem=128G")])
        assert snapshot.nodes == ()
        assert skipped(snapshot) == {"nodes without GPUs": ("n1",)}

    def test_a_node_of_mig_devices_only_is_listed_and_no_node(self) -> None:
        snapshot = read([node(gres="gpu:3g.40gb:4(S:0-1),gpu:1g.10gb:8(S:0-1)", tres_used="gres/gpu=6")])
        assert snapshot.nodes == ()
        assert listed(snapshot, "MIG devices") == ("n1: 12",)

    def test_drained_gpus_are_listed(self) -> None:
        assert listed(read([node(gres_drained="gpu:a100:1(IDX:3)")]), "drained") == ("n1: 1",)

    def test_types_on_one_node_are_resources_of_all_nodes(self) -> None:
        """A job that asked for one type can never use the other; one that did not can use both."""
        nodes = [node(gres="gpu:tesla:2(S:0),gpu:kepler:4(S:1)", state=["IDLE", "DRAIN"])]
        jobs = [
            job(1, **on("n1", "gpu:tesla:1(IDX:0)")),
            job(2, **on("n1", "gpu:tesla:1(IDX:1),gpu:kepler:2(IDX:2-3)")),
        ]
        asking = [
            waiting(3, tres_per_node="gres/gpu:tesla:2"),
            waiting(4, tres_per_node="gres/gpu:3"),
            waiting(5, tres_per_node="gres/gpu:a100:2"),
            waiting(6, tres_per_node="gres/gpu:tesla:1,gres/gpu:kepler:2"),
            waiting(7, tres_per_node="gres/gpu:tesla:1,gres/gpu:a100:2"),
        ]
        snapshot = read([*nodes, node("n2"), node("n3", gres="gpu:tesla:4")], [*jobs, *asking])
        assert [(n.name, n.gpus, n.pool, dict(n.resources)) for n in snapshot.nodes] == [
            ("n1", 6, "kepler+tesla", {"gpu:tesla": 2, "gpu:kepler": 4}),
            ("n2", 8, "a100", {"gpu:tesla": 0, "gpu:kepler": 0}),
            ("n3", 4, "tesla", {"gpu:tesla": 4, "gpu:kepler": 0}),
        ]
        assert held(snapshot) == {"1": [("n1", 1)], "2": [("n1", 3)]}
        assert [dict(i.resources) for j in snapshot.jobs for i in j.instances] == [
            {"gpu:tesla": 1},
            {"gpu:tesla": 1, "gpu:kepler": 2},
        ]
        assert [(p.name, p.gpus_per_instance, p.pool, dict(p.resources)) for p in snapshot.pending] == [
            ("3", 2, None, {"gpu:tesla": 2}),
            ("4", 3, None, {}),
            ("5", 2, "a100", {}),
            ("6", 3, None, {"gpu:tesla": 1, "gpu:kepler": 2}),
        ]
        assert listed(snapshot, "several types of GPU at once") == ("7",)

    def test_two_types_and_a_job_that_does_not_say_which(self) -> None:
        nodes = [node(gres="gpu:tesla:2,gpu:kepler:4")]
        message = fault_of(nodes, [job(7, **on("n1", "gpu:1(IDX:0)"))])
        assert "jobs[0].gres_detail: job 7 has GPUs of no given type on node n1, which has tesla, kepler" in message
        assert "job 7 has GPUs of volta" in fault_of(nodes, [job(7, **on("n1", "gpu:volta:1(IDX:0)"))])

    def test_one_type_under_two_names_is_one_type(self) -> None:
        assert held(read([node(gres="gpu:4")], [job(**on("n1", "gpu:h100:4(IDX:0-3)"))])) == {"1": [("n1", 4)]}

    def test_a_job_on_a_node_that_has_lost_its_gpus(self) -> None:
        snapshot = read([node(gres="")], [job(**on("n1", "gpu:h100:2(IDX:0-1)")), job(2, **on("n1", "gpu:1(IDX:2)"))])
        assert snapshot.nodes == (SnapshotNode(name="n1", gpus=0, pool="h100"),)
        assert snapshot.used_gpus() == {"n1": 3}

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"gres": "gpu:a100:x8"}, "nodes[0].gres: 'gpu:a100:x8' is no number of GPUs"),
            ({"gres": "gpu:a100:65536"}, "nodes[0].gres: expected at most 1024 GPUs on node n1, got 65536"),
            ({"gres_used": "gpu:a100:(IDX"}, "nodes[0].gres_used: the parentheses"),
            ({"gres_drained": "gpu:x:y:z"}, "nodes[0].gres_drained: 'gpu:x:y:z' is no number"),
            ({"tres_used": "gres/gpu=many"}, "nodes[0].tres_used: 'gres/gpu=many' is no number"),
            ({"gres": 8}, "nodes[0].gres: Expected 'str | null', got 'int'"),
            ({"name": ""}, "nodes[0].name: expected the name of a node"),
        ],
    )
    def test_malformed(self, fields: Fields, words: str) -> None:
        assert words in fault_of([{**node(), **fields}])


class TestRepeated:
    """A node in several partitions may be printed once for each of them; two moments are not one snapshot."""

    def test_the_same_values(self) -> None:
        nodes = [node(partitions=["main"]), node(partitions=["long"]), node("n2", partitions=["long"])]
        assert [n.name for n in read(nodes).nodes] == ["n1", "n2"]
        assert read(nodes, options=SlurmOptions(pool="partition")).pools == ("long", "long+main")

    @pytest.mark.parametrize("field", [{"gres": "gpu:a100:4"}, {"state": "DOWN"}, {"gres_used": "gpu:a100:3"}])
    def test_other_values(self, field: Fields) -> None:
        assert "nodes[1]: node n1 was printed before with other values" in fault_of([node(), {**node(), **field}])


class TestShares:
    """MPS and shard cut whole GPUs into shares: one share in use, and no whole-GPU instance can have the GPU."""

    def test_unused_shares_take_nothing(self) -> None:
        gres = {
            "gres": "gpu:a100:4,mps:a100:400",
            "gres_used": "gpu:a100:3(IDX:0-2),mps:a100:0(0/100,0/100,0/100,0/100)",
        }
        snapshot = read([node(**gres)], [job(**on("n1", "gpu:a100:3(IDX:0-2)"))])
        assert snapshot.nodes[0].gpus == 4
        assert skipped(snapshot) == {}

    def test_the_gpus_that_shares_sit_on_are_taken_out(self) -> None:
        used = "gpu:a100:1(IDX:0),shard:a100:5(0/4,4/4,1/4,0/4)"
        jobs = [job(1, **on("n1", "gpu:a100:1(IDX:0)")), job(2, **on("n1", "shard:a100:5(0/4,4/4,1/4,0/4)"))]
        snapshot = read([node(gres="gpu:a100:4,shard:a100:16", gres_used=used)], jobs)
        assert snapshot.nodes[0].gpus == 2
        assert held(snapshot) == {"1": [("n1", 1)]}
        assert listed(snapshot, "GPUs taken by MPS or shard") == ("n1: 2",)
        assert listed(snapshot, "running jobs on MPS or shard") == ("2",)

    def test_where_it_is_not_told_the_most_it_can_be_is_taken_out(self) -> None:
        jobs = [job(1, **on("n1", "gpu:a100:1(IDX:0)"))]
        nodes = [node(gres="gpu:a100:4,mps:a100:400", gres_used="gpu:a100:1(IDX:0),mps:a100:50")]
        assert read(nodes, jobs).nodes[0].gpus == 1
        nodes = [node(gres="gpu:a100:4,shard:a100:16", tres_used="gres/gpu=1,gres/shard=2")]
        assert read(nodes, jobs).nodes[0].gpus == 2

    def test_shares_that_only_the_jobs_tell_of(self) -> None:
        nodes = [node(gres="gpu:a100:4,shard:a100:16")]
        assert read(nodes, [job(**on("n1", "shard:a100:1"))]).nodes[0].gpus == 3
        assert read(nodes, [job(nodes="n1", tres_alloc_str="cpu=4,gres/shard=2")]).nodes[0].gpus == 2

    def test_shares_of_one_type_leave_the_other_alone(self) -> None:
        gres, used = "gpu:a:2,gpu:b:2,shard:a:8", "gpu:a:0,gpu:b:0,shard:a:1(1/4,0/4)"
        (found,) = read([node(gres=gres, gres_used=used)]).nodes
        assert (found.gpus, dict(found.resources)) == (3, {"gpu:a": 1, "gpu:b": 2})


class TestUnexplained:
    """What a node reports in use is never counted free, whether or not the jobs are all there."""

    @pytest.mark.parametrize("used", [{"gres_used": "gpu:a100:5(IDX:0-4)"}, {"tres_used": "cpu=4,gres/gpu=5"}])
    def test_the_difference_is_held_immovably_and_listed(self, used: Fields) -> None:
        snapshot = read([node(**used)], [job(9, **on("n1", "gpu:a100:2(IDX:0-1)"))])
        assert held(snapshot) == {"9": [("n1", 2)], "unexplained:n1": [("n1", 3)]}
        assert [i.movable for j in snapshot.jobs for i in j.instances] == [True, False]
        assert listed(snapshot, "no listed job holds") == ("n1: 3",)

    def test_no_difference(self) -> None:
        snapshot = read([node(gres_used="gpu:a100:2(IDX:0-1)")], [job(9, **on("n1", "gpu:a100:2(IDX:0-1)"))])
        assert held(snapshot) == {"9": [("n1", 2)]}
        assert skipped(snapshot) == {}

    def test_jobs_that_hold_more_than_the_node_reports_do_no_harm(self) -> None:
        snapshot = read([node(gres_used="gpu:a100:0(IDX:N/A)")], [job(9, **on("n1", "gpu:a100:2(IDX:0-1)"))])
        assert held(snapshot) == {"9": [("n1", 2)]}

    def test_gres_used_outranks_alloc_tres(self) -> None:
        assert held(read([node(gres_used="gpu:a100:1(IDX:0)", tres_used="gres/gpu=3")])) == {
            "unexplained:n1": [("n1", 1)]
        }

    def test_mig_devices_in_use_are_no_whole_gpus(self) -> None:
        gres = "gpu:a100:4,gpu:1g.10gb:14"
        nodes = [node(gres=gres, gres_used="gpu:a100:1(IDX:0),gpu:1g.10gb:9(IDX:4-12)")]
        assert held(read(nodes)) == {"unexplained:n1": [("n1", 1)]}
        nodes = [node(gres=gres, tres_used="gres/gpu=9")]
        jobs = [job(1, **on("n1", "gpu:1g.10gb:7(IDX:4-10)"))]
        snapshot = read(nodes, jobs)
        assert held(snapshot) == {"unexplained:n1": [("n1", 2)]}
        assert listed(snapshot, "running jobs on MIG") == ("1",)

    def test_two_types(self) -> None:
        gres = "gpu:a:2,gpu:b:4"
        nodes = [node(gres=gres, gres_used="gpu:a:1(IDX:0),gpu:b:3(IDX:2-4)")]
        (job,) = read(nodes).jobs
        assert [(i.gpus, dict(i.resources)) for i in job.instances] == [(4, {"gpu:a": 1, "gpu:b": 3})]
        nodes = [node(gres=gres, tres_used="gres/gpu=4")]
        (job,) = read(nodes).jobs
        assert [(i.gpus, dict(i.resources)) for i in job.instances] == [(4, {"gpu:a": 2, "gpu:b": 2})]

    def test_no_more_than_would_be_free_otherwise(self) -> None:
        jobs = [job(1, **on("n1", "gpu:a100:6(IDX:0-5)"))]
        snapshot = read([node(gres_used="gpu:a100:8(IDX:0-7)", gres_drained="gpu:a100:1")], jobs)
        assert (snapshot.nodes[0].gpus, snapshot.used_gpus()) == (7, {"n1": 7})


class TestPools:
    """By GPU type, or by the partitions that a node is in."""

    def test_by_type_a_typed_request_has_its_pool_and_an_untyped_one_any(self) -> None:
        jobs = [waiting(1, tres_per_node="gres/gpu:h100:2"), waiting(2, tres_per_node="gres/gpu:2")]
        assert [p.pool for p in read([node()], jobs).pending] == ["h100", None]

    def test_by_partition(self) -> None:
        nodes = [node("n1", partitions=["main", "long"]), node("n2", partitions=["short"]), node("n3")]
        jobs = [waiting(1, tres_per_node="gres/gpu:2", partition="main")]
        snapshot = read(nodes, jobs, SlurmOptions(pool="partition"))
        assert [n.pool for n in snapshot.nodes] == ["long+main", "short", "no partition"]
        assert [p.pool for p in snapshot.pending] == ["long+main"]

    @pytest.mark.parametrize(
        ("partition", "names"), [("main", ("partition main",)), ("main,short", ()), ("nowhere", None)]
    )
    def test_by_partition_a_job_that_fits_several_pools_is_bound_by_its_partition(
        self, partition: str, names: tuple[str, ...] | None
    ) -> None:
        nodes = [
            node("n1", partitions=["main"]),
            node("n2", partitions=["main", "long"]),
            node("n3", partitions=["short"]),
        ]
        jobs = [waiting(4, tres_per_node="gres/gpu:2", partition=partition)]
        snapshot = read(nodes, jobs, SlurmOptions(pool="partition"))
        assert [(p.pool, p.within) for p in snapshot.pending] == ([] if names is None else [(None, names)])
        assert names is not None or listed(snapshot, "a partition that has no node here") == ("4",)


class TestNodesThatDoNotTell:
    """A node in use may have any number of GPUs in use where it does not say; jobs that are listed explain it."""

    TOLD = "does not say how many of its GPUs are"

    @pytest.mark.parametrize("state", ["ALLOCATED", "MIXED"])
    def test_in_use_by_nobody(self, state: str) -> None:
        nodes = [node("n1", state=[state]), node("n2", state=[state], tres="cpu=8", tres_used="cpu=8"), node("n3")]
        message = fault_of(nodes)
        assert f"nodes[0].state: node n1 is in use by jobs that are not listed, and {self.TOLD}" in message
        assert read(nodes, [job(7, nodes="n[1-2]")]).used_gpus() == {"n1": 0, "n2": 0, "n3": 0}
        assert f"node n2 is in use by jobs that are not listed, and {self.TOLD}" in fault_of(
            nodes, [job(7, nodes="n1"), waiting(8, nodes="n2")]
        )

    def test_listed_jobs_explain_a_node_if_they_have_all_its_cpus_in_use(self) -> None:
        nodes = [node("n1", state=["MIXED"], alloc_cpus=8, effective_cpus=64)]
        whole = job(1, nodes="n1", tres_alloc_str="cpu=8,node=1")
        assert read(nodes, [whole]).used_gpus() == {"n1": 0}
        part = job(1, nodes="n1", tres_alloc_str="cpu=6,node=1")
        assert self.TOLD in fault_of(nodes, [part])
        assert read(nodes, [part, job(2, nodes="n1", cpus=2)]).used_gpus() == {"n1": 0}

    @pytest.mark.parametrize(
        "fields",
        [
            {"gres_used": "gpu:a100:0"},
            {"tres": "cpu=8,gres/gpu=8", "tres_used": "cpu=8"},
            {"tres": "cpu=8,gres/gpu=8", "tres_used": "cpu=8,gres/gpu=8"},
            {"gres": ""},
        ],
    )
    def test_nodes_that_tell_or_have_no_gpus(self, fields: Fields) -> None:
        read([node("n1", state=["ALLOCATED"], **fields)])
