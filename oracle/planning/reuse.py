"""What of an earlier plan is still wanted in a snapshot of later: where its instances were to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.moves.identity import recognise

if TYPE_CHECKING:
    from oracle.planning.result import Plan
    from oracle.snapshots.model import Snapshot
    from oracle.snapshots.stocks import Key


def destinations(plan: Plan, snapshot: Snapshot) -> dict[Key, str]:
    """Return where a plan puts instances in the end, by their positions in a later snapshot, in the order of its moves.

    Who is who is said by `oracle.moves.identity`; of instances that can stand in for one another, one on the same node
    as before is taken.
    """
    ends = {(move.job, move.instance): move.destination for move in plan.moves}
    before = {job.name: job.instances for job in plan.snapshot.jobs}
    now = {job.name: job.instances for job in snapshot.jobs}
    positions: dict[Key, int] = {}
    for name in dict.fromkeys(job for job, _ in ends):
        known = recognise(dict(enumerate(before[name])), now.get(name, ()))
        positions |= {(name, number): position for number, position in known.certain.items()}
        for alike in known.alike:
            there = {node: list(own) for node, own in alike.nodes.items()}
            for number, home in alike.homes.items():
                if there.get(home):
                    positions[name, number] = there[home].pop(0)
    return {(key[0], positions[key]): node for key, node in ends.items() if key in positions}
