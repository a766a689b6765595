"""The compiled code that numba keeps belongs to the present source.

Numba compiles again only when a function's own file changes.  So a file repeats the numbers and fields that its
compiled functions take from other files, and refuses to be imported where these have changed.
"""

import ast
import importlib
import importlib.util
from collections import namedtuple
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).parents[2]
COMPILED = [path for path in sorted((ROOT / "predictor").rglob("*.py")) if "njit(" in path.read_text("utf-8")]


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def compiled_in(module):
    return [one for one in vars(module).values() if isinstance(one, Dispatcher)]


def taken_from_others(path):
    """(module, name) of the numbers that compiled functions use and of the named tuples that their file imports."""
    module = importlib.import_module(name_of(path))
    used = {name for one in compiled_in(module) for name in one.py_func.__code__.co_names}
    imports = [one for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, ast.ImportFrom)]
    return [
        (one.module, alias.name)
        for one in imports
        for alias in one.names
        for value in [vars(module).get(alias.asname or alias.name)]
        if ((alias.asname or alias.name) in used and isinstance(value, int | float)) or hasattr(value, "_fields")
    ]


TAKEN = [(path, *taken) for path in COMPILED for taken in taken_from_others(path)]


def changed(value):
    """Another number, or the tuple with its fields in reverse order."""
    if hasattr(value, "_fields"):
        return namedtuple(value.__name__, reversed(value._fields))
    return value + 1


def test_what_is_compiled_is_found():
    assert {path.name for path in COMPILED} >= {"fluid.py", "recurrence.py", "sharing.py"}
    found = {(path.name, name) for path, _, name in TAKEN}
    assert found >= {("fluid.py", "SEND"), ("fluid.py", "Paths"), ("recurrence.py", "MOST_SHARED")}
    assert found >= {("recurrence.py", "Shares"), ("sharing.py", "SYNCHRONOUS"), ("sharing.py", "Schedule")}


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_compiled_functions_call_no_compiled_ones_of_other_files(path):
    module = importlib.import_module(name_of(path))
    functions = compiled_in(module)
    assert functions
    called = {name for one in functions for name in one.py_func.__code__.co_names}
    assert {one.py_func.__module__ for one in functions if one.py_func.__name__ in called} <= {module.__name__}


@pytest.mark.parametrize(("path", "origin", "name"), TAKEN, ids=[f"{path.stem}-{name}" for path, _, name in TAKEN])
def test_what_is_compiled_in_from_another_file_cannot_change_unnoticed(path, origin, name, monkeypatch):
    source = importlib.import_module(origin)
    monkeypatch.setattr(source, name, changed(getattr(source, name)))
    spec = importlib.util.spec_from_file_location("changed", path)
    with pytest.raises(ImportError, match=f"change what {path.name} repeats"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_no_module_stands_for_its_numbers(path):
    # A number that is an attribute of another module would escape the test above.
    module = importlib.import_module(name_of(path))
    used = {name for one in compiled_in(module) for name in one.py_func.__code__.co_names}
    modules = {name for name in used if hasattr(vars(module).get(name), "__loader__")}
    assert modules <= {"np"}
