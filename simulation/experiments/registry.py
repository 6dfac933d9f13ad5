"""The experiments by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.experiments.blocked import blocked
from simulation.experiments.case_study import case_study
from simulation.experiments.composition_days import composition_days
from simulation.experiments.coverage import coverage
from simulation.experiments.etas import etas
from simulation.experiments.migration_cost import migration_cost
from simulation.experiments.overall import overall
from simulation.experiments.trace_composition import trace_composition
from simulation.experiments.variants import variants

if TYPE_CHECKING:
    from simulation.experiments.frame import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    "trace-composition": trace_composition,
    "overall": overall,
    "eta": etas,
    "composition-days": composition_days,
    "coverage": coverage,
    "migration-cost": migration_cost,
    "case-study": case_study,
    "variants": variants,
    "blocked": blocked,
}
"""By name, in the order of the paper, ours last."""
