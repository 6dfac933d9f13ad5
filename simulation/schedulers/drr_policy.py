"""The learnt placement of DRR: a small network that has imitated best fit. The only module that loads PyTorch.

Published: a policy learnt by imitation, with a softmax over nodes from which nodes without room are masked out.

Inferred: the network sees, of each node, the share of its GPUs that are free and that would be free afterwards, whether
it would be full, whether it is idle, and the demand; it gives a score. All nodes are scored by the same network, so one
that was learnt on a small cluster serves any. As nodes with equally many free GPUs have equal scores, the nine kinds of
node are scored, and the lowest index of the best kind is taken.

PyTorch comes with the extra ``[learn]``. Train with ``python -m simulation.schedulers.drr_training``.
"""

from __future__ import annotations

import random
from importlib import import_module
from pickle import UnpicklingError  # what PyTorch raises for a file that is none of its own
from typing import TYPE_CHECKING, Protocol, cast

from compass_core import CompassError
from simulation.demand import GPUS_PER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from simulation.cluster import Cluster

FEATURES = 5
HIDDEN = 16


class LearningUnavailableError(CompassError):
    """PyTorch is not installed, or the weights cannot be read."""


class Tensor(Protocol):
    """What is used of a tensor of PyTorch, which this project does not require and so cannot name."""

    def backward(self) -> None:
        """Compute gradients."""
        ...

    def item(self) -> float:
        """Return the one value."""
        ...

    def tolist(self) -> list[float]:
        """Return all values."""
        ...

    def squeeze(self, dim: int) -> Tensor:
        """Return it without a dimension of size 1."""
        ...

    def masked_fill(self, mask: Tensor, value: float) -> Tensor:
        """Return it with `value` where the mask is true."""
        ...


class Network(Protocol):
    """What is used of a network."""

    def __call__(self, features: Tensor) -> Tensor:
        """Return one score a row, in a column."""
        ...

    def parameters(self) -> Iterable[Tensor]:
        """Return what is learnt."""
        ...

    def state_dict(self) -> Mapping[str, Tensor]:
        """Return the weights by name."""
        ...

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object:
        """Take over weights."""
        ...


class Optimiser(Protocol):
    """What is used of an optimiser."""

    def zero_grad(self) -> None:
        """Forget gradients."""
        ...

    def step(self) -> None:
        """Follow gradients."""
        ...


class _Layers(Protocol):
    def Linear(self, inputs: int, outputs: int) -> object: ...  # noqa: N802 - PyTorch's name

    def ReLU(self) -> object: ...  # noqa: N802 - as above

    def Sequential(self, *layers: object) -> Network: ...  # noqa: N802 - as above


class _Functions(Protocol):
    def cross_entropy(self, scores: Tensor, chosen: Tensor) -> Tensor: ...


class _Optimisers(Protocol):
    def Adam(self, parameters: Iterable[Tensor], lr: float) -> Optimiser: ...  # noqa: N802 - PyTorch's name


class _Torch(Protocol):
    def tensor(self, data: object) -> Tensor: ...

    def get_num_threads(self) -> int: ...

    def set_num_threads(self, count: int) -> None: ...

    def manual_seed(self, seed: int) -> object: ...

    def no_grad(self) -> _Context: ...

    def save(self, obj: object, path: str) -> None: ...

    def load(self, path: str, *, weights_only: bool) -> Mapping[str, Tensor]: ...


class _Context(Protocol):
    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> object: ...


def _torch() -> _Torch:
    return cast("_Torch", _module("torch"))


def _module(name: str) -> object:
    try:
        return import_module(name)
    except ImportError as error:
        problem = "the learnt policy needs PyTorch: install the extra compass-abs[learn]"
        raise LearningUnavailableError(problem) from error


def _network(seed: int) -> Network:
    _torch().manual_seed(seed)
    layers = cast("_Layers", _module("torch.nn"))
    return layers.Sequential(layers.Linear(FEATURES, HIDDEN), layers.ReLU(), layers.Linear(HIDDEN, 1))


