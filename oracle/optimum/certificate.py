"""A bound from above and one from below on the partial nodes of a packing problem, with the evidence for both.

A certificate carries its problem, so it can be stored and checked later by whoever doubts it: `Certificate.verify`
calls no solver and works in integers only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from oracle.optimum.evidence import CertificateError, Evidence, Status
from oracle.optimum.load_bound import LoadBound, load_bound
from oracle.optimum.model import Pool
from oracle.optimum.node_classes import LEAVING, Packing, PackingProblem, count_partial
from oracle.optimum.proof import Proof
from oracle.optimum.reductions import Reductions, reductions_bound
from oracle.optimum.weights import Branch, SolverProof, Weights
from oracle.snapshots.kinds import gpus_of
from oracle.snapshots.model import MAX_GPUS_PER_NODE
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.optimum.node_classes import NodeClass
    from oracle.snapshots.kinds import Rules

__all__ = ["Certificate", "CertificateError", "Status", "check_packing", "check_problem"]


_Recomputed: TypeAlias = LoadBound | Reductions | Weights | Branch

Argument: TypeAlias = _Recomputed | SolverProof


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Evidence[_Recomputed]):
    """Why a packing problem needs at least `lower_bound` and at most `partial_nodes` partial nodes.

    Attributes
    ----------
    problem
        The node classes with multiplicities and the movable instances.
    packing
        The witness: what every node holds so that `partial_nodes` of them are partial.
    partial_nodes
        Partial nodes of the witness: the upper bound.
    lower_bound
        Partial nodes of every packing, at least; exactly what `argument` gives.
    argument
        How the lower bound is reached.
    status
        OPTIMAL if the bounds meet, otherwise UNKNOWN.
    """

    problem: PackingProblem
    packing: Packing
    partial_nodes: int
    lower_bound: int
    argument: Argument
    status: Status

    SCHEMA: ClassVar[str] = "compass-abs/certificate/2"

    def _attained(self) -> int:
        check_problem(self.problem)
        check_packing(self.problem, self.packing)
        counted = count_partial(self.problem, self.packing)
        if counted != self.partial_nodes:
            raise CertificateError(f"the packing has {count(counted, 'partial node')}, not {self.partial_nodes}")
        return counted

    def _proved(self, argument: _Recomputed) -> int:
        match argument:
            case LoadBound():
                return load_bound(self.problem)
            case Reductions():
                return reductions_bound(self.problem, argument)
            case _:
                return Proof(Pool.unplaced(self.problem), argument).partial_nodes()


def check_problem(problem: PackingProblem) -> None:
    """Check that a packing problem means something.

    Raises
    ------
    CertificateError
        A number is out of range, a list is out of order or has something twice.
    """
    if len(problem.classes) != len(problem.nodes) or any(nodes < 1 for nodes in problem.nodes):
        raise CertificateError("every node class needs its number of nodes, at least 1")
    if any(former >= latter for former, latter in pairwise(problem.classes)):
        raise CertificateError("the node classes are not sorted and distinct")
    if any(demand < 1 or gpus_of(demand) < 1 or count < 1 for demand, count in problem.demands):
        raise CertificateError("a demand is below 1 GPU, or has no instance")
    if any(former <= latter for (former, _), (latter, _) in pairwise(problem.demands)):
        raise CertificateError("the demands do not descend")
    kept: Counter[int] = Counter()
    for c, (kind, nodes) in enumerate(zip(problem.classes, problem.nodes, strict=True)):
        _check_class(c, kind)
        for demand in kind.own:
            kept[demand] += nodes
    if kept - Counter(dict(problem.demands)):
        raise CertificateError("the nodes' own instances are more than there are")


def check_packing(problem: PackingProblem, packed: Packing, *, present: bool = False) -> None:
    """Check that a packing solves its problem: every node used once, every instance packed once, nothing illegal.

    What nodes hold at `present` solves it but for nodes that offer nothing (`LEAVING`): those may hold anything.

    Raises
    ------
    CertificateError
        What is wrong, with the class, pattern or demand.
    """
    nodes = [0] * len(problem.classes)
    packs: Counter[int] = Counter()
    if any(former >= latter for former, latter in pairwise((group.node_class, group.pattern) for group in packed)):
        raise CertificateError("the packing is not sorted, or has a class and pattern twice")
    for group in packed:
        if not 0 <= group.node_class < len(nodes) or group.nodes < 1:
            raise CertificateError(f"the packing has {count(group.nodes, 'node')} of class {group.node_class}")
        kind = problem.classes[group.node_class]
        allowed = kind.allows(group.pattern) or (present and kind == LEAVING)
        if not _descending(group.pattern) or not allowed:
            raise CertificateError(f"a node of class {group.node_class} may not hold {list(group.pattern)}")
        nodes[group.node_class] += group.nodes
        for demand in group.pattern:
            packs[demand] += group.nodes
    for c, (packed_nodes, expected) in enumerate(zip(nodes, problem.nodes, strict=True)):
        if packed_nodes != expected:
            raise CertificateError(f"class {c} has {expected} nodes, the packing {packed_nodes}")
    if packs != Counter(dict(problem.demands)):
        raise CertificateError("the packing does not hold each instance exactly once")


def _check_class(c: int, kind: NodeClass) -> None:
    if not 0 <= kind.capacity <= MAX_GPUS_PER_NODE or kind.held < 0:
        raise CertificateError(f"class {c} offers {kind.capacity} GPUs and holds {kind.held}")
    if not 0 <= kind.room <= max(kind.capacity - kind.held, 0):
        raise CertificateError(f"class {c} has room for {kind.room} GPUs of {kind.capacity}, {kind.held} held")
    if not _descending(kind.own):
        raise CertificateError(f"the own instances of class {c} do not descend, or are below 1 GPU")
    _check_rules(c, kind.rules)


def _check_rules(c: int, rules: Rules) -> None:
    of_jobs, of_needs = ([group for group, _ in pairs] for pairs in (rules.apart, rules.needs))
    if not all(_ascending(groups) for groups in (rules.shut, of_jobs, of_needs)):
        raise CertificateError(f"the groups of a rule of class {c} do not ascend, or are below 0")
    amounts = [rules.spare, *(needs for _, needs in rules.needs)]
    if any(len(needs) != len(rules.spare) or min(needs, default=0) < 0 for needs in amounts):
        raise CertificateError(f"class {c} needs an amount, 0 or more, of each of {len(rules.spare)} further resources")


def _ascending(groups: Sequence[int]) -> bool:
    return min(groups, default=0) >= 0 and all(former < latter for former, latter in pairwise(groups))


def _descending(pattern: tuple[int, ...]) -> bool:
    real = all(gpus_of(kind) >= 1 for kind in pattern)
    return real and all(former >= latter for former, latter in pairwise(pattern))
