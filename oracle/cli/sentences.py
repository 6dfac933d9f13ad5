"""How every report ends: sentences a line each, long lists cut short, what the reader of the snapshot left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.command import ExitStatus, Outcome
from oracle.safe_text import printable
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.snapshots.model import Skipped

# Enough to see what kind of thing it is; -v lists all.
_MAX_LISTED = 5


def lines(sentences: Iterable[str]) -> str:
    """Return the text with a sentence a line, whatever is in the names they quote."""
    return "".join(f"{printable(sentence)}\n" for sentence in sentences)


def listed(items: Sequence[str], *, verbose: bool) -> str:
    """Return the first few items, or all."""
    if verbose or len(items) <= _MAX_LISTED:
        return ", ".join(items)
    return f"{', '.join(items[:_MAX_LISTED])} and {len(items) - _MAX_LISTED} more (-v lists them)"


def bounded(lowest: int, attained: int) -> str:
    """Return a figure that may be known only within bounds: ``3``, or ``1..3``."""
    return f"{attained}" if lowest == attained else f"{lowest}..{attained}"


def data_outcome(
    text: str,
    skipped: Sequence[Skipped],
    *,
    verbose: bool,
    overlooked: Sequence[Skipped] = (),
    notes: Sequence[str] = (),
    status: ExitStatus = ExitStatus.DONE,
) -> Outcome:
    """Return text for machines, and beside it what is to be known of the snapshot: with `verbose` all of it."""
    told = skipped if verbose else [group for group in skipped if group.kept]
    notes = (*notes, *overlooked_notes(overlooked, verbose=verbose), *skipped_notes(told, verbose=verbose))
    return Outcome(text=text, notes=notes, status=status, for_machines=True)


def skipped_notes(skipped: Sequence[Skipped], *, verbose: bool) -> list[str]:
    """Return what the reader wants known: notes on what it kept, and how much it left out.

    With `verbose` each item is named under its reason.
    """
    kept = [group for group in skipped if group.kept]
    left_out = [group for group in skipped if not group.kept]
    if verbose:
        return [*_itemized("Note", kept), *_itemized("Left out", left_out)]
    notes = [f"Note: {group.reason} ({len(group.items)}; -v lists them)." for group in kept]
    if left_out:
        reasons = "; ".join(f"{group.reason} ({len(group.items)})" for group in left_out)
        notes.append(f"Left out {_total(left_out)} (-v lists them): {reasons}.")
    return notes


def overlooked_notes(overlooked: Sequence[Skipped], *, verbose: bool) -> list[str]:
    """Return what stands beside whatever is proved: how many jobs have constraints that were not looked at, and which.

    With `verbose` each job is named under its constraints.
    """
    if not overlooked:
        return []
    jobs = {job for group in overlooked for job in group.items}
    whose = f"{count(len(jobs), 'job')} {'has' if len(jobs) == 1 else 'have'}" if jobs else "Some jobs have"
    what = f"{whose} constraints that were not looked at"
    if not verbose:
        return [f"{what}: {'; '.join(group.reason for group in overlooked)} (-v lists them)."]
    return [f"{what}:", *_listed_under(overlooked)]


def _itemized(heading: str, groups: Sequence[Skipped]) -> list[str]:
    return [f"{heading} {_total(groups)}:", *_listed_under(groups)] if groups else []


def _listed_under(groups: Sequence[Skipped]) -> list[str]:
    notes: list[str] = []
    for group in groups:
        notes.append(f"  {group.reason} ({len(group.items)}):")
        notes.extend(f"    {item}" for item in group.items)
    return notes


def _total(groups: Sequence[Skipped]) -> int:
    return sum(len(group.items) for group in groups)
