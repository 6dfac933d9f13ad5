"""Defragment a cluster without touching certain jobs, and see what sparing them costs.

Names to protect may be jobs, namespaces (`team/*`) or single instances (`job:0`). Nothing is moved. Every claim of the
plan is checked again, without a solver; the status is 1 if one fails or the plan is not proved to be the best.

    $ python examples/plan_around_protected_jobs.py examples/snapshots/native.json sweep speech:0
    step 1: embed:0, 1 GPU: l40s-2 -> l40s-4
    step 1: finetune-chat:1, 4 GPUs: h100-2 -> h100-3
    step 1: ocr:0, 2 GPUs: l40s-1 -> l40s-0
    step 1: retrieval:0, 2 GPUs: a100-2 -> a100-0
    step 1: reward-model:0, 2 GPUs: h100-2 -> h100-1
    step 2: vision:0, 5 GPUs: a100-1 -> a100-2
    partial nodes: 12 -> 4, 6 moves, proved to be the best
    with nothing protected: 3 partial nodes, 7 moves
    claims checked again: 13 hold, 0 fail, 2 undecided
"""

from __future__ import annotations

import sys
from collections import Counter

from oracle import Status, load_snapshot, plan, verify


def main(path: str, *protected: str) -> int:
    """Return the status."""
    snapshot = load_snapshot(path)
    spared, free = plan(snapshot, protected=protected), plan(snapshot)
    for move in spared.moves:
        gpus = f"{move.gpus} GPU{'s'[: move.gpus > 1]}"
        print(f"step {move.step}: {move.job}:{move.instance}, {gpus}: {move.source} -> {move.destination}")
    best = spared.status is Status.OPTIMAL
    print(f"partial nodes: {spared.partial_nodes_before} -> {spared.partial_nodes_after}", end=", ")
    print(f"{spared.migrations} moves, {'proved to be' if best else 'perhaps not'} the best")
    print(f"with nothing protected: {free.partial_nodes_after} partial nodes, {free.migrations} moves")
    results = Counter(check.result for check in verify(spared.to_dict(), snapshot))
    print(
        f"claims checked again: {results['holds']} hold, {results['fails']} fail, {results['not rechecked']} undecided"
    )
    return 0 if best and not results["fails"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
