"""What real tools print: every file of the data folder is read, or refused with the words that help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from immutables import Map

from examples.snapshots import generate_slurm
from oracle.snapshots.document import Document, read_document
from oracle.snapshots.loader import load_snapshot
from oracle.snapshots.model import PendingJob, SnapshotError
from oracle.snapshots.slurm import is_slurm_text, read_slurm
from tests.oracle.snapshots.slurm_inputs import held, listed, skipped, text

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.snapshots.model import Snapshot

NO_JOBS = Document("no jobs", b'{"jobs": []}')
NO_NODES = Document("no nodes", b'{"nodes": []}')
MADE_UP_NODE = text(
    "NodeName=node1751\n   Gres=gpu:ampere:8(S:0-1)\n   State=MIXED\n   CfgTRES=gres/gpu=8\n   AllocTRES=\n", "node.txt"
)
TABLES = {
    "datadog_sinfo_gres_2505.txt": "sinfo",
    "datadog_sinfo_gres_multi_2505.txt": "sinfo",
    "gcm_sample-sacct-running-output.txt": "sacct",
    "gcm_sample-scontrol-output.txt": "scontrol show partition",
    "gcm_sample-sinfo-output.txt": "sinfo",
    "gcm_sample-squeue-output.txt": "squeue",
    "gcm_sinfo-output-for-structured.txt": "sinfo",
    "sonar_node_output.txt": "sinfo",
    "sonar_sacct_resource.txt": "sacct",
}


@pytest.fixture(name="folder")
def folder_of_slurm(real_data: Path) -> Path:
    return real_data / "snapshots" / "slurm"


def documents(folder: Path, *names: str) -> list[Document]:
    return [read_document(folder / name) for name in names]


@pytest.mark.real_data
class TestAlone:
    """No file has both halves, so that each is refused for the half that is missing, or for what it is."""

    def test_every_file(self, folder: Path) -> None:
        files = sorted(path.name for path in folder.iterdir())
        assert set(TABLES) <= set(files)
        for name in files:
            with pytest.raises(SnapshotError) as caught:
                read_slurm(documents(folder, name))
            expected = f"seems to be the output of `{TABLES[name]}`" if name in TABLES else "there are only"
            assert expected in str(caught.value), name

    @pytest.mark.parametrize("name", sorted(TABLES))
    def test_tables_are_known_as_slurm_s(self, folder: Path, name: str) -> None:
        assert is_slurm_text((folder / name).read_bytes())


@pytest.mark.real_data
class TestPairs:
    """Halves that belong together, and halves with an empty other half."""

    def test_nodes_in_use_and_no_jobs(self, folder: Path) -> None:
        snapshot = read_slurm([*documents(folder, "scontrol_show_node_24_nodes.txt"), NO_JOBS])
        assert len(snapshot.nodes) == 24
        assert [n.name for n in snapshot.nodes if not n.schedulable] == ["gpu10"]
        assert {n.name: n.gpus for n in snapshot.nodes}["gpu11"] == 9
        assert snapshot.pools == ("a100", "gtx_1080", "rtx_2080", "rtx_3090", "rtx_a6000")
        assert listed(snapshot, "no listed job holds")[:3] == ("gpu00: 3", "gpu01: 7", "gpu02: 4")
        assert not any(i.movable for j in snapshot.jobs for i in j.instances)

    @pytest.mark.parametrize(
        ("name", "gpus", "pools"),
        [
            ("scontrol_node_a100_80.txt", [8], ("gpu",)),
            ("scontrol_node_h100.txt", [4], ("gpu",)),
            ("scontrol_node_v100.txt", [2], ("gpu",)),
            ("scontrol_node_mig.txt", [], ()),
            ("mila_scontrol_node_3.txt", [8] * 5, ("gpu", "not-an-existing-gpu", "rtx8000", "v100")),
            ("mila_sinfo_1.txt", [1], ("gpu",)),
            ("nebius_usual_node_rest.json", [1], ("nvidia_h100_80gb_hbm3",)),
            ("rackslab_slurm-nodes.json", [6, 6], ("h100+h200",)),
        ],
    )
    def test_nodes(self, folder: Path, name: str, gpus: list[int], pools: tuple[str, ...]) -> None:
        snapshot = read_slurm([*documents(folder, name), NO_JOBS])
        assert [n.gpus for n in snapshot.nodes] == gpus
        assert snapshot.pools == pools

    def test_a_job_on_two_nodes(self, folder: Path) -> None:
        names = ["node-with-gpus-allocated", "node-with-gpus-model-allocated", "job-gpus-multi-nodes"]
        snapshot = read_slurm(documents(folder, *(f"rackslab_slurm-{name}.json" for name in names)))
        assert held(snapshot) == {"5981": [("gpu1", 4), ("gpu2", 4)]}
        # The job's partition is gpu; at the moment of the nodes they are in another one.
        assert listed(snapshot, "outside the nodes that they could have now") == ("5981: gpu1, gpu2",)
        assert not any(i.movable for i in snapshot.jobs[0].instances)
        assert [dict(i.resources) for i in snapshot.jobs[0].instances] == [{"cpu": 1, "memory": 512}] * 2

    def test_a_job_and_what_else_its_node_has_in_use(self, folder: Path) -> None:
        names = ["node-with-gpus-model-allocated", "job-gpus-multi-types"]
        snapshot = read_slurm(documents(folder, *(f"rackslab_slurm-{name}.json" for name in names)))
        assert held(snapshot) == {"5984": [("gpu2", 1)], "unexplained:gpu2": [("gpu2", 3)]}

    def test_halves_of_two_clusters(self, folder: Path) -> None:
        with pytest.raises(SnapshotError, match="job 5987 holds GPUs on node gpu1, which is not among the nodes"):
            read_slurm(documents(folder, "rackslab_slurm-nodes.json", "rackslab_slurm-job-gpus-gres.json"))

    def test_held_and_waiting_jobs(self, folder: Path) -> None:
        snapshot = read_slurm(documents(folder, "mila_scontrol_node_2.txt", "mila_scontrol_job_2.txt"))
        assert snapshot.pending == (
            PendingJob(
                name="2",
                instances=1,
                gpus_per_instance=1,
                pool="a100",
                resources=Map({"cpu": 10, "memory": 40960}),
                priority=121777,
                reason="ReqNodeNotAvail, UnavailableNodes:node8,nodek4,nodep[1-2],nodex3",
            ),
        )
        assert listed(snapshot, "held by an administrator") == ("1",)

    def test_one_line_records_and_names_with_blanks(self, folder: Path) -> None:
        snapshot = read_slurm([*documents(folder, "sonar_scontrol_resource1.txt"), NO_NODES])
        shapes = [(p.name, p.instances, p.gpus_per_instance) for p in snapshot.pending]
        assert shapes == [("1879824", 1, 4), ("1903070", 1, 4), ("2066283", 1, 1)]
        assert {p.reason for p in snapshot.pending} == {"Priority"}

    def test_a_finished_job(self, folder: Path) -> None:
        snapshot = read_slurm(documents(folder, "nebius_usual_node_rest.json", "nebius_2_node_job.json"))
        assert skipped(snapshot) == {"finished jobs": ("349",)}

    def test_a_job_on_eight_nodes(self, folder: Path) -> None:
        numbers = (1433, 1787, 1795, 1854, 1889, 1890, 1968, 1969)
        rest = "   Gres=gpu:ampere:8\n   State=ALLOCATED\n   CfgTRES=gres/gpu=8\n   AllocTRES=gres/gpu=8\n\n"
        nodes = text("".join(f"NodeName=node{n}\n{rest}" for n in numbers))
        snapshot = read_slurm([nodes, *documents(folder, "gcm_scontrol_show_job_d__multi_node.txt")])
        assert held(snapshot) == {"8401413": [(f"node{n}", 8) for n in numbers]}

    @pytest.mark.parametrize(
        ("name", "gpus"),
        [
            ("all_gpus", {"30185_28": 8}),
            ("no_gpus", {"30185_28": 8}),
            ("some_gpus", {"30185_28": 8}),
            ("repeated_entry", {"30185_28": 8}),
            ("unique_entries", {"30185_28": 8, "31185_128": 8}),
            ("main_array_job", {"30185_[28-59%100]": 8, "31185_128": 8}),
        ],
    )
    def test_jobs_on_one_node(self, folder: Path, name: str, gpus: dict[str, int]) -> None:
        snapshot = read_slurm([MADE_UP_NODE, *documents(folder, f"gcm_scontrol_show_job_d__{name}.txt")])
        assert held(snapshot) == {job: [("node1751", count)] for job, count in gpus.items()}


@pytest.fixture(name="states")
def folders_of_states(real_data: Path) -> dict[str, Path]:
    """Return the folders of what a small real cluster printed, by version and state."""
    return {f"{path.parent.name}/{path.name}": path for path in sorted((real_data / "slurm-real").glob("*/*"))}


def both_forms(folder: Path) -> tuple[Snapshot, Snapshot]:
    """Return the snapshots of the text and of the JSON; Slurm 22.05 prints the nodes as text alone."""
    nodes = folder / "scontrol_nodes.json"
    as_text = load_snapshot(folder / "nodes.txt", folder / "jobs.txt")
    as_json = load_snapshot(nodes if nodes.exists() else folder / "nodes.txt", next(folder.glob("squeue.json*")))
    return as_text, as_json


@pytest.mark.real_data
class TestStatesOfARealCluster:
    """Four nodes under two versions of Slurm, in 27 states, each as text and as JSON."""

    def test_text_and_json_are_one_snapshot(self, states: dict[str, Path]) -> None:
        assert len(states) == 27
        for name, folder in states.items():
            as_text, as_json = both_forms(folder)
            assert as_text == as_json, name
            # `scontrol show job` forgets a finished job after some minutes, and squeue at once.
            left = [{e.reason: e.items for e in s.skipped if e.reason != "finished jobs"} for s in (as_text, as_json)]
            assert left[0] == left[1], name

    def test_cpus_and_memory(self, states: dict[str, Path]) -> None:
        """Each job has one CPU; memory is not handed out there, though ReqTRES asks for it."""
        for name, folder in states.items():
            snapshot, _ = both_forms(folder)
            assert {frozenset(n.resources) for n in snapshot.nodes} == {frozenset({"cpu"})}, name
            ending = {j.name for j in snapshot.jobs if not j.instances[0].movable}
            assert all(
                dict(i.resources) == ({} if j.name in ending else {"cpu": 1})
                for j in snapshot.jobs
                for i in j.instances
            ), name

    @pytest.mark.parametrize(("version", "job"), [("22.05", "89"), ("24.11", "94")])
    def test_a_job_that_is_completing_holds_its_gpu_and_cannot_be_moved(
        self, states: dict[str, Path], version: str, job: str
    ) -> None:
        for snapshot in both_forms(states[f"{version}/K_completing"]):
            assert held(snapshot)[job] == [("n4", 1)]
            assert [i.movable for j in snapshot.jobs if j.name == job for i in j.instances] == [False]

    def test_a_gang(self, states: dict[str, Path]) -> None:
        for version in ("22.05", "24.11"):
            for snapshot in both_forms(states[f"{version}/B_running"]):
                (gang,) = (job for job in snapshot.jobs if len(job.instances) > 1)
                assert (gang.distinct_nodes, [i.node for i in gang.instances]) == (True, ["n2", "n3"])
                assert {i.within for i in gang.instances} == {("nodes n[2-3]",)}

    def test_heterogeneous_jobs_are_one_job_each(self, states: dict[str, Path]) -> None:
        for snapshot in both_forms(states["22.05/E_het"]):
            running = {job.name: job for job in snapshot.jobs}["81"]
            assert (running.components, running.distinct_nodes) == (("81+0", "81+1"), True)
            assert [(i.name, i.node, i.gpus) for i in running.instances] == [("81+0", "n3", 2), ("81+1", "n4", 4)]
            waits = {job.name: job for job in snapshot.pending}["83"]
            assert (waits.instances, waits.gpus_per_instance, waits.together) == (1, 8, True)
            assert [(part.instances, part.gpus_per_instance) for part in waits.further_parts] == [(1, 4)]

    def test_who_waits_for_room(self, states: dict[str, Path]) -> None:
        for version, big in (("22.05", "73"), ("24.11", "78")):
            for snapshot in both_forms(states[f"{version}/F_draining"]):
                assert big in {p.name for p in snapshot.pending}
                assert all("_" not in (p.reason or "") for p in snapshot.pending)
                assert len(listed(snapshot, "JobArrayTaskLimit")) == 1
                assert len(listed(snapshot, "held by its user")) == 1


class TestExample:
    """The example that ships is what its generator writes, and shows a fragmented cluster."""

    def test_the_files_are_what_the_generator_writes(self) -> None:
        assert generate_slurm.OUTPUT.read_text(encoding="utf-8") == generate_slurm.slurm_example()
        nodes, jobs = generate_slurm.slurm_text_example()
        assert generate_slurm.NODES_TEXT.read_text(encoding="utf-8") == nodes
        assert generate_slurm.JOBS_TEXT.read_text(encoding="utf-8") == jobs
        assert generate_slurm.OUTPUT.stat().st_size < 300_000

    def test_both_forms_are_one_snapshot(self) -> None:
        snapshot = load_snapshot(generate_slurm.OUTPUT)
        assert snapshot == load_snapshot(generate_slurm.NODES_TEXT, generate_slurm.JOBS_TEXT)

    def test_the_cluster(self) -> None:
        snapshot = read_slurm([read_document(generate_slurm.OUTPUT)])
        used = snapshot.used_gpus()
        assert [n.gpus for n in snapshot.nodes] == [8] * 24
        assert [n.name for n in snapshot.nodes if not n.schedulable] == ["a100-05", "h100-09"]
        in_service = [n for n in snapshot.nodes if n.name != "a100-05"]
        assert 0.6 < sum(used.values()) / (8 * len(in_service)) < 0.8
        assert all(used[n.name] > 0 for n in in_service)
        # Three tasks of the array run, of which four may run at a time.
        assert [(p.instances, p.gpus_per_instance) for p in snapshot.pending] == [(2, 8), (1, 8)]
        assert not any(name.startswith("unexplained") for name in held(snapshot))
        assert sum(not i.movable for j in snapshot.jobs for i in j.instances) == 3
