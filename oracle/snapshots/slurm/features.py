"""What ``--constraint`` asks of a job's nodes, as far as it is about each node alone.

``a100&ib``, ``a100|h100`` and parentheses are. ``[rack1|rack2]`` (all nodes of one kind) and counts (``fast*2``) are
about the nodes of a job together: a set of nodes for each instance does not say that. Of brackets it is read what they
ask of each node, of counts nothing, and the caller is told that there is more to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(r"(?P<mark>[&|,()\[\]])|(?P<name>[^&|,()\[\]*\s]+)(?:\*(?P<count>[0-9]{1,9}))?")

# Deeper nesting is nobody's request.
_DEEPEST = 20

Nodes: TypeAlias = "frozenset[str]"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The nodes that a constraint allows (None: not read), and whether that is all it says."""

    nodes: Nodes | None
    is_all: bool


class _UnreadableError(Exception):
    """A constraint of a form that is not understood."""


def wanted(text: str, having: Mapping[str, Nodes]) -> Wanted:
    """Return the nodes that a constraint allows, `having` the nodes of every feature.

    A mixture of ``&`` and ``|`` without parentheses is not read: Slurm's page leaves its order open.
    """
    tokens = list(_TOKEN.finditer(text))
    if "".join(token[0] for token in tokens) != "".join(text.split()):
        return Wanted(nodes=None, is_all=False)
    reading = _Reading(tokens, having)
    try:
        nodes = reading.expression(0)
    except _UnreadableError:
        return Wanted(nodes=None, is_all=False)
    if reading.position < len(tokens) or reading.has_counts:
        return Wanted(nodes=None, is_all=False)
    return Wanted(nodes=nodes, is_all=not reading.has_brackets)


class _Reading:
    def __init__(self, tokens: list[re.Match[str]], having: Mapping[str, Nodes]) -> None:
        self.tokens = tokens
        self.having = having
        self.position = 0
        self.has_counts = False
        self.has_brackets = False

    def expression(self, depth: int) -> Nodes:
        nodes = self._operand(depth)
        operators: set[str] = set()
        while (mark := self._peek()) in {"&", "|", ","}:
            self.position += 1
            operators.add("|" if mark == "|" else "&")
            if len(operators) > 1:
                raise _UnreadableError
            more = self._operand(depth)
            nodes = nodes | more if mark == "|" else nodes & more
        return nodes

    def _operand(self, depth: int) -> Nodes:
        if self.position >= len(self.tokens) or depth > _DEEPEST:
            raise _UnreadableError
        token = self.tokens[self.position]
        self.position += 1
        if token["name"]:
            self.has_counts = self.has_counts or token["count"] is not None
            return self.having.get(token["name"], frozenset())
        if token["mark"] not in {"(", "["}:
            raise _UnreadableError
        self.has_brackets = self.has_brackets or token["mark"] == "["
        nodes = self.expression(depth + 1)
        if self._peek() != (")" if token["mark"] == "(" else "]"):
            raise _UnreadableError
        self.position += 1
        return nodes

    def _peek(self) -> str | None:
        return self.tokens[self.position]["mark"] if self.position < len(self.tokens) else None
