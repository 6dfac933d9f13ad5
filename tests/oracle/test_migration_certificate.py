"""Bounds hold for any weights and trees; certificates of migrations are checked, corrupted ones refused."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from oracle.optimum.certificate import CertificateError, Status
from oracle.optimum.migration_certificate import ChangedNodes, MigrationCertificate
from oracle.optimum.model import Pool
from oracle.optimum.node_classes import NodeClass, PackingProblem, PlacedProblem, constrained_problem, packing
from oracle.optimum.proof import Proof
from oracle.optimum.weights import ArgumentError, Arrivals, Branch, Free, Full, Leaving, Partial, SolverProof, Weights
from tests.oracle import every_placement
from tests.oracle.every_placement import NEVER
from tests.oracle.small_pools import clusters, fewest_migrations, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.optimum.weights import Count, Tree
    from tests.oracle.every_placement import Costs


def pools(count: int, seed: int) -> Iterator[tuple[PlacedProblem, Costs]]:
    for cluster in clusters(count, seed):
        for pool, contents in snapshot_of(cluster).contents.items():
            yield constrained_problem(contents), every_placement.fewest_migrations(cluster, pool)


def random_weights(rng: random.Random, pool: Pool, depth: int) -> Weights:
    """Return weights that prove something as often as not: what is worth as much as it has GPUs, give or take."""
    full = max((kind.node_class.capacity for kind in pool.nodes), default=1) or 1
    demands = sorted(pool.instances, reverse=True)
    if rng.random() < 0.3:
        values = tuple(demand + rng.choice([-1, 0, 0, 0]) for demand in demands)
        return Weights(full - 1, 0, values, tuple(rng.choice([0, 1, full]) for _ in range(depth)))
    return Weights(
        partial=full - 1 + rng.choice([0, 0, 1]),
        arrival=full,
        demands=tuple(full - demand + rng.choice([-1, 0, 0, 0, 1]) for demand in demands),
        branches=tuple(rng.choice([0, 1, full]) for _ in range(depth)),
    )


def random_tree(rng: random.Random, pool: Pool, depth: int = 0) -> Tree:
    """Return a tree of random branches and weights, most of them useless."""
    if depth == 3 or rng.random() < 0.4:
        return random_weights(rng, pool, depth)
    kind = rng.choice(list(pool.nodes))
    counts: list[Count] = [Full(), Partial(), Free(rng.randint(0, kind.node_class.capacity))]
    if pool.instances and rng.random() < 0.4:
        counts = [Arrivals(rng.choice(list(pool.instances)))]
    elif kind.holds and rng.random() < 0.4:
        counts = [Leaving(rng.choice(kind.holds), kind.holds)]
    below, above = (random_tree(rng, pool, depth + 1) for _ in range(2))
    return Branch(rng.choice(counts), rng.randint(-1, 4), below, above)


class TestBounds:
    """Whatever the weights and the branches: no bound is above what is so in the best placement."""

    def test_random_arguments_are_sound(self) -> None:
        rng = random.Random(1)
        strong: Counter[str] = Counter()
        for placed, costs in pools(250, seed=11):
            pool = Pool.of(placed)
            fewest = next(limit for limit, cost in enumerate(costs) if cost < NEVER)
            for _ in range(6):
                tree = random_tree(rng, pool)
                proof = Proof(pool, tree)
                assert proof.partial_nodes() <= fewest, (placed, tree)
                strong["partial"] += proof.partial_nodes() > 0
                for limit, cost in enumerate(costs):
                    if cost < NEVER:
                        strong["moves"] += proof.arrivals(limit) > 0
                        assert proof.arrivals(limit) <= cost, (placed, limit, tree)
        assert strong["partial"] > 20
        assert strong["moves"] > 50

    def test_huge_weights_are_exact(self) -> None:
        """Beyond 64 bits the same bound comes out as with small numbers."""
        rng = random.Random(2)
        factor = 10**30
        for placed, _ in pools(40, seed=12):
            pool = Pool.of(placed)
            weights = random_weights(rng, pool, 0)
            values = tuple(y * factor for y in weights.demands)
            scaled = Weights(weights.partial * factor, weights.arrival * factor, values)
            assert Proof(pool, scaled).arrivals(1) == Proof(pool, weights).arrivals(1)

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"arrival": -1}, "negative"),
            ({"demands": ()}, "match the demands"),
            ({"partial": -1}, "negative"),
            ({"branches": (1,)}, "match the demands or the branches"),
        ],
    )
    def test_malformed_weights(self, wrong: dict[str, object], said: str) -> None:
        problem = PackingProblem.build({NodeClass(8, 0, 8): 2}, {3: 1})
        placed = PlacedProblem(problem, packing({(0, ()): 1, (0, (3,)): 1}))
        weights = msgspec.structs.replace(Weights(0, 1, (0,)), **wrong)
        with pytest.raises(ArgumentError, match=said):
            Proof(Pool.of(placed), weights)


@pytest.fixture(scope="module")
def certificates() -> list[MigrationCertificate]:
    """Certificates with every kind of argument that can be checked."""
    found = [fewest_migrations(placed) for placed, _ in pools(600, seed=6)]
    found = [certificate for certificate in found if certificate.migrations > 1 and certificate.recheckable]
    branched = [one for one in found if isinstance(one.argument, Branch)]
    assert branched
    return [*found[:30], *branched[:20]]


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

    def raised(argument: object) -> Tree:
        if isinstance(argument, Branch):
            return msgspec.structs.replace(argument, below=raised(argument.below), above=raised(argument.above))
        assert isinstance(argument, Weights)
        return msgspec.structs.replace(argument, arrival=max(1, argument.arrival) * 1000)

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

    @pytest.mark.long
    def test_right_ones_hold(self, certificates: list[MigrationCertificate]) -> None:
        for certificate in certificates:
            certificate.verify()
            assert certificate.holds()

    def test_they_survive_json(self, certificates: list[MigrationCertificate]) -> None:
        for certificate in certificates:
            read = MigrationCertificate.from_json(json.loads(json.dumps(certificate.to_json())))
            assert read == certificate
            assert read.holds()

    @pytest.mark.long
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
            pool = Pool.of(PlacedProblem(certificate.problem, certificate.present))
            if isinstance(certificate.argument, Weights):
                demands = tuple(y + rng.randint(-1, 1) for y in certificate.argument.demands)
                weights = msgspec.structs.replace(certificate.argument, demands=demands)
                bound = Proof(pool, weights).arrivals(certificate.max_partial_nodes)
                assert bound <= certificate.migrations
                assert replace(certificate, argument=weights).holds() == (bound == certificate.lower_bound)

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
