"""The kit passes what is sound, and finds each law broken by a scheduler that breaks that law alone."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from compass_core import Job, Variant
from proofs.conformance import ConformanceError, Law, OurScheduler, Promise, Scheduler, check_scheduler
from proofs.events import Arrival, Departure, format_events, parse_events
from proofs.shrinking import Case, shrunk

PAGE = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")


class TestThePage:
    EXAMPLES = re.findall(
        r"<!-- this code is run by the tests -->\n```python\n(.*?)```\n\n<!-- its output -->\n```text\n(.*?)```",
        PAGE,
        re.DOTALL,
    )

    def test_there_are_two(self) -> None:
        assert len(self.EXAMPLES) == 2
        assert "FAILED" in self.EXAMPLES[0][1]
        assert "passed" in self.EXAMPLES[1][1]

    @pytest.mark.long
    @pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=["best-fit", "EXACT"])
    def test_the_output_is_that_of_the_code(self, code: str, output: str) -> None:
        result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
        assert result.stdout == output


class TestWithoutTheExtra:
    @pytest.mark.long
    @pytest.mark.parametrize("absent", ["hypothesis", "z3", "networkx", "numpy"])
    def test_the_kit_runs(self, absent: str) -> None:
        code = (
            f"import sys\nsys.modules[{absent!r}] = None\n"
            "from compass_core import Variant\nfrom proofs.conformance import OurScheduler, Promise, check_scheduler\n"
            "print(check_scheduler(OurScheduler(Variant.EXACT), Promise(avoidable_nodes=0), lists=5).passed)"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (result.stdout, result.stderr) == ("True\n", "")

    def told(self, absent: str) -> list[str]:
        """Import the strategies where a package is not installed, and return the errors of the traceback."""
        code = f"import sys\nsys.modules[{absent!r}] = None\nimport proofs.strategies"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert result.returncode == 1
        errors = [line for line in result.stderr.splitlines() if line.startswith("ModuleNotFoundError: ")]
        assert result.stderr.splitlines()[-1] == errors[-1]
        return errors

    def test_one_line_says_what_to_install(self) -> None:
        original, told = self.told("hypothesis")
        assert original == "ModuleNotFoundError: import of hypothesis halted; None in sys.modules"
        assert told == "ModuleNotFoundError: hypothesis is not installed, expected: pip install 'compass-abs[proofs]'"

    def test_what_hypothesis_itself_lacks_is_another_matter(self) -> None:
        assert self.told("sortedcontainers") == [
            "ModuleNotFoundError: import of sortedcontainers halted; None in sys.modules"
        ]

    def test_the_cause_is_kept_and_the_error_is_an_import_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "hypothesis", None)
        monkeypatch.delitem(sys.modules, "proofs.strategies", raising=False)
        with pytest.raises(ImportError, match="compass-abs") as caught:
            importlib.import_module("proofs.strategies")
        assert isinstance(caught.value.__cause__, ModuleNotFoundError)
        assert (caught.value.name, caught.value.__cause__.name) == ("hypothesis", "hypothesis")


class Faulty(OurScheduler):
    """EXACT with one fault: each subclass breaks one law."""

    def __init__(self) -> None:
        super().__init__(Variant.EXACT)


class OverBooks(Faulty):
    def placement(self) -> dict[str, list[int]]:
        return {name: [0] * len(homes) for name, homes in super().placement().items()}


class NoSuchNode(Faulty):
    def placement(self) -> dict[str, list[int]]:
        return {name: [home + 1 for home in homes] for name, homes in super().placement().items()}


class HalfAGang(Faulty):
    """Admits a gang of two with one instance of it."""

    def placement(self) -> dict[str, list[int]]:
        return {name: homes[:1] if len(homes) == 2 else homes for name, homes in super().placement().items()}


class AdmitsButRefuses(Faulty):
    def arrive(self, job: Job) -> bool:
        return super().arrive(job) and job.gpus != 5


class Loses(Faulty):
    """Forgets the oldest job as soon as there are two."""

    def placement(self) -> dict[str, list[int]]:
        placed = super().placement()
        return {name: homes for name, homes in placed.items() if len(placed) < 2 or name != min(placed, key=int)}


class NeverEnds(Faulty):
    def depart(self, name: str) -> None:
        del name


class Moody(Faulty):
    """Mirrors the cluster now and then."""

    def __init__(self) -> None:
        super().__init__()
        self._random = Random(1)
        self._nodes = 0

    def reset(self, nodes: int) -> None:
        super().reset(nodes)
        self._nodes = nodes

    def placement(self) -> dict[str, list[int]]:
        placed = super().placement()
        if self._random.random() < 0.5:
            return placed
        return {name: [self._nodes - 1 - home for home in homes] for name, homes in placed.items()}


class Flatters(Faulty):
    def sif(self) -> float:
        return max(0.0, super().sif() - 0.01) if super().sif() else 0.001


class Refuses(Faulty):
    def arrive(self, job: Job) -> bool:
        return job.gpus != 7 and super().arrive(job)


class Raises(Faulty):
    def arrive(self, job: Job) -> bool:
        if job.gpus == 6:
            raise ZeroDivisionError("six")
        return super().arrive(job)


EVERYTHING = Promise(avoidable_nodes=0, admits_all_that_fits=True)


class TestEachLaw:
    @pytest.mark.parametrize(
        ("scheduler", "law", "events"),
        [
            (OverBooks, Law.CAPACITY, 1),
            (NoSuchNode, Law.CAPACITY, 1),
            (HalfAGang, Law.GANG, 1),
            (AdmitsButRefuses, Law.GANG, 1),
            (Loses, Law.NOTHING_LOST, 2),
            (NeverEnds, Law.NOTHING_LOST, 2),
            (Flatters, Law.MEASURE, 1),
            (Refuses, Law.ADMISSION, 2),
            (Raises, Law.ANSWERS, 1),
        ],
    )
    def test_is_found_broken_by_the_shortest_list(self, scheduler: type[OurScheduler], law: Law, events: int) -> None:
        report = check_scheduler(scheduler(), EVERYTHING, exhaustive_events=events, lists=5)
        failure = report.failure(law)
        assert failure is not None
        assert failure.shortest
        assert len(parse_events(failure.events)) == events
        assert not report.passed
        assert law not in report.kept

    def test_determinism(self) -> None:
        report = check_scheduler(Moody(), EVERYTHING, exhaustive_events=1, lists=10)
        assert [failure.broken.law for failure in report.failures] == [Law.DETERMINISM]

    def test_the_bound_with_a_shrunk_list(self) -> None:
        report = check_scheduler(
            OurScheduler(Variant.COMPASS), Promise(avoidable_nodes=1), exhaustive_events=1, lists=60
        )
        failure = report.failure(Law.BOUND)
        assert failure is not None
        assert len(parse_events(failure.events)) == 2
        assert "promised at most 1" in failure.broken.detail

    def test_without_the_condition_nothing_is_promised_unless_asked(self) -> None:
        """A 5 and a 3 fill a node, but slots of 8 and 4 share none: EXACT has 2 partial nodes and needs none."""
        bound = Promise(avoidable_nodes=0)
        assert check_scheduler(OurScheduler(), bound, exhaustive_events=1, lists=40).failure(Law.BOUND) is None
        always = Promise(avoidable_nodes=0, without_wcc=True)
        assert check_scheduler(OurScheduler(), always, exhaustive_events=1, lists=40).failure(Law.BOUND) is not None

    def test_what_is_no_number_is_no_answer(self) -> None:
        class NoNumber(Faulty):
            def sif(self) -> float:
                return float("nan")

        assert check_scheduler(NoNumber(), lists=1, exhaustive_events=1).failure(Law.MEASURE) is not None

    def test_what_is_seen_once_is_told_with_its_list(self) -> None:
        class Once(Faulty):
            calls = 0

            def placement(self) -> dict[str, list[int]]:
                self.calls += 1
                found = super().placement()
                return found if self.calls != 40 else {name: [99] * len(homes) for name, homes in found.items()}

        report = check_scheduler(Once(), lists=10, exhaustive_events=0)
        (failure,) = report.failures
        assert not failure.again
        assert len(parse_events(failure.events)) == failure.broken.at + 1
        assert "99" in failure.broken.detail
        assert "played once more it does not break the law" in str(report)


class TestReport:
    def test_ours_keep_what_they_promise(self) -> None:
        exact = check_scheduler(OurScheduler(Variant.EXACT), EVERYTHING, exhaustive_events=1, lists=60)
        compass = check_scheduler(
            OurScheduler(Variant.COMPASS), Promise(avoidable_nodes=2), exhaustive_events=1, lists=60
        )
        assert exact.passed
        assert exact.kept == tuple(Law)
        assert compass.passed
        assert compass.not_claimed == (Law.ADMISSION,)
        exact.raise_if_broken()

    def test_it_raises_with_the_report_for_a_message(self) -> None:
        report = check_scheduler(Raises(), exhaustive_events=1, lists=0)
        with pytest.raises(ConformanceError, match=r"Raises: FAILED") as caught:
            report.raise_if_broken()
        assert "ZeroDivisionError: six" in str(caught.value)

    def test_the_same_on_every_run(self) -> None:
        one, other = (check_scheduler(Loses(), exhaustive_events=0, lists=20, seed=3) for _ in range(2))
        assert one == other
        assert one.failures
        assert one.events != check_scheduler(Loses(), exhaustive_events=0, lists=20, seed=4).events

    def test_a_scheduler_needs_no_sif(self) -> None:
        class Plain:
            def __init__(self) -> None:
                self.reset, self.arrive = (inner := OurScheduler()).reset, inner.arrive
                self.depart, self.placement = inner.depart, inner.placement

        scheduler: Scheduler = Plain()
        assert Law.MEASURE in check_scheduler(scheduler, exhaustive_events=1, lists=5).not_claimed


class TestShrinking:
    def test_nothing_can_be_left_out(self) -> None:
        """At least 5 GPUs of 2-GPU instances must have arrived before some departure."""

        def fails(case: Case) -> bool:
            gpus = 0
            for event in case.events:
                if isinstance(event, Departure):
                    return gpus >= 5
                if isinstance(event, Arrival) and event.job.gpus == 2:
                    gpus += event.job.total_gpus
            return False

        start = Case(4, parse_events("3x1, 4x2, 2x8, 1x2, -1, 2x2, -3"))
        assert fails(start)
        small = shrunk(start, fails)
        assert (small.nodes, format_events(small.events)) in {(1, "3x2, -1"), (1, "1x1, 3x2, -1")}
