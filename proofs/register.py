"""The register of claims: what this project and the paper claim, each with the function that settles it (theory §5).

C claims are the project's own, P claims are the paper's, R claims say the C claims once more of the code itself in
every reachable state of small clusters. ``docs/claims.md`` is made from this list; `proofs.cli` runs it.
"""

from __future__ import annotations

from proofs.bounded import compass_reachable, exact_reachable
from proofs.claim import Claim
from proofs.hierarchy import d1, d2
from proofs.packing_faults import p4, p9, p10, p11
from proofs.printed_faults import p1, p2, p3, p5, p6, p7, p8, p12, p13, p14
from proofs.unbounded import c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11

_PROJECT = (
    Claim(
        id="C1",
        title="Every event keeps the structure Σ⁺",
        statement="Every operator of COMPASS and EXACT keeps Σ⁺; after every event COMPASS is in Σ, unless slots and "
        "ones cannot stand on nodes of their own. So while a node is idle or a pool has room, no node is mixed.",
        source="paper, Proposition 6, repaired",
        settle=c1,
    ),
    Claim(
        id="C2",
        title="No vacancy while a 1-GPU instance stands outside slots",
        statement="Invariant I holds after every event of COMPASS and EXACT, whether or not WCC does: while a 1-GPU "
        "instance stands outside a slot, no slot has a vacancy.",
        source="docs/scheduling.md",
        settle=c2,
    ),
    Claim(
        id="C3",
        title="COMPASS: at most two open nodes, Φ ≤ 2 under WCC",
        statement="After every event of COMPASS at most one pool node and one slotted node are open, and two nodes in "
        "all; hence Φ ≤ 2 under WCC.",
        source="paper, Theorem 7, repaired",
        settle=c3,
    ),
    Claim(
        id="C4",
        title="COMPASS: SIF ≤ 2/N under WCC, and no less",
        statement="Under WCC COMPASS has SIF ≤ 2/N after every event, and for every N ≥ 2 some state reaches it.",
        source="paper, Theorem 7, repaired",
        settle=c4,
    ),
    Claim(
        id="C5",
        title="COMPASS: SIF = 0 with 2, 4 and 8 GPUs only",
        statement="With demands of 2, 4 and 8 GPUs only, COMPASS has SIF = 0 after every event.",
        source="docs/scheduling.md",
        settle=c5,
    ),
    Claim(
        id="C6",
        title="EXACT: Φ = Φ* under WCC",
        statement="Under WCC EXACT has Φ = Φ* after every event.",
        source="docs/scheduling.md",
        settle=c6,
    ),
    Claim(
        id="C7",
        title="EXACT: which jobs it admits",
        statement="EXACT admits a job exactly when the slots and ones of all instances, the job's included, fit the "
        "cluster; under WCC, counted with the job, exactly when w·g ≤ free GPUs.",
        source="docs/scheduling.md",
        settle=c7,
    ),
    Claim(
        id="C8",
        title="Φ* in closed form",
        statement="Φ* has a closed form: under WCC 1 if T mod 8 ≠ 0, else 0; for any workload the table of "
        "docs/theory-closed-form.md. The reductions keep Φ*, each wherever it applies.",
        source="docs/theory-closed-form.md",
        settle=c8,
    ),
    Claim(
        id="C9",
        title="One placement has both Φ* and the fewest nodes in use",
        statement="Every workload has a placement with both the fewest partial nodes and the fewest nodes in use; so "
        "Φ* is the same on every cluster of 8-GPU nodes on which the workload fits.",
        source="docs/theory-closed-form.md",
        settle=c9,
    ),
    Claim(
        id="C10",
        title="The moves of an event are bounded, whatever N is",
        statement="The instances an event moves, each costing the same, are at most a constant and a multiple of the "
        "instances that came or left, whatever N is (proofs.unbounded_migrations.bound).",
        source="docs/scheduling.md",
        settle=c10,
    ),
    Claim(
        id="C11",
        title="COMPASS: which jobs it admits",
        statement="COMPASS admits a job exactly when slots and ones fit nodes of their own, ⌈W/8⌉ + ⌈P/8⌉ ≤ N: W is "
        "the total width of all slots, P the 1-GPU instances that no vacancy is left for, the job's own counted in.",
        source="docs/scheduling.md",
        settle=c11,
    ),
)

