"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import re
from importlib.metadata import version as installed
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "compass-abs"
author = "The compass-abs developers"
project_copyright = "the compass-abs developers"
version = release = installed("compass-abs")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"compass-abs {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# In docstrings a single back-quote marks code, as it does in Markdown.
default_role = "code"
highlight_language = "none"

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

# Two packages may use one name, such as `Status` or `Scheduler`; a type in a signature then links to neither.
suppress_warnings = ["ref.python"]

_ROOT_PAGES = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
_LINKS = {"](docs/decisions)": "](decisions/index.md)", "](docs/": "](", "](CHANGELOG.md)": "](changelog.md)"}


def _complete_page(_: Sphinx, page: str, source: list[str]) -> None:
    """Put a page of the root folder in place of its stub here, with links that lead to pages of the site.

    The tables that experiments write get a title; no table of contents lists them, the page on results does.
    """
    if page in _ROOT_PAGES:
        text = (Path(__file__).parents[1] / _ROOT_PAGES[page]).read_text(encoding="utf-8")
        for link, target in _LINKS.items():
            text = text.replace(link, target)
        source[0] = text
    if page.startswith("results/"):
        source[0] = f"---\norphan: true\n---\n\n# {page.removeprefix('results/')}\n\n{source[0]}"


def _hide_private_fields(
    _: Sphinx, what: str, _name: str, _object: object, _options: object, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Show no signature of a class that is not made by calling it, but by one of its class methods."""
    return ("()", None) if what == "class" and signature and " _" in signature else (signature, result)


_BACK = re.compile(
    r'(?P<head><div class="viewcode-block" id="(?P<name>[^"]*)">\n<a class="viewcode-back" href=")'
    r'[^"#]*#(?P<shown>[^"]*)'
)


def _mend_source_pages(app: Sphinx, page: str, _template: str, context: dict[str, object], _tree: object) -> None:
    """Lead back from a source to where it is described, and list no source of what has none.

    Where some names of a module stand in the reference under the package that exports them, viewcode says of all of
    them that they do, and of none where an alias of a built-in type is listed.
    """
    if page == "_modules/index":
        context["body"] = str(context["body"]).replace('<li><a href="builtins.html">builtins</a></li>', "")
    elif page.startswith("_modules/"):
        module = page.removeprefix("_modules/").replace("/", ".")
        described = app.env.domains.python_domain.objects

        def back(found: re.Match[str]) -> str:
            own = described.get(f"{module}.{found['name']}") or described.get(found["shown"])
            return (
                f"{found['head']}{app.builder.get_relative_uri(page, own.docname)}#{own.node_id}" if own else found[0]
            )

        context["body"] = _BACK.sub(back, str(context["body"]))


def setup(app: Sphinx) -> None:
    """Tell Sphinx what is done here beside its settings."""
    app.connect("autodoc-process-signature", _hide_private_fields)
    app.connect("html-page-context", _mend_source_pages)
    app.connect("source-read", _complete_page)
