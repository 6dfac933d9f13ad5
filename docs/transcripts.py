"""Run the commands shown in the pages, and compare what they print with what the pages say, or renew the pages.

A block that begins with three backticks and `console`, and then with a command, is a transcript: lines that begin with
`$ ` are commands, what follows them is what they print. Pages are looked through if a transcript of theirs begins with
`$ sifopt`. Those of a page run one after the other in one new folder, in which `examples` is the
folder of that name. Files they write to `docs` are compared, too, or renewed.

Usage: python docs/transcripts.py [--renew] [PAGE...]
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(?<=```console\n)\$ .*?(?=```\n)", re.DOTALL)
_OURS = "```console\n$ sifopt "


def main() -> int:
    """Return 1 if a page is not what its commands print; with --renew, make it so."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--renew", action="store_true", help="write what the commands print into the pages")
    parser.add_argument("pages", nargs="*", type=Path, help="the pages (default: all with a transcript of sifopt)")
    options = parser.parse_args()
    pages: list[Path] = options.pages or [page for page in sorted(DOCS.glob("*.md")) if _OURS in _text(page)]
    stale = [path for page in pages for path in _stale(page.resolve(), renew=options.renew)]
    return 1 if stale and not options.renew else 0


def _stale(page: Path, *, renew: bool) -> Iterator[Path]:
    """Yield the page and the pictures beside it that are not what the commands make."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(DOCS.parent / "examples")
        (folder / "docs").mkdir()
        text = _text(page)
        now = _BLOCK.sub(lambda block: _played(block[0], folder), text)
        made = {page: now} | {DOCS / path.name: _text(path) for path in sorted((folder / "docs").iterdir())}
    for path, content in made.items():
        before = _text(path) if path.exists() else ""
        if content != before:
            lines = difflib.unified_diff(before.splitlines(), content.splitlines(), str(path), "printed", lineterm="")
            sys.stdout.writelines(f"{line[:200]}\n" for line in lines)
            if renew:
                path.write_text(content, encoding="utf-8")
            yield path


def _played(block: str, folder: Path) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{_printed(command[2:], folder)}" for command in commands)


def _printed(command: str, folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(  # noqa: S603 - commands of our own pages
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
