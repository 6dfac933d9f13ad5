"""The refuted claims about packings: P9 and P10, by trying every workload in order of size; P4 and P11, by reading.

What a workload can and cannot have is found by trying every placement (`proofs.packings`), so neither the closed form
nor a solver is believed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compass_core import ClusterState, Job
from proofs.claim import Counterexample, Effort, Finding, Status
from proofs.combining import Reading, paper_procedure
from proofs.counterexamples import PlacementExample, load
from proofs.packings import best_packing, counts_of, packings, partial_nodes, workloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.laws import Contents


def fewest_nodes_not_best(demands: tuple[int, ...]) -> Contents | None:
    """Return a packing with the fewest nodes in use and more partial nodes than need be, or None."""
    every = packings(demands)
    nodes = min(map(len, every))
    fewest = min(map(partial_nodes, every))
    worse = [packing for packing in every if len(packing) == nodes and partial_nodes(packing) > fewest]
    return min(worse, default=None)


def fewest_partial_not_fewest_nodes(demands: tuple[int, ...]) -> Contents | None:
    """Return a packing with the fewest partial nodes and more nodes in use than need be, or None."""
    every = packings(demands)
    nodes = min(map(len, every))
    fewest = min(map(partial_nodes, every))
    larger = [packing for packing in every if len(packing) > nodes and partial_nodes(packing) == fewest]
    return min(larger, default=None)


def none_attains_both(demands: tuple[int, ...]) -> Contents | None:
    """Return a best packing of a workload of which no packing has both the fewest partial and the fewest nodes."""
    every = packings(demands)
    nodes = min(map(len, every))
    best = best_packing(demands)
    return best if len(best) > nodes else None


def procedure_not_best(demands: tuple[int, ...], reading: Reading = Reading.BLOCKS) -> Contents | None:
    """Return the packing of the paper's procedure where it has more partial nodes than need be, or None."""
    packed = paper_procedure(counts_of(demands), reading=reading)
    if packed.partial_nodes <= partial_nodes(best_packing(demands)):
        return None
    return tuple(pattern for pattern, times in packed.packing for _ in range(times))


def smallest(
    fails: Callable[[tuple[int, ...]], Contents | None], *, gpus: int
) -> tuple[tuple[int, ...], Contents] | None:
    """Return the first workload of at most so many GPUs for which `fails` returns a packing, and that packing.

    Fewest GPUs first, then fewest instances.
    """
    for total in range(1, gpus + 1):
        for demands in workloads(total):
            found = fails(demands)
            if found is not None:
                return demands, found
    return None


def p9(effort: Effort) -> Finding:
    """Settle whether fewest partial nodes and fewest nodes in use are the same goal."""
    up_to = 16 if effort is Effort.FULL else 12
    converse = smallest(fewest_partial_not_fewest_nodes, gpus=up_to)
    both = smallest(none_attains_both, gpus=up_to)
    details = (
        "the other direction, fewest partial nodes with more nodes in use than need be: "
        + (f"{list(converse[1])}" if converse else f"no workload of up to {up_to} GPUs"),
        f"workloads of up to {up_to} GPUs of which no placement has both the fewest: {both[0] if both else 'none'}",
    )
    return _settle("P9", fewest_nodes_not_best, "every placement of every workload, fewest GPUs first", details)


def p10(effort: Effort) -> Finding:
    """Settle whether combining, Best-Fit-Decreasing and the residual program together are optimal."""
    details: tuple[str, ...] = ()
    if effort is Effort.FULL:
        other = smallest(lambda demands: procedure_not_best(demands, Reading.EIGHTS), gpus=14)
        details = (
            f"with full nodes alone as combinations (Reading.EIGHTS): {list(other[0]) if other else 'up to 14 none'}",
        )
    method = "proofs.combining (Reading.BLOCKS) against every placement of every workload, fewest GPUs first"
    return _settle("P10", procedure_not_best, method, details)


def p4(effort: Effort) -> Finding:
    """Settle Lemma A.4, which takes the residual of a node that holds one slot of width 4 to be 2."""
    del effort
    node = ClusterState.from_placement([(Job("four", 1, 4), (0,))], nodes=1).nodes[0]
    text = f"D({{4}}) = 8 − 4 = {node.residual}, and {{4}} holds no slot of width 2, so it is no host in that pass"
    status = Status.REFUTED if node.residual == 4 else Status.UNKNOWN
    return Finding(status=status, method="reading; the residual is computed", counterexample=Counterexample(text=text))


def p11(effort: Effort) -> Finding:
    """Settle for which sizes of U the integer program is used; the paper has |U| ≤ δ and δ ≤ |U|."""
    del effort
    text = "|U| = 1 and δ = 2: the program is used by one inequality and not by the other"
    method = "reading: two sentences contradict one another, and nothing executable hangs on it"
    return Finding(status=Status.REFUTED, method=method, counterexample=Counterexample(text=text))


def _settle(
    claim: str,
    fails: Callable[[tuple[int, ...]], Contents | None],
    method: str,
    details: tuple[str, ...],
) -> Finding:
    example = load(claim)
    if not isinstance(example, PlacementExample):
        raise TypeError(f"{claim}: expected placements, got {type(example).__name__}")
    demands = tuple(sorted((gpus for node in example.placement for gpus in node), reverse=True))
    found = smallest(fails, gpus=sum(demands))
    if found != (demands, example.placement) or best_packing(demands) != example.better:
        return Finding(status=Status.UNKNOWN, method=method, details=(f"{claim}: recorded {example}, found {found}",))
    return Finding(
        status=Status.REFUTED,
        method=method,
        bound=f"every workload of up to {sum(demands)} GPUs",
        counterexample=Counterexample(text=example.fails),
        details=details,
    )
