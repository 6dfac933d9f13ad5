"""Which files of the site are made, and from what."""

from __future__ import annotations

from pathlib import Path

from docs.making.architecture import architecture_drawing, architecture_page
from docs.making.drawings import drawings
from docs.making.json_page import json_page, schemas, snapshot_page
from docs.making.manual import manual_pages

DOCS = Path(__file__).parents[1]
_ARCHITECTURE, _SNAPSHOT = "architecture.md", "snapshot-format.md"


def made() -> dict[Path, str]:
    """Return every file that is made, with its text."""
    files = {"json.md": json_page(), **schemas(), **manual_pages(), **drawings()}
    files["drawings/architecture.svg"] = architecture_drawing()
    # Of these two pages a table is made, and the rest is written.
    for name, complete in ((_ARCHITECTURE, architecture_page), (_SNAPSHOT, snapshot_page)):
        files[name] = complete((DOCS / name).read_text(encoding="utf-8"))
    return {DOCS / name: text for name, text in files.items()}


def stale() -> set[Path]:
    """Return the files that are not what they would be made now."""
    return {path for path, text in made().items() if not path.exists() or path.read_text(encoding="utf-8") != text}
