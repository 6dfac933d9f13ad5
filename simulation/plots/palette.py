"""Colours, those of Okabe and Ito, which people with any kind of colour vision tell apart.

Our own schedulers and two well-known baselines have a colour; the others are grey and told apart by their labels.
"""

from __future__ import annotations

GREY = "#A9AFB8"
INK = "#1A1A1A"
FAINT = "#5A5F66"

_OF_SCHEDULERS = {
    "exact": "#0072B2",
    "compass": "#D55E00",
    "printed": "#E69F00",
    "sifopt": "#56B4E9",
    "gfs": "#009E73",
    "fgd": "#CC79A7",
}
PARTS = ("#56B4E9", "#0072B2", "#E69F00", "#D55E00", "#CC79A7", "#009E73", "#F0E442", "#5A5F66")
"""Colours of parts of a whole, in this order."""


def colour_of(name: str) -> str:
    """Return the colour of a scheduler, or of the first of several whose names are joined by commas."""
    return _OF_SCHEDULERS.get(name.partition(",")[0], GREY)


def has_colour(name: str) -> bool:
    """Whether the scheduler has a colour of its own."""
    return name.partition(",")[0] in _OF_SCHEDULERS
