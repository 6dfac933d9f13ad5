"""What Slurm's words for the states of nodes and jobs mean here, each decided once and with its reason.

Sources: sinfo(1) "NODE STATE CODES", squeue(1) "JOB STATE CODES", scontrol(1) on ``reboot``, Slurm's "Power Saving
Guide" and "Job Reason Codes". They do not explain the flags BLOCKED, EXTERNAL, POWER_DRAIN and DYNAMIC_FUTURE, which
occur in the JSON; the first three close a node, which errs on the side of no room.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# --- nodes ----------------------------------------------------------------------------------------------------------
#
# | state or flag (suffix)                 | new work | why                                                            |
# |----------------------------------------|----------|----------------------------------------------------------------|
# | IDLE, ALLOCATED, MIXED                 | yes      | in service                                                     |
# | COMPLETING (ALLOCATED+)                | yes      | over in moments; the ending jobs hold their GPUs, immovably    |
# | PLANNED (-)                            | yes      | set aside for a waiting job, which is among the pending ones   |
# | CLOUD, DYNAMIC_NORM, DYNAMIC_FUTURE    | yes      | where the node comes from, not whether it works                |
# | POWERED_DOWN (~), POWERING_UP (#)      | yes      | Slurm allocates them and boots them for the job                |
# | POWER_UP, RESUME, UNDRAIN,             | yes      | requests that lead back into service                           |
# | REBOOT_CANCELED                        |          |                                                                |
# | REBOOT_REQUESTED (@)                   | yes      | reboots when idle and takes jobs until then, unless DRAIN says |
# |                                        |          | otherwise too (`scontrol reboot ASAP`)                         |
# | DOWN, ERROR, UNKNOWN, INVALID,         | no       | unavailable, or not known to be available                      |
# | INVALID_REG, NOT_RESPONDING (*)        |          |                                                                |
# | DRAIN, DRAINED, DRAINING, FAIL,        | no       | closed by an administrator                                     |
# | FAILING                                |          |                                                                |
# | RESERVED                               | some     | in a reservation: for the jobs of that reservation, if it is   |
# |                                        |          | known which one that is (`allowed`)                            |
# | MAINT ($)                              | no       | in a reservation for maintenance                               |
# | POWER_DOWN (!), POWER_DRAIN,           | no       | on the way down                                                |
# | POWERING_DOWN (%), REBOOT_ISSUED (^)   |          |                                                                |
# | FUTURE, EXTERNAL, BLOCKED, PERFCTRS    | no       | not there yet, not run by Slurm, or kept for other use         |
# | any other word                         | no       | taken as closed, and listed among what was skipped             |
_OPEN: Final = frozenset({
    "IDLE", "ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP", "PLANNED", "PLND", "CLOUD", "DYNAMIC_NORM",
    "DYNAMIC_FUTURE", "POWERED_DOWN", "POWERING_UP", "POWER_UP", "POW_UP", "RESUME", "UNDRAIN", "REBOOT_CANCELED",
    "REBOOT_REQUESTED", "REBOOT",
})  # fmt: skip
_CLOSED: Final = frozenset({
    "DOWN", "ERROR", "UNKNOWN", "UNK", "INVALID", "INVAL", "INVALID_REG", "NOT_RESPONDING", "NO_RESPOND", "DRAIN",
    "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILING", "FAILG", "MAINT", "MAINTENANCE", "RESERVED", "RESV", "POWER_DOWN",
    "POW_DN", "POWER_DRAIN", "POWERING_DOWN", "REBOOT_ISSUED", "FUTURE", "FUTR", "EXTERNAL", "BLOCKED", "PERFCTRS",
    "NPC",
})  # fmt: skip
_RESERVED: Final = frozenset({"RESERVED", "RESV"})
_MAINTENANCE: Final = frozenset({"MAINT", "MAINTENANCE"})
_SUFFIXES: Final = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINT",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_SUFFIXED: Final = re.compile(r"(?P<word>[A-Z_]*)(?P<suffixes>[*~#!%$@^-]*)")
NODE_STATES: Final = _OPEN | _CLOSED


def state_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the states and flags in Slurm's spellings of them: ``IDLE+DRAIN``, ``mixed-``, ``["DOWN", "DRAIN"]``."""
    words: set[str] = set()
    for part in "+".join(texts).upper().split("+"):
        match = _SUFFIXED.fullmatch(part.strip())
        if match is None:
            words.add(part.strip())
        else:
            words.add(match["word"])
            words.update(_SUFFIXES[suffix] for suffix in match["suffixes"])
    return frozenset(words - {""})


def takes_new_work(words: frozenset[str], *, reservation_known: bool = False) -> bool:
    """Return whether Slurm puts new jobs on a node of these states; a word that is not in the table closes it.

    With `reservation_known` it is known for whose jobs a reserved node is, and their sets of nodes say it.
    """
    return bool(words) and words <= (_OPEN | _RESERVED if reservation_known else _OPEN)


