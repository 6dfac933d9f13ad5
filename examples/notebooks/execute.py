"""Run the notebooks and store what they print and draw, without time stamps: their outputs change only if results do.

python examples/notebooks/execute.py              # renews the outputs in place
python examples/notebooks/execute.py --to FOLDER  # writes the notebooks there instead
"""

# nbformat has no types: what it returns is a dictionary whose keys are attributes as well.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run in its own folder.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell raised an error.
    """
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # as above
    told = dict(notebook.metadata.language_info)
    where = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, record_timing=False, coalesce_streams=True, resources=where).execute()
    notebook.metadata.language_info = told  # the kernel adds the version of its Python
    return notebook


def main() -> None:
    """Run every notebook."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=HERE, help="where they are written")
    folder: Path = parser.parse_args().to
    for path in sorted(HERE.glob("*.ipynb")):
        nbformat.write(execute(path), folder / path.name)  # type: ignore[no-untyped-call] # as above


if __name__ == "__main__":
    main()
