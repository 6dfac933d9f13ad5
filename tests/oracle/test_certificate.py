"""Certificates: each one verifies, none says what is false, and damage is found."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from oracle.optimum.certificate import Certificate, CertificateError, Status
from oracle.optimum.exact import solve_pool
from oracle.optimum.load_bound import LoadBound
from oracle.optimum.node_classes import NodeClass, PackedNodes, PackingProblem
from oracle.optimum.weights import Branch, Free, Full, SolverProof, Weights
from oracle.snapshots.kinds import Rules, kind_of
from tests.oracle.small_pools import GAP, uniform

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.optimum.certificate import Argument
    from oracle.snapshots.kinds import Needs

MIXED = PackingProblem.build(
    {NodeClass(8, 0, 8): 3, NodeClass(4, 1, 3): 2, NodeClass(8, 1, 0, (4, 2)): 1, NodeClass(2, 0, 2, (2, 1)): 1},
    {4: 3, 3: 2, 2: 3, 1: 2},
)
# Group 1 may not stand on the node of 4 GPUs, two of group 2 on no node, and group 3 takes what else there is.
RULED = PackingProblem.build(
    {
        NodeClass(8, 0, 8, (), Rules((), ((2, 0),), (5, 2), ((1, (0, 1)), (3, (2, 1))))): 2,
        NodeClass(8, 1, 7, (), Rules((3,), ((2, 0),), (), ())): 1,
        NodeClass(4, 0, 4, (), Rules((1, 3), (), (), ())): 1,
    },
    {3: 1, 1: 1, kind_of(2, 1): 2, kind_of(1, 2): 2, kind_of(3, 3): 2},
)
PROBLEMS = {
    "load bound": uniform({1: 9, 4: 2}, 4),
    "dual weights": uniform({7: 2, 3: 3}, 5),
    "branch tree": uniform(GAP, 8),
    "mixed": MIXED,
    "rules": RULED,
}


def ruled(
    shut: tuple[int, ...] = (),
    apart: tuple[tuple[int, int], ...] = (),
    spare: Needs = (),
    needs: tuple[tuple[int, Needs], ...] = (),
) -> PackingProblem:
    return PackingProblem.build({NodeClass(8, 0, 8, (), Rules(shut, apart, spare, needs)): 1}, {})


BASE = solve_pool(PROBLEMS["dual weights"]).certificate
TREE = solve_pool(PROBLEMS["branch tree"]).certificate
BRANCH: dict[str, object] = {"argument": "branches", "counted": {"count": "full"}, "at_most": 1}


@pytest.fixture(params=PROBLEMS)
def certificate(request: pytest.FixtureRequest) -> Certificate:
    return solve_pool(PROBLEMS[str(request.param)]).certificate


Path = tuple[str | int, ...]


def leaves(data: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every number, string and list inside JSON data, with the way to it."""
    if isinstance(data, dict):
        for key, value in cast("dict[str, object]", data).items():
            yield from leaves(value, (*path, key))
        return
    if isinstance(data, list):
        for i, value in enumerate(cast("list[object]", data)):
            yield from leaves(value, (*path, i))
    yield path, data


def damaged(value: object) -> Iterator[object]:
    """Other values that might stand in the place of `value`."""
    if isinstance(value, int):
        yield from (value + 1, value - 1, -1, 0, value + 1000, 1.5, str(value), None)
    elif isinstance(value, str):
        yield from ("", value + "x", "optimal", "unknown", "load bound", "full", 1, None)
    elif isinstance(value, list):
        items = cast("list[object]", value)
        yield from ([], items[1:], items[::-1], [*items, *items[:1]], None)


def with_value(data: dict[str, object], path: Path, value: object) -> dict[str, object]:
    changed = copy.deepcopy(data)
    place: object = changed
    for step in path[:-1]:
        place = cast("dict[str | int, object]", place)[step]
    cast("dict[str | int, object]", place)[path[-1]] = value
    return changed


