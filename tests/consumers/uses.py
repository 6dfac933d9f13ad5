"""What users write, and what the two type checkers must say about it.

Kept as text: the bad uses are meant to be rejected, and the project's own checks read every Python file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reveal:
    """An expression, and its type as mypy and as pyright write it."""

    expression: str
    mypy: str
    pyright: str


@dataclass(frozen=True)
class Bad:
    """A line that must be rejected, and the code each checker rejects it with."""

    line: str
    mypy: str
    pyright: str


@dataclass(frozen=True)
class Table:
    """Good lines, revealed types and bad lines that share some first lines."""

    start: str
    reveals: tuple[Reveal, ...]
    bad: tuple[Bad, ...]


CORE = Table(
    start="""\
from compass_core import ClusterState, Instance, Job, Outcome, Variant, apply, arrive, depart, sif
from compass_core import add_node, check_saturation, compact, drain_node, place, remove

def inherent(counts: tuple[int, ...]) -> int:
    return 1 if sum(counts) else 0

def cost(instance: Instance) -> float:
    return float(instance.gpus)

state = ClusterState.empty(nodes=2)
job = Job("a", instances=3, gpus=2)
out: Outcome = arrive(state, job, variant=Variant.EXACT, migration_cost=cost)
state = ClusterState.from_placement([(job, [0, 0, 1])], nodes=2, capacity=8)
check_saturation(state)
first = job.instance(0)
""",
    reveals=(
        Reveal("state", "compass_core.state.ClusterState", "ClusterState"),
        Reveal("arrive(state, job)", "compass_core.outcome.Outcome", "Outcome"),
        Reveal("depart(state, 'a', variant=Variant.COMPASS).state", "compass_core.state.ClusterState", "ClusterState"),
        Reveal("out.admitted", "bool", "bool"),
        Reveal("out.placements", "tuple[compass_core.steps.Placement, ...]", "tuple[Placement, ...]"),
        Reveal("out.migrations", "tuple[compass_core.steps.Migration, ...]", "tuple[Migration, ...]"),
        Reveal("out.reason", "compass_core.refusal.Refusal | None", "Refusal | None"),
        Reveal("[m.destination for m in out.migrations]", "list[int]", "list[int]"),
        Reveal("state.nodes[0]", "compass_core.model.Node", "Node"),
        Reveal("state.nodes[0:1]", "tuple[compass_core.model.Node, ...]", "tuple[Node, ...]"),
        Reveal(
            "[node.slots for node in state.nodes]",
            "list[tuple[compass_core.model.Slot, ...]]",
            "list[tuple[Slot, ...]]",
        ),
        Reveal("state.nodes[0].ones", "tuple[compass_core.model.Instance, ...]", "tuple[Instance, ...]"),
        Reveal("state.nodes[0].kind", "compass_core.model.NodeKind", "NodeKind"),
        Reveal("state.counts", "tuple[int, ...]", "tuple[int, ...]"),
        Reveal("state.node_of(first)", "int", "int"),
        Reveal("state.jobs[0]", "compass_core.model.Job", "Job"),
        Reveal("state.jobs_by_name['a']", "compass_core.model.Job", "Job"),
        Reveal("state.check()", "None", "None"),
        Reveal("sif(state)", "float", "float"),
        Reveal("sif(state, inherent=inherent)", "float", "float"),
        Reveal("apply(state, out.migrations)", "compass_core.state.ClusterState", "ClusterState"),
        Reveal("place(state, first)", "compass_core.outcome.Outcome", "Outcome"),
        Reveal("remove(state, first)", "compass_core.outcome.Outcome", "Outcome"),
        Reveal("compact(state, variant=Variant.EXACT)", "compass_core.outcome.Outcome", "Outcome"),
        Reveal("add_node(state)", "compass_core.node_events.NodeOutcome", "NodeOutcome"),
        Reveal("drain_node(state, 0).jobs_hit", "tuple[str, ...]", "tuple[str, ...]"),
    ),
    bad=(
        Bad("Job('a', instances='3')", "arg-type", "reportArgumentType"),
        Bad("Job('a', 1, 2, 3)", "call-arg", "reportCallIssue"),
        Bad("arrive(state, 'a')", "arg-type", "reportArgumentType"),
        Bad("arrive(state, job, Variant.EXACT)", "call-arg", "reportCallIssue"),
        Bad("arrive(state, job, variant='exact')", "arg-type", "reportArgumentType"),
        Bad("arrive(state, job, migration_cost=len)", "arg-type", "reportArgumentType"),
        Bad("depart(state, job)", "arg-type", "reportArgumentType"),
        Bad("Variant.FASTEST", "attr-defined", "reportAttributeAccessIssue"),
        Bad("out.admitted = False", "misc", "reportAttributeAccessIssue"),
        Bad("state.counts[0] = 1", "index", "reportIndexIssue"),
        Bad("state.nodes[0] = state.nodes[1]", "index", "reportIndexIssue"),
        Bad("state.nodes[0].slots.append(1)", "attr-defined", "reportAttributeAccessIssue"),
        Bad("out.reason.kind", "union-attr", "reportOptionalMemberAccess"),
        Bad("state.node_of('a')", "arg-type", "reportArgumentType"),
        Bad("sif(state, inherent=cost)", "arg-type", "reportArgumentType"),
        Bad("sif(state, inherent)", "", ""),
        Bad("ClusterState.empty('8')", "arg-type", "reportArgumentType"),
        Bad("apply(state, out.placements)", "arg-type", "reportArgumentType"),
    ),
)
"""`compass_core` alone: what a scheduler imports. An empty code marks a line that is fine."""

REST = Table(
    start="""\
