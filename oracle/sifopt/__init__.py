"""The SIFOpt scheduler: after every event the fewest partial nodes there can be, with the fewest migrations."""

from oracle.sifopt.events import (
    SifOptOutcome,
    add_node,
    arrive,
    depart,
    drain_node,
    fail_node,
    prove,
    return_node,
    settle,
)

__all__ = [
    "SifOptOutcome",
    "add_node",
    "arrive",
    "depart",
    "drain_node",
    "fail_node",
    "prove",
    "return_node",
    "settle",
]
