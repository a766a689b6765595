"""Types in signatures that are documented nowhere here, such as the standard library's, stay plain text.

A name that does not exist at all is still warned of.
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

_SHORT = {"np": "numpy", "pd": "pandas"}  # as they are imported everywhere


@cache
def _imported(module: str) -> dict[str, str]:
    """What a module imports, even if for type checkers alone: the name that it uses to the full one."""
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
    """Whether a dotted name can be found, from anywhere or in a module."""
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
    known = node.get("refdomain") == "py" and exists(node["reftarget"], node.get("py:module"))
    return contents if known else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("missing-reference", _leave_plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
