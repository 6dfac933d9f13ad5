"""Kubernetes jobs: which pods make up one, how they are numbered, and what waiting ones ask for."""

from __future__ import annotations

import pytest

from oracle.snapshots.kubernetes.ledger import natural_sorted
from oracle.snapshots.model import PendingJob
from tests.oracle.snapshots.kubernetes_objects import PRODUCT, Json, node, only_job, pod, read

COMPLETION = "batch.kubernetes.io/job-completion-index"
TRAINING = "training.kubeflow.org/job-name"


def jobs(*pods: Json) -> list[str]:
    return [job.name for job in read(node(), *pods).jobs]


class TestMembership:
    """The group a pod is started with, else its controller, else the pod itself; names are namespace/name."""

    @pytest.mark.parametrize(
        "key",
        [
            "scheduling.x-k8s.io/pod-group",
            "scheduling.k8s.io/group-name",
            "kueue.x-k8s.io/pod-group-name",
            "volcano.sh/job-name",
            TRAINING,
            "leaderworkerset.sigs.k8s.io/name",
            "jobset.sigs.k8s.io/jobset-name",
            "batch.kubernetes.io/job-name",
            "ray.io/cluster",
        ],
    )
    def test_marks_outrank_the_controller_as_labels_or_annotations(self, key: str) -> None:
        mark = {key: "train"}
        assert jobs(pod("a", labels=mark, owner=("X", "x")), pod("b", labels=mark, owner=("Y", "y"))) == [
            "default/train"
        ]
        assert jobs(pod("a", annotations=mark), pod("b", annotations=mark, owner=None)) == ["default/train"]

    def test_groups_outrank_training_jobs_and_these_plain_jobs(self) -> None:
        marks = {
            "scheduling.x-k8s.io/pod-group": "a",
            "volcano.sh/job-name": "b",
            TRAINING: "c",
            "jobset.sigs.k8s.io/jobset-name": "d",
            "batch.kubernetes.io/job-name": "e",
            "ray.io/cluster": "f",
        }
        while marks:
            first = next(iter(marks.values()))
            assert jobs(pod(labels=marks)) == [f"default/{first}"]
            marks.pop(next(iter(marks)))

    def test_the_old_label_of_jobs_counts_for_jobs(self) -> None:
        mark = {"job-name": "train"}
        assert jobs(pod(labels=mark, owner=None)) == jobs(pod(labels=mark, owner=("Job", "train"))) == ["default/train"]
        assert jobs(pod(labels=mark, owner=("ReplicaSet", "web-1"))) == ["default/web-1"]

    def test_each_group_of_a_leader_worker_set_is_a_gang(self) -> None:
        name, group = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"
        assert jobs(*(pod(str(i), labels={name: "llm", group: str(i % 2)}) for i in range(4))) == [
            "default/llm-0",
            "default/llm-1",
        ]

    def test_the_gang_of_a_leader_worker_set_may_have_a_group_of_its_own(self) -> None:
        labels = {"volcano.sh/job-name": "gang", "leaderworkerset.sigs.k8s.io/group-index": "3"}
        assert jobs(pod(labels=labels)) == ["default/gang"]

    def test_a_controller_without_a_name_makes_no_job(self) -> None:
        item = pod("a")
        item["metadata"] = {"name": "a", "ownerReferences": [{"kind": "Job", "controller": True}]}
        assert jobs(item) == ["default/a"]

    def test_pods_of_one_controller_are_one_job(self) -> None:
        job = only_job(node(), pod("a"), pod("b"), pod("c"))
        assert (job.name, len(job.instances)) == ("default/web-1", 3)

    def test_a_bare_pod_is_a_job(self) -> None:
        assert jobs(pod("a", owner=None), pod("b", owner=None)) == ["default/a", "default/b"]

    def test_static_pods_of_one_node_are_no_job(self) -> None:
        assert jobs(pod("a", owner=("Node", "n0")), pod("b", owner=("Node", "n0"))) == ["default/a", "default/b"]

    def test_a_driver_pod_and_the_executors_it_controls_are_one_job(self) -> None:
        assert jobs(pod("driver", owner=None), pod("exec-1", owner=("Pod", "driver"))) == ["default/driver"]

    def test_namespaces_are_kept_apart(self) -> None:
        assert jobs(pod(namespace="a"), pod(namespace="b")) == ["a/web-1", "b/web-1"]

    def test_unlike_things_of_one_name_are_kept_apart(self) -> None:
        assert jobs(pod("x", owner=None), pod("y", owner=("Job", "x")), pod("z", owner=("RayCluster", "x"))) == [
            "default/x (Job)",
            "default/x (Pod)",
            "default/x (RayCluster)",
        ]

    def test_no_namespace_is_the_default_one(self) -> None:
        item = pod(owner=None)
        item["metadata"] = {"name": "p0"}
        assert jobs(item) == ["default/p0"]


