"""Traces of production clusters, read from their published formats, filtered, or made up from published figures."""

from __future__ import annotations

from simulation.traces.detection import FORMAT_NAMES
from simulation.traces.formats import ReadOptions
from simulation.traces.loader import LoadedTrace, load_trace
from simulation.traces.native import write_trace
from simulation.traces.nodes import NodeGroup
from simulation.traces.report import BadRow, LoadReport, Place
from simulation.traces.rows import Exclusion, Fractions, Note
from simulation.traces.selection import Selected, Selection, select
from simulation.traces.shapes import Shape, ShapeRule
from simulation.traces.synthetic import Arrivals, SyntheticError, SyntheticSpec, synthesize, wcc_share

__all__ = [
    "FORMAT_NAMES",
    "Arrivals",
    "BadRow",
    "Exclusion",
    "Fractions",
    "LoadReport",
    "LoadedTrace",
    "NodeGroup",
    "Note",
    "Place",
    "ReadOptions",
    "Selected",
    "Selection",
    "Shape",
    "ShapeRule",
    "SyntheticError",
    "SyntheticSpec",
    "load_trace",
    "select",
    "synthesize",
    "wcc_share",
    "write_trace",
]
