"""Make the pages, schemas and drawings that follow from the code, or say which are out of date.

Usage: python -m docs.making [--check]
"""

from __future__ import annotations

import argparse
import sys

from docs.making.made import made, stale


def main() -> int:
    """Return 1 if something is out of date; without --check, make it first."""
    parser = argparse.ArgumentParser(prog="python -m docs.making", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if something is out of date")
    options = parser.parse_args()
    names = stale()
    for path, text in made().items():
        if path in names and not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.stdout.writelines(f"{path.name}: {'out of date' if options.check else 'made'}\n" for path in sorted(names))
    return 1 if names and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
