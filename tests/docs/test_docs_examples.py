"""Test that the examples in docstrings give the output that they show, and that names that examples import exist."""

import ast
import doctest
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("gridval", "platforms", "apps", "predictor", "validation", "benchmarks")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("platforms", "apps", "predictor", "validation")
    for path in sorted((ROOT / package).rglob("*.py"))
    if re.search(r"^ *>>> ", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_so(name):
    report = doctest.testmod(importlib.import_module(name), verbose=False)
    assert report.attempted > 0
    assert report.failed == 0


def test_public_equations_have_examples():
    assert {"predictor.hcf", "predictor.hierarchical.model", "predictor.failures.expected"} <= set(MODULES)


@pytest.mark.parametrize("path", sorted([*ROOT.glob("examples/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]), ids=str)
def test_names_that_examples_and_benchmarks_import_exist(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            missing = [name.name for name in node.names if not _is_there(node.module, name.name)]
            assert not missing, f"{node.module} has no {', '.join(missing)}"


def _is_there(module, name):
    return hasattr(importlib.import_module(module), name) or importlib.util.find_spec(f"{module}.{name}") is not None
