"""C8 and C9: Φ* and the fewest nodes in closed form, for every workload on 8-GPU nodes, by induction on the nodes.

Write f(n) for the formula of Φ* and h(n) for that of the fewest nodes in use. Two kinds of lemma, each linear and about
eight unbounded counts, settle both:

- *No node does better.* For each of the 66 things p that a node can hold: f(n) ≤ f(n − p) + [p is partial] and
  h(n) ≤ h(n − p) + 1. As f(0) = h(0) = 0, every placement of n has at least f(n) partial nodes and h(n) nodes in use:
  take its nodes away one by one.
- *Some node does as well.* For each n ≠ 0 there is a p inside n with equality in both. So setting one such node aside
  after the other ends in a placement that has f(n) partial nodes *and* h(n) nodes: one placement attains both (C9).
  Hence f(n) is Φ* on every cluster on which n fits at all.

Which p does as well is said by the twelve rules of `oracle.optimum.reductions` and, where none applies, by
`LAST_NODES`.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from oracle.optimum.reductions import RULES
from proofs.abstraction import CAPACITY, DEMANDS
from proofs.smtlib import Lemma
from proofs.terms import Formula, Term, choose, equal, every, greatest, implies, indicator, least, some, total, variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from oracle.optimum.reductions import Rule

Counts = tuple[Term, ...]
"""(n1, ..., n8)."""

COUNTS: Counts = tuple(variable(f"n{demand}") for demand in DEMANDS)

PATTERNS: tuple[tuple[int, ...], ...] = tuple(
    pattern
    for size in DEMANDS
    for pattern in combinations_with_replacement(reversed(DEMANDS), size)
    if sum(pattern) <= CAPACITY
)
"""What a node in use can hold: 66 multisets of demands."""

SHARES = (
    (0, 0, 0, 4, 8, 8, 8, 8),  # no two of 5 to 8 share a node, and a 4 takes half of one
    (0, 0, 4, 4, 4, 8, 8, 8),
    (0, 2, 2, 4, 6, 6, 8, 8),
    (0, 2, 3, 4, 5, 6, 8, 8),  # a 7 is as good as an 8 where no 1 stands beside it
    (1, 2, 3, 4, 5, 6, 7, 8),  # GPUs
)
"""Eighths of a node by demand: no node holds more than eight. Rounded up, the largest of the five totals is h(n)."""

LAST_NODES: tuple[tuple[int, ...], ...] = (
    (7,), (6,),
    (5, 1, 1, 1), (5, 2), (5,),
    (4, 3, 1), (4, 2, 1, 1), (4, 2, 2), (4, 1, 1, 1, 1), (4, 3), (4,),
    (3, 2, 1, 1, 1), (3, 2, 2, 1), (3, 1, 1, 1, 1, 1), (3, 3), (3, 2), (3,),
    (2, 1, 1, 1, 1, 1, 1), (2, 2, 1, 1, 1, 1), (2, 2, 2, 1, 1),
    (1,), (1,) * 8,
)  # fmt: skip
"""Where no rule applies and more than one node is needed, one of these does as well as any."""


def fewest_partial_nodes(counts: Counts) -> Term:
    """Return the formula of Φ* (``docs/theory-closed-form.md``), which `oracle.optimum.closed_form` computes."""
    ones, twos, threes, odd = counts[0] - counts[6], counts[1] - counts[5], counts[2] - counts[4], counts[3] % 2
    # 3+3+2, 5+2+1 and 6+1+1, of which one at most applies
    with_threes = (twos > 0) & (threes > 1)
    with_fives = every([twos > 0, threes < 0, ones > 0])
    with_sixes = (twos < 0) & (ones > 1)
    triples_3 = choose(with_threes, least(twos, threes // 2), 0)
    triples_5 = choose(with_fives, least(ones, twos, -threes), 0)
    triples_6 = choose(with_sixes, least(-twos, ones // 2), 0)
    ones = ones - triples_5 - 2 * triples_6
    twos = twos - triples_3 - triples_5 + triples_6
    threes = threes - 2 * triples_3 + triples_5
    sixes, alone = greatest(0, -twos), greatest(0, -ones) + greatest(0, -twos)
    ones, twos = greatest(0, ones), greatest(0, twos)
    by_threes = choose(
        ones >= threes,
        indicator(~equal((ones + 2 * twos + 3 * threes + 4 * odd) % 8, 0)),
        choose(
            twos > 0,
            1 + indicator(equal((2 * twos + 4 * odd) % 8, 6)),
            (threes + 1 - odd) // 2 - (ones - odd) // 2,
        ),
    )
    by_fives = choose(
        ones >= -3 * threes,
        indicator(~equal((ones + 3 * threes + 4 * odd) % 8, 0)),
        choose(
            ones > 0,
            odd - threes - ones // 3,
            choose(equal(odd, 1) & (twos <= 1), 1 - threes, indicator((twos + 2 * odd) % 4 > -1 * threes) - threes),
        ),
    )
    return alone + choose(equal(threes, 0) & (sixes > 0), odd, choose(threes < 0, by_fives, by_threes))


def fewest_nodes(counts: Counts, shares: Sequence[Sequence[int]] = SHARES) -> Term:
    """Return the formula of the fewest nodes in use."""
    eighths = [total(share * count for share, count in zip(row, counts, strict=True)) for row in shares]
    return greatest(*((each + (CAPACITY - 1)) // CAPACITY for each in eighths))


def without(counts: Counts, pattern: Sequence[int]) -> Counts:
    """Return the counts that are left when a node that holds the pattern is set aside."""
    return tuple(count - pattern.count(demand) for demand, count in zip(DEMANDS, counts, strict=True))


def within(pattern: Sequence[int], counts: Counts) -> Formula:
    """Return that a node can hold the pattern: there are so many instances."""
    return every(
        count >= pattern.count(demand) for demand, count in zip(DEMANDS, counts, strict=True) if demand in pattern
    )


def applies(rule: Rule, counts: Counts) -> Formula:
    """Return the condition under which a rule of `oracle.optimum.reductions` may be applied once."""
    conditions = [within(rule.pattern, counts)]
    conditions += [counts[demand - 1] <= most for demand, most in rule.at_most]
    if rule.beside:
        wanted = total(twos * counts[demand - 1] for demand, twos in rule.beside)
        conditions.append(counts[1] - wanted >= rule.pattern.count(2))
    return every(conditions)


def _partial(pattern: Sequence[int]) -> int:
    return 1 if sum(pattern) < CAPACITY else 0


COUNTED = tuple(count >= 0 for count in COUNTS)


def lower_bounds(
    partial: Callable[[Counts], Term] = fewest_partial_nodes, nodes: Callable[[Counts], Term] = fewest_nodes
) -> Iterator[Lemma]:
    """Yield: no placement has fewer partial nodes than the formula says, nor fewer nodes in use."""
    empty: Counts = tuple(variable("zero") for _ in DEMANDS)
    yield Lemma(
        "no instance, no node", equal(partial(empty), 0) & equal(nodes(empty), 0), (equal(variable("zero"), 0),)
    )
    for pattern in PATTERNS:
        left = without(COUNTS, pattern)
        given = (*COUNTED, within(pattern, COUNTS))
        yield Lemma(
            f"node {pattern} saves no partial node", partial(COUNTS) <= partial(left) + _partial(pattern), given
        )
        yield Lemma(f"node {pattern} saves no node", nodes(COUNTS) <= nodes(left) + 1, given)


def attained(
    partial: Callable[[Counts], Term] = fewest_partial_nodes,
    nodes: Callable[[Counts], Term] = fewest_nodes,
    rules: Sequence[Rule] = RULES,
    last: Sequence[tuple[int, ...]] = LAST_NODES,
) -> Iterator[Lemma]:
    """Yield: some placement has as few partial nodes, and at the same time as few nodes in use, as the formulas say."""

    def no_partial_node_more(pattern: Sequence[int]) -> Formula:
        return equal(partial(COUNTS), partial(without(COUNTS, pattern)) + _partial(pattern))

    def no_node_more(pattern: Sequence[int]) -> Formula:
        return equal(nodes(COUNTS), nodes(without(COUNTS, pattern)) + 1)

    for rule in rules:
        given = (*COUNTED, applies(rule, COUNTS))
        yield Lemma(f"rule {rule.pattern} costs no partial node", no_partial_node_more(rule.pattern), given)
        yield Lemma(f"rule {rule.pattern} costs no node", no_node_more(rule.pattern), given)
    used = total(demand * count for demand, count in zip(DEMANDS, COUNTS, strict=True))
    one_node = equal(partial(COUNTS), indicator(used < CAPACITY)) & equal(nodes(COUNTS), 1)
    yield Lemma("what fits one node needs one node", one_node, (*COUNTED, used > 0, used <= CAPACITY))
    beyond = (*COUNTED, used > CAPACITY, *(~applies(rule, COUNTS) for rule in rules))
    for present in product((False, True), repeat=CAPACITY):
        demands = [demand for demand in DEMANDS if present[demand - 1]]
        # One question for each set of demands present: all at once are more than z3 settles in minutes.
        shape = tuple(count > 0 if there else equal(count, 0) for count, there in zip(COUNTS, present, strict=True))
        fitting = [p for p in last if set(p) <= set(demands) and p[0] == demands[-1]]
        good = some(every([within(p, COUNTS), no_partial_node_more(p), no_node_more(p)]) for p in fitting)
        if demands:
            yield Lemma(f"no rule applies, demands {demands}: some node costs nothing", good, (*beyond, *shape))


def under_the_condition(partial: Callable[[Counts], Term] = fewest_partial_nodes) -> Iterator[Lemma]:
    """Yield: under the workload composition condition the formula is 1 if the GPUs used leave a remainder, else 0."""
    used = total(demand * count for demand, count in zip(DEMANDS, COUNTS, strict=True))
    condition = COUNTS[2] + 3 * COUNTS[4] + 2 * COUNTS[5] + COUNTS[6] <= COUNTS[0]
    remainder = indicator(~equal(used % CAPACITY, 0))
    yield Lemma("closed form under WCC", implies(condition, equal(partial(COUNTS), remainder)), COUNTED)
