"""The migration model (theory §4): how many nodes change from the pattern they hold to which other one.

Nodes of one class that hold the same pattern now are a *group*; a *column* is a group together with a pattern its nodes
may hold afterwards. The model's size depends on how many different groups and patterns there are, never on how many
nodes. Columns are kept as arrays: there are 4,500 for nodes of 8 GPUs, half a million for nodes of 16.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from oracle.node_classes import MAX_LOAD
from oracle.patterns import legal_patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.node_classes import NodeClass, PackedNodes, Packing, Pattern, PlacedProblem

Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

# A class of 16-GPU nodes has 915 patterns and is listed whole. Classes with more get the patterns in use, and those
# that pricing asks for: the bounds then stay exact, only a proof by exhaustion is out of reach.
MAX_PATTERNS = 1_000

# Columns listed in advance: 2 million take 0.4 GB for 16 demands. Beyond, no class of the pool is listed whole.
MAX_COLUMNS = 1_000_000


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a migration model, sorted by group.

    Attributes
    ----------
    groups
        What the nodes hold now.
    demands
        The demands in GPUs, descending: the meaning of the first entries of `effect`.
    supply
        Nodes of each group.
    group
        Index of each column's group.
    after
        What a node of the column holds afterwards.
    effect
        One row a column: for each demand the instances that arrive less those that leave, then 1 if the node is partial
        afterwards, else 0.
    moves
        Instances that arrive on one node of each column: the migrations it costs.
    load
        Movable GPUs on a node of each column afterwards, up to `MAX_LOAD`.
    full
        1 if the node is full afterwards, else 0.
    stay
        For each group the column that changes nothing; where the nodes may not keep what they hold, the one that
        empties them.
    complete
        Whether every legal pattern of every group has its column.
    """

    groups: tuple[PackedNodes, ...]
    demands: tuple[int, ...]
    supply: Integers
    group: Integers
    after: tuple[Pattern, ...]
    effect: Integers
    moves: Integers
    load: Integers
    full: Integers
    stay: Integers
    complete: bool

    @property
    def partial(self) -> Integers:
        """1 for each column whose nodes are partial afterwards, else 0."""
        return self.effect[:, -1]

    def select(self, chosen: Mask) -> tuple[Columns, Integers]:
        """Return the chosen columns, with those that change nothing, and which of all columns they are."""
        kept = chosen.copy()
        kept[self.stay] = True
        position = np.cumsum(kept) - 1
        index = np.flatnonzero(kept)
        selected = Columns(
            groups=self.groups,
            demands=self.demands,
            supply=self.supply,
            group=self.group[index],
            after=tuple(self.after[i] for i in index.tolist()),
            effect=self.effect[index],
            moves=self.moves[index],
            load=self.load[index],
            full=self.full[index],
            stay=position[self.stay],
            complete=self.complete and len(index) == len(kept),
        )
        return selected, index


def columns_of(placed: PlacedProblem, extra: Mapping[int, Iterable[Pattern]] | None = None) -> Columns:
    """Return the columns of a pool.

    Parameters
    ----------
    placed
        The pool: node classes, movable instances, what its nodes hold now.
    extra
        Patterns to list for a class (by index) beside those in use, where it has too many to list all.
    """
    listed = _patterns_by_class(placed)
    complete = all(patterns is not None for patterns in listed)
    pools: list[Sequence[Pattern]] = []
    for c, patterns in enumerate(listed):
        kind = placed.problem.classes[c]
        in_use = {group.pattern for group in placed.current if group.node_class == c and kind.allows(group.pattern)}
        more = set((extra or {}).get(c, ()))
        pools.append(sorted({*in_use, *more, ()}) if patterns is None else patterns)
    return _assemble(placed, pools, complete=complete)