from collections.abc import Mapping, Sequence
from compass_core import Job, Variant
from oracle import Snapshot, inherent_partial_nodes, load_snapshot, measure
from proofs.conformance import Law, OurScheduler, Promise, ReportsSif, Scheduler, check_scheduler

class Mine:
    def reset(self, nodes: int) -> None: ...
    def arrive(self, job: Job) -> bool:
        return job.gpus > 1
    def depart(self, name: str) -> None: ...
    def placement(self) -> dict[str, list[int]]:
        return {}

class NoPlacement:
    def reset(self, nodes: int) -> None: ...
    def arrive(self, job: Job) -> bool:
        return False
    def depart(self, name: str) -> None: ...

class SaysNothing(Mine):
    def placement(self) -> dict[str, list[int]]:
        return {}

class NamesNodes:
    def reset(self, nodes: int) -> None: ...
    def arrive(self, job: Job) -> bool:
        return False
    def depart(self, name: str) -> None: ...
    def placement(self) -> Mapping[str, Sequence[str]]:
        return {}

scheduler: Scheduler = Mine()
measuring: ReportsSif = OurScheduler()
report = check_scheduler(Mine(), Promise(avoidable_nodes=2, admits_all_that_fits=True), lists=3)
snapshot: Snapshot = load_snapshot("cluster.json")
""",
    reveals=(
        Reveal("report", "proofs.conformance.Report", "Report"),
        Reveal("report.passed", "bool", "bool"),
        Reveal("report.kept", "tuple[proofs.scheduler_laws.Law, ...]", "tuple[Law, ...]"),
        Reveal("report.failure(Law.BOUND)", "proofs.conformance.Failure | None", "Failure | None"),
        Reveal("OurScheduler(Variant.COMPASS).sif()", "float", "float"),
        Reveal("inherent_partial_nodes((0, 0, 3))", "int", "int"),
        Reveal("measure(snapshot).sif", "float", "float"),
    ),
    bad=(
        Bad("check_scheduler(NoPlacement())", "arg-type", "reportArgumentType"),
        Bad("check_scheduler(NamesNodes())", "arg-type", "reportArgumentType"),
        Bad("check_scheduler(Mine)", "arg-type", "reportArgumentType"),
        Bad("check_scheduler(SaysNothing(), Promise(2))", "call-arg", "reportCallIssue"),
        Bad("check_scheduler(Mine(), 2)", "arg-type", "reportArgumentType"),
        Bad("check_scheduler(Mine(), max_node=2)", "call-arg", "reportCallIssue"),
        Bad("report.failure(Law.BOUND).events", "union-attr", "reportOptionalMemberAccess"),
        Bad("inherent_partial_nodes('123')", "arg-type", "reportArgumentType"),
        Bad("measure('cluster.json')", "arg-type", "reportArgumentType"),
    ),
)
"""`oracle` and the conformance kit."""