class TestNumbering:
    """Instances are numbered by the indexes all pods have, then by name in natural order."""

    def demands(self, *pods: Json) -> list[int]:
        return [instance.gpus for instance in only_job(node(gpus=64), *pods).instances]

    def test_names_in_natural_order(self) -> None:
        assert self.demands(pod("w-10", 3), pod("w-9", 2), pod("w-1", 1)) == [1, 2, 3]

    def test_completion_index(self) -> None:
        indexes = {"z": 0, "y": 2, "x": 10}
        pods = [pod(name, index + 1, annotations={COMPLETION: str(index)}) for name, index in indexes.items()]
        assert self.demands(*pods) == [1, 3, 11]

    def test_an_index_that_one_pod_lacks_is_not_used(self) -> None:
        assert self.demands(
            pod("a", 1, labels={COMPLETION: "7"}), pod("b", 2), pod("c", 3, labels={COMPLETION: "0"})
        ) == [
            1,
            2,
            3,
        ]

    @pytest.mark.parametrize("index", ["x", "-1", "", "²"])
    def test_an_index_that_is_no_number_is_not_used(self, index: str) -> None:
        assert self.demands(pod("a", 1, labels={COMPLETION: index}), pod("b", 2, labels={COMPLETION: "0"})) == [1, 2]

    def test_job_index_before_pod_index(self) -> None:
        set_index = "jobset.sigs.k8s.io/job-global-index"
        pods = [
            pod(f"p{i}", i + 1, labels={"jobset.sigs.k8s.io/jobset-name": "s", set_index: job, COMPLETION: rank})
            for i, (job, rank) in enumerate([("1", "0"), ("0", "1"), ("0", "0")])
        ]
        assert self.demands(*pods) == [3, 2, 1]

    def test_masters_and_workers_of_one_index(self) -> None:
        index = "training.kubeflow.org/replica-index"
        pods = [
            pod(name, i + 1, labels={TRAINING: "t", index: name[-1]})
            for i, name in enumerate(["t-worker-1", "t-worker-0", "t-master-0"])
        ]
        assert self.demands(*pods) == [3, 2, 1]

    def test_natural_order(self) -> None:
        assert natural_sorted(["n10", "n9", "n09", "n", "m2x10", "m2x9", "N1"]) == [
            "N1",
            "m2x9",
            "m2x10",
            "n",
            "n09",
            "n9",
            "n10",
        ]

    def test_a_number_too_long_to_convert(self) -> None:
        long = "9" * 5_000
        assert natural_sorted([long, "1" + long, "8" + long[1:]]) == ["8" + long[1:], long, "1" + long]


