"""Programs that use the installed wheel: what is right passes mypy --strict and pyright, what is wrong is rejected."""

from __future__ import annotations

import pytest

from tests.consumers.uses import CORE, REST, Table
from tests.consumers.wheel import ROOT, Consumer, Message, installed


@pytest.fixture(scope="session")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Consumer:
    return installed(tmp_path_factory.mktemp("consumer"))


def program(table: Table) -> tuple[str, int, int]:
    """Return a program with every line of a table, and the lines of its first reveal and its first bad use."""
    start = table.start.splitlines()
    reveals = [f"reveal_type({reveal.expression})" for reveal in table.reveals]
    bad = [bad.line for bad in table.bad]
    return "\n".join([*start, *reveals, *bad]), len(start) + 1, len(start) + 1 + len(reveals)


def check(table: Table, messages: dict[int, list[Message]], checker: str) -> None:
    """Check each line of the table against what a checker said about it."""
    _, first_reveal, first_bad = program(table)
    assert not [messages[line] for line in range(1, first_reveal) if messages.get(line)]
    for line, reveal in enumerate(table.reveals, start=first_reveal):
        expected = reveal.mypy if checker == "mypy" else reveal.pyright
        said = [message.text for message in messages.get(line, []) if not message.code]
        assert said == [
            f'Revealed type is "{expected}"' if checker == "mypy" else f'Type of "{reveal.expression}" is "{expected}"'
        ]
    for line, bad in enumerate(table.bad, start=first_bad):
        expected = bad.mypy if checker == "mypy" else bad.pyright
        codes = {message.code for message in messages.get(line, []) if message.code not in IDLE}
        assert codes == ({expected} if expected else set()), f"{bad.line}: {messages.get(line)}"


IDLE = {"", "reportUnusedExpression", "reportUnknownMemberType", "reportUnusedCallResult"}
"""What pyright says besides of a line whose value nobody uses."""


@pytest.mark.long
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize(
    "table", [pytest.param(CORE, id="core"), pytest.param(REST, id="rest", marks=pytest.mark.slow)]
)
def test_every_use_is_judged_as_expected(consumer: Consumer, table: Table, checker: str) -> None:
    text, _, _ = program(table)
    check(table, consumer.mypy(text) if checker == "mypy" else consumer.pyright(text), checker)


@pytest.mark.long
def test_the_project_is_imported_from_the_wheel(consumer: Consumer) -> None:
    code = """
import compass_core, oracle, proofs, simulation
print(compass_core.__file__, oracle.__file__, proofs.__file__, simulation.__file__)
"""
    files = consumer.run(code).split()
    assert len(files) == 4
    assert all("site-packages" in file and not file.startswith(str(ROOT)) for file in files)


def test_the_conformance_kit_and_the_data_are_in_the_wheel(consumer: Consumer) -> None:
    code = """
from proofs.bounded import recorded
from proofs.conformance import OurScheduler, Promise, check_scheduler
from proofs.counterexamples import load_all
print(check_scheduler(OurScheduler(), Promise(avoidable_nodes=0), exhaustive_events=1, lists=5).passed)
print(len(load_all()), len(recorded()) > 0)
"""
    assert consumer.run(code).split() == ["True", "12", "True"]
