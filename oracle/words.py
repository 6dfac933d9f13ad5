"""How a number stands before its noun, in every sentence of the oracle."""

from __future__ import annotations


def count(number: int, noun: str, verb: str = "") -> str:
    """Return a number with its noun, and what they do: ``1 node``, ``2 nodes``, ``1 move makes``, ``2 moves make``."""
    words = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{words} {verb}{'s' if number == 1 else ''}" if verb else words