_REACHABLE = (
    Claim(
        id="R1",
        title="COMPASS in every reachable state of small clusters",
        statement="In every reachable state of small clusters COMPASS keeps its laws (C1 to C5), admits what fits on "
        "nodes of their own, and loses no instance.",
        source="docs/scheduling.md",
        settle=compass_reachable,
    ),
    Claim(
        id="R2",
        title="EXACT in every reachable state of small clusters",
        statement="In every reachable state of small clusters EXACT keeps its laws (C1, C2, C6, C7) and loses no "
        "instance.",
        source="docs/scheduling.md",
        settle=exact_reachable,
    ),
)

_PAPER = (
    Claim(
        id="P1",
        title="At most two partial nodes under WCC",
        statement="Under WCC at most two nodes are partial after Compact, and SIF ≤ 2/N.",
        source="paper, Theorem 7",
        settle=p1,
    ),
    Claim(
        id="P2",
        title="At most two partial nodes with 2, 4 and 8 GPUs only",
        statement="With demands of 2, 4 and 8 GPUs only, at most two nodes are partial after Compact.",
        source="paper, Theorem 7",
        settle=p2,
    ),
    Claim(
        id="P3",
        title="Repeating the passes restores the bound",
        statement="Repeating the three passes of Compact until nothing moves restores the bound of Theorem 7.",
        source="paper, Algorithm 4",
        settle=p3,
    ),
    Claim(
        id="P4",
        title="D({4}) is 2",
        statement="D({4}) = 2, so a node that holds one slot of width 4 is a host for slots of width 2.",
        source="paper, Lemma A.4",
        settle=p4,
    ),
    Claim(
        id="P5",
        title="Every orphaned filler has a home",
        statement="ABS is closed under Remove: every orphaned filler has a home.",
        source="paper, Proposition 6",
        settle=p5,
    ),
    Claim(
        id="P6",
        title="Fillers are re-homed before their slot dissolves",
        statement="Fillers can be re-homed before their slot dissolves.",
        source="paper, Algorithm 3",
        settle=p6,
    ),
    Claim(
        id="P7",
        title="The bound holds without refills",
        statement="Remove as in the pseudocode, which refills no vacancy, keeps the bound wherever the prose's does.",
        source="paper, Algorithm 3",
        settle=p7,
    ),
    Claim(
        id="P8",
        title="The example for tightness reaches 2/N",
        statement="The example {4} and six 1-GPU instances has SIF = 2/N, and nothing smaller reaches that.",
        source="paper, tightness example",
        settle=p8,
    ),
    Claim(
        id="P9",
        title="Fewest partial nodes is fewest nodes in use",
        statement="To minimise partial nodes is to minimise the nodes in use.",
        source="paper, Section 3",
        settle=p9,
    ),
    Claim(
        id="P10",
        title="The procedure of the paper finds the fewest partial nodes",
        statement="Combining, Best-Fit-Decreasing and the residual program find the fewest partial nodes, WCC or not.",
        source="paper, Section 4",
        settle=p10,
    ),
    Claim(
        id="P11",
        title="When the residual program is used",
        statement="The residual program is used when |U| ≤ δ, and when δ ≤ |U|.",
        source="paper, Section 4",
        settle=p11,
    ),
    Claim(
        id="P12",
        title="Place is defined for every instance that fits",
        statement="Place is defined for every instance that fits a node.",
        source="paper, Algorithm 2",
        settle=p12,
    ),
    Claim(
        id="P13",
        title="At most two partial domains, whatever K is",
        statement="The bound of two partial domains holds for domains of K panels, whatever K.",
        source="paper, Appendix D",
        settle=p13,
    ),
    Claim(
        id="P14",
        title="A migration list has one entry a slot",
        statement="A migration list needs one entry for each slot that moves.",
        source="paper, Algorithm 4",
        settle=p14,
    ),
    Claim(
        id="D1",
        title="Domains: Φ = Φ* while the condition of the tier holds",
        statement="In every tier outside the panels whose hosts have K units, K ≤ 16, 18, 36 or 72, Φ = Φ* after every "
        "event while the composition condition of the tier holds, in which units that no slot can use are vacancies.",
        source="paper, Appendix D, repaired; docs/hierarchy.md",
        settle=d1,
    ),
    Claim(
        id="D2",
        title="Domains: which jobs are refused",
        statement="A tier outside the panels whose hosts have K units, K ≤ 16, 18, 36 or 72, refuses a job only if no "
        "arrangement has room for its instances: for a slot of each of 2 units or more, and for ones beyond vacancies.",
        source="docs/hierarchy.md",
        settle=d2,
    ),
)

REGISTER: tuple[Claim, ...] = (*_PROJECT, *_REACHABLE, *_PAPER)
"""All claims, in the order of the page."""
