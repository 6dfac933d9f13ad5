"""A choice of nodes and instances for a plan, with what is known about all others; and the nodes to choose from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracle.optimum.node_classes import constrained_class, constrained_problem
from oracle.planning.choosing.disturbance import Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.optimum.migration_certificate import MigrationCertificate
    from oracle.optimum.node_classes import PlacedProblem
    from oracle.planning.choosing.disturbance import Selection
    from oracle.snapshots.model import NodeContent, Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whose instances move, and what any choice as good costs at least.

    Attributes
    ----------
    selection
        The nodes that change and the instances that leave them.
    plans
        The same at pattern level, one a pool, with bounds on the migrations.
    partial_lower_bound, migrations_lower_bound
        Partial nodes at least; migrations of every choice with so few partial nodes, at least.
    jobs_lower_bound, weight_lower_bound
        Jobs disturbed by every choice with as few partial nodes in each pool and as few migrations, at least; their
        weight.
    """

    selection: Selection
    plans: tuple[MigrationCertificate, ...]
    partial_lower_bound: int
    migrations_lower_bound: int
    jobs_lower_bound: int
    weight_lower_bound: int

    @property
    def partial_nodes(self) -> int:
        """Partial nodes of all pools together afterwards."""
        return sum(plan.partial_nodes for plan in self.plans)

    @property
    def is_settled(self) -> bool:
        """Whether no choice has fewer partial nodes, or as few with fewer migrations."""
        fewest = self.partial_nodes <= self.partial_lower_bound
        return fewest and self.selection.migrations == self.migrations_lower_bound


@dataclass(frozen=True, slots=True)
class PoolNodes:
    """The nodes of one pool.

    Attributes
    ----------
    contents
        The nodes with what they hold.
    placed
        The problem they make.
    index
        The groups of the problem by class and pattern.
    groups
        The group of each node.
    """

    contents: tuple[NodeContent, ...]
    placed: PlacedProblem
    index: Mapping[tuple[int, Pattern], int]
    groups: tuple[int, ...]

    @classmethod
    def of(cls, contents: tuple[NodeContent, ...]) -> PoolNodes:
        """Return the pool of these nodes."""
        placed = constrained_problem(contents)
        index = {(group.node_class, group.pattern): g for g, group in enumerate(placed.current)}
        number = {kind: c for c, kind in enumerate(placed.problem.classes)}
        groups = tuple(index[number[constrained_class(node)], node.movable] for node in contents)
        return cls(contents, placed, index, groups)

    def option(self, g: int, after: Pattern) -> Option:
        """Return what it means for a node of group g to hold `after`."""
        group = self.placed.current[g]
        kind = self.placed.problem.classes[group.node_class]
        return Option.of(group.pattern, after, partial=kind.is_partial(sum(after)))

    def options(self, patterns: Iterable[tuple[int, Pattern]]) -> dict[int, tuple[Option, ...]]:
        """Return the options of each group that has a choice: what it holds now, then the other patterns given."""
        found: defaultdict[int, set[Pattern]] = defaultdict(set)
        for g, after in patterns:
            found[g].add(after)
        return {
            g: tuple(self.option(g, after) for after in (self.placed.current[g].pattern, *sorted(others)))
            for g, several in found.items()
            if (others := several - {self.placed.current[g].pattern})
        }

    def used(self, plan: MigrationCertificate) -> list[tuple[int, Pattern]]:
        """Return what a plan is made of, apart from what stays: pairs of a group and what its nodes get."""
        return [(self.index[change.node_class, change.before], change.after) for change in plan.changes]

    def wanted(self, plan: MigrationCertificate) -> dict[int, list[tuple[Option, int]]]:
        """Return for each group that changes which options how many of its nodes take."""
        wanted: defaultdict[int, list[tuple[Option, int]]] = defaultdict(list)
        for change in plan.changes:
            g = self.index[change.node_class, change.before]
            wanted[g].append((self.option(g, change.after), change.nodes))
        return wanted

    def partial_outside(self, groups: Iterable[int]) -> int:
        """Return the partial nodes of today that are in none of these groups."""
        left_out = set(groups)
        kinds = self.placed.problem.classes
        return sum(
            group.nodes
            for g, group in enumerate(self.placed.current)
            if g not in left_out and kinds[group.node_class].is_partial(sum(group.pattern))
        )
