"""Measure a cluster in CI, and fail where too many nodes are in use in part for no reason.

The status is 1 if SIF, the share of the nodes that need not be partial, is above the limit in a pool, 2 if there are no
GPUs to measure, and 3 if it is not settled in a minute. On GitHub the lines of such pools become annotations.

    $ python examples/measure_in_ci.py examples/snapshots/native.json --max-sif 0.55
    a100: SIF 0.600, 3 of 4 partial nodes avoidable: too fragmented
    h100: SIF 0.500, 3 of 4 partial nodes avoidable: ok
    l40s: SIF 0.600, 3 of 4 partial nodes avoidable: too fragmented
"""

from __future__ import annotations

import argparse
import os
import sys

from oracle import PoolMeasurement, Status, load_snapshot, measure


def verdict(pool: PoolMeasurement, max_sif: float) -> str:
    """Return what is to be said of a pool: ok, too fragmented, or not settled."""
    if pool.sif > max_sif:  # what is avoidable at least, if the optimum is not settled
        return "too fragmented"
    return "ok" if pool.status is Status.OPTIMAL else "not settled"


def line(pool: PoolMeasurement, verdict: str) -> str:
    """Return the line of a pool, marked as an error where GitHub shows it."""
    mark = "::error::" if verdict != "ok" and os.environ.get("GITHUB_ACTIONS") else ""
    avoidable = f"{pool.avoidable_partial_nodes} of {pool.partial_nodes} partial nodes avoidable"
    return f"{mark}{pool.pool}: SIF {pool.sif:.3f}, {avoidable}: {verdict}"


def main() -> int:
    """Return the status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("snapshot", nargs="+", help="the snapshot, in any format sifopt reads")
    parser.add_argument("--max-sif", type=float, default=0.1, help="the limit, a share of the nodes (default: 0.1)")
    options = parser.parse_args()
    measurement = measure(load_snapshot(*options.snapshot), time_limit=60)
    if not measurement.gpus:
        print("the snapshot has no GPUs")
        return 2
    verdicts: set[str] = set()
    for pool in measurement.pools:
        verdicts.add(said := verdict(pool, options.max_sif))
        print(line(pool, said))
    return 1 if "too fragmented" in verdicts else 3 if "not settled" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
