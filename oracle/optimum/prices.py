"""What a node costs at least under the weights of an argument: a dynamic program over demands and loads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.node_classes import MAX_LOAD
from oracle.optimum.weights import Arrivals, Free, Full, Leaving, Partial
from oracle.snapshots.kinds import gpus_of, group_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oracle.optimum.model import Pool
    from oracle.optimum.node_classes import NodeClass
    from oracle.optimum.weights import Cut, Weights
    from oracle.snapshots.kinds import Needs, Rules
    from oracle.snapshots.model import Pattern

# Integers of 64 bits, or Python's own where sums would exceed those; numpy's types cannot say either of two.
_Prices: TypeAlias = npt.NDArray[Any]

_SAFE = 1 << 60

_ByLoad: TypeAlias = "Callable[[Sequence[Pattern], Mapping[int, int], int | None], _Prices]"


class NodePrices:
    """What a node costs at least under the weights of a leaf."""

    def __init__(self, pool: Pool, value: Mapping[int, int], weights: Weights, cuts: Sequence[Cut]) -> None:
        self._instances = pool.instances
        self._value = value
        self._arrival = Counter(dict.fromkeys(value, weights.arrival))
        self._partial, self._full = weights.partial, 0
        self._free: Counter[int] = Counter()
        self._leaving: Counter[tuple[int, Pattern]] = Counter()
        for w, cut in zip(weights.branches, cuts, strict=True):
            price = -w if cut.at_least else w
            match cut.counted:
                case Full():
                    self._full += price
                case Partial():
                    self._partial += price
                case Free(gpus=gpus):
                    self._free[gpus] += price
                case Arrivals(demand=demand):
                    self._arrival[demand] += price
                case Leaving(demand=demand, before=before):
                    self._leaving[demand, before] += price
        self.counts_changes = any(self._arrival.values()) or any(self._leaving.values())
        kinds = ((kind.node_class, kind.holds) for kind in pool.nodes)
        most = max((kind.room + len(kind.own) + len(holds) for kind, holds in kinds), default=0)
        instance = weights.arrival + max(map(abs, weights.demands), default=0) + sum(weights.branches)
        # Above all prices of a node, so that no sum with it is taken for one.
        self._far = 8 * ((most + 2) * instance + weights.partial + sum(weights.branches) + 1)
        self._dtype = np.dtype(np.int64) if self._far < _SAFE else np.dtype(np.object_)

    def least(self, kind: NodeClass, before: Sequence[Pattern]) -> _Prices:
        """Return the least price of a node of this class for each pattern held before."""
        copies = {
            demand: kind.rules.most(demand, min(count, kind.room // gpus_of(demand)))
            for demand, count in self._instances.items()
        }
        # Kinds that may not come at all have no copies.
        together = kind.rules.apart or kind.rules.spare
        by_load = self._by_load_within(kind.rules) if together else self._by_load
        best = self._cheapest(kind, by_load(before, copies, kind.room))
        if kind.own:
            own = Counter(kind.own)
            kept = self._by_load(before, {demand: own[demand] for demand in copies}, None)
            best = np.minimum(best, self._cheapest(kind, kept))
        return best

    def _cheapest(self, kind: NodeClass, by_load: _Prices) -> _Prices:
        loads = range(by_load.shape[1])
        end = [
            self._partial * kind.is_partial(load)
            + self._full * kind.is_full(load)
            + self._free[kind.capacity - kind.held - load]
            for load in loads
        ]
        least: _Prices = (by_load + np.array(end, self._dtype)).min(axis=1)
        return least

    def _by_load_within(self, rules: Rules) -> _ByLoad:
        """Return `_by_load` of nodes with rules: what is spare and who stands apart is known beside the load."""

        def by_load(held: Sequence[Pattern], copies: Mapping[int, int], room: int | None) -> _Prices:
            far: _Prices = np.full(len(held), self._far, self._dtype)
            top = room or 0
            best: dict[tuple[int, Needs, frozenset[int]], _Prices] = {(0, rules.spare, frozenset()): np.zeros_like(far)}
            for demand, most in copies.items():
                jobs = frozenset(rules.jobs([group_of(demand)]))
                after: dict[tuple[int, Needs, frozenset[int]], _Prices] = {}
                prices = [self._price(held, demand, k) for k in range(most + 1)]
                for (load, spare, there), known in best.items():
                    break_off_if_requested()
                    for k, price in enumerate(prices):
                        left = rules.left(spare, [group_of(demand)] * k)
                        gpus = load + k * gpus_of(demand)
                        if left is None or gpus > top or (k and there & jobs):
                            break
                        key = gpus, left, there | jobs if k else there
                        after[key] = np.minimum(after.get(key, far), known + price)
                best = after
            found: _Prices = np.full((len(held), top + 1), self._far, self._dtype)
            for (load, _, _), known in best.items():
                found[:, load] = np.minimum(found[:, load], known)
            return found

        return by_load

    def _price(self, held: Sequence[Pattern], demand: int, k: int) -> _Prices:
        """Return what it costs that a node holds k instances of a kind, for each pattern held before."""
        before: _Prices = np.array([pattern.count(demand) for pattern in held], self._dtype)
        price: _Prices = self._arrival[demand] * np.maximum(k - before, 0) - self._value[demand] * k
        leaving = [self._leaving.get((demand, pattern), 0) for pattern in held] if self._leaving else []
        if any(leaving):
            price = price + np.array(leaving, self._dtype) * np.maximum(before - k, 0)
        return price

    def _by_load(self, held: Sequence[Pattern], copies: Mapping[int, int], room: int | None) -> _Prices:
        """Return the least price by (pattern before, load). Without a `room` loads above `MAX_LOAD` count as that."""
        top = min(sum(gpus_of(demand) * k for demand, k in copies.items()), MAX_LOAD) if room is None else room
        best: _Prices = np.full((len(held), top + 1), self._far, self._dtype)
        best[:, 0] = 0
        for demand, most in copies.items():
            if not most and not self._price(held, demand, 0).any():
                continue
            after: _Prices = np.full_like(best, self._far)
            for k in range(most + 1):
                break_off_if_requested()
                price = self._price(held, demand, k)
                gpus = min(k * gpus_of(demand), top)
                dearer: _Prices = best + price[:, None]
                after[:, gpus:] = np.minimum(after[:, gpus:], dearer[:, : top + 1 - gpus])
                if room is None:
                    after[:, top] = np.minimum(after[:, top], dearer[:, top - gpus :].min(axis=1))
            best = after
        return best
