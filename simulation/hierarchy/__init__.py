"""Replay on NVLink domains: jobs inside panels and jobs of several panels, measured tier by tier."""

from simulation.hierarchy.replaying import DomainReplay, replay_domains
from simulation.hierarchy.schedulers import BestFitDomains, DomainScheduler, TieredScheduler
from simulation.hierarchy.traces import PanelSpec, panel_trace

__all__ = [
    "BestFitDomains",
    "DomainReplay",
    "DomainScheduler",
    "PanelSpec",
    "TieredScheduler",
    "panel_trace",
    "replay_domains",
]
