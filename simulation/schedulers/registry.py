"""The schedulers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import CompassError, Variant
from simulation.schedulers.cafgd import CafgdScheduler
from simulation.schedulers.core_variants import CoreScheduler
from simulation.schedulers.drr import DrrScheduler
from simulation.schedulers.drr_policy import LearntPolicy
from simulation.schedulers.fgd import fgd
from simulation.schedulers.greedy import GreedyScheduler, RandomNode, best_fit, first_fit, worst_fit
from simulation.schedulers.mcg import McgScheduler
from simulation.schedulers.own.loading import is_own, make_own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from simulation.jobs import TraceJob
    from simulation.schedulers.protocol import Scheduler


class UnknownSchedulerError(CompassError):
    """No scheduler has that name; the message lists those there are."""


def _fft(nodes: int, workload: Sequence[TraceJob], seed: int) -> Scheduler:
    del workload, seed
    from simulation.schedulers.fft import FftScheduler  # noqa: PLC0415 - it loads numpy, which no other needs

    return FftScheduler(nodes)


def _sifopt(nodes: int, workload: Sequence[TraceJob], seed: int) -> Scheduler:
    del workload, seed
    from simulation.schedulers.sifopt import SifOptScheduler  # noqa: PLC0415 - as above

    return SifOptScheduler(nodes)


_MAKERS: dict[str, Callable[[int, Sequence[TraceJob], int], Scheduler]] = {
    "compass": lambda nodes, _workload, _seed: CoreScheduler(Variant.COMPASS, nodes),
    "exact": lambda nodes, _workload, _seed: CoreScheduler(Variant.EXACT, nodes),
    "printed": lambda nodes, _workload, _seed: CoreScheduler(Variant.PRINTED, nodes),
    "sifopt": _sifopt,
    "gfs": lambda nodes, _workload, _seed: GreedyScheduler("gfs", nodes, best_fit),
    "fgd": lambda nodes, workload, _seed: fgd(nodes, workload),
    "cafgd": lambda nodes, _workload, _seed: CafgdScheduler(nodes),
    "mcg": lambda nodes, _workload, _seed: McgScheduler(nodes),
    "fft": _fft,
    "drr": lambda nodes, _workload, _seed: DrrScheduler(nodes),
    "first-fit": lambda nodes, _workload, _seed: GreedyScheduler("first-fit", nodes, first_fit),
    "worst-fit": lambda nodes, _workload, _seed: GreedyScheduler("worst-fit", nodes, worst_fit),
    "random": lambda nodes, _workload, seed: GreedyScheduler("random", nodes, RandomNode(seed)),
}

ALIASES = {"best-fit": "gfs"}
"""Other names of schedulers."""

SCHEDULERS = tuple(_MAKERS)
"""The names, the paper's own schedulers first."""

NAMES = f"{', '.join((*SCHEDULERS, *ALIASES))}, or module:Class of your own"
"""What may be named, for help and complaints."""


def make_scheduler(
    name: str, nodes: int, workload: Sequence[TraceJob] = (), *, seed: int = 0, drr_policy: Path | None = None
) -> Scheduler:
    """Return a scheduler on an idle cluster.

    Parameters
    ----------
    name
        One of `SCHEDULERS`, or "best-fit", which is "gfs", or module:Class of one's own.
    nodes
        N, at least 1.
    workload
        What fgd knows of the demands: as a rule the trace to be replayed.
    seed
        Of the random choices, where a scheduler makes any.
    drr_policy
        File of the weights with which drr places; its teacher, best fit, places if None. No other scheduler reads it.

    Raises
    ------
    UnknownSchedulerError
        No scheduler has that name.
    OwnSchedulerError
        There is no such class of one's own, or it is no scheduler.
    LearningUnavailableError
        The weights cannot be read, or PyTorch is not installed.
    """
    if name == "drr" and drr_policy is not None:
        return DrrScheduler(nodes, LearntPolicy.load(drr_policy))
    if is_own(name):
        return make_own(name, nodes)
    maker = _MAKERS.get(ALIASES.get(name, name))
    if maker is None:
        raise UnknownSchedulerError(f"no scheduler is named {name!r}; there are {NAMES}")
    return maker(nodes, workload, seed)
