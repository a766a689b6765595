"""`import gridval` loads no large library: tested by the names of the loaded modules, without clocks."""

import json
import subprocess
import sys

import pytest

LARGE = {"numpy", "pandas", "scipy", "matplotlib", "lxml", "simgrid"}
_FACES = """
import json, sys
import gridval
assert set(gridval.__all__) <= set(dir(gridval))
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {*json.loads(done.stdout)}


def test_the_module_gridval_lists_its_names_and_loads_no_large_library():
    loaded = modules_after(_FACES)
    assert "gridval" in loaded
    assert not LARGE & loaded
    assert "validation.interactive" not in loaded


def test_a_name_of_gridval_is_that_of_the_interactive_face():
    import gridval

    import validation.interactive

    for name in gridval.__all__:
        assert getattr(gridval, name) is getattr(validation.interactive, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        gridval.no_such_name  # noqa: B018
