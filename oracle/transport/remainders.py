"""Residues that close the gap which prices alone leave: what the cheapest choices cannot add up to.

At the optimum over real numbers most nodes have several choices of the same, least price. Between two such choices of a
node instances can be exchanged for nothing, and these exchanges span a lattice. If what is missing lies outside it,
some node has to make a dearer choice. Residues modulo m that vanish on the lattice say so in a form that anyone can
check (`oracle.transport.bounds`): they are columns of the inverse of its basis.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from oracle.transport.bounds import MAX_MODULUS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracle.transport.bounds import MigrationWeights
    from oracle.transport.model import Columns
    from oracle.transport.relaxation import Priced

# Where the exchanges leave a direction open, counting in it modulo this tells apart as much as a check can afford.
_OPEN = 16


def residue_weights(columns: Columns, priced: Priced, limit: int) -> tuple[MigrationWeights, int] | None:
    """Return the prices with the residues that prove most, and how much more than the prices alone, or None if none do.

    What they add is in units of the prices, and an estimate: nodes are taken to be as many as wanted.

    Parameters
    ----------
    columns
        The columns of a pool.
    priced
        The columns under the prices.
    limit
        Partial nodes at most.
    """
    best: tuple[MigrationWeights, int] | None = None
    cheapest = _cheapest(columns, priced)
    for modulus, residues in _candidates(columns, priced, cheapest):
        residue = columns.effect @ np.array(residues, np.int64)
        needed = residues[-1] * limit - int(residue[cheapest] @ columns.supply)
        dearer = (residue - residue[cheapest][columns.group]) % modulus
        steps = np.full(modulus, np.iinfo(np.int64).max)
        np.minimum.at(steps, dearer, priced.excess)
        steps[residues[-1]] = min(int(steps[residues[-1]]), priced.slack_price)
        extra = _distance(steps.tolist(), needed % modulus)
        if extra > (best[1] if best else 0):
            best = replace(priced.leaf.weights, modulus=modulus, residues=residues), extra
    return best


def _cheapest(columns: Columns, priced: Priced) -> list[int]:
    """Return one of the cheapest columns of each group: the first."""
    cheapest = np.flatnonzero(priced.excess == 0)
    first = np.searchsorted(columns.group[cheapest], np.arange(len(columns.groups)))
    return [int(i) for i in cheapest[first]]


def _candidates(columns: Columns, priced: Priced, cheapest: Sequence[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield modulus and residues that vanish on all exchanges which cost nothing."""
    free = np.flatnonzero(priced.excess == 0)
    differences = np.unique(columns.effect[free] - columns.effect[cheapest][columns.group[free]], axis=0)
    exchanges = [tuple(row) for row in differences.tolist()]
    length = columns.effect.shape[1]
    if priced.slack_price == 0:
        exchanges.append((*(0,) * (length - 1), 1))
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for functional in _inverse_columns(lattice_basis(exchanges, length)):
        modulus = lcm(*(value.denominator for value in functional))
        residues = tuple(int(value * modulus) % modulus for value in functional)
        if 1 < modulus <= MAX_MODULUS and (modulus, residues) not in seen:
            seen.add((modulus, residues))
            yield modulus, residues


def lattice_basis(vectors: Iterable[Sequence[int]], length: int) -> list[list[int]]:
    """Return a basis of the lattice that the vectors span, as an upper triangular matrix.

    A coordinate that no vector of the basis starts at gets one that is `_OPEN` there and 0 elsewhere.
    """
    rows: list[list[int] | None] = [None] * length
    for vector in vectors:
        _insert(rows, list(vector))
    return [row or [_OPEN if i == column else 0 for i in range(length)] for column, row in enumerate(rows)]


def _insert(rows: list[list[int] | None], vector: list[int]) -> None:
    """Reduce the vector by the rows, and the rows by the vector, as in Euclid's algorithm."""
    for column in range(len(rows)):
        if not vector[column]:
            continue
        row = rows[column]
        if row is None:
            rows[column] = vector
            return
        while vector[column]:
            factor = row[column] // vector[column]
            row, vector = vector, [a - factor * b for a, b in zip(row, vector, strict=True)]
        rows[column] = row


def _inverse_columns(basis: Sequence[Sequence[int]]) -> Iterator[list[Fraction]]:
    """Yield the columns of the inverse of an upper triangular matrix, by substitution from below."""
    size = len(basis)
    for unit in range(size):
        column = [Fraction(0)] * size
        for i in range(unit, -1, -1):
            known = sum((basis[i][j] * column[j] for j in range(i + 1, unit + 1)), Fraction(0))
            column[i] = (int(i == unit) - known) / basis[i][i]
        yield column


def _distance(steps: Sequence[int], remainder: int) -> int:
    """Return the least cost of steps that add up to the remainder (Bellman and Ford); 0 if nothing does.

    `steps[r]` is the cost of a step by r.
    """
    distance = {0: 0}
    for _ in steps:
        for reached, cost in list(distance.items()):
            for step, price in enumerate(steps):
                target = (reached + step) % len(steps)
                if cost + price < distance.get(target, cost + price + 1):
                    distance[target] = cost + price
    return distance.get(remainder, 0)
