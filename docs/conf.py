"""Sphinx configuration of the documentation (`make docs`).  The site fetches nothing from the network."""

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS / "_extensions")]

_project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
project = "Grid prediction validator"
release = version = _project["version"]
html_title = f"{project} {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_pages",
    "existing_names",
    "field_comments",
    "mathml",
]
exclude_patterns = ["_extensions"]
smartquotes = False  # dashes belong to options

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4  # with the names that GitHub gives them

autodoc_member_order = "bysource"
# ``main`` of a command is the method of its Command; the page of commands has what it does.
autodoc_default_options = {"members": True, "exclude-members": "main"}
autodoc_preserve_defaults = True  # as written, not a page of values
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries_show_parents = "hide"

nitpicky = True
suppress_warnings = ["ref.python"]  # a name that exists in two modules; the imports determine the full name

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def setup(app):
    """Register a plain lexer for CSV blocks."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
