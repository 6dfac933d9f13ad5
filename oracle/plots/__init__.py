"""Pictures of plans and frontiers, as SVG written with the standard library alone.

The same values give the same bytes: there is no time stamp, and colours follow the sorted names of the jobs.
"""

from oracle.plots.frontier_picture import plot_frontier
from oracle.plots.plan_picture import plot_plan

__all__ = ["plot_frontier", "plot_plan"]
