"""The page of claims, made from the register and the record: ``compass-prove --write-docs`` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.claim import Effort, Status
from proofs.register import REGISTER

if TYPE_CHECKING:
    from proofs.claim import Claim
    from proofs.record import Entry, Record

_HEAD = """# Claims

What this project claims (C), what the code does in every reachable state of small clusters (R), and what the paper
claims (P, D), each with how far it is settled. Made by `compass-prove --write-docs` from the register and the record of
the last runs; `compass-prove` settles everything afresh and fails where a status got worse.

| status | means |
|---|---|
| proved | for every N and every event sequence, by an argument whose lemmas z3 settles |
| checked | exhaustively, within the bound that is stated |
| tested | on random inputs |
| refuted | there is a counterexample |
| unknown | not settled |

The proofs speak of nodes of 8 GPUs, of one variant from an idle cluster on, and of jobs that come and go; nodes that
are added, fail or return end in the same two steps, and so does every other event. C10 also speaks of the default cost,
each instance the same. That the rules the proofs reason about are the steps of the code is checked exhaustively over
what one or two nodes can hold, and of whole events, the order of the loops included, by random tests. What z3 settles
rests on z3; `compass-prove --second-solver` asks cvc5 too.
"""


def page(record: Record) -> str:
    """Return the page. Statuses are those of the full run where one is recorded, else of the quick one."""
    known = {**record.get(Effort.QUICK, {}), **record.get(Effort.FULL, {})}
    rows = [_row(claim, known.get(claim.id)) for claim in REGISTER]
    table = "\n".join(["| claim | status | statement |", "|---|---|---|", *rows])
    return "\n".join([_HEAD, table, "", *(_section(claim, known.get(claim.id)) for claim in REGISTER)])


def _row(claim: Claim, entry: Entry | None) -> str:
    cells = (f"[{claim.id}](#{claim.id.lower()})", _status(entry), claim.statement)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _status(entry: Entry | None) -> str:
    if entry is None:
        return Status.UNKNOWN.value
    return entry.status.value + (f" ({entry.bound})" if entry.bound and entry.status is not Status.REFUTED else "")


def _section(claim: Claim, entry: Entry | None) -> str:
    lines = [f"## {claim.id}", "", claim.statement, "", f"- Source: {claim.source}", f"- Status: {_status(entry)}"]
    lines.append(f"- Settled by: `{claim.settle.__module__}.{claim.settle.__qualname__}`")
    if entry is not None:
        lines.append(f"- Method: {entry.method}")
        found = entry.counterexample
        if found is not None:
            events = f" (`{found.events}` on {found.nodes} nodes)" if found.events else ""
            lines.append(f"- Counterexample: {found.text}{events}")
            lines += [f"- Shortest: {entry.bound}"] if entry.bound else []
        lines += [f"- {detail}" for detail in entry.details]
    return "\n".join([*lines, ""])
