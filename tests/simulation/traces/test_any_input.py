"""Whatever stands in a file: rows are accounted for, jobs are jobs, and an error is one line."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.jobs import TraceError
from simulation.traces import Fractions, LoadedTrace, ReadOptions, ShapeRule, load_trace
from tests.simulation.traces.files import GOOD, attempt, philly_job, write_json

if TYPE_CHECKING:
    from pathlib import Path

_FIELDS = st.one_of(
    st.sampled_from(
        ["", " ", "nan", "inf", "-inf", "-0", "0", "-1", "0.5", "1e9", "1e308", "-1e308", "9" * 400, "1_0", "٣", "None"]
    ),
    st.sampled_from(
        [
            "0000-00-00 00:00:00",
            "0001-01-01 00:00:00",
            "9999-12-31 23:59:59",
            "0001-01-01 00:00:00+14:00",
            "9999-12-31 23:59:59-12:00",
            "2020-06-09 24:00:00",
            "2020-06-09 18:41:27.5Z",
            "2020-06-09T18:41:27+0800",
            "2020-06-09 18:41:27+99:99",
        ]
    ),
    st.sampled_from(["Running", "RUNNING", "MIG-1g.5gb", "V100M16|V100M32", 'a"b', "a,b", "\x00", "\ufeff"]),
    st.integers(-3, 40).map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=4),  # the writer does not quote \r
)
_OPTIONS = st.builds(ReadOptions, shape=st.sampled_from(ShapeRule), fractions=st.sampled_from(Fractions))


def loaded_or_error(path: Path, format_: str | None = None, options: ReadOptions | None = None) -> LoadedTrace | str:
    """Return the trace, or the message of the one error that is allowed."""
    try:
        return load_trace(path, format=format_, options=options)
    except TraceError as error:
        return str(error)


def check(loaded: LoadedTrace) -> None:
    report = loaded.report
    assert report.rows == report.jobs + sum(map(len, report.excluded.values())) + len(report.bad)
    assert len(loaded.trace) == report.jobs == sum(report.shapes.values())
    assert all(job.instances >= 1 and job.gpus >= 1 for job in loaded.trace)
    for row in report.bad:
        assert str(row).count("\n") == 0
        assert "expected" in row.reason


@pytest.mark.parametrize("format_", sorted(GOOD))
@given(data=st.data(), options=_OPTIONS)
def test_any_fields(
    tmp_path_factory: pytest.TempPathFactory, format_: str, data: st.DataObject, options: ReadOptions
) -> None:
    good = GOOD[format_]
    rows = data.draw(st.lists(st.dictionaries(st.sampled_from(sorted(good)), _FIELDS, max_size=3), max_size=6))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(good), lineterminator="\n")
    writer.writeheader()
    writer.writerows(good | changes for changes in rows)
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.getvalue().encode())
    loaded = loaded_or_error(path, format_, options)
    if isinstance(loaded, str):
        # A field with a line end is the one thing that makes rows uncountable.
        assert "a quote is opened" in loaded
        return
    check(loaded)
    assert loaded.report.rows == len(rows)


@given(content=st.binary(max_size=200) | st.text(st.sampled_from('ab1,"\n\r[]{}:.')).map(str.encode))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    for head in (b"", b"job_id,submit_s,duration_s,instances,gpus_per_instance\n", b"[", b"\x1f\x8b"):
        path.write_bytes(head + content)
        loaded = loaded_or_error(path)
        if isinstance(loaded, str):
            assert "\n" not in loaded
        else:
            check(loaded)


_TIMES = st.none() | st.sampled_from(["2017-10-07 01:00:00", "2017-10-07 02:00:00", "None", "", "x"])
_ATTEMPTS = st.lists(
    st.tuples(_TIMES, _TIMES, st.lists(st.integers(0, 9), max_size=3)).map(lambda a: attempt(a[0], a[1], *a[2])),
    max_size=3,
)


@given(jobs=st.lists(st.tuples(st.sampled_from("abc"), _ATTEMPTS), max_size=5), options=_OPTIONS)
def test_any_log_of_philly(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[str, list[dict[str, object]]]], options: ReadOptions
) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "cluster_job_log"
    write_json(path, [philly_job(name, *attempts) for name, attempts in jobs])
    loaded = load_trace(path, options=options)
    check(loaded)
    assert loaded.report.rows == len(jobs)
