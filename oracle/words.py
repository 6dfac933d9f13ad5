"""How a number stands before its noun, in every sentence of the oracle."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def between(lowest: int, attained: int, noun: str) -> str:
    """Return a number that is known only within bounds with its noun: ``2 nodes``, ``1 to 2 nodes``."""
    return count(attained, noun) if lowest >= attained else f"{lowest} to {count(attained, noun)}"
