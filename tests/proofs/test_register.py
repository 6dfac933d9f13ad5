"""The register is complete, its page current, and the command falls where a claim does."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from oracle.cli.command import ExitStatus, UsageError
from proofs import cli, record
from proofs.claim import Claim, Counterexample, Effort, Finding, Status
from proofs.claims_page import page
from proofs.record import Entry, fell
from proofs.register import REGISTER
from proofs.smt import DisagreementError, prove
from proofs.smtlib import Lemma
from proofs.terms import variable
from tests.processes import ended

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parents[2] / "docs"

PROVED = Finding(status=Status.PROVED, method="by z3", details=("3 lemmas",))
EXAMPLE = Counterexample(text="Φ = 3", nodes=3, events="1x2, 2x4, 6x1")
REFUTED = Finding(status=Status.REFUTED, method="search", bound="3 events", counterexample=EXAMPLE)
CHECKED = Finding(status=Status.CHECKED, method="search", bound="N ≤ 3")
UNKNOWN = Finding(status=Status.UNKNOWN, method="gave up")


def claim(name: str, finding: Finding | Callable[[Effort], Finding]) -> Claim:
    def found(effort: Effort) -> Finding:
        return finding if isinstance(finding, Finding) else finding(effort)

    return Claim(id=name, title=f"About {name}", statement=f"{name} holds.", source="here", settle=found)


def interrupt(_: Effort) -> Finding:
    raise KeyboardInterrupt


class Terminal(io.StringIO):
    """What says that it is one."""

    def isatty(self) -> bool:
        return True


class TestRegister:
    """Every claim of theory §5 is there, once."""

    def test_ids(self) -> None:
        ids = [one.id for one in REGISTER]
        assert len(ids) == len(set(ids))
        wanted = {f"C{n}" for n in range(1, 12)} | {f"P{n}" for n in range(1, 15)} | {"D1", "D2"}
        assert wanted <= set(ids)

    def test_statements_are_sentences(self) -> None:
        for one in REGISTER:
            assert one.statement.endswith(".")
            assert one.source

    def test_titles_tell_claims_apart_in_a_line(self) -> None:
        assert len({one.title for one in REGISTER}) == len(REGISTER)
        assert all(0 < len(one.title) <= 60 and not one.title.endswith(".") for one in REGISTER)

    def test_every_claim_is_recorded_and_the_page_is_current(self) -> None:
        known = record.load()
        assert set(known[Effort.QUICK]) == {one.id for one in REGISTER}
        assert (DOCS / "claims.md").read_text(encoding="utf-8") == page(known), (
            "compass-prove --write-docs docs/claims.md"
        )

    def test_nothing_is_proved_within_a_bound(self) -> None:
        for entries in record.load().values():
            for entry in entries.values():
                assert entry.bound is None or entry.status in {Status.CHECKED, Status.TESTED, Status.REFUTED}
                assert (entry.status is Status.REFUTED) == (entry.counterexample is not None)

    @pytest.mark.parametrize("name", ["C1", "C3", "C5", "C6", "C7", "C11", "P4", "P11", "D1", "D2"])
    def test_the_record_is_what_the_quick_claims_come_to(self, name: str) -> None:
        finding = next(one for one in REGISTER if one.id == name).settle(Effort.QUICK)
        assert Entry.of(finding) == record.load()[Effort.QUICK][name]


class TestPage:
    """The page says of each claim what the record says, and the fuller run goes first."""

    def test_words(self) -> None:
        entries = {"C1": Entry.of(PROVED), "C2": Entry.of(CHECKED), "P1": Entry.of(REFUTED)}
        text = page({Effort.QUICK: entries})
        assert "| [C1](#c1) | proved |" in text
        assert "| [C2](#c2) | checked (N ≤ 3) |" in text
        assert "| [P1](#p1) | refuted |" in text
        assert "- Counterexample: Φ = 3 (`1x2, 2x4, 6x1` on 3 nodes)\n- Shortest: 3 events" in text
        assert "| [P2](#p2) | unknown |" in text
        assert r"used when \|U\| ≤ δ" in text  # a bar would end the cell

    def test_full_goes_first(self) -> None:
        full = {"C2": Entry(Status.CHECKED, "search", "N ≤ 4")}
        text = page({Effort.QUICK: {"C2": Entry.of(CHECKED)}, Effort.FULL: full})
        assert "N ≤ 4" in text
        assert "N ≤ 3" not in text


class TestFell:
    """A finding is worse than its entry, or it is not."""

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            (PROVED, CHECKED),
            (PROVED, UNKNOWN),
            (PROVED, REFUTED),
            (CHECKED, UNKNOWN),
            (REFUTED, UNKNOWN),
            (REFUTED, PROVED),
        ],
    )
    def test_worse(self, before: Finding, now: Finding) -> None:
        assert fell(now, Entry.of(before)) == f"it was {before.status.value}, it is {now.status.value}"

    @pytest.mark.parametrize(
        ("before", "now"), [(PROVED, PROVED), (UNKNOWN, PROVED), (CHECKED, PROVED), (REFUTED, REFUTED)]
    )
    def test_no_worse(self, before: Finding, now: Finding) -> None:
        assert fell(now, Entry.of(before)) is None

    def test_new(self) -> None:
        assert fell(UNKNOWN, None) is None

    def test_other_bound(self) -> None:
        now = Finding(status=Status.CHECKED, method="search", bound="N ≤ 2")
        assert fell(now, Entry.of(CHECKED)) == "the bound was N ≤ 3, it is N ≤ 2"


def test_record_keeps_what_is_not_renewed(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    record.save({"C1": PROVED, "P1": REFUTED}, Effort.QUICK, path)
    record.save({"C1": UNKNOWN}, Effort.QUICK, path)
    record.save({"C1": PROVED}, Effort.FULL, path)
    assert record.load(path) == {
        Effort.QUICK: {"C1": Entry.of(UNKNOWN), "P1": Entry.of(REFUTED)},
        Effort.FULL: {"C1": Entry.of(PROVED)},
    }


class TestCommand:
    """`compass-prove` as its contract has it."""

    REGISTER = (claim("C1", PROVED), claim("P1", REFUTED), claim("R1", CHECKED))
    KNOWN: record.Record = {  # noqa: RUF012 - read only
        Effort.QUICK: {"C1": Entry.of(PROVED), "P1": Entry.of(REFUTED), "R1": Entry.of(CHECKED)}
    }

    def test_table(self) -> None:
        outcome = cli.run([], self.REGISTER, self.KNOWN)
        assert outcome.status == ExitStatus.DONE
        lines = outcome.text.splitlines()
        assert lines[0].split()[:3] == ["claim", "status", "seconds"]
        assert lines[1].split()[:2] == ["C1", "proved"]
        assert lines[2].endswith("1x2, 2x4, 6x1 on 3 nodes: Φ = 3")
        assert lines[3].endswith("search [N ≤ 3]")

    def test_json(self) -> None:
        outcome = cli.run(["-o", "json"], self.REGISTER, self.KNOWN)
        assert outcome.for_machines
        found = json.loads(outcome.text)
        assert next(iter(found)) == "schema"
        assert found["schema"] == "compass-abs/register/1"
        assert found["not_settled"] == []
        first, second, third = found["claims"]
        seconds = first.pop("seconds")
        assert seconds >= 0
        assert first == {
            "id": "C1",
            "statement": "C1 holds.",
            "status": "proved",
            "bound": None,
            "method": "by z3",
            "counterexample": None,
            "source": "here",
            "details": ["3 lemmas"],
            "fell": None,
        }
        assert second["counterexample"] == {"text": "Φ = 3", "nodes": 3, "events": "1x2, 2x4, 6x1"}
        assert third["bound"] == "N ≤ 3"

    def test_a_claim_that_fell(self) -> None:
        register = (claim("C1", UNKNOWN), claim("P1", REFUTED))
        outcome = cli.run([], register, self.KNOWN)
        assert outcome.status == ExitStatus.ASKED_FOR
        assert outcome.notes == ("C1 fell: it was proved, it is unknown",)
        assert "unknown (fell)" in outcome.text

    def test_efforts_have_records_of_their_own(self) -> None:
        asked: list[Effort] = []

        def settle(effort: Effort) -> Finding:
            asked.append(effort)
            return UNKNOWN

        assert cli.run(["--full"], [claim("C1", settle)], self.KNOWN).status == ExitStatus.DONE
        assert cli.run(["--quick"], [claim("C1", settle)], self.KNOWN).status == ExitStatus.ASKED_FOR
        assert asked == [Effort.FULL, Effort.QUICK]

    def test_one_claim(self) -> None:
        outcome = cli.run(["--claim", "p1", "-o", "json"], self.REGISTER, self.KNOWN)
        assert [row["id"] for row in json.loads(outcome.text)["claims"]] == ["P1"]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--claim", "C99"], "--claim C99: expected one of C1, P1, R1"),
            (["--quick", "--full"], "not allowed with"),
            (["--time-limit", "0"], "positive number of seconds"),
            (["--time-limit", "nan"], "positive number of seconds"),
            (["--time-limit", "inf"], "positive number of seconds"),
            (["--time-limit", "soon"], "positive number of seconds, got 'soon'"),
            (["-o", "csv"], "invalid choice"),
        ],
    )
    def test_bad_usage(self, arguments: list[str], says: str) -> None:
        with pytest.raises(UsageError, match=says):
            cli.run(arguments, self.REGISTER, self.KNOWN)

    def test_bad_usage_is_one_line_and_status_2(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["--claim", "C99"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "file").touch()
        assert cli.main(["--claim", "P4", "--smt2", str(tmp_path / "file" / "folder")]) == 2
        assert capsys.readouterr().err.startswith("compass-prove: [Errno")

    def test_solvers_that_contradict_each_other(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def contradict(effort: Effort) -> Finding:
            raise DisagreementError(f"{effort.value}: z3 says proved, cvc5 refuted")

        monkeypatch.setattr(cli, "REGISTER", (claim("C1", contradict),))
        assert cli.main([]) == 1
        assert capsys.readouterr().err == "compass-prove: quick: z3 says proved, cvc5 refuted\n"

    def test_second_solver_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cli, "second_solver_installed", lambda: False)
        with pytest.raises(UsageError, match="cvc5 is not installed"):
            cli.run(["--second-solver"], self.REGISTER, self.KNOWN)

    def test_lemmas_are_written_and_counted(self, tmp_path: Path) -> None:
        x = variable("x")

        def settle(_: Effort) -> Finding:
            prove(Lemma("larger", x <= x + 1))
            return PROVED

        outcome = cli.run(["--smt2", str(tmp_path / "new")], [claim("C1", settle)], self.KNOWN)
        assert (tmp_path / "new" / "larger-1.smt2").exists()
        assert outcome.notes[0].startswith("z3 settled 1 lemmas in ")

    def test_record(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "record.json"
        monkeypatch.setattr(record.save, "__defaults__", (path,))
        monkeypatch.setattr(record.check_writable, "__defaults__", (path,))
        outcome = cli.run(["--record"], [claim("C1", UNKNOWN)], self.KNOWN)
        assert outcome.status == ExitStatus.DONE
        assert msgspec.json.decode(path.read_bytes()) == {"quick": {"C1": {"status": "unknown", "method": "gave up"}}}

    def test_a_record_that_cannot_be_written_is_found_before_the_proofs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def settle(_: Effort) -> Finding:
            raise AssertionError

        monkeypatch.setattr(record.check_writable, "__defaults__", (tmp_path / "nowhere" / "record.json",))
        with pytest.raises(OSError, match="nowhere"):
            cli.run(["--record"], [claim("C1", settle)], self.KNOWN)

    def test_statements_in_full(self) -> None:
        plain, verbose = (cli.run(options, self.REGISTER, self.KNOWN).text.splitlines() for options in ([], ["-v"]))
        said = [line for line in verbose if line.startswith("   ") and "holds" in line]
        assert [line.strip() for line in said] == [f"{one.statement} (here)" for one in self.REGISTER]
        assert [line.split()[:2] for line in verbose if line not in said] == [line.split()[:2] for line in plain]

    def test_the_help_lists_every_claim(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert all(any(line.split() == [one.id, *one.title.split()] for line in lines) for one in REGISTER)

    def test_an_interrupt_keeps_what_is_settled(self) -> None:
        register = (*self.REGISTER[:2], claim("R1", interrupt), claim("R2", CHECKED))
        outcome = cli.run([], register, self.KNOWN)
        assert outcome.status == ExitStatus.UNSETTLED
        assert outcome.notes == ("compass-prove: interrupted; not settled: R1, R2",)
        rows = [line.split()[:3] for line in outcome.text.splitlines()]
        assert [row[:2] for row in rows[1:3]] == [["C1", "proved"], ["P1", "refuted"]]
        assert rows[3:5] == [["R1", "not", "settled"], ["R2", "not", "settled"]]
        data = json.loads(cli.run(["-o", "json"], register, self.KNOWN).text)
        assert ([row["id"] for row in data["claims"]], data["not_settled"]) == (["C1", "P1"], ["R1", "R2"])

    def test_a_claim_that_fell_before_the_interrupt_is_what_counts(self) -> None:
        outcome = cli.run([], (claim("C1", UNKNOWN), claim("R1", interrupt)), self.KNOWN)
        assert outcome.status == ExitStatus.ASKED_FOR
        assert outcome.notes == (
            "C1 fell: it was proved, it is unknown",
            "compass-prove: interrupted; not settled: R1",
        )

    def test_an_interrupt_records_what_is_settled(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "record.json"
        record.save({"C1": UNKNOWN, "R1": CHECKED}, Effort.QUICK, path)
        monkeypatch.setattr(record.save, "__defaults__", (path,))
        monkeypatch.setattr(record.check_writable, "__defaults__", (path,))
        outcome = cli.run(["--record"], (self.REGISTER[0], claim("R1", interrupt)), self.KNOWN)
        assert outcome.status == ExitStatus.UNSETTLED
        assert record.load(path) == {Effort.QUICK: {"C1": Entry.of(PROVED), "R1": Entry.of(CHECKED)}}

    def test_progress_is_for_terminals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shown: list[tuple[str, int | None]] = []

        class Shown:
            def __init__(self, _: str, *, kept: str, total: int) -> None:
                assert (kept, total) == ("the claims settled so far", 4)

            def show(self, what: str, *, done: int | None = None) -> None:
                shown.append((what, done))

            def stop(self) -> None:
                shown.append(("stopped", None))

        monkeypatch.setattr(cli, "Progress", Shown)
        register = (*self.REGISTER, claim("R2", interrupt))
        cli.run([], register, self.KNOWN)
        assert shown == []
        monkeypatch.setattr("sys.stderr", Terminal())
        cli.run([], register, self.KNOWN)
        assert shown == [
            *((f"{name}  About {name}", done) for done, name in enumerate(("C1", "P1", "R1", "R2"))),
            ("stopped", None),
        ]

    def test_interrupted_before_a_claim_is_settled(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(cli, "REGISTER", (claim("C1", interrupt),))
        assert cli.main([]) == 130
        assert capsys.readouterr() == ("", "compass-prove: interrupted\n")

    def test_a_terminal_that_lacks_letters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
        assert cli.main(["--claim", "P4"]) == 0
        assert rb"D({4}) = 8 \u2212 4" in written.getvalue()

    def test_docs(self, tmp_path: Path) -> None:
        outcome = cli.run(["--write-docs", str(tmp_path / "claims.md")], self.REGISTER, self.KNOWN)
        assert outcome.status == ExitStatus.DONE
        assert "| [C1](#c1) | proved |" in (tmp_path / "claims.md").read_text(encoding="utf-8")

    def test_main_on_the_register(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["--claim", "C5", "--claim", "P4", "-o", "json"]) == 0
        assert [row["status"] for row in json.loads(capsys.readouterr().out)["claims"]] == ["proved", "refuted"]


STUCK = """
import sys
from proofs import cli
from proofs.claim import Claim, Finding, Status

def stuck(effort):
    print("stuck", file=sys.stderr, flush=True)
    while True:
        pass

done = Finding(status=Status.TESTED, method="so")
claims = [Claim(id=name, title="t", statement="s.", source="here", settle=settle)
          for name, settle in (("X1", lambda effort: done), ("X2", stuck), ("X3", stuck))]
cli.REGISTER = claims
cli.PROGRAM.enter()
"""


@pytest.mark.signals
def test_the_process_ends_with_what_is_settled() -> None:
    command = [sys.executable, "-c", STUCK]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "compass-prove: interrupted; not settled: X2, X3\n")
    assert [line.split()[:2] for line in out.splitlines()[1:4]] == [["X1", "tested"], ["X2", "not"], ["X3", "not"]]
