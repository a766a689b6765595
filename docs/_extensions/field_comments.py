"""Add the comments beside the fields of a dataclass to the description of the class."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import re
import textwrap
import tokenize
import typing
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation


def field_comments(cls: type) -> dict[str, str]:
    """Return the comments of a dataclass by field: those directly above its line and those at the end of the line."""
    source = textwrap.dedent(inspect.getsource(cls))
    comments, own_lines = {}, set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string.lstrip("# ").rstrip()
            if token.line.lstrip().startswith("#"):
                own_lines.add(token.start[0])
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            first = statement.lineno
            while first - 1 in own_lines:
                first -= 1
            lines = range(first, (statement.end_lineno or first) + 1)
            found[statement.target.id] = " ".join(comments[line] for line in lines if line in comments)
    return found


def _types(cls: type) -> Mapping[str, str]:
    """Return the type of every field as Sphinx links it, or as written if only type checkers know a name."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError:
        return {field.name: f"``{field.type}``" for field in dataclasses.fields(cls)}
    return {name: stringify_annotation(hint, "smart") for name, hint in hints.items()}


def _shown(cls: type) -> list[dataclasses.Field[Any]]:
    """Return the public fields that the constructor takes."""
    return [field for field in dataclasses.fields(cls) if field.init and not field.name.startswith("_")]


def _as_text(comment: str) -> str:
    """Escape a comment, which is plain text, for reStructuredText."""
    return re.sub(r"([\\*`|_])", r"\\\1", comment)


def _add_fields(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Append the fields of a dataclass, with types and comments, to the lines of its docstring."""
    if not isinstance(obj, type) or not dataclasses.is_dataclass(obj):
        return
    comments: dict[str, str] = {}
    for base in reversed(obj.__mro__):
        if dataclasses.is_dataclass(base):
            comments |= field_comments(base)
    types = _types(obj)
    while lines and not lines[-1].strip():
        lines.pop()
    lines.append("")
    for field in _shown(obj):
        lines += [
            f":param {field.name}: {_as_text(comments.get(field.name, ''))}",
            f":type {field.name}: {types[field.name]}",
        ]
    lines.append("")


def _short_signature(app: Sphinx, what: str, name: str, obj: Any, options: Any, given: Any, returned: Any) -> Any:
    """Return a signature of names and defaults only; the types follow below with their descriptions."""
    if not isinstance(obj, type) or not dataclasses.is_dataclass(obj):
        return None
    words = []
    for field in _shown(obj):
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        shown = repr(field.default) if isinstance(field.default, (int, float, str, bool, type(None))) else "..."
        words.append(f"{field.name}={shown}" if optional else field.name)
    return f"({', '.join(words)})", None


def _without_aliases(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip the fields of a named tuple ("Alias for field number 0"), which its signature already shows."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def _dashes(app: Sphinx, doctree: nodes.document) -> None:
    """Put a dash between a parameter and its description; smart quotes are off because most dashes are options."""
    for text in list(doctree.findall(nodes.Text)):
        if text.astext() == " -- ":
            text.parent.replace(text, nodes.Text(" – "))  # noqa: RUF001


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", _add_fields)
    app.connect("autodoc-process-signature", _short_signature)
    app.connect("autodoc-skip-member", _without_aliases)
    app.connect("doctree-read", _dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
