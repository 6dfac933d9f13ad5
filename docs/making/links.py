"""Check the links of the built site: every file is there, and every place in a page that is linked to.

Usage: python -m docs.making.links [FOLDER]. Links that leave the site are not followed.

Sphinx's own check follows links to other hosts and leaves those between pages alone, which themes and extensions write
too; what checks built pages otherwise comes from other languages.
"""

from __future__ import annotations

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_SITE = Path(__file__).parents[1] / "_build" / "html"
_TARGETS = ("href", "src", "data", "poster")


class Checked(NamedTuple):
    """How many links were followed, in how many pages, and those that lead nowhere: ``page: link``."""

    links: int
    pages: int
    broken: list[str]


class _Page(HTMLParser):
    """The links of a page, and the names of the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places = {"", "top"}  # what every page has, by the standard
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element, one that closes itself included."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value or "")
            elif name in _TARGETS:
                self.links.append(value or "")
            elif name == "srcset":
                self.links += [part.split()[0] for part in (value or "").split(",") if part.strip()]


def check(site: Path) -> Checked:
    """Follow every link between the files of a folder."""
    site = site.resolve()
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    links, broken = 0, list[str]()
    for path, page in pages.items():
        for link in page.links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            links += 1
            file = _file(site, path, unquote(target.path))
            there = file.is_file() and file.is_relative_to(site)
            if not there or (file in pages and unquote(target.fragment) not in pages[file].places):
                broken.append(f"{path.relative_to(site)}: {link}")
    return Checked(links, len(pages), broken)


def _file(site: Path, page: Path, path: str) -> Path:
    """Return the file that a path in a page means."""
    if not path:
        return page
    found = (site / path.lstrip("/") if path.startswith("/") else page.parent / path).resolve()
    return found / "index.html" if found.is_dir() else found


def main() -> int:
    """Return 1 if a link leads nowhere, or there is no link at all."""
    parser = argparse.ArgumentParser(prog="python -m docs.making.links", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=_SITE)
    links, pages, broken = check(parser.parse_args().folder)
    sys.stdout.writelines(f"broken: {link}\n" for link in broken)
    sys.stdout.write(f"{links:,} links checked in {pages:,} pages, {len(broken):,} broken\n")
    return 1 if broken or not links else 0


if __name__ == "__main__":
    sys.exit(main())
