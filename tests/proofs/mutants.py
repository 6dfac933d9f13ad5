"""Ways to break the operators, each a value: what is broken, and how that is patched into the code that runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from compass_core import ClusterState, NodeKind
from compass_core.draft import Draft
from compass_core.index_set import IndexSet
from compass_core.model import NodeShape, shape_of
from tests.proofs import breakages as broken

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: a name for it, what is broken, and how it is patched in."""

    name: str
    breaks: str
    patches: tuple[Patch, ...]

    def break_it(self, patcher: pytest.MonkeyPatch) -> None:
        forget()
        for patch in self.patches:
            patch(patcher)


@runtime_checkable
class Remembers(Protocol):
    """A function that remembers its answers."""

    def cache_clear(self) -> None: ...


def forget() -> None:
    """Empty the tables of shapes and merges, which hold what the broken code, or the sound one, answered."""
    for name, module in list(sys.modules.items()):
        if name.startswith("compass_core"):
            for value in vars(module).values():
                if isinstance(value, Remembers):
                    value.cache_clear()


def swap(module: str, name: str, fault: object, *, only_there: bool = False) -> Patch:
    """Return the patch that puts `fault` in place of a function, wherever it was imported."""

    def patch(patcher: pytest.MonkeyPatch) -> None:
        original = vars(sys.modules[f"compass_core.{module}"])[name]
        for holder_name, holder in list(sys.modules.items()):
            if holder_name == f"compass_core.{module}" or (
                not only_there and holder_name.startswith(("compass_core", "tests.core", "tests.proofs.property_suite"))
            ):
                for key, value in list(vars(holder).items()):
                    if value is original:
                        patcher.setattr(holder, key, fault)

    return patch


def method(owner: type, name: str, fault: object) -> Patch:
    def patch(patcher: pytest.MonkeyPatch) -> None:
        patcher.setattr(owner, name, fault)

    return patch


def shapes(spoil: Callable[[NodeShape], NodeShape]) -> Patch:
    """Return the patch after which shapes say something wrong about themselves."""

    @cache
    def untrue(capacity: int, demands: tuple[int, ...]) -> NodeShape:
        return spoil(shape_of(capacity, demands))

    return swap("model", "shape_of", untrue)


