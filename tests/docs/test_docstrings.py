"""Test the beginnings of docstrings; ruff's rules D test their form."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("platforms", "apps", "predictor", "validation")
NO_BEGINNINGS = {"What", "Of", "That", "Whether", "Which", "How", "Where", "Who"}


def docstrings(source):
    """Yield the line and the docstring of a module's source and of each class and function in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.body[0].lineno, text


def begins_with_a_clause(text):
    return text.split(maxsplit=1)[:1] != [] and text.split(maxsplit=1)[0].rstrip(",.:;") in NO_BEGINNINGS


@pytest.mark.parametrize("package", PACKAGES)
def test_a_docstring_begins_with_a_verb_or_a_noun(package):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in docstrings(path.read_text("utf-8"))
        if begins_with_a_clause(text)
    ]
    assert found == []


def test_a_clause_at_the_beginning_would_be_found():
    source = '"""Read files."""\n\nclass Reader:\n    def size(self):\n        """What remains."""\n'
    assert [(line, begins_with_a_clause(text)) for line, text in docstrings(source)] == [(1, False), (5, True)]
    assert begins_with_a_clause("Whether it rains.") and not begins_with_a_clause("Whatever\nmore")
    assert not begins_with_a_clause("")
