"""Leave types in signatures that this site does not document, such as the standard library's, as plain text.

Sphinx still warns of a name that does not exist at all.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_SHORT = {"np": "numpy", "pd": "pandas"}  # abbreviations that all modules use in imports


@cache
def _imported(module: str) -> dict[str, str]:
    """Map the names that a module imports, also those only for type checkers, to their full names."""
    file = importlib.import_module(module).__file__
    assert file is not None
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
    return found


def exists(name: str, module: str | None) -> bool:
    """Return whether a dotted name exists, as an absolute name or relative to a module."""
    first, dot, rest = name.partition(".")
    candidates = [name, _SHORT.get(first, first) + dot + rest]
    if module is not None:
        candidates += [f"{module}.{name}", _imported(module).get(first, first) + dot + rest]
    for one in candidates:
        try:
            resolve_name(one)
        except (ImportError, AttributeError, ValueError):
            continue
        return True
    return False


def _leave_plain(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contents: nodes.TextElement
) -> nodes.TextElement | None:
    """Return the text of an unresolved Python reference whose name exists, or None."""
    known = node.get("refdomain") == "py" and exists(node["reftarget"], node.get("py:module"))
    return contents if known else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("missing-reference", _leave_plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