def mutations(certificate: Certificate) -> Iterator[tuple[Path, dict[str, object]]]:
    data = certificate.to_json()
    for path, value in leaves(data):
        for other in damaged(value):
            if other != value:
                yield path, with_value(data, path, other)


def read(data: object) -> Certificate | None:
    """Return the verified certificate in `data`, None if it is refused."""
    try:
        certificate = Certificate.from_json(data)
        certificate.verify()
    except CertificateError as error:
        message = str(error)
    else:
        return certificate
    assert len(message.splitlines()) == 1
    return None


class TestRoundTrip:
    def test_through_json(self, certificate: Certificate) -> None:
        again = Certificate.from_json(json.loads(json.dumps(certificate.to_json())))
        assert again == certificate
        again.verify()
        assert again.holds()
        assert not replace(again, partial_nodes=again.partial_nodes + 1).holds()

    @pytest.mark.parametrize("data", [None, [], {}, {"schema": "compass-abs/certificate/1"}, {"schema": 1}])
    def test_other_data_is_refused(self, data: object) -> None:
        with pytest.raises(CertificateError, match="compass-abs/certificate/2"):
            Certificate.from_json(data)

    def test_the_place_of_an_error_is_named(self) -> None:
        data = with_value(solve_pool(MIXED).certificate.to_json(), ("problem", "nodes", 1), "two")
        with pytest.raises(CertificateError, match=r"problem\.nodes"):
            Certificate.from_json(data)

    def test_a_tree_that_is_too_deep(self) -> None:
        data = TREE.to_json()
        for _ in range(100_000):
            data["argument"] = {**BRANCH, "below": data["argument"]}
        with pytest.raises(CertificateError, match="too deep"):
            Certificate.from_json(data)


class TestDamage:
    """A certificate changed in one place is refused, unless what it now says is true as well."""

    def test_outside_problem_and_argument_every_change_is_refused(self, certificate: Certificate) -> None:
        for path, data in mutations(certificate):
            if path[0] not in {"problem", "argument"}:
                assert read(data) is None, path

    def test_a_change_of_the_argument_never_proves_anything_else(self, certificate: Certificate) -> None:
        for path, data in mutations(certificate):
            if path[0] == "argument" and (changed := read(data)) is not None:
                assert (changed.lower_bound, changed.partial_nodes) == (
                    certificate.lower_bound,
                    certificate.partial_nodes,
                ), path

    def test_a_change_of_the_problem_is_refused_or_true_of_the_other_problem(self, certificate: Certificate) -> None:
        for path, data in mutations(certificate):
            if path[0] == "problem" and (changed := read(data)) is not None:
                assert changed.problem != certificate.problem, path
                optimum = solve_pool(changed.problem).partial_nodes
                assert changed.lower_bound <= optimum <= changed.partial_nodes, path


