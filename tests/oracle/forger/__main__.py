"""Forge documents and print what became of them: `python -m tests.oracle.forger [--large] [--seed N] [KIND ...]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.forger.forging import LARGE, SMALL, forge
from tests.oracle.forger.scenes import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.oracle.forger.forging import Passed, Tally


class _Options(argparse.Namespace):
    kinds: list[str]
    large: bool
    documents: int | None
    seed: int
    keep: Path | None


def table(tallies: Mapping[str, Tally]) -> str:
    """Return what became of the documents, a line a kind."""
    ways = sorted({way for tally in tallies.values() for way in tally.forged})
    head = ["kind", "documents", "failing", "statements", *ways, "refused", "named", "passed", "true"]
    rows = [head, *([kind, *map(str, _row(tally, ways))] for kind, tally in tallies.items())]
    sums = [sum(column) for column in zip(*(_row(tally, ways) for tally in tallies.values()), strict=True)]
    rows.append(["all", *map(str, sums)])
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _row(tally: Tally, ways: Iterable[str]) -> list[int]:
    forged = [tally.forged[way] for way in ways]
    fates = [tally.refused, tally.named, len(tally.passed), tally.true]
    return [tally.documents, len(tally.failing), len(tally.statements), *forged, *fates]


def _keep(folder: Path, passed: Iterable[Passed]) -> None:
    folder.mkdir(parents=True)
    for number, one in enumerate(passed):
        (folder / f"{number}.json").write_text(json.dumps(one.data, indent=1), encoding="utf-8")
        (folder / f"{number}-true.json").write_text(json.dumps(one.case.data, indent=1), encoding="utf-8")
        (folder / f"{number}.txt").write_text(
            f"{one.kind}\n{one.way}\n{one.lies}\n{one.named}\n{one.case.scene}\n", encoding="utf-8"
        )


def report(tallies: Mapping[str, Tally]) -> str:
    """Return the table, and a line for everything that must not be."""
    lines = [table(tallies)]
    for kind, tally in tallies.items():
        keys = Counter(lie.key for one in tally.passed for lie in one.lies)
        lines += [f"passed: {kind}: {key} ({count})" for key, count in keys.most_common()]
        others = Counter(one.way for one in tally.passed if not one.lies)
        lines += [f"passed: {kind}: {way} ({count})" for way, count in others.most_common()]
        lines += [f"true, and fails: {kind}: {check}" for _, check in tally.failing]
        lines += [f"fault: {kind}: {fault}" for _, fault in tally.faults]
    return "".join(f"{line}\n" for line in lines)


def main(arguments: list[str]) -> int:
    """Forge, print, and return 1 if something false passed or something true failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.forger", description=__doc__)
    parser.add_argument("kinds", metavar="KIND", nargs="*", default=list(KINDS), help=f"one of {', '.join(KINDS)}")
    parser.add_argument("--large", action="store_true", help="the large profile")
    parser.add_argument("--documents", type=int, help="documents of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what passed there")
    options = parser.parse_args(arguments, namespace=_Options())
    profile = LARGE if options.large else SMALL
    if options.documents is not None:
        profile = replace(profile, documents=options.documents)
    tallies = forge(profile, options.kinds, options.seed)
    sys.stdout.write(report(tallies))
    if options.keep is not None:
        _keep(options.keep, [one for tally in tallies.values() for one in tally.passed])
    return int(any(tally.passed or tally.failing or tally.faults for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
