"""Test that the examples in docstrings give the output that they show."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