def _patterns_by_class(placed: PlacedProblem) -> list[Sequence[Pattern] | None]:
    problem = placed.problem
    found = [legal_patterns(kind, problem.demands, limit=MAX_PATTERNS) for kind in problem.classes]
    groups = Counter(group.node_class for group in placed.current)
    total = sum(len(patterns) * groups[c] for c, patterns in enumerate(found) if patterns is not None)
    return list(found) if total <= MAX_COLUMNS else [None] * len(found)


def _assemble(placed: PlacedProblem, pools: Sequence[Sequence[Pattern]], *, complete: bool) -> Columns:
    demands = tuple(demand for demand, _ in placed.problem.demands)
    tables = [_table(kind, patterns, demands) for kind, patterns in zip(placed.problem.classes, pools, strict=True)]
    ends = [
        np.array([(min(load := sum(pattern), MAX_LOAD), kind.is_full(load)) for pattern in patterns], np.int64)
        for kind, patterns in zip(placed.problem.classes, pools, strict=True)
    ]
    effects = [np.zeros((0, len(demands) + 1), np.int64)]
    after: list[Pattern] = []
    stay: list[int] = []
    for nodes in placed.current:
        c = nodes.node_class
        kind = placed.problem.classes[c]
        change = tables[c].copy()
        change[:, :-1] -= _table(kind, [nodes.pattern], demands)[0, :-1]
        stay.append(len(after) + pools[c].index(nodes.pattern if kind.allows(nodes.pattern) else ()))
        effects.append(change)
        after += pools[c]
    effect = np.concatenate(effects)
    end = np.concatenate([np.zeros((0, 2), np.int64), *(ends[nodes.node_class] for nodes in placed.current)])
    return Columns(
        groups=placed.current,
        demands=demands,
        supply=np.array([nodes.nodes for nodes in placed.current], np.int64),
        group=np.repeat(np.arange(len(placed.current)), [len(pools[nodes.node_class]) for nodes in placed.current]),
        after=tuple(after),
        effect=effect,
        moves=np.maximum(effect[:, :-1], 0).sum(axis=1),
        load=end[:, 0],
        full=end[:, 1],
        stay=np.array(stay, np.int64),
        complete=complete,
    )


def _table(kind: NodeClass, patterns: Sequence[Pattern], demands: Sequence[int]) -> Integers:
    """Return one row a pattern: how often it has each demand, then whether it makes a node partial."""
    index = {demand: d for d, demand in enumerate(demands)}
    table = np.zeros((len(patterns), len(demands) + 1), np.int64)
    for row, pattern in zip(table, patterns, strict=True):
        for demand in pattern:
            row[index[demand]] += 1
        row[-1] = kind.is_partial(sum(pattern))
    return table


def group_starts(columns: Columns) -> Integers:
    """Return the first column of each group."""
    return np.searchsorted(columns.group, np.arange(len(columns.groups)))


def staying(columns: Columns) -> Integers | None:
    """Return the plan that changes nothing: nodes of each column. None if some nodes may not keep what they hold."""
    if columns.effect[columns.stay, :-1].any():
        return None
    plan = np.zeros(len(columns.after), np.int64)
    plan[columns.stay] = columns.supply
    return plan


def towards(columns: Columns, wanted: Packing) -> Integers:
    """Return a plan that ends with this packing: nodes of each column, cheap columns first. Not the cheapest plan.

    Raises
    ------
    ValueError
        A pattern of the packing has no column, or the packing is of other nodes.
    """
    left = Counter({(group.node_class, group.pattern): group.nodes for group in wanted})
    supply = columns.supply.tolist()
    plan = np.zeros(len(columns.after), np.int64)
    cheapest_first: list[int] = np.lexsort((columns.group, columns.moves)).tolist()
    for i in cheapest_first:
        g = int(columns.group[i])
        key = (columns.groups[g].node_class, columns.after[i])
        if nodes := min(supply[g], left[key]):
            plan[i] = nodes
            supply[g] -= nodes
            left[key] -= nodes
    if any(supply) or any(left.values()):
        raise ValueError("this packing is not one of these nodes")
    return plan
