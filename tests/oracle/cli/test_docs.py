"""The pages on the commands show what the commands print, and their code runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```console\n$ sifopt " in page.read_text("utf-8")]

pytestmark = pytest.mark.skipif(
    not Path(sys.executable).with_name("sifopt").exists(), reason="the command is not installed in this environment"
)


def compare(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "transcripts.py"), *options, str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_transcripts_are_what_the_commands_print(page: Path) -> None:
    done = compare(page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stale_transcript_is_found_and_renewed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# Page\n\n```console\n$ echo one; sifopt --version | cut -d' ' -f1\none\nsifopt\n```\n\nThe end.\n"
    page.write_text(text.replace("one\nsifopt", "two\nsifopt"))
    assert compare(page).returncode == 1
    assert page.read_text() != text
    assert compare(page, "--renew").returncode == 0
    assert page.read_text() == text
    assert compare(page).returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs(page: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```\n", page.read_text(encoding="utf-8"), re.DOTALL):
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
