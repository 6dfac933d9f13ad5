"""The domains of a snapshot, against every arrangement of small ones, and the rules of what a panel is, one by one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from oracle.cli.main import main
from oracle.measurement.domains import domain_snapshot, measure_domains
from oracle.snapshots.model import NodeSet, RunningInstance, RunningJob, Snapshot, SnapshotNode, UnknownPoolError
from oracle.snapshots.native import write_native
from tests.oracle.hierarchy.every_arrangement import bag, pairs, partial_and_used

if TYPE_CHECKING:
    from pathlib import Path


def panels(*domains: str, size: int = 3, gpus: int = 8, pool: str = "default") -> list[SnapshotNode]:
    return [
        SnapshotNode(name=f"{domain}{number}", gpus=gpus, domain=domain, pool=pool)
        for domain in domains
        for number in range(size)
    ]


def job(name: str, gpus: int, *nodes: str, movable: bool = True) -> RunningJob:
    return RunningJob(name=name, instances=tuple(RunningInstance(node=n, gpus=gpus, movable=movable) for n in nodes))


# What stands on a panel: demands, each of a job. Jobs are few, so that one often has all of a panel, or of several, and
# parts of others; whole panels are drawn more often than chance would.
PARTS = [(4,), (5, 2), (2,), (1, 1), (3, 3, 2), (4, 4), (5, 3), (6, 2), (2, 2, 4)]
WHOLE = [(8,), (4, 4), (2, 6), (5, 2, 1)]
JOBS = "st"


@st.composite
def snapshots(draw: st.DrawFn, most_panels: int = 3) -> Snapshot:
    """Return a snapshot of up to three domains of 8-GPU panels; all may move."""
    domains, size = "ABC"[: draw(st.integers(1, 3))], draw(st.integers(1, most_panels))
    held: dict[str, list[RunningInstance]] = {}
    for panel in panels(*domains, size=size):
        if draw(st.booleans()):
            job = draw(st.sampled_from(JOBS))
            content = [(job, gpus) for gpus in draw(st.sampled_from(WHOLE))]
        else:
            content = [(draw(st.sampled_from(JOBS)), gpus) for gpus in draw(st.sampled_from([(), *PARTS]))]
        for name, gpus in content:
            held.setdefault(name, []).append(RunningInstance(node=panel.name, gpus=gpus))
    jobs = [RunningJob(name=name, instances=tuple(instances)) for name, instances in held.items()]
    return Snapshot.build(nodes=panels(*domains, size=size), jobs=jobs)


@dataclass
class Seen:
    """What a snapshot holds, read GPU by GPU: the panels of each domain in use, and what moves as one."""

    in_use: dict[str, int]
    inside: list[int]
    whole: list[int]


def seen(snapshot: Snapshot) -> Seen:
    owners = {node.name: ["free"] * node.gpus for node in snapshot.nodes}
    for running in snapshot.jobs:
        for instance in running.instances:
            gpus = owners[instance.node]
            first = gpus.index("free")
            gpus[first : first + instance.gpus] = [running.name] * instance.gpus
    domains = sorted({node.domain or "" for node in snapshot.nodes})
    in_use = {d: sum(set(owners[n.name]) != {"free"} for n in snapshot.nodes if n.domain == d) for d in domains}
    size = len(snapshot.nodes) // len(domains)
    inside, whole = [0] * 7, [0] * size
    for domain in domains:
        for running in snapshot.jobs:
            gang = [n for n in snapshot.nodes if n.domain == domain and set(owners[n.name]) == {running.name}]
            if gang:
                whole[len(gang) - 1] += 1
    for running in snapshot.jobs:
        for instance in running.instances:
            if set(owners[instance.node]) != {running.name}:
                inside[instance.gpus - 1] += 1
    return Seen(in_use, inside, whole)


@given(snapshots())
def test_every_small_snapshot(snapshot: Snapshot) -> None:
    is_ = seen(snapshot)
    domains, size = len(is_.in_use), len(is_.whole)
    used = sum(is_.in_use.values())
    opened = used - sum(p * n for p, n in enumerate(is_.whole, start=1))
    found = measure_domains(snapshot)
    figures = found.measurement
    assert (figures.nodes, figures.gpus, figures.used_gpus) == (domains, domains * size, used)
    assert figures.partial_nodes == sum(0 < n < size for n in is_.in_use.values())
    gangs = [is_.whole[0] + opened, *is_.whole[1:]]
    assert figures.instances == {p: n for p, n in enumerate(gangs, start=1) if n}
    every = partial_and_used(bag(gangs), size)
    assert figures.inherent_partial_nodes == min(partial for partial, hosts in every if hosts <= domains)
    joint = found.joint["default"]
    assert joint is not None
    best = min(pairs(is_.inside, is_.whole, domains=domains, size=size, gpus=8))
    assert (joint.partial_panels, joint.partial_domains) == best


@given(snapshots(most_panels=6), st.sampled_from([8, 4, 2, 1]))
def test_how_a_job_divides_the_panels_it_holds_whole_says_nothing(snapshot: Snapshot, gpus: int) -> None:
    """One instance of 8 GPUs, or eight of one: the figures of the domains are the same."""
    whole = {
        node.name: held[0][0]
        for node in snapshot.nodes
        if (held := [(job.name, x.gpus) for job in snapshot.jobs for x in job.instances if x.node == node.name])
        and sum(demand for _, demand in held) == 8
        and len({name for name, _ in held}) == 1
    }
    jobs = [
        RunningJob(
            name=job.name,
            instances=(
                *(x for x in job.instances if x.node not in whole),
                *(
                    RunningInstance(node=node, gpus=gpus)
                    for node, name in whole.items()
                    if name == job.name
                    for _ in range(8 // gpus)
                ),
            ),
        )
        for job in snapshot.jobs
    ]
    divided = Snapshot.build(nodes=snapshot.nodes, jobs=jobs)
    assert measure_domains(divided).to_dict() == measure_domains(snapshot).to_dict()


@st.composite
def constrained(draw: st.DrawFn) -> Snapshot:
    """Return a snapshot of two domains whose panels do not all take everything."""
    free = draw(snapshots().filter(lambda snapshot: len({node.domain for node in snapshot.nodes}) == 2))
    names = [node.name for node in free.nodes]
    sets = draw(st.lists(st.sets(st.sampled_from(names), min_size=len(names) - 1).map(frozenset), max_size=2))
    within = st.sampled_from([(), *((f"s{n}",) for n in range(len(sets)))])
    cpus = st.sampled_from([{}, {"cpu": 1}, {"cpu": 3}])
    return Snapshot.build(
        nodes=[replace(node, resources=Map({"cpu": draw(st.sampled_from([4, 9]))})) for node in free.nodes],
        jobs=[
            replace(
                job, instances=tuple(replace(x, within=draw(within), resources=Map(draw(cpus))) for x in job.instances)
            )
            for job in free.jobs
        ],
        node_sets=[NodeSet(name=f"s{n}", kind="selector", nodes=nodes) for n, nodes in enumerate(sets)],
    )


@given(constrained())
def test_every_small_snapshot_whose_panels_do_not_take_everything(snapshot: Snapshot) -> None:
    """Panels change places one for one, all that is on them with them; what may not go everywhere stays."""
    sets = {one.name: one.nodes for one in snapshot.node_sets}
    names = [node.name for node in snapshot.nodes]
    content = {name: [x for job in snapshot.jobs for x in job.instances if x.node == name] for name in names}
    gang = {name: f"panel {name}" for name in names}
    for job in snapshot.jobs:
        for node in snapshot.nodes:
            mine = sum(x.gpus for x in job.instances if x.node == node.name)
            if mine == 8:
                gang[node.name] = f"{job.name} in {node.domain}"

    def may_go(panel: str, node: SnapshotNode) -> bool:
        inside = all(node.name in sets[name] for x in content[panel] for name in x.within)
        return inside and sum(x.resources.get("cpu", 0) for x in content[panel]) <= node.resources["cpu"]

    stays = {gang[panel] for panel in names if not all(may_go(panel, node) for node in snapshot.nodes)}
    free = [panel for panel in names if gang[panel] not in stays]
    home = {node.name: node for node in snapshot.nodes}
    best = 9
    for targets in permutations(free):
        at = {**dict(zip(names, names, strict=True)), **dict(zip(free, targets, strict=True))}
        assert all(may_go(panel, home[at[panel]]) for panel in free)
        if len({(gang[panel], home[at[panel]].domain) for panel in names}) == len(set(gang.values())):
            used = Counter(home[at[panel]].domain for panel in names if content[panel])
            best = min(best, sum(0 < n < len(names) // 2 for n in used.values()))
    found = measure_domains(snapshot)
    assert found.measurement.inherent_partial_nodes == best
    assert not stays or found.joint["default"] is None


class TestWhatMovesTogether:
    def test_panels_of_one_job_in_one_domain(self) -> None:
        """A job that holds two panels of each of two domains is two instances of two panels."""
        found = domain_snapshot(Snapshot.build(nodes=panels("A", "B"), jobs=[job("a", 8, "A0", "A2", "B0", "B1")]))
        (gang,) = found.jobs
        assert [(x.node, x.gpus) for x in gang.instances] == [("A", 2), ("B", 2)]

    def test_panels_held_whole_with_several_instances(self) -> None:
        """Two jobs of two panels each, on two domains of three: neither pair may be taken apart."""
        jobs = [job("a", 4, "A0", "A0", "A1", "A1"), job("b", 4, "B0", "B0", "B1", "B1")]
        found = measure_domains(Snapshot.build(nodes=panels("A", "B"), jobs=jobs))
        assert (found.measurement.instances, found.measurement.inherent_partial_nodes) == ({2: 2}, 2)

    def test_an_over_committed_panel_of_one_job_is_held_whole(self) -> None:
        found = domain_snapshot(Snapshot.build(nodes=panels("A"), jobs=[job("a", 5, "A0", "A0", "A1", "A1", "A2")]))
        assert [(j.name, [x.gpus for x in j.instances]) for j in found.jobs] == [("job a", [2]), ("panel A2", [1])]

    def test_a_panel_with_two_jobs_is_one(self) -> None:
        found = domain_snapshot(Snapshot.build(nodes=panels("A"), jobs=[job("a", 4, "A0"), job("b", 4, "A0")]))
        assert [(j.name, j.instances[0].gpus) for j in found.jobs] == [("panel A0", 1)]

    def test_a_job_may_be_named_like_a_panel(self) -> None:
        jobs = [job("panel A0", 8, "A1"), job("a", 4, "A0"), job("job a", 8, "A2")]
        assert len(domain_snapshot(Snapshot.build(nodes=panels("A"), jobs=jobs)).jobs) == 3


class TestWhatStays:
    def test_an_immovable_instance_keeps_its_panel(self) -> None:
        jobs = [job("a", 4, "A0", movable=False), job("b", 4, "B0", movable=False)]
        found = measure_domains(Snapshot.build(nodes=panels("A", "B"), jobs=jobs))
        assert found.measurement.inherent_partial_nodes == 2
        assert found.measurement.ideal_partial_nodes == 1
        assert found.joint["default"] is None

    def test_a_closed_panel_stays_if_in_use_and_counts_for_nothing_if_idle(self) -> None:
        nodes = [
            SnapshotNode(name="A0", gpus=8, domain="A", schedulable=False),
            SnapshotNode(name="A1", gpus=8, domain="A", schedulable=False),
            SnapshotNode(name="A2", gpus=8, domain="A"),
        ]
        found = domain_snapshot(Snapshot.build(nodes=nodes, jobs=[job("a", 4, "A0")]))
        assert [(node.name, node.gpus) for node in found.nodes] == [("A", 2)]
        assert not found.jobs[0].instances[0].movable

    def test_a_panel_of_another_size(self) -> None:
        nodes = [*panels("A", size=3), SnapshotNode(name="odd", gpus=7, domain="A")]
        assert domain_snapshot(Snapshot.build(nodes=nodes)).nodes[0].gpus == 3
        found = domain_snapshot(Snapshot.build(nodes=nodes, jobs=[job("a", 7, "odd")]))
        assert (found.nodes[0].gpus, found.jobs[0].instances[0].movable) == (4, False)

    def test_what_may_not_go_to_every_panel(self) -> None:
        """Each of the two jobs is bound to one domain: no domain can be emptied."""
        sets = [NodeSet(name=d, kind="partition", nodes=frozenset(n.name for n in panels(d))) for d in "AB"]
        jobs = [RunningJob(name=d, instances=(RunningInstance(node=f"{d}0", gpus=4, within=(d,)),)) for d in "AB"]
        found = measure_domains(Snapshot.build(nodes=panels("A", "B"), jobs=jobs, node_sets=sets))
        assert (found.measurement.inherent_partial_nodes, found.measurement.inherent_lower_bound) == (2, 2)
        assert found.joint == {"default": None}
        free = measure_domains(Snapshot.build(nodes=panels("A", "B"), jobs=jobs[:1], node_sets=sets))
        assert free.measurement.inherent_partial_nodes == 1

    @pytest.mark.parametrize(("cpus", "size"), [(0, 2), (1, 3)])
    def test_an_idle_panel_without_a_free_cpu_counts_for_nothing(self, cpus: int, size: int) -> None:
        nodes = [replace(node, resources=Map({"cpu": cpus if node.name == "A2" else 8})) for node in panels("A")]
        jobs = [RunningJob(name="a", instances=(RunningInstance(node="A0", gpus=4, resources=Map({"cpu": 1})),))]
        found = domain_snapshot(Snapshot.build(nodes=nodes, jobs=jobs))
        assert (found.nodes[0].gpus, found.jobs[0].instances[0].movable) == (size, True)


class TestPoolsAndDomains:
    def test_a_domain_of_two_pools_is_one_in_each(self) -> None:
        nodes = [
            *panels("A", size=2),
            SnapshotNode(name="x", gpus=4, domain="A", pool="small"),
            SnapshotNode(name="y", gpus=4, domain="B", pool="small"),
        ]
        found = domain_snapshot(Snapshot.build(nodes=nodes))
        assert {(n.name, n.pool, n.gpus) for n in found.nodes} == {
            ("A (default)", "default", 2), ("A (small)", "small", 1), ("B", "small", 1)
        }  # fmt: skip

    def test_a_domain_may_be_named_like_a_part_of_another(self) -> None:
        nodes = [
            SnapshotNode(name="a", gpus=8, domain="A", pool="p"),
            SnapshotNode(name="b", gpus=8, domain="A", pool="q"),
            SnapshotNode(name="c", gpus=8, domain="A (p)", pool="p"),
        ]
        found = domain_snapshot(Snapshot.build(nodes=nodes, jobs=[job("x", 8, "a"), job("y", 8, "c")]))
        assert {(n.name, n.pool) for n in found.nodes} == {("A (p)", "p"), ("A (p)'", "p"), ("A (q)", "q")}
        assert {(j.name, j.instances[0].node) for j in found.jobs} == {("job x", "A (p)'"), ("job y", "A (p)")}

    def test_a_pool_whose_nodes_name_no_domain(self) -> None:
        """It exists, and has no figures; a pool without any node is an error."""
        snapshot = Snapshot.build(nodes=[*panels("A"), SnapshotNode(name="x", gpus=8, pool="loose")])
        found = measure_domains(snapshot, pool="loose")
        assert (found.measurement.nodes, found.measurement.pools, found.nodes_without_domain) == (0, (), 1)
        with pytest.raises(UnknownPoolError, match="'default'"):
            measure_domains(snapshot, pool="none")

    @pytest.mark.parametrize("beside", [(2,), (8,), (6, 6)])
    def test_no_joint_optimum_where_a_panel_is_over_committed(self, beside: tuple[int, ...]) -> None:
        jobs = [job("whole", 8, "A0"), *(job(f"j{n}", gpus, "A0") for n, gpus in enumerate(beside))]
        assert measure_domains(Snapshot.build(nodes=panels("A"), jobs=jobs)).joint == {"default": None}

    def test_nodes_without_domain_are_counted_apart(self) -> None:
        nodes = [*panels("A"), SnapshotNode(name="x", gpus=8)]
        found = measure_domains(Snapshot.build(nodes=nodes, jobs=[job("a", 4, "x")]))
        assert (found.nodes_without_domain, found.measurement.used_gpus) == (1, 0)

    def test_the_condition_counts_the_ninth_panel(self) -> None:
        """Two jobs of 8 panels leave one panel each that only one-panel instances can fill."""
        nodes = panels("A", "B", size=9)
        eights = [job(d, 8, *(f"{d}{n}" for n in range(8))) for d in "AB"]
        assert measure_domains(Snapshot.build(nodes=nodes, jobs=eights)).wcc == {"default": False}
        filled = [*eights, job("one", 8, "A8"), job("two", 3, "B8")]
        assert measure_domains(Snapshot.build(nodes=nodes, jobs=filled)).wcc == {"default": True}

    def test_the_condition_of_18_panels(self) -> None:
        """72 GPUs as 18 nodes of 4: beside an instance of 16 panels two are left, for one of 2 or two of one panel."""
        nodes = panels("A", "B", size=18, gpus=4)
        wide = [job(d, 4, *(f"{d}{n}" for n in range(16))) for d in "AB"]
        assert measure_domains(Snapshot.build(nodes=nodes, jobs=wide)).wcc == {"default": False}
        filled = [*wide, job("two", 4, "A16", "A17"), job("one", 4, "B16"), job("other", 2, "B17")]
        found = measure_domains(Snapshot.build(nodes=nodes, jobs=filled))
        assert (found.wcc, found.measurement.inherent_partial_nodes) == ({"default": True}, 0)

    def test_no_condition_where_domains_differ(self) -> None:
        nodes = [*panels("A", size=2), *panels("B", size=3)]
        found = measure_domains(Snapshot.build(nodes=nodes))
        assert (found.wcc, found.joint) == ({"default": None}, {"default": None})


class TestCommand:
    def snapshot(self, folder: Path) -> str:
        jobs = [job("a", 8, "A0", "A1"), job("b", 4, "B0"), job("c", 4, "B1")]
        path = folder / "snapshot.json"
        path.write_text(write_native(Snapshot.build(nodes=panels("A", "B"), jobs=jobs)), encoding="utf-8")
        return str(path)

    def test_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["measure", self.snapshot(tmp_path), "--hierarchical", "-o", "json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert data["schema"] == "compass-abs/measure/1"
        domains = data["domains"]
        # {2 panels}, {1, 1}: of four panels in use three can fill a domain, so one partial domain is left of two
        assert (domains["partial_domains"], domains["inherent_partial_domains"], domains["sif"]) == (2, 1, 0.5)
        assert domains["pools"][0]["joint"] == {"partial_panels": 0, "partial_domains": 0, "open_panels": 1}
        assert domains["instances"] == {"1": 2, "2": 1}

    def test_table(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["measure", self.snapshot(tmp_path), "--hierarchical"]) == 0
        out = capsys.readouterr().out
        assert "domains" in out
        assert "0 partial panels and then 0 partial domains are the fewest" in out

    def test_exit_code_looks_at_domains_too(self, tmp_path: Path) -> None:
        path = tmp_path / "s.json"
        jobs = [job("a", 8, "A0"), job("b", 8, "B0")]
        path.write_text(write_native(Snapshot.build(nodes=panels("A", "B", size=2), jobs=jobs)), encoding="utf-8")
        assert main(["measure", str(path), "--exit-code"]) == 0
        assert main(["measure", str(path), "--exit-code", "--hierarchical"]) == 1

    def test_no_domains(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "s.json"
        path.write_text(write_native(Snapshot.build(nodes=[SnapshotNode(name="x", gpus=8)])), encoding="utf-8")
        assert main(["measure", str(path), "--hierarchical"]) == 0
        assert "No node names a domain." in capsys.readouterr().out

    def test_no_csv(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["measure", self.snapshot(tmp_path), "--hierarchical", "-o", "csv"]) == 2
        assert "table and JSON only" in capsys.readouterr().err


class TestReaders:
    NODE = '{"name": "n", "gpus": 8, "domain": %s}'

    def load(self, folder: Path, text: str, *options: str) -> int:
        path = folder / "s.json"
        path.write_text(text, encoding="utf-8")
        return main(["measure", str(path), "--hierarchical", *options])

    @pytest.mark.parametrize(("domain", "fault"), [('""', "nodes[0].domain"), ("7", "nodes[0].domain")])
    def test_native_domains_are_names(
        self, domain: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = '{"schema": "compass-abs/snapshot/1", "nodes": [%s]}' % (self.NODE % domain)
        assert self.load(tmp_path, text) == 2
        assert fault in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("label", "options"), [("nvidia.com/gpu.clique", ()), ("rack", ("--domain-label", "rack"))]
    )
    def test_kubernetes_labels(
        self, label: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        node = {
            "kind": "Node",
            "metadata": {"name": "n", "labels": {label: "uuid.0"}},
            "status": {"allocatable": {"nvidia.com/gpu": "4"}},
        }
        text = json.dumps({"kind": "List", "items": [node]})
        assert self.load(tmp_path, text, "-o", "json", *options) == 0
        assert json.loads(capsys.readouterr().out)["domains"]["domains"] == 1

    def test_only_kubernetes_has_labels(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = '{"schema": "compass-abs/snapshot/1", "nodes": []}'
        assert self.load(tmp_path, text, "--domain-label", "rack") == 2
        assert "domain labels" in capsys.readouterr().err


@given(snapshots())
def test_domains_survive_the_native_format(snapshot: Snapshot) -> None:
    written = json.loads(write_native(snapshot))
    assert [node["domain"] for node in written["nodes"]] == [node.domain for node in snapshot.nodes]
