"""The integer program of the oracle: what the nodes of some pools keep, what they get, and how they end.

Every node first keeps a part of what it holds. That leaves it so many free GPUs, and from then on it does not matter
which node it was: what it gets is a walk over free GPUs, from 5 to 2 by an instance of 3, and where the walk ends says
whether the node is full, partial or empty. So there are three small sets of columns, the parts kept of each pattern
present, the steps of the walks and their ends, where pairs of patterns before and after would be a product. Both
describe the same placements, and a flow over free GPUs decomposes into the walks of single nodes.

The size depends on how many different nodes and demands there are, never on how many nodes. Every question of the
oracle is this program with something to be least and something to be kept: fewest partial nodes, fewest moves to so few
of them, most waiting instances, most waiting jobs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

from oracle.optimum.node_classes import PlacedProblem, constrained_class
from oracle.optimum.parts import Parts, parts_of
from oracle.optimum.solver import Program, Row, SolverError
from oracle.snapshots.kinds import FREE, Rules, gpus_of, group_of, total_gpus
from oracle.snapshots.model import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracle.optimum.node_classes import NodeClass, PackingProblem
    from oracle.snapshots.kinds import Kind
    from oracle.snapshots.model import NodeContent, Pattern

Terms: TypeAlias = tuple[tuple[int, int], ...]
"""A linear function: pairs of a column and its coefficient."""


class NodeKind(NamedTuple):
    """A kind of nodes: of one class, and with the same movable instances now.

    `mark` tells nodes apart that are alike in both, where it matters which is which.
    """

    node_class: NodeClass
    holds: Pattern
    mark: str = ""

    @classmethod
    def of(cls, content: NodeContent) -> NodeKind:
        """Return the kind of a node when cordons and immovable instances are respected."""
        return cls(constrained_class(content), content.movable)


@dataclass(frozen=True, slots=True)
class Pool:
    """What the program is about: nodes, and the instances that are to stand on them in the end.

    Attributes
    ----------
    nodes
        How many nodes there are of each kind.
    instances
        How many instances there are, by demand in GPUs. Those that no node holds now wait for a place: they arrive like
        instances that move.
    optional
        Instances by demand that may be placed besides, at most so many.
    """

    nodes: Mapping[NodeKind, int]
    instances: Mapping[int, int]
    optional: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def demands(self) -> list[int]:
        """The demands of the instances, descending: the order of the weights of an argument."""
        return sorted(self.instances, reverse=True)

    @property
    def is_ruled(self) -> bool:
        """Whether GPUs are not all that matters on some node."""
        return any(kind.node_class.rules != FREE for kind in self.nodes)

    def without_rules(self) -> Pool:
        """Return the pool as if GPUs were all that matters. Every arrangement of this one is one of that."""
        nodes: Counter[NodeKind] = Counter()
        for kind, count in self.nodes.items():
            own = pattern_of(map(gpus_of, kind.node_class.own))
            holds = pattern_of(map(gpus_of, kind.holds))
            nodes[NodeKind(replace(kind.node_class, own=own, rules=FREE), holds, kind.mark)] += count
        instances: Counter[int] = Counter()
        for demand, count in self.instances.items():
            instances[gpus_of(demand)] += count
        return Pool(nodes, instances)

    @classmethod
    def of(cls, placed: PlacedProblem) -> Pool:
        """Return what a pool holds now."""
        kinds = placed.problem.classes
        nodes = {NodeKind(kinds[group.node_class], group.pattern): group.nodes for group in placed.current}
        return cls(nodes, dict(placed.problem.demands))

    @classmethod
    def unplaced(cls, problem: PackingProblem) -> Pool:
        """Return a packing problem as a pool: nodes hold only what they alone may keep, all else waits."""
        return cls.of(PlacedProblem.unplaced(problem))


class Change(NamedTuple):
    """What nodes of a kind hold afterwards."""

    kind: NodeKind
    after: Pattern

    @property
    def leaving(self) -> Counter[int]:
        """How many instances of each demand leave such a node."""
        return Counter(self.kind.holds) - Counter(self.after)

    @property
    def arriving(self) -> Counter[int]:
        """How many instances of each demand arrive on such a node."""
        return Counter(self.after) - Counter(self.kind.holds)


class _State(NamedTuple):
    """A node of a pool, by position, that has room for so many GPUs; `idle` if it has nothing else.

    `closed` GPUs are neither in use nor to be had: none, but on nodes that no cluster has. `rules` are what else it
    keeps, with what is spare still; of the jobs `there` it takes no second instance.
    """

    pool: int
    free: int
    closed: int
    idle: bool
    rules: Rules = FREE
    there: tuple[int, ...] = ()

    def takes(self, kind: Kind) -> bool:
        """Whether an instance of a kind may come."""
        if gpus_of(kind) > self.free:
            return False
        return self.rules == FREE or (
            not {*self.rules.jobs([group_of(kind)])} & {*self.there} and self.rules.allow([kind])
        )


class _Step(NamedTuple):
    """A node in a state gets an instance."""

    state: _State
    kind: Kind

    def leads_to(self) -> _State:
        state = self.state
        free = state.free - gpus_of(self.kind)
        if not state.rules.apart and not state.rules.spare:
            return _State(state.pool, free, state.closed, idle=False, rules=state.rules)
        return state._replace(free=free, idle=False, **_beside(state.rules, state.there, [self.kind]))


class _RulesLeft(TypedDict):
    rules: Rules
    there: tuple[int, ...]


class _End(NamedTuple):
    """How nodes end."""

    pool: int
    free: int
    partial: bool
    full: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """The nodes of a kind, and the columns of what they keep."""

    pool: int
    kind: NodeKind
    parts: Parts
    columns: range


class Model:
    """The program of several pools side by side.

    The rows begin with one for each pool and demand, in the order of `demands`: their dual values say what instances
    weigh.

    Attributes
    ----------
    demands
        Pairs of a pool, by position, and a demand in GPUs.
    rows
        What any placement keeps.
    """

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._uppers: list[int] = []
        self._kept: list[_Kept] = []
        self._steps: dict[int, _Step] = {}
        self._ends: dict[int, _End] = {}
        self._placed: dict[tuple[int, int], int] = {}
        self._packs: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._balance: defaultdict[_State, list[tuple[int, int]]] = defaultdict(list)
        self._pools = len(pools)
        node_rows: list[Row] = []
        for p, pool in enumerate(pools):
            for kind in sorted(pool.nodes):
                node_rows += self._add_kept(p, kind, pool.nodes[kind])
            self._add_walks(p, pool)
        self.demands = tuple((p, demand) for p, pool in enumerate(pools) for demand in _demands(pool))
        counts = (pools[p].instances.get(demand, 0) for p, demand in self.demands)
        demand_rows = (Row(n, n, tuple(self._packs[key])) for key, n in zip(self.demands, counts, strict=True))
        balance = (Row(0, 0, tuple(terms)) for terms in self._balance.values())
        self.rows = (*demand_rows, *node_rows, *balance)

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self._uppers)

    @property
    def moves(self) -> Terms:
        """Counts the instances that arrive on a node, whether they move or had none."""
        return tuple((column, 1) for column in self._steps)

    def moves_in(self, p: int) -> Terms:
        """Return the terms that count the instances that arrive on a node of one pool."""
        return tuple((column, 1) for column, step in self._steps.items() if step.state.pool == p)

    @property
    def gpus(self) -> Terms:
        """Adds up the GPUs of the instances that arrive on a node."""
        return tuple((column, gpus_of(step.kind)) for column, step in self._steps.items())

    @property
    def partial(self) -> Terms:
        """Counts the nodes that are partial in the end."""
        return tuple((column, 1) for column, end in self._ends.items() if end.partial)

    def partial_in(self, p: int) -> Terms:
        """Return the terms that count the nodes of one pool that are partial in the end."""
        return tuple((column, 1) for column, end in self._ends.items() if end.partial and end.pool == p)

    @property
    def full(self) -> Terms:
        """Counts the nodes that are full in the end."""
        return tuple((column, 1) for column, end in self._ends.items() if end.full)

    def with_free(self, free: int) -> Terms:
        """Return the terms that count the nodes that have just so many GPUs free in the end."""
        return tuple((column, 1) for column, end in self._ends.items() if end.free == free)

    def arrivals(self, gpus: int) -> Terms:
        """Return the terms that count the instances of one demand that arrive on a node."""
        return tuple((column, 1) for column, step in self._steps.items() if step.kind == gpus)

    def leaving(self, gpus: int, before: Pattern) -> Terms:
        """Return the terms that count the instances of one demand that leave nodes that hold `before` now."""
        return tuple(
            (column, before.count(gpus) - part.takes.count(gpus))
            for kept in self._kept
            if kept.kind.holds == before and not kept.parts.steps
            for column, part in zip(kept.columns, kept.parts.columns, strict=True)
        )

    def kept(self) -> Iterator[tuple[int, NodeKind, Mapping[int, Terms]]]:
        """Yield each pool and kind, with the terms that count by demand the instances that its nodes keep."""
        for kept in self._kept:
            terms: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
            for column, part in zip(kept.columns, kept.parts.columns, strict=True):
                for gpus, copies in Counter(part.takes).items():
                    terms[gpus].append((column, copies))
            yield kept.pool, kept.kind, {gpus: tuple(found) for gpus, found in terms.items()}

    def befores(self) -> tuple[Pattern, ...]:
        """Return what nodes hold now, where it is listed which parts of it they may keep."""
        return tuple(sorted({kept.kind.holds for kept in self._kept if not kept.parts.steps}))

    def placed(self, p: int, gpus: int) -> Terms:
        """Return the terms that count the optional instances of one demand that have a place in a pool."""
        return ((self._placed[p, gpus], 1),) if (p, gpus) in self._placed else ()

    def ends_free(self) -> tuple[int, ...]:
        """Return the numbers of free GPUs with which nodes may end, ascending."""
        return tuple(sorted({end.free for end in self._ends.values()}))

    def program(
        self, minimise: Iterable[tuple[int, int]], rows: Iterable[Row] = (), *, more_columns: Sequence[int] = ()
    ) -> Program:
        """Return the program that makes a linear function least.

        Parameters
        ----------
        minimise
            Its terms.
        rows
            What is to be kept besides.
        more_columns
            Upper bounds of columns beside those of the model; their numbers begin at `size`.
        """
        costs = [0] * (self.size + len(more_columns))
        for column, cost in minimise:
            costs[column] += cost
        return Program(tuple(costs), (*self._uppers, *more_columns), (*self.rows, *rows))

    def decode(self, values: Sequence[int]) -> list[Counter[Change]]:
        """Return for each pool how many nodes change in which way; those that stay as they are, too.

        Raises
        ------
        SolverError
            The values are no solution.
        """
        walks = _Walks({step: values[column] for column, step in self._steps.items()})
        found: list[Counter[Change]] = [Counter() for _ in range(self._pools)]
        for kept in self._kept:
            for part, count in kept.parts.decode([values[column] for column in kept.columns]):
                state = _state(kept.pool, kept.kind.node_class, total_gpus(part), part)
                ways = Counter({(): count}) if state is None else walks.take(state, count)
                for taken, nodes in ways.items():
                    after = tuple(sorted((*part, *taken), reverse=True))
                    found[kept.pool][Change(kept.kind, after)] += nodes
        walks.check_finished()
        return found

    def _column(self, upper: int) -> int:
        self._uppers.append(upper)
        return len(self._uppers) - 1

    def _add_kept(self, p: int, nodes: NodeKind, count: int) -> Iterator[Row]:
        kind = nodes.node_class
        parts = parts_of(kind, nodes.holds)
        first = self.size
        for part in parts.columns:
            column = self._column(count)
            for demand, copies in Counter(part.takes).items():
                self._packs[p, demand].append((column, copies))
            if part.load is None:
                continue
            state = _state(p, kind, part.load, part.takes)
            if state is None:
                free = kind.capacity - kind.held - part.load
                self._ends[column] = _End(p, free, kind.is_partial(part.load), kind.is_full(part.load))
            else:
                self._balance[state].append((column, -1))
        self._kept.append(_Kept(p, nodes, parts, range(first, self.size)))
        for supply, terms in parts.rows:
            yield Row(supply * count, supply * count, tuple((first + c, k) for c, k in terms))

    def _add_walks(self, p: int, pool: Pool) -> None:
        for demand, most in sorted(pool.optional.items()):
            column = self._placed[p, demand] = self._column(most)
            self._packs[p, demand].append((column, -1))
        counts = Counter(pool.instances) + Counter(pool.optional)
        nodes = sum(pool.nodes.values())
        pending = sorted(state for state in self._balance if state.pool == p)
        seen = set(pending)
        while pending:
            state = pending.pop()
            for demand in sorted(counts):
                if state.takes(demand):
                    step = _Step(state, demand)
                    column = self._column(counts[demand])
                    self._steps[column] = step
                    self._packs[p, demand].append((column, 1))
                    self._balance[state].append((column, 1))
                    self._balance[step.leads_to()].append((column, -1))
                    if step.leads_to() not in seen:
                        seen.add(step.leads_to())
                        pending.append(step.leads_to())
            column = self._column(nodes)
            self._balance[state].append((column, 1))
            free = state.free + state.closed
            self._ends[column] = _End(p, free, free > 0 and not state.idle, full=free == 0)


def _demands(pool: Pool) -> list[int]:
    return sorted({*pool.instances, *pool.optional}, reverse=True)


def _state(p: int, node: NodeClass, load: int, kept: Pattern) -> _State | None:
    """Return where the walk of a node begins that keeps these instances; None if it gets nothing."""
    if not node.room or load > node.room:
        return None
    state = _State(p, node.room - load, node.capacity - node.held - node.room, idle=node.is_empty(load))
    if node.rules == FREE:
        return state
    return state._replace(**_beside(node.rules, (), kept))


def _beside(rules: Rules, there: tuple[int, ...], kept: Iterable[Kind]) -> _RulesLeft:
    """Return what the rules of a node leave beside these instances, and the jobs there that stand apart."""
    groups = [group_of(kind) for kind in kept]
    spare = rules.left(rules.spare, groups)
    return {
        "rules": rules._replace(spare=spare or (0,) * len(rules.spare)),
        "there": tuple(sorted({*there, *rules.jobs(groups)})),
    }


class _Walks:
    """The steps of all nodes together, from which single walks are taken; every step is taken in the end."""

    def __init__(self, steps: Mapping[_Step, int]) -> None:
        self._left: defaultdict[_State, list[_Step]] = defaultdict(list)
        self._count = dict(steps)
        for step, count in steps.items():
            if count:
                self._left[step.state].append(step)

    def take(self, state: _State, nodes: int) -> Counter[Pattern]:
        """Return what so many nodes that begin in a state get, and how many of them get it."""
        taken: Counter[Pattern] = Counter()
        while nodes:
            path: list[_Step] = []
            at = state
            while self._left[at]:
                path.append(self._left[at][-1])
                at = path[-1].leads_to()
            together = min([nodes, *(self._count[step] for step in path)])
            for step in path:
                self._count[step] -= together
                if not self._count[step]:
                    self._left[step.state].remove(step)
            taken[tuple(step.kind for step in path)] += together
            nodes -= together
        return taken

    def check_finished(self) -> None:
        if any(self._count.values()):
            raise SolverError("the solution has instances that arrive nowhere")
