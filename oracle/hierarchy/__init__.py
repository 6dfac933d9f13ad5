"""Optima of panels inside domains: each tier by itself, both together, and the tiers of a snapshot."""

from oracle.hierarchy.domains import DomainMeasurement, domain_snapshot, measure_domains
from oracle.hierarchy.joint import JointOptimum, Workload, joint_optimum
from oracle.hierarchy.tiers import TierMeasurement, measure_tiers

__all__ = [
    "DomainMeasurement",
    "JointOptimum",
    "TierMeasurement",
    "Workload",
    "domain_snapshot",
    "joint_optimum",
    "measure_domains",
    "measure_tiers",
]
