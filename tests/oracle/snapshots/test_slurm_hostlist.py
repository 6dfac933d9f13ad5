"""Hostlists: every host, in the order written, and nothing a file must not reach."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.hostlist import MAX_HOSTS, HostlistError, expand_hostlist


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        ("  ", ()),
        ("gpu1", ("gpu1",)),
        ("gpu1,login", ("gpu1", "login")),
        ("gpu[1-3]", ("gpu1", "gpu2", "gpu3")),
        ("gpu[1-2,5]", ("gpu1", "gpu2", "gpu5")),
        ("worker-[1,0]", ("worker-1", "worker-0")),
        ("node[1433,1787,1889-1890]", ("node1433", "node1787", "node1889", "node1890")),
        ("gpu[08-11]", ("gpu08", "gpu09", "gpu10", "gpu11")),
        ("gpu[8-11]", ("gpu8", "gpu9", "gpu10", "gpu11")),
        ("gpu[098-101]", ("gpu098", "gpu099", "gpu100", "gpu101")),
        ("gpu[99-101]", ("gpu99", "gpu100", "gpu101")),
        ("gpu[010-12]", ("gpu010", "gpu011", "gpu012")),
        ("gpu[007]", ("gpu007",)),
        ("r[2,1]n[1-2]", ("r2n1", "r2n2", "r1n1", "r1n2")),
        ("r[1-2]n[2,1]-ib", ("r1n2-ib", "r1n1-ib", "r2n2-ib", "r2n1-ib")),
        ("a[1-2],b,c[3]", ("a1", "a2", "b", "c3")),
        ("host.example.org", ("host.example.org",)),
    ],
)
def test_spelled_out(text: str, hosts: tuple[str, ...]) -> None:
    assert expand_hostlist(text) == hosts


def test_padding_that_a_range_outgrows() -> None:
    hosts = expand_hostlist("n[08-101]")
    assert (hosts[0], hosts[1], hosts[2], hosts[-2], hosts[-1]) == ("n08", "n09", "n10", "n100", "n101")
    assert len(hosts) == 94


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu[1-3", "is no host name"),
        ("gpu1-3]", "is no host name"),
        ("gpu[[1]]", "is no host name"),
        ("gpu[]", "is no range"),
        ("gpu[1,]", "is no range"),
        ("gpu[a-c]", "is no range"),
        ("gpu[1-2-3]", "is no range"),
        ("gpu[0-6/2]", "is no range"),
        ("gpu[٣]", "is no range"),
        ("gpu[3-1]", "runs backwards"),
        (",gpu1", "is no host name"),
        ("gpu1,", "is no host name"),
        ("gpu 1", "is no host name"),
    ],
)
def test_refused(text: str, words: str) -> None:
    with pytest.raises(HostlistError, match=words):
        expand_hostlist(text)


@pytest.mark.parametrize("text", ["@all", "@group:x", "n[1-2]!n1", "n*", "n[1-2]&n1", "n[1-2]^n1", "n1 n2"])
def test_groups_and_operators_of_cluster_shell_are_out_of_reach(text: str) -> None:
    """A group would be looked up by running the commands of this machine's configuration."""
    with pytest.raises(HostlistError):
        expand_hostlist(text)


@pytest.mark.parametrize("text", ["n[1-9999999]", "a[1-2000]b[1-2000]", "n[1-999999999999999999]"])
def test_more_hosts_than_any_cluster_has(text: str) -> None:
    with pytest.raises(HostlistError, match=f"expected at most {MAX_HOSTS}"):
        expand_hostlist(text)


@dataclass(frozen=True)
class Element:
    """One element, as a prefix and ranges of padded numbers; it knows both of its forms."""

    prefix: str
    ranges: tuple[tuple[int, int, int], ...]

    def short(self) -> str:
        inner = ",".join(
            f"{low:0{width}d}-{low + n:0{width}d}" if n else f"{low:0{width}d}" for low, n, width in self.ranges
        )
        return f"{self.prefix}[{inner}]"

    def long(self) -> list[str]:
        return [f"{self.prefix}{k:0{width}d}" for low, n, width in self.ranges for k in range(low, low + n + 1)]


RANGES = st.tuples(st.integers(0, 1200), st.integers(0, 30), st.integers(1, 5))
ELEMENTS = st.builds(
    Element,
    st.from_regex(r"[a-z][a-z0-9.-]{0,5}[a-z-]", fullmatch=True),
    st.lists(RANGES, min_size=1, max_size=4).map(tuple),
)


@given(st.lists(ELEMENTS, max_size=4))
def test_short_and_long_form_name_the_same_hosts_in_the_same_order(elements: list[Element]) -> None:
    expected = tuple(host for element in elements for host in element.long())
    assert expand_hostlist(",".join(element.short() for element in elements)) == expected
    assert expand_hostlist(",".join(expected)) == expected
