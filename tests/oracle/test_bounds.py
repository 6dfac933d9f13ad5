"""Lower bounds: sound for any weights and any tree, and as strong as stated where that matters."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from oracle.bounds import (
    MAX_LOAD_BOUND_GPUS,
    AllFull,
    ArgumentError,
    Branch,
    Cut,
    LoadBound,
    Weights,
    WithLoad,
    load_bound,
    tree_bound,
    weights_bound,
)
from oracle.node_classes import NodeClass, PackingProblem, constrained_problem, contents_by_pool, ideal_problem
from oracle.patterns import legal_patterns
from tests.oracle import brute_force
from tests.oracle.small_pools import clusters, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle.bounds import NodeCount, Tree
    from oracle.node_classes import Packing, Pattern


def problems(count: int, seed: int) -> Iterator[tuple[PackingProblem, int, Packing]]:
    """Yield problems with the fewest partial nodes, by exhaustive search, and a packing. One pool a cluster."""
    for cluster in clusters(count, seed):
        pools = list(contents_by_pool(snapshot_of(cluster)).values())
        if len(pools) == 1:
            constrained, ideal = constrained_problem(pools[0]), ideal_problem(pools[0])
            yield constrained.problem, brute_force.inherent(cluster)[0], constrained.current
            yield ideal.problem, brute_force.ideal(cluster)[0], ideal.current


def random_tree(rng: random.Random, problem: PackingProblem, current: Packing, depth: int = 0) -> Tree:
    """Return a tree of random branches and weights, most of them useless."""
    if depth == 3 or rng.random() < 0.3:
        return Weights(
            rng.randint(1, 6),
            tuple(rng.randint(-3, 6) for _ in problem.demands),
            tuple(rng.randint(0, 6) for _ in range(depth)),
        )
    group = rng.choice(current)
    load = sum(group.pattern)
    counted: NodeCount = WithLoad(group.node_class, load) if rng.random() < 0.7 else AllFull()
    below, above = (random_tree(rng, problem, current, depth + 1) for _ in range(2))
    return Branch(counted, rng.randint(0, 4), below, above)


class TestSoundness:
    """No argument, however it was made, proves more partial nodes than the optimum has."""

    def test_load_bound(self) -> None:
        for problem, optimum, _ in problems(300, seed=11):
            assert load_bound(problem) <= optimum, problem

    def test_any_tree_with_any_weights(self) -> None:
        rng = random.Random(12)
        for problem, optimum, current in problems(200, seed=12):
            for _ in range(10):
                tree = random_tree(rng, problem, current)
                assert tree_bound(problem, tree) <= optimum, (problem, tree)


class TestInnerMinimum:
    """The dynamic program over loads finds the same minimum as looking at every pattern."""

    def test_against_listed_patterns(self) -> None:
        rng = random.Random(13)
        for problem, _, current in problems(100, seed=13):
            tree = random_tree(rng, problem, current)
            cuts: list[Cut] = []
            while isinstance(tree, Branch):
                at_least = rng.random() < 0.5
                cuts.append(Cut(tree.counted, tree.at_most + at_least, at_least))
                tree = tree.above if at_least else tree.below
            assert weights_bound(problem, tree, cuts) == listed_bound(problem, tree, cuts), (problem, tree, cuts)


def listed_bound(problem: PackingProblem, weights: Weights, cuts: list[Cut]) -> int:
    """Return the Lagrangean bound by its definition, over listed patterns."""
    y = {demand: weight for (demand, _), weight in zip(problem.demands, weights.demands, strict=True)}
    signed = [(cut, z if cut.at_least else -z) for cut, z in zip(cuts, weights.branches, strict=True)]
    bound = sum(y[demand] * count for demand, count in problem.demands) + sum(z * cut.bound for cut, z in signed)
    for c, (kind, nodes) in enumerate(zip(problem.classes, problem.nodes, strict=True)):
        prices: list[int] = []
        for pattern in legal_patterns(kind, problem.demands, limit=10_000) or ():
            price = weights.denominator * kind.is_partial(sum(pattern)) - sum(y[demand] for demand in pattern)
            prices.append(price - sum(z for cut, z in signed if is_counted(cut.counted, c, kind, pattern)))
        bound += nodes * min(prices)
    return -(-bound // weights.denominator)


def is_counted(counted: NodeCount, c: int, kind: NodeClass, pattern: Pattern) -> bool:
    match counted:
        case AllFull():
            return kind.is_full(sum(pattern))
        case WithLoad(node_class=of, load=load):
            return (of, load) == (c, sum(pattern))


class TestLoadBound:
    def problem(self, demands: dict[int, int], **nodes: int) -> PackingProblem:
        """Nodes by name: ``n8=3`` is three nodes of 8 GPUs, ``n8held2=1`` one with 2 GPUs held immovably."""
        kinds: Counter[NodeClass] = Counter()
        for name, count in nodes.items():
            capacity, _, held = name[1:].partition("held")
            kinds[NodeClass(int(capacity), int(held or 0), int(capacity) - int(held or 0))] = count
        return PackingProblem.build(kinds, demands)

    def test_remainder(self) -> None:
        assert load_bound(self.problem({1: 16}, n8=4)) == 0
        assert load_bound(self.problem({1: 17}, n8=4)) == 1

    def test_several_capacities(self) -> None:
        assert load_bound(self.problem({1: 12}, n8=4, n4=1)) == 0
        assert load_bound(self.problem({1: 20}, n8=4, n4=1)) == 0
        assert load_bound(self.problem({1: 16}, n8=1, n4=1, n5=1)) == 1  # 8, 4, 5: no sum is 16

    def test_full_loads_must_be_sums_of_demands(self) -> None:
        assert load_bound(self.problem({3: 8}, n8=4)) == 1  # 24 GPUs, but no node is filled by threes

    def test_nodes_that_cannot_help_being_partial(self) -> None:
        assert load_bound(self.problem({8: 1}, n8=1, n8held2=3)) == 3
        assert load_bound(self.problem({3: 8, 4: 1}, n8=4, n8held3=1)) == 1 + 1  # the 4 leaves 1 free; 24 are no sum

    def test_a_node_that_takes_nothing_new(self) -> None:
        alone = PackingProblem.build({NodeClass(8, 0, 0, (4, 2)): 1}, {4: 1, 2: 1})
        assert load_bound(alone) == 1
        beside = PackingProblem.build({NodeClass(8, 0, 0, (4, 2)): 1, NodeClass(6, 0, 6): 1}, {4: 1, 2: 1})
        assert load_bound(beside) == 0

    def test_many_nodes_with_many_loads(self) -> None:
        rng = random.Random(11)
        unreachable = 0
        for _ in range(300):
            demands = {gpus: rng.randint(1, 30) for gpus in rng.sample(range(1, 10), rng.randint(1, 2))}
            # Something is held for ever, and the node cannot be filled: it is partial with any load that has room.
            (a, most_a), (b, most_b) = [*demands.items(), (0, 0)][:2]
            sums_of_one = {a * x + b * y for x in range(most_a + 1) for y in range(most_b + 1)}
            held, room = rng.randint(1, 3), rng.randint(2, 13)
            if held + room == 16 and room in sums_of_one:
                continue
            nodes = rng.randint(1, 40)
            loads = {load for load in sums_of_one if load <= room}
            sums = {0}
            for _ in range(nodes):
                sums = {before + load for before in sums for load in loads}
            total = a * most_a + b * most_b
            found = load_bound(PackingProblem.build({NodeClass(16, held, room): nodes}, demands))
            assert found == nodes + (total not in sums), (held, room, nodes, demands)
            unreachable += total not in sums
        assert unreachable > 30

    def test_more_nodes_than_any_cluster_has(self) -> None:
        """As a certificate may claim that somebody made up; a pass for each node would not end."""
        assert load_bound(self.problem({7: 1 << 17, 4: 1 << 17}, n16held6=10**12)) == 10**12

    def test_it_is_not_attempted_on_absurd_sizes(self) -> None:
        huge = MAX_LOAD_BOUND_GPUS + 1
        assert load_bound(PackingProblem.build({NodeClass(8, 0, 0, (huge,)): 1}, {huge: 1})) == 0


class TestMalformedArguments:
    PROBLEM = PackingProblem.build({NodeClass(8, 0, 8): 2}, {3: 2})

    @pytest.mark.parametrize(
        "tree",
        [
            Weights(0, (1,)),
            Weights(2, ()),
            Weights(2, (1, 1)),
            Weights(2, (1,), (1,)),
            Branch(AllFull(), 0, Weights(1, (1,), (0,)), Weights(1, (1,))),
            Branch(AllFull(), 0, Weights(1, (1,), (-1,)), Weights(1, (1,), (0,))),
        ],
    )
    def test_they_are_refused(self, tree: Tree) -> None:
        with pytest.raises(ArgumentError):
            tree_bound(self.PROBLEM, tree)

    def test_the_load_bound_needs_no_data(self) -> None:
        assert LoadBound() == LoadBound()
