"""How a number stands before its noun, in every sentence of the oracle."""

from __future__ import annotations


def count(number: int, noun: str, verb: str = "", *, form: str = "") -> str:
    """Return a number with its noun, and what they do: ``1 node``, ``2 nodes``, ``1 move makes``, ``2 moves make``.

    `form` is that of the number, as Python's `format` takes it.
    """
    words = f"{number:{form}} {noun}" if number == 1 else f"{number:{form}} {noun}s"
    return f"{words} {verb}{'s' if number == 1 else ''}" if verb else words
