"""What a node costs at least under the weights of an argument: a dynamic program over demands and loads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from oracle.optimum.interruption import break_off_if_requested
from oracle.optimum.node_classes import MAX_LOAD
from oracle.optimum.weights import Arrivals, Free, Full, Leaving, Partial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oracle.optimum.model import Pool
    from oracle.optimum.node_classes import NodeClass
    from oracle.optimum.weights import Cut, Weights
    from oracle.snapshots.model import Pattern

# Integers of 64 bits, or Python's own where sums would exceed those; numpy's types cannot say either of two.
_Prices: TypeAlias = npt.NDArray[Any]

_SAFE = 1 << 60


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
        copies = {demand: min(count, kind.room // demand) for demand, count in self._instances.items()}
        best = self._cheapest(kind, self._by_load(before, copies, kind.room))
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

    def _by_load(self, held: Sequence[Pattern], copies: Mapping[int, int], room: int | None) -> _Prices:
        """Return the least price by (pattern before, load). Without a `room` loads above `MAX_LOAD` count as that."""
        top = min(sum(demand * k for demand, k in copies.items()), MAX_LOAD) if room is None else room
        best: _Prices = np.full((len(held), top + 1), self._far, self._dtype)
        best[:, 0] = 0
        for demand, most in copies.items():
            before: _Prices = np.array([pattern.count(demand) for pattern in held], self._dtype)
            leaving = [self._leaving.get((demand, pattern), 0) for pattern in held] if self._leaving else []
            after: _Prices = np.full_like(best, self._far)
            for k in range(most + 1):
                break_off_if_requested()
                price: _Prices = self._arrival[demand] * np.maximum(k - before, 0) - self._value[demand] * k
                if any(leaving):
                    price = price + np.array(leaving, self._dtype) * np.maximum(before - k, 0)
                gpus = min(k * demand, top)
                dearer: _Prices = best + price[:, None]
                after[:, gpus:] = np.minimum(after[:, gpus:], dearer[:, : top + 1 - gpus])
                if room is None:
                    after[:, top] = np.minimum(after[:, top], dearer[:, top - gpus :].min(axis=1))
            best = after
        return best
