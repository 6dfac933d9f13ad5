"""Constraints that Slurm keeps and no snapshot can say: which of them a job has, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oracle.snapshots.slurm.gres import is_nothing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_SOCKETS = "GPUs bound to the sockets of the CPUs"
# By the names in Slurm's JSON. Those of whole nodes and of features are for the reader to find.
_WORDS = {
    "licenses": "licenses",
    "contiguous": "nodes in a row (contiguous)",
    "core_spec": "cores or threads set aside for the system (core specialization)",
    "thread_spec": "cores or threads set aside for the system (core specialization)",
    "network": "network",
    "enforce_binding": _SOCKETS,
    "tres_per_socket": _SOCKETS,
    **dict.fromkeys(
        ("sockets_per_node", "threads_per_core", "tasks_per_socket", "tasks_per_core", "tasks_per_board"),
        "tasks or CPUs by sockets, cores or threads",
    ),
}
SWITCHES = "network switches: several, or not told (`scontrol show topology` tells them)"
BLOCKS = "blocks of the network topology, in another way than one base block for all nodes"
NETWORKS = "a network switch that joins all nodes of a job"
OFF_TOPOLOGY = "the network topology of nodes that are on no switch, or in no block, of those that are told"
WHOLE_NODES = "whole nodes (exclusive)"
_OWN_NODES = "nodes that no other user, or nobody of another label, is on"
_OWN_BLOCKS = "whole blocks (--exclusive=topo)"
FEATURES = "features that are asked of the nodes together, or in a form that is not read"
REQUIRED_NODES = "more required nodes than the job has"
SHARES = "CPUs or memory that are not told node by node"
NO_GPUS = "components of heterogeneous jobs without GPUs"
# NO_VAL of 16 bits, alone or without the bit that tells threads from cores, is how Slurm says that nothing is asked.
_UNSET = re.compile(r"[0*]|No|6553[45]|3276[67]", re.IGNORECASE)


def unread(values: Mapping[str, str], sharing: Collection[str]) -> tuple[str, ...]:
    """Return the words for those of these fields in which something is asked, and for how nodes are shared."""
    asked = (
        words
        for key, words in _WORDS.items()
        if not is_nothing(text := values.get(key)) and not _UNSET.fullmatch(text or "")
    )
    own = [_OWN_NODES] if {"USER", "MCS"} & set(sharing) else []
    blocks = [_OWN_BLOCKS] if "TOPO" in sharing else []
    return tuple(dict.fromkeys([*asked, *own, *blocks]))