def is_reserved(words: frozenset[str]) -> bool:
    """Return whether a node of these states is in a reservation now."""
    return bool(words & (_RESERVED | _MAINTENANCE))


def is_full(words: frozenset[str]) -> bool:
    """Return whether all CPUs of a node of these states are taken."""
    return bool(words & {"ALLOCATED", "ALLOC"})


def is_in_use(words: frozenset[str]) -> bool:
    """Return whether jobs have something of a node of these states: not which, as cores are enough for it."""
    return bool(words & {"ALLOCATED", "ALLOC", "MIXED", "MIX"})


# --- jobs -----------------------------------------------------------------------------------------------------------
#
# A job holds its GPUs from the moment they are allocated until the last process and the epilog are over: also while
# nodes boot for it (CONFIGURING), while it is suspended or stopped (Slurm frees the cores of a suspended job and
# nothing else), and while it ends (COMPLETING, STAGE_OUT). COMPLETING stands beside the final state, or beside PENDING
# for a job that is being requeued, so that it is looked at first.
_HOLDING: Final = frozenset({
    "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT",
})  # fmt: skip
# A job that ends, or changes its size at this moment, cannot be moved.
_ENDING: Final = frozenset({"COMPLETING", "RESIZING", "STAGE_OUT"})
_HELD: Final = frozenset({"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
_WAITING: Final = frozenset({"PENDING", "REQUEUED", "REQUEUE_FED"}) | _HELD
_FINISHED: Final = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT",
})  # fmt: skip
JOB_STATES: Final = _HOLDING | _WAITING | _FINISHED


def is_known_job_state(words: frozenset[str]) -> bool:
    """Return whether at least one word says what becomes of the job; flags of later versions may stand beside it."""
    return bool(words & JOB_STATES)


def holds_gpus(words: frozenset[str]) -> bool:
    """Return whether a job of these states has GPUs allocated."""
    return bool(words & _HOLDING)


def is_ending(words: frozenset[str]) -> bool:
    """Return whether a job of these states holds its GPUs but cannot be moved."""
    return bool(words & _ENDING)


def is_waiting(words: frozenset[str]) -> bool:
    """Return whether a job of these states is in the queue, held or not; a revoked one runs in a sister cluster."""
    return not holds_gpus(words) and bool(words & _WAITING) and "REVOKED" not in words


# Why a job waits, in Slurm's words with blanks for underscores: a code, or a sentence instead of it. Room starts those
# that wait for nothing else: the scheduler has not come to them yet, others are ahead of them, or what they need is
# taken. Nodes that are down or drained are closed in the snapshot as well, so that a job is not said to start there. A
# list of what does not wait for room would be out of date with the next version, hence one of what does.
_ROOM: Final = frozenset({
    "", "None", "Resources", "Priority", "WaitingForScheduling",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
})  # fmt: skip
# Slurm names all nodes of the partition that are not available; the job waits for one of the others to become free.
_UNAVAILABLE: Final = re.compile(r"ReqNodeNotAvail,[ _]UnavailableNodes:(?P<hosts>.+)")
_BARRED: Final = {
    "Dependency": "its dependency is not met",
    "DependencyNeverSatisfied": "its dependency can never be met",
    "JobHeldUser": "held by its user",
    "JobHeldAdmin": "held by an administrator",
    "JobHoldMaxRequeue": "held after too many requeues",
    "BeginTime": "its begin time has not come",
    "BadConstraints": "no node can ever satisfy its constraints",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "JobArrayTaskLimit": "as many tasks of its array run as may at a time (JobArrayTaskLimit)",
    "Licenses": "its licenses are in use (Licenses)",
    "Reservation": "its reservation has not begun (Reservation)",
}
_LIMIT: Final = re.compile(r"QOS(?!NotAllowed)\w+|Assoc\w+|Max\w*PerAccount")


def reason_words(text: str) -> str:
    """Return why a job waits, in the words that both forms have: the text has underscores for blanks."""
    return text.replace("_", " ").strip()


def unavailable_nodes(reason: str) -> str | None:
    """Return the hostlist in a reason that names the nodes which are not available, None in any other."""
    match = _UNAVAILABLE.fullmatch(reason.strip())
    return match["hosts"].strip("() ") if match else None


def bar_to_start(words: frozenset[str], reason: str, *, held: bool) -> str | None:
    """Return why a waiting job could not start however much room there were, or None if room is what it waits for."""
    said = reason_words(reason)
    code = said.partition(",")[0]
    if code in _BARRED:
        return _BARRED[code]
    if held or words & _HELD:
        return "held"
    if said in _ROOM or unavailable_nodes(reason) is not None:
        return None
    if _LIMIT.fullmatch(code):
        return f"limit of its user/account/QOS reached ({code})"
    # What follows a colon differs from job to job.
    return said.partition(":")[0]