def features(free: int, gpus: int) -> list[float]:
    """Return what the network sees of a node with `free` GPUs free, for an instance of `gpus`."""
    return [
        free / GPUS_PER_NODE,
        (free - gpus) / GPUS_PER_NODE,
        float(free == gpus),
        float(free == GPUS_PER_NODE),
        gpus / GPUS_PER_NODE,
    ]


class LearntPolicy:
    """Chooses the node of the highest score among those with room: the mode of the masked softmax.

    Attributes
    ----------
    scores
        ``scores[g][f]``: the score of a node with f GPUs free for an instance of g; minus infinity without room.
    """

    def __init__(self, network: Network) -> None:
        torch = _torch()
        self.network = network
        with torch.no_grad():
            self.scores = tuple(self._row(torch, gpus) for gpus in range(GPUS_PER_NODE + 1))

    def _row(self, torch: _Torch, gpus: int) -> list[float]:
        values = self.network(torch.tensor([features(free, gpus) for free in range(GPUS_PER_NODE + 1)]))
        scores = values.squeeze(1).tolist()
        return [score if free >= gpus else float("-inf") for free, score in enumerate(scores)]

    def __call__(self, cluster: Cluster, gpus: int) -> int:
        """Return the node; there must be one with room."""
        row = self.scores[gpus]
        present = [free for free in range(gpus, GPUS_PER_NODE + 1) if cluster.levels[free]]
        highest = max(row[free] for free in present)
        return min(cluster.levels[free].lowest for free in present if row[free] == highest)

    def save(self, path: Path) -> None:
        """Write the weights to a file."""
        _torch().save(self.network.state_dict(), str(path))

    @classmethod
    def load(cls, path: Path) -> LearntPolicy:
        """Return the policy with the weights of a file.

        Raises
        ------
        LearningUnavailableError
            PyTorch is not installed, or the file is not there or holds no such weights.
        """
        network = _network(seed=0)
        try:
            network.load_state_dict(_torch().load(str(path), weights_only=True))
        except (OSError, RuntimeError, ValueError, EOFError, TypeError, UnpicklingError) as error:
            raise LearningUnavailableError(f"{path}: no weights of this policy can be read from it") from error
        return cls(network)


def imitate_best_fit(demands: Sequence[int], *, seed: int, steps: int = 600, batch: int = 64) -> LearntPolicy:
    """Return a policy that has imitated best fit on random clusters.

    Parameters
    ----------
    demands
        GPUs of the instances to learn from, 1 to 8, each as likely as it is frequent here.
    seed
        Of the first weights and of the examples. The same seed gives the same policy on one machine.
    steps, batch
        Steps of the optimiser, and examples each of them sees.

    Raises
    ------
    LearningUnavailableError
        PyTorch is not installed.
    """
    torch = _torch()
    functions = cast("_Functions", _module("torch.nn.functional"))
    network = _network(seed)
    optimiser = cast("_Optimisers", _module("torch.optim")).Adam(network.parameters(), lr=0.01)
    rng = random.Random(seed)  # noqa: S311 - examples must be repeatable, not secret
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the matrices are tiny: more threads would only wait for one another
    for _ in range(steps):
        examples = [_example(rng, rng.choice(demands)) for _ in range(batch)]
        seen = torch.tensor([[features(free, gpus) for free in nodes] for gpus, nodes, _ in examples])
        masked = torch.tensor([[free < gpus for free in nodes] for gpus, nodes, _ in examples])
        chosen = torch.tensor([best for _, _, best in examples])
        scores = network(seen).squeeze(2).masked_fill(masked, float("-inf"))
        loss = functions.cross_entropy(scores, chosen)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.set_num_threads(threads)
    return LearntPolicy(network)


def _example(rng: random.Random, gpus: int) -> tuple[int, list[int], int]:
    """Return a demand, the free GPUs of nodes of distinct loads, and which of them best fit takes."""
    loads = rng.sample(range(GPUS_PER_NODE + 1), GPUS_PER_NODE // 2)
    if max(loads) < gpus:
        loads[0] = rng.randint(gpus, GPUS_PER_NODE)
    best = min(free for free in loads if free >= gpus)
    return gpus, loads, loads.index(best)