def table_without(left_out: Callable[[set[NodeKind], bool], bool]) -> Patch:
    """Return the patch after which some pairs of kinds are never merged."""
    return swap("merging", "divisions", partial(broken.without, left_out=left_out))


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "no refill",
        "vacancies stay open beside ones (invariant I)",
        (swap("compact", "fill_vacancies", broken.nothing),),
    ),
    Mutant(
        "one filler",
        "an event moves one filler at most",
        (swap("compact", "fill_vacancies", broken.one_filler_an_event),),
    ),
    Mutant("filler lost", "a merge loses the ones it should move", (method(Draft, "move", broken.move_unless_filler),)),
    Mutant("highest index", "ties go to the highest index", (method(IndexSet, "lowest", property(broken.highest)),)),
    Mutant(
        "last idle node",
        "the last idle node is taken first",
        (swap("compact", "lowest_empty_node", broken.last_empty_node),),
    ),
    Mutant(
        "a GPU more", "a node holds a GPU more than it has", (swap("model", "_plus", partial(broken.plus, spare=1)),)
    ),
    Mutant(
        "a GPU less", "the last GPU of a node stays unused", (swap("model", "_plus", partial(broken.plus, spare=-1)),)
    ),
    Mutant("no merge", "Compact merges nothing", (swap("compact", "merge_nodes", broken.nothing),)),
    Mutant(
        "no pool pass", "open pool nodes are not merged", (table_without(lambda kinds, _: kinds == {NodeKind.POOL}),)
    ),
    Mutant(
        "no slot pass",
        "open slotted nodes are not merged",
        (table_without(lambda kinds, _: kinds == {NodeKind.SLOTTED}),),
    ),
    Mutant(
        "mixed stays",
        "slots and ones that share a node never part (COMPASS)",
        (table_without(lambda kinds, apart: apart and NodeKind.MIXED in kinds),),
    ),
    Mutant(
        "idle stays",
        "an orphan is no reason to use an idle node",
        (table_without(lambda kinds, _: NodeKind.EMPTY in kinds),),
    ),
    Mutant(
        "closing first",
        "a merge closes a node even if that mixes slots and ones",
        (swap("merging", "disorder", broken.only_open_nodes_count),),
    ),
    Mutant(
        "mixed closed",
        "a merge fills the mixed node and leaves the slotted one open",
        (swap("merging", "disorder", broken.mixed_and_open_count),),
    ),
    Mutant("moves backwards", "a merge moves in the wrong order", (swap("merging", "divisions", broken.backwards),)),
    Mutant(
        "list backwards",
        "migrations are listed in the wrong order",
        (swap("steps", "shortened", partial(broken.shortened_but, fault=lambda moves: moves[::-1])),),
    ),
    Mutant(
        "move missing",
        "the first migration is not listed",
        (swap("steps", "shortened", partial(broken.shortened_but, fault=lambda moves: moves[1:])),),
    ),
    Mutant(
        "fillers unlisted",
        "the list of migrations lacks 1-GPU instances (P14)",
        (method(Draft, "move", broken.move_unlisted_fillers),),
    ),
    Mutant(
        "own moves listed",
        "instances that do not run yet are listed as migrations",
        (method(Draft, "move", broken.move_listed_always),),
    ),
    Mutant("orphans stay", "Remove re-homes no orphan", (swap("operators", "_rehome_orphans", broken.nothing),)),
    Mutant(
        "too generous",
        "a job is admitted that leaves ones beside slots",
        (swap("place", "refuse_orphans", broken.any_orphans),),
    ),
    Mutant("too strict", "the last free GPU is refused", (swap("place", "refuse_orphans", broken.no_full_cluster),)),
    Mutant(
        "no pool host",
        "COMPASS puts no anchor beside the fillers of its gang",
        (swap("place", "_pool_to_fill_up", broken.no_node),),
    ),
    Mutant(
        "no exchange",
        "EXACT makes no room by exchanging blocks and ones",
        (swap("place", "_exchange", broken.no_node),),
    ),
    Mutant(
        "no refill on the way",
        "a gang draws no fillers before it is placed whole",
        (swap("place", "fill_vacancies", broken.nothing, only_there=True),),
    ),
    Mutant("roomiest node", "Place takes the node with most room", (swap("place", "find_host", broken.roomiest_host),)),
    Mutant("mixing allowed", "COMPASS places slots beside ones", (swap("variant", "may_become", broken.may_mix),)),
    Mutant(
        "w*(3) = 3",
        "a slot of 3 asks for no filler",
        (swap("model", "slot_width", partial(broken.width, wrong={3: 3})),),
    ),
    Mutant("w*(5) = 6", "a slot of 5 is 6 wide", (swap("model", "slot_width", partial(broken.width, wrong={5: 6})),)),
    Mutant("w*(2) = 4", "a slot of 2 is 4 wide", (swap("model", "slot_width", partial(broken.width, wrong={2: 4})),)),
    Mutant(
        "7 asks for none",
        "the vacancy of a 7 is not counted",
        (swap("model", "slot_vacancy", partial(broken.vacancy, of=7)),),
    ),
    Mutant(
        "shape index stale",
        "a node stays in the group it left",
        (swap("nodes", "_regrouped", broken.left_in_its_old_group),),
    ),
    Mutant("counts stale", "running instances are not counted", (swap("state", "_counted", broken.same_counts),)),
    Mutant(
        "gang short of one",
        "the last instance of a gang is not placed",
        (swap("place", "put_all", broken.all_but_the_last),),
    ),
    Mutant("half a gang", "a gang is placed as far as it goes", (swap("place", "put_all", broken.what_fits),)),
    Mutant(
        "refusal leaves a trace",
        "a refused job is known afterwards",
        (swap("scheduler", "Outcome", broken.leaves_a_trace, only_there=True),),
    ),
    Mutant(
        "no settling",
        "a departure is followed by nothing",
        (swap("scheduler", "settle", broken.nothing, only_there=True),),
    ),
    Mutant(
        "WCC strict",
        "the condition asks for more ones than vacancies",
        (swap("condition", "wcc_holds", broken.strictly),),
    ),
    Mutant(
        "no remainder", "the closed form is always 0", (swap("fragmentation", "closed_form", broken.nothing_left_over),)
    ),
    Mutant(
        "full is partial",
        "a full node counts as partial",
        (shapes(lambda shape: replace(shape, partial=shape.used > 0)),),
    ),
    Mutant(
        "fillers are ones",
        "fillers count as ones outside slots",
        (shapes(lambda shape: replace(shape, ones=shape.singles)),),
    ),
    Mutant(
        "closed is open",
        "full nodes are looked at for merges",
        (shapes(lambda shape: replace(shape, open=shape.reserved > 0)),),
    ),
    Mutant(
        "silent failure",
        "a failed node does not tell what it held",
        (swap("node_events", "fail_node", broken.fails_in_silence),),
    ),
    Mutant("drain unlisted", "what leaves a drained node is not listed", (method(Draft, "add", broken.add_unseen),)),
    Mutant(
        "no settling of nodes",
        "nothing is compacted when a node comes or fails",
        (swap("node_events", "_settled", broken.unsettled),),
    ),
    Mutant(
        "wrong index", "an added node is given a wrong index", (method(ClusterState, "with_node", broken.one_further),)
    ),
    Mutant("all moves cost 1", "the cost of a move is ignored", (method(Draft, "cost", broken.same_cost),)),
    Mutant("dearest moves", "of equal instances the dearest moves", (method(Draft, "cheapest", broken.dearest),)),
    Mutant(
        "blind to ones",
        "the check of invariant I finds nothing",
        (swap("invariants", "check_saturation", broken.passes),),
    ),
    Mutant("blind to mixing", "the check of ABS finds nothing", (swap("invariants", "check_abs", broken.passes),)),
    Mutant(
        "printed: no fillers",
        "a printed slot draws no fillers",
        (swap("printed", "_draw_filler", broken.nothing_drawn),),
    ),
    Mutant(
        "printed: no pass", "the printed Compact is left out", (swap("printed", "compact", broken.no_printed_compact),)
    ),
)
"""Each is caught by the property suite."""
