"""How far each claim was settled when last recorded, and whether a finding is worse than that.

The record is ``proofs/record.json``, one entry an effort and claim. A status may only get better: `fell` says of a
finding why it is worse than its entry, and the command fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from proofs.claim import Counterexample, Effort, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD = Path(__file__).with_name("record.json")

_STRENGTH = {Status.PROVED: 3, Status.CHECKED: 2, Status.TESTED: 1, Status.UNKNOWN: 0}
"""Of claims that stand. That a claim is refuted is a result of its own: neither stronger nor weaker."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A finding as it is kept."""

    status: Status
    method: str
    bound: str | None = None
    counterexample: Counterexample | None = None
    details: tuple[str, ...] = ()

    @classmethod
    def of(cls, finding: Finding) -> Entry:
        """Return a finding as it is kept."""
        return cls(finding.status, finding.method, finding.bound, finding.counterexample, finding.details)


Record = dict[Effort, dict[str, Entry]]


def load(path: Path = RECORD) -> Record:
    """Return the record."""
    return msgspec.json.decode(path.read_bytes(), type=Record)


def save(findings: Mapping[str, Finding], effort: Effort, path: Path = RECORD) -> None:
    """Write findings into the record, in place of what was known of these claims at that effort."""
    known: Record = load(path) if path.exists() else {}
    known.setdefault(effort, {}).update({name: Entry.of(finding) for name, finding in findings.items()})
    path.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")


def check_writable(path: Path = RECORD) -> None:
    """Check that the record can be written.

    Raises
    ------
    OSError
        It cannot.
    """
    there = path.exists()
    path.open("ab").close()
    if not there:
        path.unlink()


def fell(finding: Finding, entry: Entry | None) -> str | None:
    """Return why a finding is worse than its entry, or None if it is not.

    A claim without an entry cannot fall. A changed bound counts as a fall: whether the new range is wider is for a
    person to say, by recording it.
    """
    if entry is None:
        return None
    if finding.status is entry.status:
        if finding.bound == entry.bound:
            return None
        return f"the bound was {entry.bound}, it is {finding.bound}"
    if Status.REFUTED in {finding.status, entry.status} or _STRENGTH[finding.status] < _STRENGTH[entry.status]:
        return f"it was {entry.status.value}, it is {finding.status.value}"
    return None
