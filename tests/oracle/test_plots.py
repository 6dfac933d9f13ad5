"""Pictures of plans and frontiers: well-formed SVG that shows every GPU and every move, the same bytes every time."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, NamedTuple

import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from oracle.moves.move import Move, MoveError
from oracle.planning.frontier import PlanFrontierPoint
from oracle.plots import plot_frontier, plot_plan
from oracle.plots.frontier_picture import Chart
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<job> & \"quotes\" 'of' ]]> \x00\x1b\ud800 日本"


def node(name: str, gpus: int = 8, *, schedulable: bool = True) -> SnapshotNode:
    return SnapshotNode(name=name, gpus=gpus, schedulable=schedulable)


def job(name: str, *instances: tuple[str, int]) -> RunningJob:
    return RunningJob(name=name, instances=tuple(RunningInstance(node=where, gpus=gpus) for where, gpus in instances))


def random_plan(nodes: int, *, capacities: Sequence[int] = (8,), share: float = 0.1) -> tuple[Snapshot, list[Move]]:
    """Return a cluster and moves at random; they over-book nodes, which a picture has to stand."""
    rng = random.Random(nodes)
    machines = [node(f"node-{k:05}", rng.choice(capacities), schedulable=rng.random() > 0.05) for k in range(nodes)]
    jobs = [
        job(f"team/job-{k}", *((rng.choice(machines).name, rng.choice((1, 2, 4))) for _ in range(rng.randint(1, 4))))
        for k in range(nodes // 2)
    ]
    moves = [
        Move(1, item.name, i, instance.gpus, instance.node, destination)
        for item in jobs
        for i, instance in enumerate(item.instances)
        if rng.random() < share and (destination := rng.choice(machines).name) != instance.node
    ]
    return Snapshot.build(nodes=machines, jobs=jobs), moves


def drawn(path: Path) -> ET.Element:
    return ET.fromstring(path.read_bytes())  # noqa: S314 - our own file


def having(root: ET.Element, tag: str, name: str) -> list[ET.Element]:
    """Return the elements of a class."""
    return [item for item in root.iter(SVG + tag) if name in item.get("class", "").split()]


def titles(root: ET.Element) -> list[str]:
    return [item.text or "" for item in root.iter(SVG + "title")]


def texts(root: ET.Element) -> list[str]:
    return [item.text or "" for item in root.iter(SVG + "text")]


def picture(tmp_path: Path, snapshot: Snapshot, moves: Sequence[Move] = ()) -> ET.Element:
    path = tmp_path / "plan.svg"
    plot_plan(snapshot, moves, path)
    return drawn(path)


class Text(NamedTuple):
    """What a text says and the box it takes: left, top, right, bottom."""

    says: str
    box: tuple[float, float, float, float]


def text_boxes(root: ET.Element) -> list[Text]:
    """Return the texts of a picture as DejaVu Sans has them, one of the widest fonts that "sans-serif" comes to."""
    found: list[Text] = []
    for item in root.iter(SVG + "text"):
        says, size = item.text or "", float(item.attrib["font-size"])
        font = FontProperties(family="DejaVu Sans", weight=item.get("font-weight", "normal"), size=size)
        known = re.sub("[\u2e80-\uffff]", "@", says)  # as wide as its own size, as those are that the font lacks
        width = text_to_path.get_text_width_height_descent(known, font, ismath=False)[0]
        left = (
            float(item.attrib["x"])
            - {"start": 0.0, "middle": width / 2, "end": width}[item.get("text-anchor", "start")]
        )
        base = float(item.attrib["y"])
        found.append(Text(says, (left, base - 0.76 * size, left + width, base + 0.24 * size)))
    return found


def touch(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def assert_legible(root: ET.Element) -> None:
    """Check that every text is within the view, upon no other text and upon no cell."""
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = text_boxes(root)
    for text in boxes:
        assert text.box[0] >= 0, text
        assert text.box[1] >= 0, text
        assert text.box[2] <= width, text
        assert text.box[3] <= height, text
    things = [(text.says, text.box) for text in boxes]
    for item in root.iter(SVG + "rect"):
        if item.get("class") in {"cell", "partial", "mark"}:
            x, y, wide, tall = (float(item.attrib[name]) for name in ("x", "y", "width", "height"))
            things.append(("a cell", (x, y, x + wide, y + tall)))
    things.sort(key=lambda thing: thing[1][0])
    open_texts: list[Text] = []
    for says, box in things:
        open_texts = [text for text in open_texts if text.box[2] > box[0]]
        assert not [text for text in open_texts if touch(text.box, box)], says
        if says != "a cell":
            open_texts.append(Text(says, box))


def inside(root: ET.Element) -> bool:
    """Whether every rectangle is within the view."""
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = [item for item in root.iter(SVG + "rect") if "x" in item.attrib]
    return all(
        float(box.attrib["x"]) >= 0
        and float(box.attrib["y"]) >= 0
        and float(box.attrib["x"]) + float(box.attrib["width"]) <= width
        and float(box.attrib["y"]) + float(box.attrib["height"]) <= height
        for box in boxes
    )


class TestPlan:
    SNAPSHOT = Snapshot.build(
        nodes=[node("a"), node("b"), node("c", 4)], jobs=[job("x", ("a", 2), ("b", 3)), job("y", ("a", 1), ("b", 4))]
    )
    MOVES = (Move(1, "y", 0, 1, "a", "b"),)

    def test_a_cell_a_gpu_before_and_after(self, tmp_path: Path) -> None:
        root = picture(tmp_path, self.SNAPSHOT, self.MOVES)
        for side in ("before", "after"):
            assert [len(having(group, "rect", "cell")) for group in having(root, "g", side)] == [8, 8, 4]

    def test_the_moved_instance_is_marked_where_it_was_and_where_it_is(self, tmp_path: Path) -> None:
        root = picture(tmp_path, self.SNAPSHOT, self.MOVES)
        before, after = (having(root, "g", side) for side in ("before", "after"))
        assert [len(having(group, "g", "moved")) for group in before] == [1, 0, 0]
        assert [len(having(group, "g", "moved")) for group in after] == [0, 1, 0]
        assert [len(having(item, "rect", "mark")) for item in having(root, "g", "moved")] == [1, 1]
        assert titles(having(before[0], "g", "moved")[0]) == ["y [0], 1 GPU, to b"]
        assert titles(having(after[1], "g", "moved")[0]) == ["y [0], 1 GPU, from a"]

    def test_the_title_says_what_is_gained(self, tmp_path: Path) -> None:
        root = picture(tmp_path, self.SNAPSHOT, self.MOVES)
        assert titles(root)[0] == "Φ 2 → 1: 1 migration of 1 job"
        assert titles(root)[0] in texts(root)
        assert root[1].tag == SVG + "desc"

    def test_without_moves_it_says_so(self, tmp_path: Path) -> None:
        root = picture(tmp_path, self.SNAPSHOT)
        assert titles(root)[0] == "Φ 2 → 2: nothing moves"
        assert not having(root, "g", "moved")

    def test_partial_nodes_are_marked_on_either_side(self, tmp_path: Path) -> None:
        root = picture(tmp_path, self.SNAPSHOT, self.MOVES)
        before, after = (having(root, "g", side) for side in ("before", "after"))
        assert [len(having(group, "rect", "partial")) for group in before] == [1, 1, 0]
        assert [len(having(group, "rect", "partial")) for group in after] == [1, 0, 0]

    def test_a_job_has_one_colour_everywhere(self, tmp_path: Path) -> None:
        colours: dict[str, set[str]] = {}
        for item in having(picture(tmp_path, self.SNAPSHOT, self.MOVES), "g", "instance"):
            colours.setdefault(titles(item)[0][0], set()).add(item.attrib["fill"])
        assert {name: len(found) for name, found in colours.items()} == {"x": 1, "y": 1}
        assert colours["x"] != colours["y"]

    def test_jobs_that_move_have_full_colours_and_are_named(self, tmp_path: Path) -> None:
        others = [job(f"other-{k}", ("c", 1)) for k in range(4)]
        many = [job(f"z{k}", (f"m{k}", 1)) for k in range(9)]
        nodes = [*self.SNAPSHOT.nodes, *(node(f"m{k}") for k in range(9))]
        snapshot = Snapshot.build(nodes=nodes, jobs=[*self.SNAPSHOT.jobs, *others, *many])
        root = picture(tmp_path, snapshot, self.MOVES)
        fills = {titles(item)[0].split(" [")[0]: item.attrib["fill"] for item in having(root, "g", "instance")}
        assert fills["y"] == "#0072B2"
        assert "#0072B2" not in {fill for name, fill in fills.items() if name != "y"}
        assert "y" in texts(root)
        assert any(text.startswith("14 other jobs") for text in texts(root))

    def test_what_stays_keeps_its_cells(self, tmp_path: Path) -> None:
        snapshot = Snapshot.build(nodes=[node("a"), node("b")], jobs=[job("x", ("a", 2)), job("y", ("a", 1))])
        root = picture(tmp_path, snapshot, [Move(1, "x", 0, 2, "a", "b")])
        before, after = (having(root, "g", side)[0] for side in ("before", "after"))
        first = [titles(having(group, "g", "instance")[0])[0] for group in (before, after)]
        assert first == ["y [0], 1 GPU", "y [0], 1 GPU"]

    def test_of_a_parked_instance_the_last_move_counts(self, tmp_path: Path) -> None:
        moves = [Move(2, "y", 0, 1, "c", "b"), Move(1, "y", 0, 1, "a", "c")]
        root = picture(tmp_path, self.SNAPSHOT, moves)
        assert [len(having(group, "g", "moved")) for group in having(root, "g", "after")] == [0, 1, 0]

    def test_cordons_and_overcommitment_show(self, tmp_path: Path) -> None:
        snapshot = Snapshot.build(
            nodes=[
                node("cordoned", schedulable=False),
                node("over"),
                node("none", 0),
                node("idle", 0, schedulable=False),
            ],
            jobs=[job("x", ("over", 10))],
        )
        root = picture(tmp_path, snapshot)
        before = having(root, "g", "before")
        assert [len(having(group, "rect", "cell")) for group in before] == [8, 10, 0, 0]
        assert [len(having(group, "rect", "cordoned")) for group in before] == [1, 0, 0, 0]
        assert [len(having(group, "rect", "overcommitted")) for group in before] == [0, 1, 0, 0]
        assert "cordoned" in texts(root)
        assert inside(root)

    def test_large_nodes_take_several_lines(self, tmp_path: Path) -> None:
        snapshot = Snapshot.build(nodes=[node("nvl", 72), node("small")], jobs=[job("x", ("nvl", 30), ("nvl", 41))])
        root = picture(tmp_path, snapshot, [Move(1, "x", 0, 30, "nvl", "nvl")])
        group = having(root, "g", "before")[0]
        cells = having(group, "rect", "cell")
        assert len(cells) == 72
        assert len({cell.attrib["y"] for cell in cells}) == 5
        assert inside(root)

    def test_a_mark_follows_its_instance_over_lines(self, tmp_path: Path) -> None:
        snapshot = Snapshot.build(nodes=[node("a", 72), node("b", 72)], jobs=[job("x", ("a", 20)), job("y", ("a", 10))])
        root = picture(tmp_path, snapshot, [Move(1, "x", 0, 20, "a", "b")])
        # Before, it has the cells 10 to 29 of lines of 16; after, 0 to 19.
        assert [len(having(item, "rect", "mark")) for item in having(root, "g", "moved")] == [2, 2]

    @pytest.mark.parametrize("place", ["node", "job"])
    def test_names_are_escaped(self, tmp_path: Path, place: str) -> None:
        name = NASTY if place == "node" else "a"
        snapshot = Snapshot.build(nodes=[node(name)], jobs=[job(NASTY if place == "job" else "x", (name, 1))])
        found = "\n".join(titles(picture(tmp_path, snapshot)))
        assert "<job> & \"quotes\" 'of' ]]> \\x00\\x1b\\ud800" in found
        assert "日本" in found

    def test_long_names_end_as_they_end_and_stand_whole_in_the_tooltip(self, tmp_path: Path) -> None:
        name = "gke-production-europe-west4-a100-pool-1234567890-abcd"
        root = picture(tmp_path, Snapshot.build(nodes=[node(name)]))
        assert any(text.startswith("…") and text.endswith("-abcd") for text in texts(root))
        assert any(text.startswith(name) for text in titles(root))

    def test_one_pool_only(self, tmp_path: Path) -> None:
        other = SnapshotNode(name="other", gpus=8, pool="h100")
        snapshot = Snapshot.build(
            nodes=[*self.SNAPSHOT.nodes, other], jobs=[*self.SNAPSHOT.jobs, job("z", ("other", 3))]
        )
        plot_plan(snapshot, self.MOVES, tmp_path / "one.svg", pool="default")
        root = drawn(tmp_path / "one.svg")
        assert [titles(group)[0].split()[0] for group in having(root, "g", "node")] == ["a", "b", "c"]
        assert titles(root)[0] == "Φ 2 → 1: 1 migration of 1 job"

    def test_no_nodes_make_a_picture_too(self, tmp_path: Path) -> None:
        root = picture(tmp_path, Snapshot.build(nodes=[]))
        assert titles(root) == ["Φ 0 → 0: nothing moves"]

    @pytest.mark.parametrize(
        "move", [Move(1, "y", 7, 1, "a", "b"), Move(1, "z", 0, 1, "a", "b"), Move(1, "y", 0, 1, "a", "nowhere")]
    )
    def test_moves_of_another_cluster_are_refused(self, tmp_path: Path, move: Move) -> None:
        path = tmp_path / "plan.svg"
        with pytest.raises(MoveError):
            plot_plan(self.SNAPSHOT, [move], path)
        assert not path.exists()


class TestLegible:
    """Names of every length, pools of every number."""

    POOLS = (
        ["default"],
        ["a100", "h100"],
        [f"NVIDIA-{kind}-SXM4-{gb}GB" for kind in ("A100", "H100", "L40S") for gb in (40, 80)],
        [f"WWWWMMMM-{k}-" + "europe-west4-" * (k % 6) + "WWWWMMMM" for k in range(40)],
    )

    @pytest.mark.long
    @pytest.mark.parametrize(
        "name", ["n{}", "gke-production-europe-west4-pool-{}-WMWMWMWM", "日本の節点の長い名前です{}"]
    )
    @pytest.mark.parametrize("pools", POOLS, ids=len)
    @pytest.mark.parametrize("nodes", [3, 64, 65, 260])
    @pytest.mark.parametrize("capacities", [(8,), (1, 2, 36)])
    def test_no_text_upon_another(
        self, tmp_path: Path, nodes: int, pools: list[str], name: str, capacities: Sequence[int]
    ) -> None:
        rng = random.Random(nodes)
        machines = [
            SnapshotNode(
                name=name.format(k), gpus=rng.choice(capacities), pool=rng.choice(pools), schedulable=k % 9 > 0
            )
            for k in range(nodes)
        ]
        jobs = [
            job(f"WMWM/{name.format(k)}", (rng.choice(machines).name, rng.choice((1, 2, 3)))) for k in range(nodes // 2)
        ]
        moves = [
            Move(1, of.name, 0, of.instances[0].gpus, of.instances[0].node, destination)
            for of in jobs[: max(1, nodes // 8)]
            if (destination := rng.choice(machines).name) != of.instances[0].node
        ]
        assert_legible(picture(tmp_path, Snapshot.build(nodes=machines, jobs=jobs), moves))

    @pytest.mark.parametrize(
        "points",
        [
            [(240 - k, k * k // 100 + k) for k in range(240)],
            [(4_000_000 - k * 1000, k * 3) for k in range(4000)],
            [(99_999_999, 0), (0, 999_999)],
            [(500_001, 999_999), (500_000, 1_000_000)],
            [(2, 0), (1, 1), (0, 2)],
            [(0, 0)],
        ],
        ids=len,
    )
    def test_frontiers(self, tmp_path: Path, points: list[tuple[int, int]]) -> None:
        half = [PlanFrontierPoint(partial, moves, moves // 2) for partial, moves in points]
        for number, found in enumerate((proved(*points), half)):
            plot_frontier(found, tmp_path / f"{number}.svg")
            assert_legible(drawn(tmp_path / f"{number}.svg"))


class TestManyNodes:
    @pytest.mark.long
    @pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
    @pytest.mark.parametrize("capacities", [(8,), (1, 4, 8, 16, 72)])
    @pytest.mark.parametrize("nodes", [64, 65, 1000])
    def test_every_gpu_is_drawn(self, tmp_path: Path, nodes: int, capacities: Sequence[int], share: float) -> None:
        snapshot, moves = random_plan(nodes, capacities=capacities, share=share)
        root = picture(tmp_path, snapshot, moves)
        used = [snapshot.used_gpus(), snapshot.used_gpus()]
        touched: set[str] = set()
        for move in moves:
            used[1][move.source] -= move.gpus
            used[1][move.destination] += move.gpus
            touched |= {move.source, move.destination}
        expected: dict[str, list[int]] = {"before": [], "after": [], "both": []}
        for machine in snapshot.nodes:
            cells = [max(machine.gpus, side[machine.name]) for side in used]
            if nodes <= 64 or machine.name in touched:
                expected["before"].append(cells[0])
                expected["after"].append(cells[1])
            else:
                expected["both"].append(cells[0])
        for name, cells in expected.items():
            found = [len(having(group, "rect", "cell")) for group in having(root, "g", name)]
            assert sorted(found) == sorted(cells)
        assert len(having(root, "g", "moved")) == 2 * len(moves)
        assert len(having(root, "g", "node")) == nodes
        assert inside(root)

    def test_pools_have_a_heading_over_their_nodes(self, tmp_path: Path) -> None:
        pools = ["h100", "a100", "x" * 200]
        machines = [SnapshotNode(name=f"n{k}", gpus=8, pool=pools[k % 3]) for k in range(90)]
        jobs = [job(f"j{k}", (f"n{k}", 1 + k % 8)) for k in range(60)]
        root = picture(tmp_path, Snapshot.build(nodes=machines, jobs=jobs), [Move(1, "j0", 0, 1, "n0", "n1")])
        counted = dict.fromkeys(pools, 0)
        order: list[str] = []
        for group in having(root, "g", "pool"):
            (pool,) = titles(group)
            name, _, number = texts(group)[0].rpartition(": ")
            assert pool.endswith(name.removeprefix("…"))
            counted[pool] += int(number.split()[0])
            order.append(pool)
        assert counted == dict.fromkeys(pools, 30)
        # two nodes change; of each pool some are partial, and some full or empty
        assert order == ["h100", "a100", *pools, *pools]
        current = ""
        for group in (item for item in root.iter(SVG + "g") if item.get("class") in {"pool", "node"}):
            if group.get("class") == "pool":
                current = titles(group)[0]
            else:
                assert f"(pool {current})" in titles(group)[0]

    def test_one_pool_has_no_heading(self, tmp_path: Path) -> None:
        assert not having(picture(tmp_path, *random_plan(100)), "g", "pool")

    def test_what_changes_comes_first(self, tmp_path: Path) -> None:
        snapshot, moves = random_plan(1000, share=0.02)
        changing = {name for move in moves for name in (move.source, move.destination)}
        groups = having(picture(tmp_path, snapshot, moves), "g", "node")
        assert {titles(group)[0].split()[0] for group in groups[: len(changing)]} == changing

    def test_of_thousands_the_full_and_empty_that_stay_are_counted(self, tmp_path: Path) -> None:
        machines = [node(f"n{k}", schedulable=k != 7) for k in range(2500)]
        jobs = [job("x", ("n0", 1), ("n1", 7), ("n2", 3), ("n3", 8))]
        root = picture(tmp_path, Snapshot.build(nodes=machines, jobs=jobs), [Move(1, "x", 0, 1, "n0", "n1")])
        assert [titles(group)[0].split()[0] for group in having(root, "g", "node")] == ["n0", "n1", "n2", "n7"]
        assert any("not drawn: 2,496 that stay full or empty" in text for text in texts(root))

    def test_it_fits_a_screen_and_a_mailbox(self, tmp_path: Path) -> None:
        root = picture(tmp_path, *random_plan(1000, share=0.2))
        assert float(root.attrib["width"]) <= 1300
        assert float(root.attrib["height"]) <= 2000
        assert (tmp_path / "plan.svg").stat().st_size < 3_000_000


def proved(*points: tuple[int, int]) -> list[PlanFrontierPoint]:
    """Return points of which nothing is left open."""
    return [PlanFrontierPoint(partial, migrations, migrations) for partial, migrations in points]


class TestFrontier:
    POINTS = proved((5, 0), (4, 1), (3, 3), (2, 7))

    def test_dots_labels_and_title(self, tmp_path: Path) -> None:
        path = tmp_path / "frontier.svg"
        plot_frontier(self.POINTS, path)
        root = drawn(path)
        assert titles(root)[0] == "Φ 5 → 2 with 7 migrations"
        assert len(having(root, "g", "point")) == 4
        assert {"Φ 5, 0 moved", "Φ 2, 7 moved"} <= set(texts(root))

    def test_the_order_of_the_points_does_not_matter(self, tmp_path: Path) -> None:
        plot_frontier(self.POINTS, tmp_path / "a.svg")
        plot_frontier(self.POINTS[::-1], tmp_path / "b.svg")
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()

    def test_thousands_of_points_have_few_dots(self, tmp_path: Path) -> None:
        path = tmp_path / "frontier.svg"
        plot_frontier(proved(*((4000 - k, k * k // 1000 + k) for k in range(4000))), path)
        assert 2 <= len(having(drawn(path), "g", "point")) <= 60

    @pytest.mark.parametrize("points", [[(0, 0)], [(3, 0)], [(1, 0), (0, 1)], [(3, 2), (2, 2)]])
    def test_small_ones(self, tmp_path: Path, points: list[tuple[int, int]]) -> None:
        path = tmp_path / "frontier.svg"
        plot_frontier(proved(*points), path)
        assert len(having(drawn(path), "g", "point")) == len(points)

    def test_what_is_not_proved_is_hollow_and_the_bound_is_drawn(self, tmp_path: Path) -> None:
        path = tmp_path / "frontier.svg"
        plot_frontier([*self.POINTS[:-1], PlanFrontierPoint(2, 7, 5)], path)
        root = drawn(path)
        (hollow,) = having(root, "g", "open")
        assert titles(hollow) == ["2 partial nodes, 7 migrations, at least 5"]
        discs = {group: group.findall(SVG + "circle")[0].get("fill") for group in having(root, "g", "point")}
        assert [fill for group, fill in discs.items() if group is hollow] == ["#FFFFFF"]
        assert "#FFFFFF" not in [fill for group, fill in discs.items() if group is not hollow]
        assert len(having(root, "g", "bound")) == 1
        assert any("Hollow: not proved" in text for text in texts(root))

    def test_what_lies_between_points_lies_between_two_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "frontier.svg"
        plot_frontier(proved((5, 0), (4, 1), (1, 7)), path)
        root = drawn(path)
        assert not having(root, "g", "open")
        assert not any("Hollow" in text for text in texts(root))
        assert any("Dashed: the bound" in text for text in texts(root))
        (bound,) = having(root, "g", "bound")
        chart = Chart(proved((5, 0), (4, 1), (1, 7)))
        # 2 partial nodes may take a single migration, a last one takes seven.
        assert chart.bounds == [(0, 5), (1, 4), (1, 2), (7, 1)]
        (way,) = bound.findall(SVG + "path")
        assert way.get("d", "").count("V") == 3

    def test_no_points(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="at least one point"):
            plot_frontier([], tmp_path / "frontier.svg")


SCRIPT = """
import sys
from pathlib import Path
from oracle.moves.move import Move
from oracle.plots import plot_plan
from oracle.snapshots.model import RunningInstance, RunningJob, Snapshot, SnapshotNode

nodes = [SnapshotNode(name=f"n{k}", gpus=8) for k in range(70)]
jobs = [RunningJob(name=f"j{k}", instances=(RunningInstance(node=f"n{k}", gpus=3),)) for k in range(70)]
plot_plan(Snapshot.build(nodes=nodes, jobs=jobs), [Move(1, "j0", 0, 3, "n0", "n1")], Path(sys.argv[1]))
print("matplotlib" in sys.modules)
"""


def test_the_bytes_do_not_depend_on_the_hash_seed_and_matplotlib_is_not_needed(tmp_path: Path) -> None:
    pictures: set[bytes] = set()
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.svg"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", SCRIPT, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == "False"
        pictures.add(path.read_bytes())
    assert len(pictures) == 1