class TestLastingIndexes:
    """What a pod shares with the pod that takes its place; names are those of the pods."""

    def called(self, *pods: Json) -> dict[str | None, str | None]:
        return {one.name: one.index for job in read(node(gpus=64), *pods).jobs for one in job.instances}

    def test_without_an_index(self) -> None:
        assert self.called(pod("web-1-x7k2p"), pod("web-1-9"), pod("bare", owner=None)) == {
            "web-1-x7k2p": None,
            "web-1-9": None,
            "bare": None,
        }

    @pytest.mark.parametrize(
        "key",
        [
            COMPLETION,
            "jobset.sigs.k8s.io/job-global-index",
            "leaderworkerset.sigs.k8s.io/worker-index",
            "training.kubeflow.org/replica-index",
            "volcano.sh/task-index",
            "apps.kubernetes.io/pod-index",
        ],
    )
    def test_labels_and_annotations(self, key: str) -> None:
        assert self.called(pod("a", labels={key: "0"}), pod("b", annotations={key: "11"})) == {"a": "0", "b": "11"}
        assert self.called(pod("a", labels={key: "x"})) == {"a": None}

    def test_a_pod_that_lacks_it_takes_nothing_from_others(self) -> None:
        assert self.called(pod("a", labels={COMPLETION: "7"}), pod("b")) == {"a": "7", "b": None}

    def test_the_ordinal_of_a_stateful_set(self) -> None:
        owner = ("StatefulSet", "db")
        assert self.called(pod("db-0", owner=owner), pod("db-12", owner=owner), pod("db-x", owner=owner)) == {
            "db-0": "0",
            "db-12": "12",
            "db-x": None,
        }

    def test_roles(self) -> None:
        labels = {TRAINING: "t", "training.kubeflow.org/replica-index": "0"}
        role = "training.kubeflow.org/replica-type"
        pods = [pod(name, labels={**labels, role: name}, owner=("PyTorchJob", "t")) for name in ("master", "worker")]
        assert self.called(*pods) == {"master": "master/0", "worker": "worker/0"}

    def test_the_jobs_of_a_set(self) -> None:
        labels = {"jobset.sigs.k8s.io/jobset-name": "s", COMPLETION: "0"}
        pods = [pod(name, labels=labels, owner=("Job", f"s-{name}")) for name in ("a", "b")]
        assert self.called(*pods) == {"a": "s-a/0", "b": "s-b/0"}

    def test_a_successor_has_the_index_of_the_pod_that_is_being_deleted(self) -> None:
        labels = {COMPLETION: "0"}
        old, new = pod("old", labels=labels, deleted=True), pod("new", labels=labels)
        assert self.called(old) == {"old": "0"}
        assert self.called(old, new) == {"old": None, "new": "0"}

    def test_an_index_that_two_have_tells_nothing(self) -> None:
        assert self.called(pod("a", labels={COMPLETION: "0"}), pod("b", labels={COMPLETION: "0"})) == {
            "a": None,
            "b": None,
        }


class TestWaiting:
    """A waiting job is instances times GPUs in a pool."""

    def pending(self, *pods: Json) -> list[PendingJob]:
        return [*read(node(), node("n1", labels={PRODUCT: "H100"}), *pods).pending]

    def test_pods_of_one_job_are_counted(self) -> None:
        pods = [pod(f"w-{i}", 4, node=None, owner=("Job", "train")) for i in range(3)]
        assert self.pending(*pods) == [
            PendingJob(name="default/train", instances=3, gpus_per_instance=4, pool=None, together=False)
        ]

    def test_the_rest_of_a_running_job_waits_under_the_same_name(self) -> None:
        snapshot = read(node(), pod("a"), pod("b", node=None))
        assert [job.name for job in snapshot.jobs] == [job.name for job in snapshot.pending] == ["default/web-1"]

    def test_unlike_demands_are_several_waiting_jobs(self) -> None:
        found = self.pending(pod("a", 4, node=None), pod("b", 2, node=None), pod("c", 2, node=None))
        assert [(job.name, job.instances) for job in found] == [
            ("default/web-1 [2 GPU]", 2),
            ("default/web-1 [4 GPU]", 1),
        ]

    def test_unlike_pools_are_several_waiting_jobs(self) -> None:
        found = self.pending(pod("a", node=None), pod("b", node=None, nodeSelector={PRODUCT: "H100"}))
        assert [(job.name, job.pool) for job in found] == [
            ("default/web-1 [H100]", "H100"),
            ("default/web-1 [any pool]", None),
        ]
