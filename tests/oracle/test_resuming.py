"""Plans that stop instances, taken up wherever they may be seen: nothing is lost, doubled or over-booked."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from oracle.moves.identity import Alike, Way, least_lost, recognise, way_of
from oracle.moves.move import Move, MoveError, Stop, protect
from oracle.planning.resumption import resume
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode
from tests.oracle.stopping_worlds import (
    Operator,
    Plan,
    indexed_job,
    indexes,
    lasting_names,
    new_names,
    replica_set,
    stateful_set,
    tight_world,
    without_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.planning.resumption import Resumption
    from tests.oracle.stopping_worlds import Cluster, Look

LOOKS = (without_names, new_names, lasting_names, indexes, indexed_job, replica_set, stateful_set)


def plans_with_stops(look: Look, rng: random.Random, count: int) -> Iterator[tuple[Cluster, Plan]]:
    while count:
        cluster, goal = tight_world(rng)
        plan = Plan(cluster, goal, look, rng)
        if plan.stops:
            yield cluster, plan
            count -= 1


def played(look: Look, rng: random.Random, count: int) -> tuple[int, int]:
    """Take plans up in every state that can be seen; return the states and the looks at them and at what came after."""
    states = looks = 0
    for cluster, plan in plans_with_stops(look, rng, count):
        for state in plan.states(cluster):
            states += 1
            looks += Operator(plan, look, rng).carry_out(state)
            assert state.places() == plan.after
    return states, looks


@pytest.mark.long
@pytest.mark.parametrize("look", LOOKS)
def test_nothing_that_a_plan_stops_is_lost(look: Look) -> None:
    states, looks = played(look, random.Random(11), 12)
    assert states > 60
    assert looks > states


@pytest.mark.slow
@pytest.mark.parametrize("look", LOOKS)
def test_nothing_that_many_plans_stop_is_lost(look: Look) -> None:
    played(look, random.Random(12), 300)


def instances(*texts: str) -> tuple[RunningInstance, ...]:
    """Return instances of 3 GPUs from texts such as `A`, `A name`, `A name index`."""
    found: list[RunningInstance] = []
    for text in texts:
        node, name, index = (*text.split(), None, None)[:3]
        found.append(RunningInstance(node=node or "", gpus=3, name=name, index=index))
    return tuple(found)


def cluster(*texts: str) -> Snapshot:
    """Return a cluster of five nodes on which job T has these instances."""
    jobs = [RunningJob(name="T", instances=instances(*texts))] if texts else []
    return Snapshot.build(nodes=[SnapshotNode(name=name, gpus=8) for name in "ABCDE"], jobs=jobs)


class TestWhoIsWho:
    """T[0] is to go from A to B, and is stopped for it; T[1] is on B or elsewhere, and stays."""

    MOVES = (Move(2, "T", 0, 3, "A", "B"),)
    STOPS = (Stop(1, "T", 0, 3, "A"),)

    def seen(self, before: Sequence[str], now: Sequence[str]) -> str:
        """Return what is told of T[0]."""
        found = resume(cluster(*now), self.MOVES, self.STOPS, at_start=cluster(*before).jobs)
        if found.failure is not None:
            return found.failure.reason.rpartition(": ")[2]
        assert not found.gone
        if found.done:
            assert (found.remaining, found.stopped) == ((), ())
            return "done"
        assert found.remaining == self.MOVES
        assert (found.stopped, found.remaining_stops) in {(self.STOPS, ()), ((), self.STOPS)}
        return "stopped" if found.stopped else "to be stopped"

    @pytest.mark.parametrize(
        ("before", "now", "told"),
        [
            # Without names: by their number on each node.
            (["A", "B"], ["A", "B"], "to be stopped"),
            (["A", "B"], ["B", "A"], "to be stopped"),
            (["A", "B"], ["B"], "stopped"),
            (["A", "B"], ["B", "B"], "done"),
            (["A", "C"], ["C"], "stopped"),
            (["A", "C"], ["B", "C"], "done"),
            (["A", "A"], ["A"], "stopped"),
            (["A"], [], "stopped"),
            # T[1] has been moved by somebody else: the rest can be made all the same.
            (["A", "C"], ["D"], "stopped"),
            (["A", "B"], ["A", "D"], "to be stopped"),
            # T[0] has been started elsewhere by somebody else.
            (["A", "B"], ["B", "D"], "it is on 'D'"),
            # Names that are seen again are certain; others leave it to the number.
            (["A a", "B b"], ["B b"], "stopped"),
            (["A a", "B b"], ["B b", "B c"], "done"),
            (["A a", "B b"], ["B c", "B b"], "done"),
            (["A a", "B b"], ["B a", "B b"], "done"),
            (["A a", "B b"], ["B c", "B d"], "done"),
            (["A a", "B b"], ["B c"], "stopped"),
            (["A a", "B b"], ["A c", "B b"], "to be stopped"),
            (["A a", "B b"], ["A a", "B c"], "to be stopped"),
            (["A a", "B b"], ["A", "B"], "to be stopped"),
            (["A", "B"], ["B b"], "stopped"),
            # An index decides, whatever else runs.
            (["A a 0", "B b 1"], ["B b 1"], "stopped"),
            (["A a 0", "B b 1"], ["B c 0", "B b 1"], "done"),
            (["A a 0", "B b 1"], ["C c 2", "B b 1"], "stopped"),
            (["A a 0", "B b 1"], ["B c 0"], "done"),
            (["A a 0", "B b 1"], ["A c 0", "B b 1"], "to be stopped"),
            (["A a 0", "B b 1"], ["D c 0", "B b 1"], "it is on 'D'"),
            (["A a 0", "B b 1"], ["B", "B"], "done"),
        ],
    )
    def test_what_is_seen(self, before: list[str], now: list[str], told: str) -> None:
        assert self.seen(before, now) == told

    def test_a_restarted_instance_goes_by_its_new_name(self) -> None:
        found = resume(cluster("B b 1", "A c 0"), self.MOVES, self.STOPS, at_start=cluster("A a 0", "B b 1").jobs)
        assert [move.name for move in found.remaining] == [stop.name for stop in found.remaining_stops] == ["c"]
        found = resume(cluster("B b 1"), self.MOVES, self.STOPS, at_start=cluster("A a 0", "B b 1").jobs)
        assert [move.called for move in found.remaining] == [stop.called for stop in found.stopped] == ["T[0] (a)"]

    def test_after_the_rest_all_run(self) -> None:
        found = resume(cluster("B"), self.MOVES, self.STOPS, at_start=cluster("A", "B").jobs)
        assert found.after is not None
        assert found.after.used_gpus() == {"A": 0, "B": 6, "C": 0, "D": 0, "E": 0}
        assert found.partial_nodes() == (1, 1)

    def test_what_the_plan_does_not_stop_and_is_missing_is_named(self) -> None:
        found = resume(cluster("C"), self.MOVES, self.STOPS, at_start=cluster("A", "B", "C").jobs)
        assert [stop.called for stop in found.stopped] == ["T[0]"]
        assert [(one.called, one.node) for one in found.missing] == [("T[1]", "B")]
        # Two are missing. If T[0] is one of them, somebody has moved another to A; if not, nothing is lost either.
        found = resume(cluster("A"), self.MOVES, self.STOPS, at_start=cluster("A", "B", "C").jobs)
        assert [stop.called for stop in found.stopped] == ["T[0]"]
        assert len(found.missing) == 1

    def test_a_job_that_grew(self) -> None:
        found = resume(cluster("E", "B", "A"), self.MOVES, self.STOPS, at_start=cluster("A", "B").jobs)
        assert (found.holds, found.remaining, found.remaining_stops) == (True, self.MOVES, self.STOPS)

    def test_who_is_protected_is_told_by_the_numbers_of_the_plan(self) -> None:
        # The plan protects T[1], which is listed first now that T[0] is stopped, or for no reason at all.
        start = protect(cluster("A", "C"), ["T:1"])
        for now in (["C"], ["C", "A"], ["A", "C"]):
            found = resume(cluster(*now), self.MOVES, self.STOPS, at_start=start.jobs, protected=["T:1"])
            assert found.holds
        found = resume(cluster("C", "A"), self.MOVES, self.STOPS, at_start=start.jobs, protected_now=["T:0"])
        assert found.failure is not None
        assert "it cannot be moved" in found.failure.reason

    @pytest.mark.parametrize(
        ("moves", "stops", "problem"),
        [
            ([Move(1, "T", 2, 3, "A", "B")], [], "is not among what ran"),
            ([Move(1, "U", 0, 3, "A", "B")], [], "is not among what ran"),
            ([Move(1, "T", 0, 3, "B", "A")], [], "is not among what ran"),
            ([Move(1, "T", 0, 4, "A", "B")], [], "is not among what ran"),
            ([], [Stop(1, "T", 0, 3, "A")], "is stopped and never restarted"),
        ],
    )
    def test_plans_that_contradict_themselves(self, moves: list[Move], stops: list[Stop], problem: str) -> None:
        with pytest.raises(MoveError, match=problem):
            resume(cluster("A", "B"), moves, stops, at_start=cluster("A", "B").jobs)

    def test_huge_numbers_cost_nothing(self) -> None:
        moves = [Move(10**18, "T", 0, 3, "A", "B"), Move(10**30, "T", 1, 3, "B", "C")]
        found = resume(cluster("B", "B"), moves, at_start=cluster("A", "B").jobs)
        assert (found.done, found.remaining) == ((moves[0],), (moves[1],))


class TestComingBack:
    """What comes back to a node has been there before or after; how far the others are tells which."""

    def resumed(self, now: dict[str, str], moves: Sequence[Move]) -> Resumption:
        def snapshot(places: dict[str, str]) -> Snapshot:
            jobs = [RunningJob(name=job, instances=(RunningInstance(node=n, gpus=3),)) for job, n in places.items()]
            return Snapshot.build(nodes=[SnapshotNode(name=name, gpus=8) for name in "ABCDE"], jobs=jobs)

        return resume(snapshot(now), moves, at_start=snapshot({"p": "A", "q": "C"}).jobs)

    def test_another_move_of_the_step_in_which_it_came_back_is_done(self) -> None:
        moves = (Move(1, "p", 0, 3, "A", "B"), Move(3, "p", 0, 3, "B", "A"), Move(3, "q", 0, 3, "C", "D"))
        assert self.resumed({"p": "A", "q": "D"}, moves).done == moves
        # As at the start, or as when p has come back in step 3 already: what is to be done is to move q.
        assert self.resumed({"p": "A", "q": "C"}, moves).remaining == moves[2:]
        assert self.resumed({"p": "B", "q": "C"}, moves).done == moves[:1]
        assert self.resumed({"p": "B", "q": "D"}, moves).remaining == moves[1:2]

    def test_it_came_back_in_a_step_of_its_own(self) -> None:
        moves = (Move(1, "p", 0, 3, "A", "B"), Move(2, "q", 0, 3, "C", "D"), Move(3, "p", 0, 3, "B", "A"))
        assert self.resumed({"p": "A", "q": "D"}, moves).done == moves
        assert self.resumed({"p": "B", "q": "D"}, moves).done == moves[:2]


def test_the_reading_loses_least() -> None:
    """Compared with all readings there are: whom the plan does not stop is missing, or is where it never puts it."""
    rng = random.Random(7)
    for _ in range(400):
        count = rng.randint(1, 4)
        homes = {number: rng.choice("ABC") for number in range(count)}
        ways: dict[int, Way] = {}
        for number, home in homes.items():
            move = Move(2, "T", number, 3, home, rng.choice([node for node in "ABC" if node != home]))
            if rng.random() < 0.7:
                ways[number] = way_of([move, Stop(1, "T", number, 3, home)] if rng.random() < 0.5 else [move])
        here = [rng.choice("ABCD") for _ in range(rng.randint(0, 4))]
        nodes = {node: tuple(i for i, there in enumerate(here) if there == node) for node in sorted(set(here))}
        found = least_lost(Alike(homes, nodes), ways, lambda _, happened: happened)
        assert len(set(found.values())) == len(found) == min(len(homes), len(here))

        def loss(places: Sequence[str | None], homes: dict[int, str] = homes, ways: dict[int, Way] = ways) -> list[int]:
            known = [ways.get(number, Way(home, ())).places for number, home in homes.items()]
            unknown = [place for place, own in zip(places, known, strict=True) if place not in own]
            return [unknown.count(None), len(unknown)]

        short = max(0, count - len(here))
        every = permutations([*here, *[None] * short], count)
        read = [here[found[number]] if number in found else None for number in homes]
        assert loss(read) == min(map(loss, every))


@pytest.mark.parametrize("names", [["a", None], [None, None], ["a", "b"]])
def test_nobody_is_two(names: list[str | None]) -> None:
    """Each instance is recognised once, in whatever order it is listed."""
    start = {number: RunningInstance(node="A", gpus=1, name=name) for number, name in enumerate(names)}
    now = [RunningInstance(node="A", gpus=1, name=name) for name in reversed(names)]
    known = recognise(start, now)
    alike = Counter(node for alike in known.alike for node in alike.homes.values())
    assert len(known.certain) + alike.total() == len(names)
    assert all(now[position].name == start[number].name for number, position in known.certain.items())
