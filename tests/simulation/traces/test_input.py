"""Bad rows and bad files: each is named by file and line, nothing is lost, and strict reading refuses the first."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from simulation.jobs import TraceError
from simulation.traces import FORMAT_NAMES, load_trace
from tests.simulation.traces.files import GOOD, csv_text, row, write

if TYPE_CHECKING:
    from pathlib import Path

_BAD = [
    ("native", {"job_id": ""}, "job_id: expected a name"),
    ("native", {"submit_s": "soon"}, "submit_s: expected a number of at most 1e+12, got 'soon'"),
    ("native", {"submit_s": "inf"}, "submit_s: expected a number of at most 1e+12"),
    ("native", {"submit_s": "1e300"}, "submit_s: expected a number of at most 1e+12"),
    ("native", {"submit_s": "1_000"}, "submit_s: expected a number of at most 1e+12"),
    ("native", {"duration_s": "nan"}, "duration_s: expected a number of at most 1e+12"),
    ("native", {"duration_s": ""}, "duration_s: expected a number of at most 1e+12, got ''"),
    ("native", {"duration_s": "-1"}, "duration_s: expected 0 s or more, got '-1'"),
    ("native", {"instances": "0"}, "instances: expected at least 1 instance"),
    ("native", {"instances": "2.5"}, "instances: expected a whole number"),
    ("native", {"instances": "100001"}, "instances: expected a whole number from 0 to 100000"),
    ("native", {"instances": "9" * 5000}, "instances: expected a whole number"),
    ("native", {"instances": "²"}, "instances: expected a whole number"),
    ("native", {"gpus_per_instance": "-1"}, "gpus_per_instance: expected a whole number"),
    ("native", {"gpus_per_instance": "0.5"}, "gpus_per_instance: expected a whole number"),
    ("native", {"gpus_per_instance": "1025"}, "gpus_per_instance: expected a whole number from 0 to 1024"),
    ("helios", {"submit_time": ""}, "submit_time: expected a time such as"),
    ("helios", {"submit_time": "2020-02-30 00:00:00"}, "submit_time: expected a time such as"),
    ("helios", {"submit_time": "20200609T184101"}, "submit_time: expected a time such as"),
    ("helios", {"submit_time": "2020-06-09 18:41:27+08:00"}, "expected a time without an offset from UTC"),
    ("helios", {"end_time": "2020-06-09 18:41:59"}, "end_time: expected an end no earlier than the start, got 1 s"),
    ("helios", {"duration": "x"}, "duration: expected a number of at most 1e+12"),
    ("helios", {"gpu_num": "four"}, "gpu_num: expected a whole number"),
    ("helios", {"node_num": "-1"}, "node_num: expected a whole number"),
    ("helios-repackaged", {"gpu_count": "nan"}, "gpu_count: expected a whole number"),
    ("helios-repackaged", {"service_sec": "-0.5"}, "service_sec: expected 0 s or more"),
    ("philly-repackaged", {"timestamp": "yesterday"}, "timestamp: expected a time such as"),
    ("philly-repackaged", {"num_gpus": "1.5"}, "num_gpus: expected a whole number"),
    ("openb", {"gpu_milli": "0"}, "gpu_milli: expected more than 0 and at most 1000"),
    ("openb", {"gpu_milli": "1001"}, "gpu_milli: expected more than 0 and at most 1000"),
    ("openb", {"creation_time": ""}, "creation_time: expected a number of at most 1e+12"),
    ("openb", {"deletion_time": "9437499"}, "deletion_time: expected an end no earlier than the start"),
    ("alibaba-spot", {"gpu_request": "-1"}, "gpu_request: expected 0 to 1024 GPUs"),
    ("alibaba-spot", {"worker_num": "0"}, "worker_num: expected at least 1 instance"),
    ("alibaba-spot", {"duration": "-3"}, "duration: expected 0 s or more"),
    ("alibaba-spot-sample", {"w": ""}, "w: expected a whole number"),
    ("alibaba-pai", {"task_name": ""}, "task_name: expected a name"),
    ("alibaba-pai", {"inst_num": ""}, "inst_num: expected a whole number"),
    ("alibaba-pai", {"plan_gpu": "-100"}, "plan_gpu: expected 0 to 102400"),
    ("acme", {"submit_time": "2023-05-17 11:00:58"}, "expected a time with its offset from UTC"),
]


@pytest.mark.parametrize(("format_", "change", "reason"), _BAD)
def test_a_bad_row(tmp_path: Path, format_: str, change: dict[str, str], reason: str) -> None:
    path = write(tmp_path / "trace.csv", [GOOD[format_], row(format_, **change)])
    report = load_trace(path, format=format_).report
    assert [row.place.number for row in report.bad] == [3]
    assert reason in report.bad[0].reason
    assert (report.rows, report.jobs) == (2, 1)
    with pytest.raises(TraceError) as caught:
        load_trace(path, format=format_, strict=True)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    """Rows are jobs, left out or bad; none is lost and none counted twice."""
    changes = [{}, {"gpus_per_instance": "0"}, {"instances": "x"}, {"job_id": "b"}, {"job_id": "c", "instances": "0"}]
    report = load_trace(write(tmp_path / "trace.csv", [row("native", **change) for change in changes])).report
    assert report.rows == 5
    assert (report.jobs, sum(map(len, report.excluded.values())), len(report.bad)) == (2, 1, 2)


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    rows = [row("native", job_id=name) for name in ("a", "b", "a", "c", "a")]
    path = write(tmp_path / "trace.csv", rows)
    report = load_trace(path).report
    assert report.jobs == 3
    assert [str(bad) for bad in report.bad] == [
        f"{path}:{line}: the name 'a' is that of {path}:2, expected one that is not taken" for line in (4, 6)
    ]


def test_too_few_and_too_many_fields(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(csv_text([GOOD["native"]]) + "b,1\nc,1,1,1,1,p,q\n")
    report = load_trace(path).report
    assert [(bad.place.number, bad.reason) for bad in report.bad] == [
        (3, "2 fields, expected 6"),
        (4, "7 fields, expected 6"),
    ]


class TestForms:
    """The same rows in other clothes are the same trace."""

    text = csv_text([row("native", job_id="a"), row("native", job_id="b", pool="x, y")])

    @pytest.mark.parametrize("format_", sorted(GOOD))
    def test_gzip(self, tmp_path: Path, format_: str) -> None:
        plain = write(tmp_path / "trace.csv", [GOOD[format_]])
        packed = tmp_path / "no-telling-name"
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        assert load_trace(packed).trace.jobs == load_trace(plain).trace.jobs

    def variant(self, tmp_path: Path, content: bytes) -> tuple[str, ...]:
        path = tmp_path / "trace.csv"
        path.write_bytes(content)
        loaded = load_trace(path, strict=True)
        assert [job.pool for job in loaded.trace] == ["h100", "x, y"]
        return tuple(job.name for job in loaded.trace)

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        assert self.variant(tmp_path, b"\xef\xbb\xbf" + self.text.encode()) == ("a", "b")

    @pytest.mark.parametrize("end", ["\r\n", "\r", "\n\n", "\n\r\n"])
    def test_line_ends(self, tmp_path: Path, end: str) -> None:
        assert self.variant(tmp_path, self.text.replace("\n", end).encode()) == ("a", "b")

    def test_no_last_line_end(self, tmp_path: Path) -> None:
        assert self.variant(tmp_path, self.text.rstrip("\n").encode()) == ("a", "b")

    def test_spaces_in_the_header(self, tmp_path: Path) -> None:
        assert self.variant(tmp_path, self.text.replace("submit_s", " submit_s ", 1).encode()) == ("a", "b")

    def test_quotes_where_none_are_needed(self, tmp_path: Path) -> None:
        assert self.variant(tmp_path, self.text.replace("\na,", '\n"a",', 1).encode()) == ("a", "b")

    def test_lines_are_counted_over_blank_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(self.text.replace("\n", "\n\n") + "bad\n")
        assert [bad.place.number for bad in load_trace(path).report.bad] == [7]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(self.text.encode()))))
        loaded = load_trace("-")
        assert (len(loaded.trace), loaded.trace.source) == (2, "standard input")


class TestFilesThatAreNone:
    """A file that cannot be read is one line that says which file, what is wrong and what was expected."""

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "empty, expected a trace"),
            (b" \n\r\n\t", "empty, expected a trace"),
            (b"\xef\xbb\xbf\n", "empty, expected a trace"),
            (b"a,b,c\n1,2,3\n", ":1: not the header of a known trace: 'a,b,c'; expected the columns of one of"),
            (b"job_id,submit_s\n\xff,1\n", ":2: invalid start byte at byte 16, expected UTF-8"),
            ("job_id,submit_s\n".encode("utf-16"), "expected UTF-8"),
            (b'"job_id"x,submit_s\n', ":1: expected the header of a CSV file"),
            (b"\x1f\x8b\x08\x00damaged", "damaged gzip"),
        ],
    )
    def test_message(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "trace.csv"
        path.write_bytes(content)
        with pytest.raises(TraceError) as caught:
            load_trace(path)
        assert str(caught.value).startswith(str(path))
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_header_alone_is_a_trace_of_no_jobs(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(",".join(GOOD["helios"]) + "\n")
        loaded = load_trace(path)
        assert (len(loaded.trace), loaded.report.rows, loaded.report.day_zero) == (0, 0, None)

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(TraceError, match="cannot be read: No such file"):
            load_trace(tmp_path / "nothing")

    def test_a_tar_archive(self, tmp_path: Path) -> None:
        inner = write(tmp_path / "pai_task_table.csv", [GOOD["alibaba-pai"]], header=False)
        packed = tmp_path / "pai_task_table.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            archive.add(inner)
        with pytest.raises(TraceError, match="a tar archive, expected one file: unpack it with tar -xf"):
            load_trace(packed)

    def test_no_such_format(self, tmp_path: Path) -> None:
        path = write(tmp_path / "trace.csv", [GOOD["native"]])
        with pytest.raises(TraceError, match="no trace format 'swf'; expected one of acme, alibaba-pai"):
            load_trace(path, format="swf")

    @pytest.mark.parametrize("format_", sorted(set(GOOD) - {"native"}))
    def test_the_wrong_format(self, tmp_path: Path, format_: str) -> None:
        path = write(tmp_path / "trace.csv", [GOOD["native"]])
        with pytest.raises(TraceError, match=r"trace\.csv:1: no column .*; expected ") as caught:
            load_trace(path, format=format_, strict=True)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("format_", sorted(GOOD))
    def test_a_format_for_a_header_that_none_has(self, tmp_path: Path, format_: str) -> None:
        path = tmp_path / "trace.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(TraceError, match=r"trace\.csv:1: no column .*; expected "):
            load_trace(path, format=format_)

    def test_the_json_format_for_a_csv(self, tmp_path: Path) -> None:
        with pytest.raises(TraceError, match="expected a JSON array"):
            load_trace(write(tmp_path / "trace.csv", [GOOD["native"]]), format="philly")

    def test_a_column_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(csv_text([GOOD["native"]]).replace("pool", "submit_s", 1))
        with pytest.raises(TraceError, match=r":1: column 'submit_s' stands there twice"):
            load_trace(path)

    def test_two_files_of_jobs(self, tmp_path: Path) -> None:
        first, second = (write(tmp_path / name, [GOOD["native"]]) for name in ("a.csv", "b.csv"))
        with pytest.raises(TraceError, match=r"b\.csv: a second file of jobs, expected one; .*a\.csv is it already"):
            load_trace(first, second)

    def test_no_file(self) -> None:
        with pytest.raises(TraceError, match="no file: no jobs"):
            load_trace()

    def test_standard_input_twice(self) -> None:
        with pytest.raises(TraceError, match="standard input can be only one"):
            load_trace("-", "-")


class TestQuotes:
    """A stray quote is a bad row; one that swallows the lines behind it is an error, for they would be lost."""

    head = ",".join(GOOD["native"]) + "\n"

    def test_stray_on_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(self.head + '"a"b,1,1,1,1,p\nc,1,1,1,1,p\n')
        report = load_trace(path).report
        assert [(bad.place.number, report.jobs) for bad in report.bad] == [(2, 1)]
        assert report.bad[0].reason.startswith("a stray quote or a field of over 131072 characters, expected")

    def test_a_field_that_is_too_long(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(self.head + "a" * 200_000 + ",1,1,1,1,p\nc,1,1,1,1,p\n")
        report = load_trace(path).report
        assert [(bad.place.number, report.jobs) for bad in report.bad] == [(2, 1)]

    def test_never_closed(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(self.head + 'a,1,1,1,1,p\n"b,1,1,1,1,p\nc,1,1,1,1,p\nd,1,1,1,1,p\n')
        with pytest.raises(TraceError, match=r"trace\.csv:3: a quote is opened, expected it closed on the same line"):
            load_trace(path)

    def test_closed_by_the_next_stray_quote(self, tmp_path: Path) -> None:
        # Six fields in all, and the job on the second of the lines would be lost.
        path = tmp_path / "trace.csv"
        path.write_text(self.head + '"b,1,1,1,1,p\nc,1,1,1,1,p\n",1,1,1,1,p\n')
        with pytest.raises(TraceError, match=r"trace\.csv:2: a quote is opened"):
            load_trace(path)

    def test_not_closed_on_the_last_line(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.csv"
        path.write_text(self.head + 'a,1,1,1,1,p\n"b,1,1,1,1,p')
        report = load_trace(path).report
        assert [(bad.place.number, report.jobs) for bad in report.bad] == [(3, 1)]


def test_every_format_has_a_test() -> None:
    assert set(FORMAT_NAMES) == {*GOOD, "philly"}
