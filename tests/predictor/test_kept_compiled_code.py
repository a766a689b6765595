"""Compiled code that numba keeps is that of the source: numba looks at the date of the function's own file alone."""

import importlib
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).parents[2]
COMPILED = [path for path in sorted((ROOT / "predictor").rglob("*.py")) if "njit(" in path.read_text("utf-8")]


def test_what_is_compiled_is_found():
    assert {path.name for path in COMPILED} >= {"fluid.py", "recurrence.py", "sharing.py"}


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_compiled_functions_call_no_compiled_ones_of_other_files(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    functions = [one for one in vars(module).values() if isinstance(one, Dispatcher)]
    assert functions
    called = {name for one in functions for name in one.py_func.__code__.co_names}
    assert {one.py_func.__module__ for one in functions if one.py_func.__name__ in called} <= {module.__name__}
