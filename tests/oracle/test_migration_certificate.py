"""Bounds on migrations hold for any weights, residues and trees; certificates are checked, corrupted ones refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from oracle.bounds import AllFull, ArgumentError, SolverProof, WithLoad
from oracle.certificate import CertificateError, Status
from oracle.migration import fewest_migrations
from oracle.migration_certificate import ChangedNodes, MigrationCertificate
from oracle.node_classes import NodeClass, PackingProblem, PlacedProblem, constrained_problem, contents_by_pool, packing
from oracle.transport.bounds import (
    MAX_MODULUS,
    AllPartial,
    Arrivals,
    Leaf,
    MigrationBranch,
    MigrationWeights,
    PricedNodes,
    leaves,
    migration_bound,
)
from oracle.transport.model import columns_of, staying, towards
from oracle.transport.relaxation import price
from oracle.transport.remainders import lattice_basis
from tests.oracle import every_placement
from tests.oracle.every_placement import NEVER
from tests.oracle.small_pools import clusters, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.transport.bounds import MigrationCount, MigrationTree
    from tests.oracle.every_placement import Costs


def pools(count: int, seed: int) -> Iterator[tuple[PlacedProblem, Costs]]:
    for cluster in clusters(count, seed):
        for pool, contents in contents_by_pool(snapshot_of(cluster)).items():
            yield constrained_problem(contents), every_placement.fewest_migrations(cluster, pool)


def random_weights(rng: random.Random, placed: PlacedProblem, depth: int) -> MigrationWeights:
    """Return weights that prove something as often as not: what is worth as much as it has GPUs, give or take."""
    modulus, full = rng.choice([1, 1, 2, 3, 8]), max((kind.capacity for kind in placed.problem.classes), default=1) or 1
    demands = placed.problem.demands
    return MigrationWeights(
        denominator=full,
        demands=tuple(full - demand + rng.choice([-1, 0, 0, 0, 1]) for demand, _ in demands),
        partial=full - 1 + rng.choice([0, 0, 1]),
        branches=tuple(rng.choice([0, 1, full]) for _ in range(depth)),
        modulus=modulus,
        residues=tuple(rng.randrange(modulus) for _ in range(len(demands) + 1)) if modulus > 1 else (),
    )


def random_tree(rng: random.Random, placed: PlacedProblem, depth: int = 0) -> MigrationTree:
    """Return a tree of random branches and weights, most of them useless."""
    if depth == 3 or rng.random() < 0.4:
        return random_weights(rng, placed, depth)
    group = rng.choice(placed.current)
    counts: list[MigrationCount] = [AllFull(), AllPartial(), WithLoad(group.node_class, sum(group.pattern))]
    counted = rng.choice(counts)
    if placed.problem.demands and rng.random() < 0.4:
        counted = Arrivals(rng.choice(placed.problem.demands)[0])
    below, above = (random_tree(rng, placed, depth + 1) for _ in range(2))
    return MigrationBranch(counted, rng.randint(-1, 4), below, above)


class TestBounds:
    """Whatever the weights, the residues and the branches: the bound is never above the fewest migrations."""

    def test_random_arguments_are_sound(self) -> None:
        rng = random.Random(1)
        strong = 0
        for placed, costs in pools(250, seed=11):
            for _ in range(6):
                tree = random_tree(rng, placed)
                for limit, cost in enumerate(costs):
                    if cost < NEVER:
                        bound = migration_bound(placed, limit, tree)
                        strong += bound > 0
                        assert bound <= cost, (placed, limit, tree)
        assert strong > 50

    def test_huge_weights_are_exact(self) -> None:
        """Beyond 64 bits the same bound comes out as with small numbers."""
        rng = random.Random(2)
        for placed, _ in pools(40, seed=12):
            weights = random_weights(rng, placed, 0)
            factor = 10**30
            scaled = msgspec.structs.replace(
                weights,
                denominator=weights.denominator * factor,
                demands=tuple(y * factor for y in weights.demands),
                partial=weights.partial * factor,
            )
            assert migration_bound(placed, 1, scaled) == migration_bound(placed, 1, weights)

    def test_the_dynamic_program_agrees_with_listing_all_columns(self) -> None:
        rng = random.Random(3)
        for placed, _ in pools(150, seed=13):
            columns = columns_of(placed)
            for leaf in leaves(random_tree(rng, placed)):
                bare = Leaf(msgspec.structs.replace(leaf.weights, modulus=1, residues=()), leaf.cuts)
                for limit in (0, 1, 3):
                    assert PricedNodes(placed, bare).bound(limit) == price(columns, bare).bound(limit)

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"denominator": 0}, "match the demands"),
            ({"demands": ()}, "match the demands"),
            ({"partial": -1}, "negative"),
            ({"branches": (1,)}, "match the branches"),
            ({"modulus": 0}, "modulus"),
            ({"modulus": MAX_MODULUS + 1}, "modulus"),
            ({"residues": (1,)}, "residues do not match"),
            ({"modulus": 2, "residues": (0, 2)}, "not below the modulus"),
            ({"modulus": 2, "residues": (-1, 0)}, "negative"),
        ],
    )
    def test_malformed_weights(self, wrong: dict[str, object], said: str) -> None:
        problem = PackingProblem.build({NodeClass(8, 0, 8): 2}, {3: 1})
        placed = PlacedProblem(problem, packing({(0, ()): 1, (0, (3,)): 1}))
        weights = msgspec.structs.replace(MigrationWeights(1, (0,), 0), **wrong)
        with pytest.raises(ArgumentError, match=said):
            migration_bound(placed, 1, weights)


class TestLattice:
    """The basis spans what the vectors span."""

    @pytest.mark.parametrize(
        ("vectors", "diagonal"),
        [
            ([(2, 0), (0, 3)], [2, 3]),
            ([(2, 1), (0, 3), (4, 5)], [2, 3]),
            ([(6, 0), (10, 0), (15, 0), (0, 1)], [1, 1]),
            ([(0, 4)], [16, 4]),
            ([], [16, 16]),
        ],
    )
    def test_diagonals(self, vectors: list[tuple[int, int]], diagonal: list[int]) -> None:
        basis = lattice_basis(vectors, 2)
        assert [abs(basis[i][i]) for i in range(2)] == diagonal
        assert basis[1][0] == 0


class TestTowards:
    """A plan towards a packing is one of all nodes of all classes."""

    def test_a_packing_of_other_nodes(self) -> None:
        problem = PackingProblem.build({NodeClass(8, 0, 8): 2}, {3: 1})
        placed = PlacedProblem(problem, packing({(0, ()): 1, (0, (3,)): 1}))
        columns = columns_of(placed)
        assert (towards(columns, placed.current) == staying(columns)).all()
        with pytest.raises(ValueError, match="not one of these nodes"):
            towards(columns, packing({(0, ()): 2, (0, (3,)): 1}))


@pytest.fixture(scope="module")
def certificates() -> list[MigrationCertificate]:
    """Certificates with every kind of argument that can be checked."""
    found = [fewest_migrations(placed).certificate for placed, _ in pools(600, seed=6)]
    found = [certificate for certificate in found if certificate.migrations > 1]
    branched = [one for one in found if isinstance(one.argument, MigrationBranch)]
    residues = [one for one in found if isinstance(one.argument, MigrationWeights) and one.argument.modulus > 1]
    assert branched
    assert residues
    return [*found[:30], *branched[:20], *residues[:20]]


def corruptions() -> dict[str, Callable[[MigrationCertificate], MigrationCertificate]]:
    """Return what can be wrong with each field, one at a time."""

    def first(certificate: MigrationCertificate, edit: Callable[[ChangedNodes], ChangedNodes]) -> MigrationCertificate:
        return replace(certificate, changes=(edit(certificate.changes[0]), *certificate.changes[1:]))

    def nodes(certificate: MigrationCertificate, change: Callable[[int], int]) -> MigrationCertificate:
        head, *rest = certificate.problem.nodes
        return replace(certificate, problem=replace(certificate.problem, nodes=(change(head), *rest)))

    def one_more(certificate: MigrationCertificate) -> MigrationCertificate:
        (demand, count), *rest = certificate.problem.demands
        return replace(certificate, problem=replace(certificate.problem, demands=((demand, count + 1), *rest)))

    def raised(argument: object) -> MigrationWeights | MigrationBranch:
        if isinstance(argument, MigrationBranch):
            return msgspec.structs.replace(argument, below=raised(argument.below), above=raised(argument.above))
        assert isinstance(argument, MigrationWeights)
        return msgspec.structs.replace(argument, denominator=argument.denominator * 1000)

    return {
        "nodes of a class": lambda c: nodes(c, lambda count: count + 1),
        "no node": lambda c: nodes(c, lambda _: 0),
        "instances": one_more,
        "present": lambda c: replace(c, present=c.present[1:]),
        "limit": lambda c: replace(c, max_partial_nodes=c.partial_nodes - 1),
        "partial nodes": lambda c: replace(c, partial_nodes=c.partial_nodes + 1, max_partial_nodes=c.partial_nodes + 1),
        "migrations": lambda c: replace(c, migrations=c.migrations + 1),
        "both bounds": lambda c: replace(c, migrations=c.migrations - 1, lower_bound=c.lower_bound - 1),
        "lower bound": lambda c: replace(c, lower_bound=c.lower_bound + 1),
        "weaker bound": lambda c: replace(c, lower_bound=c.lower_bound - 1, status=Status.UNKNOWN),
        "status": lambda c: replace(c, status=Status.UNKNOWN),
        "argument": lambda c: replace(c, argument=raised(c.argument)),
        "a solver's word above the plan": lambda c: replace(
            c, argument=SolverProof("", c.migrations + 1), lower_bound=c.migrations + 1
        ),
        "a change less": lambda c: replace(c, changes=c.changes[1:]),
        "a change twice": lambda c: replace(c, changes=(c.changes[0], *c.changes)),
        "too many nodes": lambda c: first(c, lambda one: replace(one, nodes=10**6)),
        "no nodes": lambda c: first(c, lambda one: replace(one, nodes=0)),
        "no change": lambda c: first(c, lambda one: replace(one, after=one.before)),
        "another pattern before": lambda c: first(c, lambda one: replace(one, before=(99,))),
        "more than fits": lambda c: first(c, lambda one: replace(one, after=(99,))),
        "patterns in disorder": lambda c: first(c, lambda one: replace(one, after=(1, *one.after, 2))),
        "no such class": lambda c: replace(c, changes=(*c.changes, ChangedNodes(99, (), (1,), 1))),
    }


class TestCertificates:
    """What is right is accepted; whatever is changed in it is found."""

    def test_right_ones_hold(self, certificates: list[MigrationCertificate]) -> None:
        for certificate in certificates:
            certificate.verify()
            assert certificate.holds()

    def test_they_survive_json(self, certificates: list[MigrationCertificate]) -> None:
        for certificate in certificates:
            read = MigrationCertificate.from_json(json.loads(json.dumps(certificate.to_json())))
            assert read == certificate
            assert read.holds()

    @pytest.mark.parametrize("name", corruptions())
    def test_corrupted_ones_are_refused(self, certificates: list[MigrationCertificate], name: str) -> None:
        for certificate in certificates:
            corrupted = corruptions()[name](certificate)
            with pytest.raises(CertificateError):
                corrupted.verify()
            assert not corrupted.holds()

    def test_every_number_of_an_argument_matters_or_only_weakens(
        self, certificates: list[MigrationCertificate]
    ) -> None:
        """A changed weight may prove as much by luck, but never more."""
        rng = random.Random(4)
        for certificate in certificates:
            placed = PlacedProblem(certificate.problem, certificate.present)
            for leaf in leaves(certificate.argument) if not isinstance(certificate.argument, SolverProof) else ():
                demands = [y + rng.randint(-1, 1) for y in leaf.weights.demands]
                weights = msgspec.structs.replace(leaf.weights, demands=tuple(demands), branches=())
                changed = replace(certificate, argument=weights)
                bound = migration_bound(placed, certificate.max_partial_nodes, weights)
                assert bound <= certificate.migrations
                assert changed.holds() == (bound == certificate.lower_bound)

    @pytest.mark.parametrize("data", [None, [], {}, {"schema": "compass-abs/certificate/1"}])
    def test_other_data(self, data: object) -> None:
        with pytest.raises(CertificateError, match="schema"):
            MigrationCertificate.from_json(data)

    def test_missing_and_unknown_fields(self, certificates: list[MigrationCertificate]) -> None:
        data = certificates[0].to_json()
        del data["present"]
        with pytest.raises(CertificateError, match="present"):
            MigrationCertificate.from_json(data)
        data = certificates[0].to_json() | {"argument": {"argument": "faith"}}
        with pytest.raises(CertificateError, match="faith"):
            MigrationCertificate.from_json(data)
