"""Where Slurm's jobs may stand, what they hold besides GPUs, and what of their constraints is not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest

from oracle.moves.move import protect
from oracle.snapshots.slurm import allowed as allowed_module
from oracle.snapshots.slurm import read_slurm
from oracle.snapshots.slurm.features import wanted
from oracle.snapshots.slurm.requirements import BLOCKS, SWITCHES
from tests.oracle.snapshots.slurm_inputs import (
    Fields,
    document,
    fault,
    held,
    job,
    listed,
    node,
    on,
    read,
    skipped,
    text,
    waiting,
    wrapped,
)

if TYPE_CHECKING:
    from oracle.snapshots.model import NodeSet, Snapshot

PLAIN = [node("n1"), node("n2"), node("n3")]
ASK: Fields = {"tres_per_node": "gres/gpu:2"}


def sets(snapshot_sets: tuple[NodeSet, ...]) -> dict[str, set[str]]:
    return {one.name: set(one.nodes) for one in snapshot_sets}


def within(nodes: list[Fields], jobs: list[Fields]) -> dict[str, tuple[str, ...]]:
    snapshot = read(nodes, jobs)
    running = {j.name: j.instances[0].within for j in snapshot.jobs}
    return running | {p.name: p.within for p in snapshot.pending}


class TestPartitions:
    NODES: ClassVar[list[Fields]] = [
        node("n1", partitions=["main", "long"]),
        node("n2", partitions=["main"]),
        node("n3", partitions=["short"]),
    ]

    def test_overlapping_ones_are_sets_that_share_nodes(self) -> None:
        jobs = [
            job(1, partition="long", **on("n1", "gpu:1(IDX:0)")),
            waiting(2, partition="main", **ASK),
            waiting(3, partition="short,long", **ASK),
            waiting(4, partition="long,short", **ASK),
            waiting(5, partition="main,short", **ASK),
        ]
        snapshot = read(self.NODES, jobs)
        assert sets(snapshot.node_sets) == {
            "partition long": {"n1"},
            "partition main": {"n1", "n2"},
            "partition long,short": {"n1", "n3"},
        }
        assert {one.kind for one in snapshot.node_sets} == {"partition"}
        # A set of all nodes says nothing.
        assert [p.within for p in snapshot.pending] == [("partition main",), *[("partition long,short",)] * 2, ()]

    def test_nodes_that_are_in_none_at_all_tell_nothing(self) -> None:
        assert within(PLAIN, [waiting(1, partition="main", **ASK)]) == {"1": ()}

    def test_a_partition_without_a_node_here(self) -> None:
        snapshot = read(self.NODES, [waiting(1, partition="cpu", **ASK)])
        assert (snapshot.pending, listed(snapshot, "no node here")) == ((), ("1",))

    def test_a_node_that_was_taken_out_of_the_partition_of_its_job(self) -> None:
        """It may go on, and could not be started there again: it stays, and the output says so."""
        snapshot = read(self.NODES, [job(1, partition="short", **on("n[1,3]", "gpu:1(IDX:0)", "gpu:1(IDX:0)"))])
        assert [(i.movable, i.within) for i in snapshot.jobs[0].instances] == [
            (False, ()),
            (True, ("partition short",)),
        ]
        assert listed(snapshot, "outside the nodes that they could have now") == ("1: n1",)

    def test_many_jobs_share_a_few_sets(self) -> None:
        nodes = [node(f"n{n}", partitions=[f"p{n % 8}", f"p{(n + 1) % 8}"]) for n in range(500)]
        snapshot = read(nodes, [waiting(k + 1, partition=f"p{k % 8}", **ASK) for k in range(2000)])
        assert len(snapshot.node_sets) == 8
        assert len({id(one.nodes) for one in snapshot.node_sets}) == 8


class TestFeatures:
    HAVING: ClassVar[dict[str, frozenset[str]]] = {
        "a": frozenset({"1", "2"}),
        "b": frozenset({"2", "3"}),
        "c": frozenset({"4"}),
    }

    @pytest.mark.parametrize(
        ("constraint", "nodes"),
        [
            ("a", "12"),
            ("a&b", "2"),
            ("a,b", "2"),
            ("a|b", "123"),
            ("a|b|c", "1234"),
            ("(a|c)&(b|c)", "24"),
            ("((a))", "12"),
            ("a&unheard", ""),
        ],
    )
    def test_read(self, constraint: str, nodes: str) -> None:
        found = wanted(constraint, self.HAVING)
        assert (found.nodes, found.is_all) == (frozenset(nodes), True)

    def test_of_brackets_what_they_ask_of_each_node(self) -> None:
        found = wanted("[a|c]", self.HAVING)
        assert (found.nodes, found.is_all) == (frozenset("124"), False)

    @pytest.mark.parametrize(
        "constraint",
        ["a*2", "[a*2&b*1]", "a|b&c", "a&", "&a", "(a", "a)", "a b", "a!", "!a", "(" * 99 + "a" + ")" * 99],
    )
    def test_what_is_not_read(self, constraint: str) -> None:
        if constraint not in {"a b", "a!", "!a"}:
            found = wanted(constraint, self.HAVING)
            assert (found.nodes, found.is_all) == (None, False)
        snapshot = read([node(active_features=["a"]), node("n2")], [waiting(1, features=constraint, **ASK)])
        assert len(snapshot.pending) == 1
        if constraint not in {"a b", "a!", "!a"}:
            assert [(e.reason, e.items) for e in snapshot.not_looked_at] == [
                ("features that are asked of the nodes together, or in a form that is not read", ("1",))
            ]

    def test_of_nodes_and_jobs(self) -> None:
        nodes = [node("n1", active_features="ib,big"), node("n2", features=["ib"]), node("n3", active_features=[])]
        assert within(
            nodes, [job(1, features="ib", **on("n1", "gpu:1(IDX:0)")), waiting(2, features="ib&big", **ASK)]
        ) == {
            "1": ("feature ib",),
            "2": ("feature ib&big",),
        }


class TestLists:
    def test_required_nodes_are_for_as_many_instances_as_there_are_of_them(self) -> None:
        asking = [
            waiting(1, required_nodes="n1", **ASK),
            waiting(2, required_nodes="n1", node_count=wrapped(3), **ASK),
            waiting(3, required_nodes=["n1", "n2"], node_count=wrapped(2), **ASK),
            waiting(4, required_nodes="n1,n2", **ASK),
        ]
        snapshot = read(PLAIN, asking)
        shapes = [
            (p.instances, p.within, [(part.instances, part.within) for part in p.further_parts], p.distinct_nodes)
            for p in snapshot.pending
        ]
        assert shapes == [
            (1, ("nodes n1",), [], False),
            (1, ("nodes n1",), [(2, ())], True),
            (2, ("nodes n1,n2",), [], True),
            (1, ("nodes n1,n2",), [], False),
        ]
        assert [(e.reason, e.items) for e in snapshot.not_looked_at] == [
            ("more required nodes than the job has", ("4",))
        ]

    def test_an_instance_on_a_required_node_stays_on_them_and_others_do_not(self) -> None:
        jobs = [job(1, required_nodes="n1", **on("n[1-2]", "gpu:1(IDX:0)", "gpu:1(IDX:0)"))]
        (found,) = read(PLAIN, jobs).jobs
        assert ([i.within for i in found.instances], found.distinct_nodes) == ([("nodes n1",), ()], True)

    def test_excluded_nodes(self) -> None:
        snapshot = read(PLAIN, [waiting(1, excluded_nodes="n[2-3],n9", **ASK), waiting(2, excluded_nodes="n9", **ASK)])
        assert sets(snapshot.node_sets) == {"not nodes n[2-3],n9": {"n1"}}
        assert [p.within for p in snapshot.pending] == [("not nodes n[2-3],n9",), ()]

    def test_sets_beyond_what_memory_can_hold_are_said_not_to_be_looked_at(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(allowed_module, "MAX_MEMBERS", 3)
        jobs = [waiting(n, excluded_nodes=f"n{n}", **ASK) for n in (1, 2, 3)]
        snapshot = read(PLAIN, jobs)
        assert [len(p.within) for p in snapshot.pending] == [1, 0, 0]
        assert [e.items for e in snapshot.not_looked_at] == [("2", "3")]

    @pytest.mark.parametrize("field", ["required_nodes", "excluded_nodes"])
    def test_malformed(self, field: str) -> None:
        message = fault(document({"nodes": PLAIN, "jobs": [waiting(1, **{field: "n[1-"}, **ASK)]}))
        assert f"jobs[0].{field}: 'n[1-' is no host name" in message


class TestReservations:
    NAMED: ClassVar[list[Fields]] = [
        node("n1", state=["IDLE", "RESERVED"], reservation="course"),
        node("n2"),
        node("n3"),
    ]
    BARE: ClassVar[list[Fields]] = [
        node("n1", state=["MIXED", "RESERVED"], gres_used="gpu:a100:1(IDX:0)"),
        node("n2"),
        node("n3"),
    ]
    RECORD = (
        "ReservationName=course StartTime=2026-01-01T00:00:00 EndTime=2027-01-01T00:00:00 Duration=365-00:00:00\n"
        "   Nodes=n[1-2] NodeCnt=2 CoreCnt=128 Features=(null) PartitionName=p Flags=SPEC_NODES\n"
        "   TRES=cpu=128\n"
        "   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a\n"
        "   MaxStartDelay=(null)\n\n"
    )

    def test_its_jobs_stay_in_it_and_others_stay_out(self) -> None:
        jobs = [
            job(1, resv_name="course", **on("n1", "gpu:1(IDX:0)")),
            job(2, **on("n2", "gpu:1(IDX:0)")),
            waiting(3, resv_name="course", **ASK),
            waiting(4, **ASK),
        ]
        for nodes in (self.NAMED, self.BARE):
            snapshot = read(nodes, jobs)
            assert [n.schedulable for n in snapshot.nodes] == [True, True, True]
            assert sets(snapshot.node_sets) == {"reservation course": {"n1"}, "outside reservations": {"n2", "n3"}}
            assert within(nodes, jobs) == {
                "1": ("reservation course",),
                "2": ("outside reservations",),
                "3": ("reservation course",),
                "4": ("outside reservations",),
            }
            assert skipped(snapshot) == {}

    def test_a_reserved_node_that_nothing_tells_of_is_closed(self) -> None:
        snapshot = read([node("n1", state=["IDLE", "RESERVED"]), node("n2")], [waiting(1, **ASK)])
        assert [n.schedulable for n in snapshot.nodes] == [False, True]
        assert snapshot.pending[0].within == ("outside reservations",)
        assert listed(snapshot, "do not say by which reservation") == ("n1",)

    def test_a_maintenance_closes_its_nodes(self) -> None:
        assert not read([node(state=["IDLE", "MAINT", "RESERVED"], reservation="m")]).nodes[0].schedulable

    def test_without_reservations_there_is_no_set(self) -> None:
        assert within(PLAIN, [waiting(1, **ASK)]) == {"1": ()}

    def test_a_job_that_stands_in_a_reservation_of_others_cannot_be_moved(self) -> None:
        snapshot = read(self.NAMED, [job(1, **on("n1", "gpu:1(IDX:0)"))])
        assert [(i.movable, i.within) for i in snapshot.jobs[0].instances] == [(False, ())]
        assert listed(snapshot, "outside the nodes that they could have now") == ("1: n1",)

    def test_a_reservation_whose_nodes_are_not_told(self) -> None:
        jobs = [job(1, resv_name="course", **on("n1", "gpu:1(IDX:0)")), waiting(2, resv_name="course", **ASK)]
        snapshot = read(PLAIN, jobs)
        assert not snapshot.jobs[0].instances[0].movable
        assert (snapshot.pending, listed(snapshot, "print `scontrol show reservation`")) == ((), ("2",))

    def test_the_output_of_scontrol_show_reservation(self) -> None:
        jobs = [waiting(1, resv_name="course", **ASK), waiting(2, **ASK)]
        main = document({"nodes": PLAIN, "jobs": jobs})
        for record in (self.RECORD, " ".join(self.RECORD.split()) + "\n"):
            snapshot = read_slurm([main, text(record, "reservations.txt")])
            assert sets(snapshot.node_sets) == {"reservation course": {"n1", "n2"}, "outside reservations": {"n3"}}
        inactive = read_slurm([main, text(self.RECORD.replace("ACTIVE", "INACTIVE"))])
        assert (inactive.node_sets, len(inactive.pending)) == ((), 1)
        none = read_slurm([main, text("No reservations in the system\n")])
        assert none.node_sets == ()

    def test_the_json_of_it_counts_where_a_node_says_that_it_is_reserved(self) -> None:
        jobs = [waiting(1, resv_name="course", **ASK), waiting(2, **ASK)]
        reservations = [{"name": "course", "node_list": "n[1-2]", "flags": ["SPEC_NODES"]}]
        nodes = [node("n1", state=["IDLE", "RESERVED"]), node("n2", state=["IDLE", "RESERVED"]), node("n3")]
        for found, expected in ((nodes, {"reservation course", "outside reservations"}), (PLAIN, set[str]())):
            snapshot = read_slurm(
                [document({"nodes": found, "jobs": jobs}), document({"reservations": reservations}, "r.json")]
            )
            assert {one.name for one in snapshot.node_sets} == expected

    def test_jobs_of_a_flexible_one_may_use_other_nodes_as_well(self) -> None:
        record = self.RECORD.replace("SPEC_NODES", "FLEX,SPEC_NODES").replace("n[1-2]", "n1")
        other = self.RECORD.replace("course", "exam").replace("n[1-2]", "n2")
        jobs = [waiting(1, resv_name="course", **ASK), waiting(2, resv_name="course,exam", **ASK)]
        snapshot = read_slurm([document({"nodes": PLAIN, "jobs": jobs}), text(record + other)])
        assert sets(snapshot.node_sets) == {"reservation course": {"n1", "n3"}}
        assert [p.within for p in snapshot.pending] == [("reservation course",), ()]

    def test_reservations_alone_are_no_snapshot(self) -> None:
        assert "there are only reservations here" in fault(text(self.RECORD))
        assert "reservation 'course' has no State=, which" in fault(text(self.RECORD.partition("   Users")[0]))


class TestAmounts:
    NODES: ClassVar[list[Fields]] = [
        node("n1", cpus=64, effective_cpus=60, alloc_cpus=20, real_memory=1000, alloc_memory=400),
        node("n2", cpus=64, alloc_cpus=0, real_memory=1000, specialized_memory=100, alloc_memory=0),
    ]

    def test_a_node_has_what_others_do_not_have(self) -> None:
        jobs = [
            job(1, tres_alloc_str="cpu=8,mem=100M,node=1", **on("n1", "gpu:a100:2(IDX:0-1)")),
            job(2, nodes="n1", tres_alloc_str="cpu=12,mem=300M,node=1"),
            waiting(3, node_count=wrapped(2), tres_req_str="cpu=10,mem=1G,node=2", **ASK),
        ]
        snapshot = read(self.NODES, jobs)
        assert [dict(n.resources) for n in snapshot.nodes] == [{"cpu": 48, "memory": 700}, {"cpu": 64, "memory": 900}]
        assert [dict(i.resources) for j in snapshot.jobs for i in j.instances] == [{"cpu": 8, "memory": 100}]
        assert [dict(p.resources) for p in snapshot.pending] == [{"cpu": 5, "memory": 512}]

    def test_an_allocated_node_has_no_cpu_left(self) -> None:
        full = node("n1", state=["ALLOCATED"], cpus=64, alloc_cpus=50, gres_used="gpu:a100:2(IDX:0-1)")
        snapshot = read([full], [job(1, tres_alloc_str="cpu=8,node=1", **on("n1", "gpu:a100:2(IDX:0-1)"))])
        assert snapshot.nodes[0].resources["cpu"] == 8

    def test_memory_counts_only_where_something_that_runs_has_some(self) -> None:
        asks = waiting(3, tres_req_str="cpu=1,mem=9000M,node=1", **ASK)
        snapshot = read(self.NODES, [job(1, tres_alloc_str="cpu=8,node=1", **on("n1", "gpu:1(IDX:0)")), asks])
        assert all("memory" not in n.resources for n in snapshot.nodes)
        assert dict(snapshot.pending[0].resources) == {"cpu": 1}

    @pytest.mark.parametrize(
        ("allocation", "total", "expected"),
        [
            ([6, 2], 8, [6, 2]),
            ([4, 2], 8, [4, 4]),
            ([None, None], 8, [4, 4]),
            ([4, 2], 9, [None, None]),
            ([None, None], 9, [None, None]),
        ],
    )
    def test_how_a_total_is_spread(self, allocation: list[int | None], total: int, expected: list[int | None]) -> None:
        inner = [{"name": f"n{n}", "cpus": {"count": count}} for n, count in enumerate(allocation, start=1)]
        fields: Fields = {"tres_alloc_str": f"cpu={total},node=2", "job_resources": {"nodes": {"allocation": inner}}}
        snapshot = read(self.NODES, [job(1, **fields, **on("n[1-2]", "gpu:1(IDX:0)", "gpu:1(IDX:0)"))])
        assert [i.resources.get("cpu") for i in snapshot.jobs[0].instances] == expected
        untold = [e.items for e in snapshot.not_looked_at if "not told node by node" in e.reason]
        assert untold == ([("1",)] if None in expected else [])

    def test_without_cpus_of_nodes_nothing_is_said_of_those_of_jobs(self) -> None:
        snapshot = read(PLAIN, [job(1, tres_alloc_str="cpu=8,node=1", **on("n1", "gpu:1(IDX:0)"))])
        assert (dict(snapshot.nodes[0].resources), dict(snapshot.jobs[0].instances[0].resources)) == ({}, {})

    def test_malformed(self) -> None:
        message = fault(
            document({"nodes": self.NODES, "jobs": [job(1, tres_alloc_str="cpu=many", **on("n1", "gpu:1"))]})
        )
        assert "jobs[0].tres_alloc_str: 'cpu=many' is no amount, expected a number such as 8 or 16G" in message


class TestHeterogeneous:
    RUNNING: ClassVar[list[Fields]] = [
        job(10, het_job_id=10, het_job_offset=0, priority=7, **on("n1", "gpu:4(IDX:0-3)")),
        job(11, het_job_id=10, het_job_offset=1, priority=6, **on("n[2-3]", "gpu:1(IDX:0)", "gpu:1(IDX:0)")),
    ]

    def test_components_that_run_are_one_job(self) -> None:
        (found,) = read(PLAIN, self.RUNNING).jobs
        assert (found.name, found.components, found.distinct_nodes, found.priority) == ("10", ("10+0", "10+1"), True, 7)
        # A name says which instance it is after a restart, too: on several nodes the component's would not.
        assert [(i.node, i.name) for i in found.instances] == [("n1", "10+0"), ("n2", None), ("n3", None)]

    def test_what_cannot_be_requeued_keeps_the_others_where_they_are(self) -> None:
        jobs = [self.RUNNING[0], {**self.RUNNING[1], "requeue": False}]
        assert not any(i.movable for i in read(PLAIN, jobs).jobs[0].instances)

    @pytest.mark.parametrize("name", ["10", "10+0", "10+1"])
    def test_who_protects_a_component_protects_the_job(self, name: str) -> None:
        (found,) = protect(read(PLAIN, self.RUNNING), [name]).jobs
        assert not any(i.movable for i in found.instances)

    def test_components_that_wait_are_parts_of_one_job(self) -> None:
        part: Fields = {"het_job_id": 20}
        jobs = [
            waiting(20, het_job_offset=0, tres_per_node="gres/gpu:a100:8", priority=5, **part),
            waiting(21, het_job_offset=1, tres_per_node="gres/gpu:a100:2", node_count=wrapped(2), priority=4, **part),
            waiting(22, het_job_offset=2, **part),
        ]
        snapshot = read(PLAIN, jobs)
        (found,) = snapshot.pending
        assert (found.name, found.instances, found.gpus_per_instance, found.pool) == ("20", 1, 8, "a100")
        assert [(p.instances, p.gpus_per_instance) for p in found.further_parts] == [(2, 2)]
        assert (found.together, found.distinct_nodes, found.priority) == (True, True, 5)
        assert [(e.reason, e.items) for e in snapshot.not_looked_at] == [
            ("components of heterogeneous jobs without GPUs", ("20+2",))
        ]

    def test_components_of_different_types_are_bound_by_sets_instead_of_a_pool(self) -> None:
        nodes = [node("n1"), node("n2", gres="gpu:h100:8")]
        jobs = [
            waiting(20, het_job_id=20, tres_per_node="gres/gpu:a100:8"),
            waiting(21, het_job_id=20, het_job_offset=1, tres_per_node="gres/gpu:h100:2"),
        ]
        (found,) = read(nodes, jobs).pending
        assert (found.pool, found.within) == (None, ("GPU type a100",))
        assert [part.within for part in found.further_parts] == [("GPU type h100",)]

    def test_one_that_no_room_would_start_keeps_all_from_being_asked_about(self) -> None:
        jobs = [
            waiting(20, het_job_id=20, **ASK),
            waiting(21, het_job_id=20, het_job_offset=1, **{**ASK, "state_reason": "Licenses"}),
        ]
        snapshot = read(PLAIN, jobs)
        assert (snapshot.pending, listed(snapshot, "its licenses are in use")) == ((), ("20",))

    def test_none_that_has_gpus(self) -> None:
        jobs = [waiting(20, het_job_id=20), waiting(21, het_job_id=20, het_job_offset=1)]
        assert skipped(read(PLAIN, jobs)) == {"jobs without GPUs": ("20",)}


SOCKETS = "GPUs bound to the sockets of the CPUs"
LAYOUT = "tasks or CPUs by sockets, cores or threads"


class TestNotLookedAt:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"licenses": "matlab:2"}, ["licenses"]),
            ({"contiguous": True}, ["nodes in a row (contiguous)"]),
            ({"core_spec": 4}, ["cores or threads set aside for the system (core specialization)"]),
            ({"network": "Instances=4"}, ["network"]),
            ({"flags": ["ACCRUE_COUNT_CLEARED", "GRES_BINDING_ENFORCED"]}, [SOCKETS]),
            ({"flags": ["GRES_BINDING_DISABLED"]}, []),
            ({"tasks_per_socket": 2, "threads_per_core": wrapped(1)}, [LAYOUT]),
            ({"sockets_per_node": wrapped(2)}, [LAYOUT]),
            ({"tasks_per_core": 65535, "tasks_per_board": 0, "tasks_per_socket": wrapped(None)}, []),
            ({"shared": ["none"]}, ["whole nodes (exclusive)"]),
            ({"shared": "none"}, ["whole nodes (exclusive)"]),
            ({"exclusive": True}, ["whole nodes (exclusive)"]),
            ({"shared": ["topo"]}, ["whole blocks (--exclusive=topo)"]),
            ({"shared": ["user"]}, ["nodes that no other user, or nobody of another label, is on"]),
            ({"exclusive": ["mcs"]}, ["nodes that no other user, or nobody of another label, is on"]),
            ({"licenses": "a:1", "contiguous": 1}, ["licenses", "nodes in a row (contiguous)"]),
            ({"licenses": "", "contiguous": False, "core_spec": 65534, "thread_spec": 32766, "network": None}, []),
            ({"core_spec": None, "thread_spec": wrapped(None), "required_switches": 0, "shared": []}, []),
        ],
    )
    def test_counted(self, fields: Fields, words: list[str]) -> None:
        jobs = [job(1, **on("n1", "gpu:1(IDX:0)"), **fields), waiting(2, **ASK, **fields)]
        snapshot = read(PLAIN, jobs)
        assert sorted(e.reason for e in snapshot.not_looked_at) == sorted(words)
        assert all(e.items == ("1", "2") for e in snapshot.not_looked_at)

    def test_gpus_by_the_socket(self) -> None:
        snapshot = read(PLAIN, [job(1, **on("n1", "gpu:1(IDX:0)"), tres_per_socket="gres/gpu:1")])
        assert [(e.reason, e.items) for e in snapshot.not_looked_at] == [(SOCKETS, ("1",))]

    def test_jobs_that_are_not_in_the_snapshot_have_none(self) -> None:
        jobs = [
            job(1, nodes="n1", licenses="a:1"),
            waiting(2, **{**ASK, "state_reason": "Dependency", "licenses": "a:1"}),
            job(3, job_state="COMPLETED", licenses="a:1"),
        ]
        assert read(PLAIN, jobs).not_looked_at == ()


class TestTopology:
    """A job that asks for one switch, or for one block, is in one of them, whichever."""

    NODES: ClassVar[list[Fields]] = [node(f"n{i}") for i in range(1, 6)]
    TREE = (
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2,9]\n"
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4,9] Switches=s[0-1]\n"
    )
    IN_BLOCKS = (
        "BlockName=b0 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
        "BlockName=b1 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
        "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n"
    )
    TWO: ClassVar[Fields] = {**ASK, "node_count": 2}

    def read(self, jobs: list[Fields], topology: str) -> Snapshot:
        return read_slurm([document({"nodes": self.NODES, "jobs": jobs}), text(topology)])

    @pytest.mark.parametrize(
        ("topology", "fields", "names"),
        [
            (TREE, {"required_switches": wrapped(1)}, ["switch s0", "switch s1"]),
            (IN_BLOCKS, {"segment_size": 2}, ["block b0", "block b1"]),
            (IN_BLOCKS, {"segment_size": 8}, ["block b0", "block b1"]),
        ],
    )
    def test_waiting(self, topology: str, fields: Fields, names: list[str]) -> None:
        snapshot = self.read([waiting(1, **self.TWO, **fields)], topology)
        assert sets(snapshot.node_sets) == {names[0]: {"n1", "n2"}, names[1]: {"n3", "n4"}}
        assert {one.kind for one in snapshot.node_sets} == {"topology"}
        assert [(p.within, p.within_one_of, p.distinct_nodes) for p in snapshot.pending] == [((), tuple(names), True)]
        assert snapshot.not_looked_at == ()

    @pytest.mark.parametrize(
        ("topology", "fields", "words"),
        [
            (TREE, {"required_switches": 2}, [SWITCHES]),
            (IN_BLOCKS, {"required_switches": 1}, [SWITCHES, BLOCKS]),
            (IN_BLOCKS, {"segment_size": 1}, [BLOCKS]),
            (IN_BLOCKS, {}, [BLOCKS]),
            (TREE, {"segment_size": wrapped(2)}, [BLOCKS]),
            (TREE, {"segment_size": wrapped(None)}, []),
            ("No topology information available\n", {"required_switches": 1}, [SWITCHES]),
            (TREE.replace("n[3-4]", "n[1-5]"), {"required_switches": 1}, []),
        ],
    )
    def test_what_is_no_choice(self, topology: str, fields: Fields, words: list[str]) -> None:
        snapshot = self.read([waiting(1, **self.TWO, **fields)], topology)
        assert [p.within_one_of for p in snapshot.pending] == [()]
        assert sorted(e.reason for e in snapshot.not_looked_at) == sorted(words)

    def test_one_node_is_on_one_switch_anyway(self) -> None:
        snapshot = self.read([waiting(1, **ASK, required_switches=1)], self.TREE)
        assert (snapshot.pending[0].within_one_of, snapshot.node_sets, snapshot.not_looked_at) == ((), (), ())

    def test_a_running_job_keeps_to_the_switch_that_it_is_on(self) -> None:
        gpus = ("gpu:1(IDX:0)", "gpu:1(IDX:0)")
        jobs = [
            job(1, **on("n[3-4]", *gpus), node_count=2, required_switches=1),
            job(2, **on("n[2-3]", *gpus), node_count=2, required_switches=1),
            job(3, **on("n[3-4]", *gpus), node_count=2),
        ]
        found = {j.name: [(i.within, i.movable) for i in j.instances] for j in self.read(jobs, self.TREE).jobs}
        assert found["1"] == [(("switch s1",), True)] * 2
        # It was let onto two, having waited long enough.
        assert found["2"] == found["3"] == [((), True)] * 2

    def test_components_may_be_on_different_switches(self) -> None:
        jobs = [
            waiting(20, het_job_id=20, **self.TWO, required_switches=1),
            waiting(21, het_job_id=20, het_job_offset=1, **self.TWO),
        ]
        snapshot = self.read(jobs, self.TREE)
        assert snapshot.pending[0].within_one_of == ()
        assert [(e.reason, e.items) for e in snapshot.not_looked_at] == [(SWITCHES, ("20+0",))]

    def test_text(self) -> None:
        """As `scontrol show job` prints it, before and behind words of users, and as in topology.conf."""
        head = "JobId=7 JobName=x UserId=u(1)\n   JobState=PENDING Reason=Resources\n   NumNodes=2-2 NumCPUs=2\n"
        more = "   MinCPUsNode=1 TresPerNode=gres/gpu:2\n   Command=/a Switches=2@1\n   Switches=1@00:05:00\n"
        conf = "# SwitchName=s9 Nodes=n9\nSwitchName=s0 Nodes=n[1-2] # Nodes=n7\nSwitchName=s1 Nodes=n[3-4]\n"
        nodes = document({"nodes": self.NODES})
        snapshot = read_slurm([nodes, text(head + more.replace(" Switches=2@1", "")), text(conf)])
        assert snapshot.pending[0].within_one_of == ("switch s0", "switch s1")
        segments = more.replace("Switches=1@00:05:00", "SegmentSize=2").replace(" Switches=2@1", "")
        assert read_slurm([text(self.IN_BLOCKS), nodes, text(head + segments)]).pending[0].within_one_of == (
            "block b0",
            "block b1",
        )

    @pytest.mark.parametrize(
        ("topology", "message"),
        [
            ("SwitchName= Nodes=n1\n", "line 1: SwitchName: expected the name of a switch"),
            ("BlockName=b0 BlockIndex=0\n", "line 1: block 'b0' has no Nodes=, which scontrol always prints"),
            ("SwitchName=s0 Nodes=n[1-\n", "line 1: Nodes: "),
            ("SwitchName=s0 Nodes=n1\nSwitchName=s0 Nodes=n2\n", "line 2: Nodes: s0 was printed before with other"),
            (
                "SwitchName=s0 Level=0 Nodes=n[1-2]\nSwitchName=s1 Level=0 Nodes=n[3-4]",
                "line 2: the text seems to be c",
            ),
        ],
    )
    def test_faults(self, topology: str, message: str) -> None:
        assert fault(document({"nodes": self.NODES, "jobs": []}), text(topology)).startswith(f"slurm.txt: {message}")

    def test_alone_it_is_no_cluster(self) -> None:
        said = fault(text(self.TREE))
        assert said.startswith("slurm.txt: there are only switches or blocks here; expected the output of")


class TestMigDevicesInTotals:
    """A site may track the type of whole GPUs only: TRES then has MIG devices in the untyped total."""

    NODE: ClassVar[Fields] = {"gres": "gpu:b200:4,gpu:b200_2g.45gb:8", "tres": "cpu=192,gres/gpu=12,gres/gpu:b200=4"}

    def test_jobs(self) -> None:
        used = node("n1", **self.NODE, tres_used="gres/gpu=3,gres/gpu:b200=1")
        jobs = [
            job(1, nodes="n1", tres_alloc_str="gres/gpu=1,gres/gpu:b200=1", tres_per_node="gres/gpu:b200:1"),
            job(2, nodes="n1", tres_alloc_str="gres/gpu=1", tres_per_node="gres/gpu:b200_2g.45gb:1"),
            job(3, nodes="n1", tres_alloc_str="gres/gpu=1", tres_per_job="gres/gpu:1"),
        ]
        snapshot = read([used], jobs)
        assert held(snapshot) == {"1": [("n1", 1)]}
        assert listed(snapshot, "running jobs on MIG") == ("2", "3")

    def test_no_jobs(self) -> None:
        used = node("n1", **self.NODE, tres_used="gres/gpu=8,gres/gpu:b200=3")
        assert held(read([used])) == {"unexplained:n1": [("n1", 3)]}

    def test_where_nothing_tells_them_apart_nothing_is_guessed(self) -> None:
        plain = node("n1", gres="gpu:b200:4,gpu:b200_2g.45gb:8", tres="cpu=192,gres/gpu=12")
        message = fault(document({"nodes": [plain], "jobs": [job(3, nodes="n1", tres_alloc_str="gres/gpu=1")]}))
        assert "job 3 has 1 GPUs on node n1, which has whole GPUs and MIG devices, and which of them is not" in message
        asked = job(3, nodes="n1", tres_alloc_str="gres/gpu=1", tres_per_job="gres/gpu:b200_2g.45gb:1")
        assert listed(read([plain], [asked]), "running jobs on MIG") == ("3",)

    def test_a_node_of_mig_devices_alone(self) -> None:
        only = node("n1", gres="gpu:1g.10gb:7", tres="gres/gpu=7")
        snapshot = read([only], [job(3, nodes="n1", tres_alloc_str="gres/gpu=2")])
        assert (snapshot.nodes, listed(snapshot, "running jobs on MIG")) == ((), ("3",))