class TestReasons:
    """What is wrong is said in one line."""

    @pytest.mark.parametrize(
        ("packing", "said"),
        [
            (BASE.packing[1:], "nodes, the packing"),
            (BASE.packing[::-1], "not sorted"),
            ((*BASE.packing, BASE.packing[-1]), "not sorted, or has a class and pattern twice"),
            ((PackedNodes(1, (), 5),), "nodes of class 1"),
            ((PackedNodes(0, (7, 3), 5),), r"may not hold \[7, 3\]"),
            ((PackedNodes(0, (3, 4), 5),), r"may not hold \[3, 4\]"),
            ((PackedNodes(0, (), 5),), "each instance exactly once"),
            ((PackedNodes(0, (), 0),), "0 nodes"),
        ],
    )
    def test_packing(self, packing: tuple[PackedNodes, ...], said: str) -> None:
        with pytest.raises(CertificateError, match=said):
            replace(BASE, packing=packing).verify()

    @pytest.mark.parametrize(
        ("argument", "said"),
        [
            (Weights(1, 0, (0, 0)), "proves a lower bound of 0, not 4"),
            (Weights(0, 0, (0, 0)), "proves a lower bound of 0, not 4"),
            (Weights(1, 0, (0,)), "do not match"),
            (LoadBound(), "proves a lower bound of 1, not 4"),
            (Branch(Full(), 0, Weights(1, 0, (1, 1), (-1,)), Weights(1, 0, (1, 1), (0,))), "negative"),
            (Branch(Free(9), 0, Weights(1, 0, (0, 0), (0,)), Weights(1, 0, (0, 0), (0,))), "bound of 0"),
            (SolverProof("CP-SAT", 3), "proves a lower bound of 3, not 4"),
        ],
    )
    def test_argument(self, argument: Argument, said: str) -> None:
        with pytest.raises(CertificateError, match=said):
            replace(BASE, argument=argument).verify()

    def test_figures(self) -> None:
        with pytest.raises(CertificateError, match="has 4 partial nodes, not 3"):
            replace(BASE, partial_nodes=3).verify()
        with pytest.raises(CertificateError, match="status is 'unknown' with bounds 4 and 4"):
            replace(BASE, status=Status.UNKNOWN).verify()
        with pytest.raises(CertificateError, match="above the 4 attained"):
            replace(BASE, lower_bound=5, argument=SolverProof("CP-SAT", 5)).verify()
        weaker = replace(TREE, lower_bound=1, argument=LoadBound())
        with pytest.raises(CertificateError, match="status is 'optimal' with bounds 1 and 2"):
            weaker.verify()
        replace(weaker, status=Status.UNKNOWN).verify()

    @pytest.mark.parametrize(
        ("problem", "said"),
        [
            (replace(MIXED, nodes=MIXED.nodes[1:]), "number of nodes"),
            (replace(MIXED, nodes=(0, *MIXED.nodes[1:])), "number of nodes"),
            (replace(MIXED, classes=MIXED.classes[::-1]), "not sorted"),
            (replace(MIXED, demands=MIXED.demands[::-1]), "do not descend"),
            (replace(MIXED, demands=((4, 0), *MIXED.demands[1:])), "no instance"),
            (replace(MIXED, demands=(*MIXED.demands, (0, 1))), "below 1 GPU"),
            (replace(MIXED, demands=((kind_of(0, 1), 1), *MIXED.demands)), "below 1 GPU"),
            (replace(MIXED, demands=(*MIXED.demands, (kind_of(4, -1), 1))), "below 1 GPU"),
            (replace(MIXED, demands=((3, 2), (2, 3), (1, 2))), "own instances are more"),
            (PackingProblem.build({NodeClass(8, 2, 7): 1}, {}), "has room for 7 GPUs of 8, 2 held"),
            (PackingProblem.build({NodeClass(1025, 0, 8): 1}, {}), "offers 1025 GPUs"),
            (PackingProblem.build({NodeClass(8, -1, 8): 1}, {}), "holds -1"),
            (PackingProblem.build({NodeClass(8, 0, 0, (1, 2)): 1}, {2: 1, 1: 1}), "own instances of class 0"),
            (ruled(shut=(2, 1)), "groups of a rule of class 0 do not ascend"),
            (ruled(shut=(-1,)), "groups of a rule of class 0 do not ascend, or are below 0"),
            (ruled(apart=((1, 0), (1, 1))), "groups of a rule of class 0 do not ascend"),
            (ruled(spare=(4,), needs=((1, (1,)), (1, (2,)))), "groups of a rule of class 0 do not ascend"),
            (ruled(spare=(4,), needs=((1, ()),)), "class 0 needs an amount, 0 or more, of each of 1 further resources"),
            (ruled(needs=((1, (1,)),)), "an amount, 0 or more, of each of 0 further resources"),
            (ruled(spare=(4,), needs=((1, (-1,)),)), "an amount, 0 or more"),
            (ruled(spare=(-4,), needs=((1, (1,)),)), "an amount, 0 or more"),
        ],
    )
    def test_problem(self, problem: PackingProblem, said: str) -> None:
        with pytest.raises(CertificateError, match=said):
            replace(BASE, problem=problem).verify()
