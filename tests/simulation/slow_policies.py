"""The schedulers a second time, from their specification, by searching all nodes; shares and costs are fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING

from compass_core import ClusterState, Job, PrintedUndefinedError, RefusalKind, Variant, arrive, depart
from oracle import sifopt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from compass_core import Migration
    from simulation.jobs import TraceJob
    from tests.simulation.slow_engine import Move, SlowEngine


def golden_delta(share: Mapping[int, Fraction], free: int, gpus: int) -> Fraction:
    """F(f − g) − F(f) with F(f) = f·P(g > f), as it stands in the specification."""

    def fragmentation(left: int) -> Fraction:
        return left * sum((p for demand, p in share.items() if demand > left), Fraction(0))

    return fragmentation(free - gpus) - fragmentation(free)


def shares(weights: Mapping[int, int | Fraction]) -> dict[int, Fraction]:
    total = sum(weights.values())
    return {g: Fraction(weight) / Fraction(total) for g, weight in weights.items() if weight}


def popular(weights: Mapping[int, int]) -> dict[int, int]:
    kept: dict[int, int] = {}
    for gpus, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        if sum(kept.values()) * 100 >= 95 * sum(weights.values()):
            break
        kept[gpus] = weight
    return kept


class SlowPolicy:
    """Places each instance of a gang on the node of the least cost, lowest index first."""

    interval: int | None = None

    def submitted(self, slow: SlowEngine, job: TraceJob) -> None:
        """Most do not care."""

    def cost(self, free: Sequence[int], node: int, job: TraceJob) -> Fraction | int:
        raise NotImplementedError

    def place(self, slow: SlowEngine, job: TraceJob) -> tuple[list[int], list[Move]] | str:
        free = slow.free()
        nodes: list[int] = []
        for _ in range(job.instances):
            best = [(self.cost(free, n, job), n) for n in range(slow.nodes) if free[n] >= job.gpus]
            if not best:
                return "fragmentation"
            node = min(best)[1]
            free[node] -= job.gpus
            nodes.append(node)
        return nodes, []

    def leave(self, slow: SlowEngine, job: TraceJob) -> list[Move] | None:
        del slow, job
        return []

    def order(self, slow: SlowEngine, waiting: list[TraceJob]) -> list[TraceJob]:
        del slow
        return waiting

    def round(self, slow: SlowEngine) -> list[Move]:
        del slow
        return []


class SlowGreedy(SlowPolicy):
    def __init__(self, rule: Callable[[int, int], int]) -> None:
        self.rule = rule

    def cost(self, free: Sequence[int], node: int, job: TraceJob) -> int:
        del job
        return self.rule(free[node], node)


class SlowFgd(SlowPolicy):
    def __init__(self, workload: Iterable[TraceJob]) -> None:
        known: Counter[int] = Counter()
        for job in workload:
            known[job.gpus] += job.instances
        self.share = shares(popular(known))

    def cost(self, free: Sequence[int], node: int, job: TraceJob) -> Fraction:
        return golden_delta(self.share, free[node], job.gpus)


class SlowCafgd(SlowPolicy):
    def __init__(self, *, wait: bool) -> None:
        self.wait = wait
        self.arrived: list[int] = []
        self.held: dict[str, Fraction] = {}

    def submitted(self, slow: SlowEngine, job: TraceJob) -> None:
        del slow
        self.arrived.append(job.gpus)

    def share(self, job: TraceJob) -> dict[int, Fraction]:
        recent = self.arrived[-400:] if job.duration_s >= 500 else self.arrived[-50:]
        weights: Counter[int] = Counter()
        for age, gpus in enumerate(recent):  # the newest one weighs three times what the oldest does
            weights[gpus] += len(recent) - 1 + 2 * age
        short = shares(weights)
        if job.duration_s < 500:
            return short
        long = shares(popular(Counter(self.arrived[-10_000:])))
        omega = Fraction(min(1.0, log(job.duration_s / 500) / log(100)))
        return {g: omega * long.get(g, Fraction(0)) + (1 - omega) * short.get(g, Fraction(0)) for g in range(1, 9)}

    def cost(self, free: Sequence[int], node: int, job: TraceJob) -> Fraction | int:
        return free[node] if len(self.arrived) < 400 else golden_delta(self.share(job), free[node], job.gpus)

    def place(self, slow: SlowEngine, job: TraceJob) -> tuple[list[int], list[Move]] | str:
        answer = super().place(slow, job)
        if self.wait and len(self.arrived) >= 400 and not isinstance(answer, str) and self.holds(slow, job):
            return "held"
        return answer

    def holds(self, slow: SlowEngine, job: TraceJob) -> bool:
        share = self.share(job)

        def best(free: Sequence[int]) -> Fraction:
            return min(golden_delta(share, left, job.gpus) for left in free if left >= job.gpus)

        now_best = best(slow.free())
        if now_best <= 0:
            return False
        if job.name not in self.held:
            horizon = slow.now + min(Fraction(job.duration_s) / 10, Fraction(600))
            free = slow.free()
            for run in sorted(slow.running, key=lambda run: (run.end, run.job.name)):
                if run.end > horizon:
                    return False
                for node in slow.where[run.job.name]:
                    free[node] += run.job.gpus
                if best(free) < now_best:
                    self.held[job.name] = run.end
                    break
            else:
                return False
        return slow.now < self.held[job.name]


class SlowMcg(SlowPolicy):
    def __init__(self) -> None:
        self.arrived: list[int] = []

    def submitted(self, slow: SlowEngine, job: TraceJob) -> None:
        self.arrived.append(job.gpus)
        self.slow = slow

    def share(self) -> dict[int, Fraction]:
        recent = shares(Counter(self.arrived[-400:]))
        pending: Counter[int] = Counter()
        for job in self.slow.waiting:
            pending[job.gpus] += job.instances
        waiting = shares(pending) if pending else recent
        return {g: (waiting.get(g, Fraction(0)) + recent.get(g, Fraction(0))) / 2 for g in range(1, 9)}

    def delta(self, free: Sequence[int], node: int, gpus: int) -> Fraction:
        mean = Fraction(8 * len(free) - sum(free), 8 * len(free))
        used = Fraction(8 - free[node], 8)
        balance = (used + Fraction(gpus, 8) - mean) ** 2 - (used - mean) ** 2
        return golden_delta(self.share(), free[node], gpus) / 8 + balance / 10

    def cost(self, free: Sequence[int], node: int, job: TraceJob) -> Fraction:
        return self.delta(free, node, job.gpus)

    def order(self, slow: SlowEngine, waiting: list[TraceJob]) -> list[TraceJob]:
        self.slow = slow
        free = slow.free()

        def score(job: TraceJob) -> float:
            costs = [self.delta(free, n, job.gpus) for n in range(slow.nodes) if free[n] >= job.gpus]
            gain = -min(costs) / job.gpus if costs else Fraction(0)
            return round(float(-gain - (slow.now - Fraction(job.submit_s)) / 3_600 / 20), 9)

        return sorted(waiting, key=score)


class SlowDrr(SlowGreedy):
    def __init__(self, interval: int, rule: Callable[[int, int], int]) -> None:
        super().__init__(rule)
        self.interval = interval

    def round(self, slow: SlowEngine) -> list[Move]:
        places = {name: list(nodes) for name, nodes in slow.where.items()}
        moves: list[Move] = []
        for _ in range(5):
            used = [
                sum(slow.holders[name].gpus for name in places for place in places[name] if place == n)
                for n in range(slow.nodes)
            ]
            low = [n for n in range(slow.nodes) if 0 < used[n] < 4]
            if not low:
                break
            source = min(low, key=lambda n: (used[n], n))
            leaving = [(name, i) for name in places for i, place in enumerate(places[name]) if place == source]
            wave: list[Move] = []
            for name, i in sorted(leaving, key=lambda item: -slow.holders[item[0]].gpus):
                gpus = slow.holders[name].gpus
                fits = [n for n in range(slow.nodes) if 4 <= used[n] <= 8 - gpus]
                if not fits:
                    break
                target = max(fits, key=lambda n: (used[n], -n))
                used[target] += gpus
                wave.append((name, i, source, target))
            if len(wave) < len(leaving):
                break
            for name, i, _, target in wave:
                # a job is listed where it was listed before, so that the order of departures does not change
                places[name][i] = target
            moves += wave
        return moves


class Follower(SlowGreedy):
    """Best fit, with the moves of each round taken from a list and handed to a check."""

    def __init__(
        self, interval: int, rounds: list[list[Move]], check: Callable[[SlowEngine, list[Move]], None]
    ) -> None:
        super().__init__(lambda free, _node: free)
        self.interval = interval
        self.rounds = list(rounds)
        self.check = check

    def round(self, slow: SlowEngine) -> list[Move]:
        moves = self.rounds.pop(0)
        self.check(slow, moves)
        return moves


def as_moves(migrations: Iterable[Migration]) -> list[Move]:
    return [(m.instance.job, m.instance.index, m.source, m.destination) for m in migrations]


class SlowCore(SlowPolicy):
    """The variants of the core, which have referees of their own: only the engine around them is checked."""

    def __init__(self, variant: Variant, nodes: int) -> None:
        self.variant = variant
        self.state = ClusterState.empty(nodes)

    def place(self, slow: SlowEngine, job: TraceJob) -> tuple[list[int], list[Move]] | str:
        del slow
        try:
            out = arrive(self.state, Job(job.name, job.instances, job.gpus), variant=self.variant)
        except PrintedUndefinedError:
            return "undefined"
        if not out.admitted:
            assert out.reason is not None
            return "structure" if out.reason.kind is RefusalKind.STRUCTURE else "fragmentation"
        self.state = out.state
        return [placement.node for placement in out.placements], as_moves(out.migrations)

    def leave(self, slow: SlowEngine, job: TraceJob) -> list[Move] | None:
        del slow
        try:
            out = depart(self.state, job.name, variant=self.variant)
        except PrintedUndefinedError:
            return None
        self.state = out.state
        return as_moves(out.migrations)


class SlowSifOpt(SlowPolicy):
    """SIFOpt, which is tested with the oracle: only the engine around it is checked."""

    def __init__(self, nodes: int) -> None:
        self.state = ClusterState.empty(nodes)

    def place(self, slow: SlowEngine, job: TraceJob) -> tuple[list[int], list[Move]] | str:
        del slow
        out = sifopt.arrive(self.state, Job(job.name, job.instances, job.gpus))
        if not out.admitted:
            assert out.reason is not None
            return "structure" if out.reason.kind is RefusalKind.STRUCTURE else "fragmentation"
        self.state = out.state
        return [placement.node for placement in out.placements], as_moves(out.migrations)

    def leave(self, slow: SlowEngine, job: TraceJob) -> list[Move] | None:
        del slow
        out = sifopt.depart(self.state, job.name)
        self.state = out.state
        return as_moves(out.migrations)
