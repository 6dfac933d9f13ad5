"""Hierarchical COMPASS: panels inside NVLink domains, and domains inside larger ones (paper, Appendix D).

Every tier is a `compass_core.ClusterState` of its own: panels of 8 GPUs, domains of K panels, and so on outwards. See
``docs/hierarchy.md``.
"""

from compass_core.hierarchy.condition import TierCondition, tier_condition
from compass_core.hierarchy.outcome import HierarchicalOutcome, TierRefusal
from compass_core.hierarchy.scheduler import arrive, depart
from compass_core.hierarchy.state import HierarchicalState
from compass_core.hierarchy.steps import Closing, Opening, Step, TierMigration, replay
from compass_core.hierarchy.tiers import NVL72, NVL576, NVL576_FLAT, Tiers

__all__ = [
    "NVL72",
    "NVL576",
    "NVL576_FLAT",
    "Closing",
    "HierarchicalOutcome",
    "HierarchicalState",
    "Opening",
    "Step",
    "TierCondition",
    "TierMigration",
    "TierRefusal",
    "Tiers",
    "arrive",
    "depart",
    "replay",
    "tier_condition",
]
