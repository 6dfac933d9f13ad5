"""Switches and blocks: what binds a job to one of them in Slurm, what does not, and inputs that are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.slurm import is_slurm_text, read_slurm
from oracle.snapshots.slurm import topology as topology_module
from oracle.snapshots.slurm.requirements import BLOCKS, NETWORKS, OFF_TOPOLOGY, SWITCHES
from tests.oracle.snapshots.slurm_inputs import (
    Fields,
    document,
    fault,
    job,
    listed,
    node,
    on,
    skipped,
    text,
    waiting,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.model import Snapshot

LEAVES = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
TREE = LEAVES + "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[0-1]\n"
IN_BLOCKS = (
    "BlockName=b0 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
    "BlockName=b1 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
    "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n"
)
IN_BOTH_BLOCKS, ON_BOTH_SWITCHES = ("block b0", "block b1"), ("switch s0", "switch s1")
TWO_GPUS = ("gpu:1(IDX:0)", "gpu:1(IDX:0)")


def asking(job_id: int = 1, nodes: int = 2, /, **fields: object) -> Fields:
    return waiting(job_id, **{"tres_per_node": "gres/gpu:8", "node_count": wrapped(nodes), **fields})


def read(topology: str, *jobs: Fields, nodes: Sequence[Fields] = (), count: int = 4) -> Snapshot:
    found = list(nodes) or [node(f"n{n}") for n in range(1, count + 1)]
    return read_slurm([document({"nodes": found, "jobs": list(jobs)}), text(topology)])


def choice(snapshot: Snapshot) -> tuple[tuple[str, ...], list[str]]:
    """Return the sets that the one waiting job may choose from, and what is not looked at."""
    (found,) = snapshot.pending
    return found.within_one_of, [entry.reason for entry in snapshot.not_looked_at]


class TestBlocks:
    def test_a_segment_larger_than_base_blocks_are_planned_for_is_in_several_of_them(self) -> None:
        """Slurm rounds up to the next size of blocks, which here is that of b[0-1]."""
        assert choice(read(IN_BLOCKS, asking(1, 4, segment_size=4))) == ((), [BLOCKS])
        # So it is where blocks have more nodes than they are planned for.
        roomy = IN_BLOCKS.replace("n[1-2]", "n[1-3]").replace("n[3-4]", "n[4-6]").replace("n[1-4]", "n[1-6]")
        assert choice(read(roomy, asking(1, 3, segment_size=3), count=6)) == ((), [BLOCKS])
        assert choice(read(roomy, asking(1, 2, segment_size=2), count=6)) == (IN_BOTH_BLOCKS, [])

    def test_the_size_is_told_by_the_file_where_the_command_does_not(self) -> None:
        """Slurm before 24.11 prints no sizes."""
        bare = "".join(line.partition(" BlockSize")[0] + "\n" for line in IN_BLOCKS.splitlines()[:2])
        assert choice(read(bare, asking(segment_size=2))) == ((), [BLOCKS])
        assert choice(read("BlockSizes=2,4\n" + bare, asking(segment_size=2))) == (IN_BOTH_BLOCKS, [])
        assert choice(read(bare + "blocksizes=1,2,4 # 2\n", asking(segment_size=2))) == ((), [BLOCKS])
        # Two sizes for one thing tell nothing.
        assert choice(read(IN_BLOCKS + "BlockSizes=4\n", asking(segment_size=2))) == ((), [BLOCKS])

    def test_a_switch_is_not_looked_at_where_there_are_blocks(self) -> None:
        asked = asking(segment_size=2, required_switches=1)
        assert choice(read(IN_BLOCKS, asked)) == (IN_BOTH_BLOCKS, [SWITCHES])

    def test_whole_blocks_in_text(self) -> None:
        head = "JobId=7 JobName=x UserId=u(1)\n   JobState=PENDING Reason=Resources\n   NumNodes=1-1 NumCPUs=2\n"
        more = "   MinCPUsNode=1 TresPerNode=gres/gpu:2\n   OverSubscribe=TOPO\n"
        snapshot = read_slurm([document({"nodes": [node("n1")]}), text(head + more)])
        assert choice(snapshot) == ((), ["whole blocks (--exclusive=topo)"])


class TestSwitches:
    def test_no_time_to_wait_for_the_switch_is_no_wish(self) -> None:
        fields: Fields = {"required_switches": wrapped(1)}
        assert choice(read(TREE, asking(**fields, maximum_switch_wait_time=0))) == ((), [])
        assert choice(read(TREE, asking(**fields, maximum_switch_wait_time=60))) == (ON_BOTH_SWITCHES, [])
        head = "JobId=7 JobName=x UserId=u(1)\n   JobState=PENDING Reason=Resources\n   NumNodes=2-2 NumCPUs=2\n"
        for time, names in (("00:00:00", ()), ("00:00:01", ON_BOTH_SWITCHES), ("1-00:00:00", ON_BOTH_SWITCHES)):
            one = text(f"{head}   MinCPUsNode=1 TresPerNode=gres/gpu:2\n   Switches=1@{time}\n")
            nodes = document({"nodes": [node(f"n{n}") for n in range(1, 5)]})
            assert choice(read_slurm([text(TREE), one, nodes])) == (names, [])

    def test_who_will_not_wait_for_ever_is_listed(self) -> None:
        snapshot = read(TREE, asking(1, required_switches=1), asking(2), asking(3, 1, required_switches=1))
        assert listed(snapshot, "which Slurm lets onto several") == ("1",)
        assert [entry.kept for entry in snapshot.skipped] == [True]
        assert skipped(read(IN_BLOCKS, asking(segment_size=2))) == {}

    def test_the_number_of_nodes_may_follow_from_the_gpus(self) -> None:
        asked = asking(1, 1, tres_per_job="gres/gpu:16", required_switches=1)
        assert choice(read(TREE, asked)) == (ON_BOTH_SWITCHES, [])

    def test_those_without_a_known_node_are_no_choice(self) -> None:
        topology = LEAVES + "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=login[1-9]\n"
        assert choice(read(topology, asking(required_switches=1))) == (ON_BOTH_SWITCHES, [])

    def test_a_job_over_nodes_that_no_switch_joins(self) -> None:
        """Slurm gives no job nodes without a common switch, though it asks for nothing."""
        assert choice(read(LEAVES, asking())) == ((), [NETWORKS])
        assert choice(read(LEAVES, asking(1, 1))) == ((), [])
        assert choice(read(TREE, asking())) == ((), [])

    def test_a_partition_on_one_of_the_networks_is_joined(self) -> None:
        nodes = [node(f"n{n}", partitions=["p" if n < 3 else "q"]) for n in range(1, 5)]
        assert choice(read(LEAVES, asking(partition="p"), nodes=nodes)) == ((), [])
        assert choice(read(LEAVES, asking(partition="p,q"), nodes=nodes)) == ((), [NETWORKS])


class TestWhatIsNotInTheTopology:
    @pytest.mark.parametrize(
        ("topology", "fields", "names"),
        [
            (TREE, {"required_switches": 1}, (*ON_BOTH_SWITCHES, "no switch")),
            (IN_BLOCKS, {"segment_size": 2}, (*IN_BOTH_BLOCKS, "no block")),
        ],
    )
    def test_other_nodes_are_a_choice_where_they_are_enough(
        self, topology: str, fields: Fields, names: tuple[str, ...]
    ) -> None:
        snapshot = read(topology, asking(**fields), count=6)
        assert choice(snapshot) == (names, [OFF_TOPOLOGY])
        assert {one.name: set(one.nodes) for one in snapshot.node_sets}[names[-1]] == {"n5", "n6"}
        assert choice(read(topology, asking(**fields), count=5)) == (names[:-1], [])

    def test_a_file_with_both_does_not_say_which_is_in_use(self) -> None:
        both = TREE + IN_BLOCKS
        assert choice(read(both, asking(required_switches=1))) == ((), [SWITCHES, BLOCKS])
        assert choice(read(both, asking(segment_size=2))) == ((), [BLOCKS])

    @pytest.mark.parametrize(("topology", "words"), [(IN_BLOCKS, BLOCKS), (TREE, SWITCHES)])
    def test_components_by_what_they_ask_for(self, topology: str, words: str) -> None:
        wish: Fields = {"segment_size": 2} if words == BLOCKS else {"required_switches": 1}
        jobs = [asking(20, het_job_id=20, **wish), asking(21, 1, het_job_id=20, het_job_offset=1)]
        snapshot = read(topology, *jobs)
        assert choice(snapshot) == ((), [words])
        assert skipped(snapshot) == {}

    def test_a_running_job_keeps_to_its_block(self) -> None:
        jobs = [
            job(1, **on("n[3-4]", *TWO_GPUS), node_count=2, segment_size=2),
            job(2, **on("n[2-3]", *TWO_GPUS), node_count=2, segment_size=2),
            job(3, **on("n[3-4]", *TWO_GPUS), node_count=2, segment_size=1),
        ]
        snapshot = read(IN_BLOCKS, *jobs)
        found = {one.name: [(i.within, i.movable) for i in one.instances] for one in snapshot.jobs}
        assert found == {"1": [(("block b1",), True)] * 2, "2": [((), True)] * 2, "3": [((), True)] * 2}


class TestFaults:
    @pytest.mark.parametrize(
        ("topology", "message"),
        [
            # What `scontrol show topology NODE` prints.
            (
                "SwitchName=s0 Level=0 Nodes=n[1-2]\nSwitchName=top Level=1 Nodes=n[1-4] Switches=s[0-1]\n",
                "line 2: Switches: switch 'top' has 's1' below it, which is not among the switches; print all with",
            ),
            ("SwitchName=a Switches=a\n", "line 1: Switches: switch 'a' is below itself"),
            (LEAVES + "SwitchName=a Switches=b,s0\nSwitchName=b Switches=a\n", "Switches: switch 'a' is below itself"),
            (TREE + "SwitchName=top Switches=s0\n", "line 4: top was printed before with other nodes or switches"),
            (TREE + "SwitchName=s0 Switches=s1\n", "line 4: s0 was printed before with other nodes or switches"),
            ("SwitchName=top Switches=s[0-\n", "line 1: Switches: 's[0-' is no host name or hostlist"),
            ("BlockSizes=two\n", "line 1: BlockSizes: expected sizes of blocks, such as 4,8,16, got 'two'"),
            ("BlockName=b0 Nodes=n1 BlockSize=2,4\n", "line 1: BlockSize: expected a whole number, got '2,4'"),
            (LEAVES + "BlockName=b0 Nodes=n1 BlockSize=2", "line 3: the text seems to be cut off in 'BlockSize=2'"),
        ],
    )
    def test_said_in_one_line(self, topology: str, message: str) -> None:
        assert message in fault(document({"nodes": [node("n1")], "jobs": []}), text(topology))

    def test_a_topology_of_ever_more_names_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(topology_module, "MAX_NAMES", 1000)
        main = document({"nodes": [node(f"n{n}") for n in range(1, 51)], "jobs": []})
        lists = "".join(f"SwitchName=s{n} Nodes=n[{n}-400]\n" for n in range(1, 6))
        chain = "SwitchName=c0 Nodes=n[1-50]\n" + "".join(
            f"SwitchName=c{n} Switches=c[0-{n - 1}]\n" for n in range(1, 9)
        )
        many = "SwitchName=x Nodes=n1\nSwitchName=y Switches=" + ",".join(["x"] * 1000) + "\n"
        for content, line in ((lists, 3), (chain, 7), (many, 2)):
            message = fault(main, text(content))
            assert f"line {line}: expected a topology of at most 1000 names in all lists together" in message
        # A list that many have is one.
        same = "".join(f"SwitchName=s{n} Nodes=n[1-400]\n" for n in range(50))
        read_slurm([main, text(same)])

    def test_a_long_chain_is_no_deep_recursion(self) -> None:
        chain = "SwitchName=c0 Nodes=n1\n" + "".join(f"SwitchName=c{n} Switches=c{n - 1}\n" for n in range(1, 5000))
        assert choice(read(chain, asking())) == ((), [])


@pytest.mark.parametrize("content", ["SwitchName=s0 Nodes=n1\n", "blockname=b0 nodes=n1\n", "# sizes\nBlockSizes=2\n"])
def test_recognised(content: str) -> None:
    assert is_slurm_text(content.encode())


@dataclass(frozen=True)
class Network:
    """A network drawn at random: nodes of the leaf switches, and what is right below each of the others."""

    nodes: int
    leaves: dict[str, list[str]]
    above: dict[str, list[str]]

    def under(self, name: str) -> set[str]:
        """Return the nodes below a switch, by walking down."""
        return set(self.leaves.get(name, ())).union(*(self.under(lower) for lower in self.above.get(name, ())))

    def command(self) -> str:
        """Return it as `scontrol show topology` prints it."""
        lines = [
            f"SwitchName={name} Level=0 LinkSpeed=1 Nodes={','.join(nodes)}" for name, nodes in self.leaves.items()
        ]
        for name, lower in self.above.items():
            all_nodes = ",".join(sorted(self.under(name)))
            lines.append(f"SwitchName={name} Level=1 LinkSpeed=1 Nodes={all_nodes} Switches={','.join(lower)}")
        return "\n".join(lines) + "\n"

    def file(self, order: Sequence[int]) -> str:
        """Return it as topology.conf, its lines in this order."""
        lines = [f"switchname={name} nodes={','.join(nodes)} # a rack" for name, nodes in self.leaves.items()]
        lines += [f"  SwitchName={name} Switches={','.join(lower)}" for name, lower in self.above.items()]
        return "# topology.conf\n\n" + "\n".join(lines[i] for i in order) + "\n"


@st.composite
def networks(draw: st.DrawFn) -> Network:
    count = draw(st.integers(2, 8))
    switches = draw(st.integers(1, 4))
    # A few nodes may be on none, and those of a switch may all be unknown.
    of_node = [draw(st.integers(0, switches)) for _ in range(count)]
    members = {n: [f"n{i}" for i, switch in enumerate(of_node) if switch == n] for n in range(switches)}
    leaves = {f"s{n}": nodes or ["login"] for n, nodes in members.items()}
    above: dict[str, list[str]] = {}
    for n in range(draw(st.integers(0, 3))):
        lower = sorted([*leaves, *above])
        above[f"t{n}"] = draw(st.lists(st.sampled_from(lower), min_size=1, max_size=3, unique=True))
    return Network(count, leaves, above)


@given(networks(), st.integers(1, 4), st.integers(0, 2), st.data())
def test_against_a_reading_by_walking(network: Network, nodes: int, switches: int, data: st.DataObject) -> None:
    known = {f"n{i}" for i in range(network.nodes)}
    lines = len(network.leaves) + len(network.above)
    order = data.draw(st.permutations(range(lines)))
    found = [
        read(topology, asking(1, nodes, required_switches=switches), nodes=[node(name) for name in sorted(known)])
        for topology in (network.command(), network.file(order))
    ]
    (asked, words), (again, words_again) = map(choice, found)
    sets = {one.name: set(one.nodes) for one in found[0].node_sets}
    assert (set(again), words_again) == (set(asked), words)
    assert {one.name: set(one.nodes) for one in found[1].node_sets} == sets

    racks = {f"switch {name}": known & set(members) for name, members in network.leaves.items()}
    racks = {name: members for name, members in racks.items() if members}
    others = known - set().union(*racks.values())
    if nodes > 1 and switches == 1 and racks:
        expected = racks | ({"no switch": others} if len(others) >= nodes else {})
        assert sets == ({} if known in racks.values() else expected)
        assert set(asked) == set(sets)
        assert words == ([OFF_TOPOLOGY] if "no switch" in sets else [])
        return
    joined = any(known - others <= network.under(name) for name in [*network.leaves, *network.above])
    assert (asked, sets) == ((), {})
    assert (SWITCHES in words) == (nodes > 1 and switches > 0)
    assert (NETWORKS in words) == (nodes > 1 and not joined)
