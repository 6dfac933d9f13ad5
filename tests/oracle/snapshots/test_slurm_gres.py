"""Gres and TRES lists: what is a whole GPU, of which type, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.snapshots.slurm.gres import Devices, GresError, Shared, is_nothing, parse_gres, parse_tres


class TestGres:
    """``name[:type]:count[(detail)]``, entries separated by commas; commas in parentheses separate nothing."""

    @pytest.mark.parametrize(
        ("text", "whole"),
        [
            ("gpu:8(S:0-1)", {"": 8}),
            ("gpu:4", {"": 4}),
            ("gpu", {"": 1}),
            ("gpu:a100", {"a100": 1}),
            ("gpu:a100:4,mps:a100:400", {"a100": 4}),
            ("gpu:tesla:2,gpu:kepler:2", {"tesla": 2, "kepler": 2}),
            ("gpu:tesla:2(S:0-1),gpu:kepler:2(S:0-1)", {"tesla": 2, "kepler": 2}),
            ("gpu:nvidia_h100_80gb_hbm3:1(S:0)", {"nvidia_h100_80gb_hbm3": 1}),
            ("gpu:nvidia_rtx_pro_6000:3(IDX:0,4-5)", {"nvidia_rtx_pro_6000": 3}),
            ("gpu:a100:0(IDX:N/A)", {"a100": 0}),
            ("gpu:tesla:0(IDX:NA)", {"tesla": 0}),
            ("gpu:(null):3(IDX:0-2)", {"": 3}),
            ("gpu:1080:4", {"1080": 4}),
            ("gpu:not-an-existing-gpu:8", {"not-an-existing-gpu": 8}),
            ("gpu:a100:no_consume:2", {"a100": 2}),
            ("gpu:a100:4(S:0),gpu:a100:4(S:1)", {"a100": 8}),
            ("gres:gpu:4", {"": 4}),
            ("gres/gpu:4", {"": 4}),
            ("gres/gpu:h100:4", {"h100": 4}),
            ("cpu=4,gres/gpu:1", {"": 1}),
            ("cpu:24,gpu:tesla:4(S:0),test:8,bandwidth:lustre:no_consume:4G", {"tesla": 4}),
            ("gpu:0,tpu:0", {"": 0}),
        ],
    )
    def test_whole_gpus(self, text: str, whole: dict[str, int]) -> None:
        devices = parse_gres(text)
        assert devices.whole == whole
        assert devices.gpus == sum(whole.values())
        assert not devices.doubts

    @pytest.mark.parametrize(
        "text", [None, "", "(null)", "N/A", "NA", "none", "justarandomfield", "tpu:4", "craynetwork:4"]
    )
    def test_no_gpus(self, text: str | None) -> None:
        assert not parse_gres(text)

    @pytest.mark.parametrize(
        "type_",
        [
            "3g.40gb",
            "1g.10gb",
            "a100_3g.20gb",
            "nvidia_a100_3g.20gb",
            "1g.5gb+me",
            "2g_20gb",
            "mig",
            "a100-mig",
            "MIG-1g.10gb",
        ],
    )
    def test_mig_devices_are_no_whole_gpus(self, type_: str) -> None:
        devices = parse_gres(f"gpu:{type_}:4(S:0-1)")
        assert (devices.gpus, devices.slices, devices.mig) == (0, 4, {type_: 4})

    @pytest.mark.parametrize("type_", ["nvidia_h100_80gb_hbm3", "a100-sxm4-40gb", "amigo", "gb200", "rtx_3090"])
    def test_types_that_only_look_a_little_like_mig(self, type_: str) -> None:
        assert parse_gres(f"gpu:{type_}:4").gpus == 4

    @pytest.mark.parametrize(
        ("text", "shared"),
        [
            ("mps:a100:400", {"a100": Shared(units=400, touched=None)}),
            ("mps:a100:0(0/100,0/100)", {"a100": Shared(units=0, touched=0)}),
            ("shard:a100:3(0/4,2/4,1/4)", {"a100": Shared(units=3, touched=2)}),
            ("shard:16", {"": Shared(units=16, touched=None)}),
            ("shard:a100:2(0/4,2/4),mps:a100:50", {"a100": Shared(units=52, touched=None)}),
        ],
    )
    def test_shares_say_how_many_gpus_they_sit_on_if_they_can(self, text: str, shared: dict[str, Shared]) -> None:
        devices = parse_gres(text)
        assert devices.shared == shared
        assert devices.gpus == 0

    @pytest.mark.parametrize("text", ["gpu:ampere:8(IDX:0-3)", "gpu:2(IDX:0-3)", "gpu:1(IDX:x)", "gpu:3(IDX:0,4-6)"])
    def test_a_device_list_that_contradicts_the_count_is_a_doubt(self, text: str) -> None:
        assert parse_gres(text).doubts == (text,)

    @pytest.mark.parametrize(
        "text",
        [
            "gpu:a100:-1",
            "gpu:1.5",
            "gpu:-2",
            "gpu:a:b:4",
            "gpu:",
            "gpu::4",
            "gpu:a100:4(S:0-1",
            "gpu:4)(S:0",
            "gpu:4(S:0)x",
        ],
    )
    def test_malformed(self, text: str) -> None:
        with pytest.raises(GresError, match="gpu"):
            parse_gres(text)


class TestTres:
    """``gres/gpu`` is the sum that ``gres/gpu:a100`` is a part of."""

    @pytest.mark.parametrize(
        ("text", "whole"),
        [
            ("cpu=28,mem=192G,gres/gpu=8", {"": 8}),
            ("billing=32,cpu=32,gres/gpu:a100=1,gres/gpu=1,mem=128G,node=1", {"a100": 1}),
            ("gres/gpu=4,gres/gpu:a100_80=4", {"a100_80": 4}),
            ("gres/gpu=4,gres/gpu:a100=1", {"a100": 1, "": 3}),
            ("gres/gpu:a100=1,gres/gpu:h100=2", {"a100": 1, "h100": 2}),
            ("cpu=1,mem=512M,node=1,billing=1", {}),
            ("", {}),
            ("(null)", {}),
        ],
    )
    def test_types_are_not_added_to_the_total(self, text: str, whole: dict[str, int]) -> None:
        assert parse_tres(text).whole == whole

    def test_mig_types_are_taken_off_the_total(self) -> None:
        devices = parse_tres("gres/gpu=16,gres/gpu:a100=2,gres/gpu:1g.10gb=14")
        assert (devices.whole, devices.mig) == ({"a100": 2}, {"1g.10gb": 14})

    def test_shares(self) -> None:
        assert parse_tres("gres/mps=50,gres/mps:a100=50").shared == {"": Shared(units=50, touched=None)}
        assert parse_tres("gres/shard=1K").units == 1024

    @pytest.mark.parametrize("text", ["gres/gpu=2,gres/gpu:a100=4", "gres/gpu=x", "gres/gpu=1.5", "gres/gpu=-1"])
    def test_malformed(self, text: str) -> None:
        with pytest.raises(GresError, match="gpu"):
            parse_tres(text)


@pytest.mark.parametrize("text", [None, "", " ", "(null)", "N/A", "n/a"])
def test_placeholders(text: str | None) -> None:
    assert is_nothing(text)
    assert not is_nothing("gpu:1")


COUNTS = st.dictionaries(
    st.sampled_from(["", "a100", "h100", "1080", "nvidia_h100_80gb_hbm3"]), st.integers(0, 99), max_size=4
)


@given(COUNTS, st.permutations(["mps:400", "bandwidth:lustre:4G", "cpu:24"]))
def test_gres_and_tres_of_the_same_gpus_agree(counts: dict[str, int], other: list[str]) -> None:
    gres = [f"gpu:{type_}:{count}(S:0,1)" if type_ else f"gpu:{count}" for type_, count in counts.items()]
    typed = [f"gres/gpu:{type_}={count}" for type_, count in counts.items() if type_]
    tres = ["cpu=4", f"gres/gpu={sum(counts.values())}", *typed, "node=1"]
    expected = {type_: count for type_, count in counts.items() if count}
    assert _positive(parse_gres(",".join([*gres, *other]))) == expected
    assert _positive(parse_tres(",".join(tres))) == expected


def _positive(devices: Devices) -> dict[str, int]:
    return {type_: count for type_, count in devices.whole.items() if count}
