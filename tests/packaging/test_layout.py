"""The wheel's layout: the repository's packages under gridval, with all that names them rewritten."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def layout():
    spec = importlib.util.spec_from_file_location("layout", ROOT / "packaging" / "layout.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from apps.smpi import engine", "from gridval.apps.smpi import engine"),
        ("def f():\n    from apps import smpi", "def f():\n    from gridval.apps import smpi"),
        ("import apps", "import gridval.apps as apps"),
        ("import apps.smpi as engines", "import gridval.apps.smpi as engines"),
        ("import os, apps, sys", "import os, gridval.apps as apps, sys"),
        ("from validation.gridval import run", "from gridval import run"),
        ("PLACE = 'apps.smpi:NAME'", "PLACE = 'gridval.apps.smpi:NAME'"),
        ("é = 'é', \"apps.smpi\"", "é = 'é', \"gridval.apps.smpi\""),
        ("main(prog='python -m apps.smpi')", "main(prog='python -m gridval.apps.smpi')"),
        ("place = f'apps.smpi.{name}'", "place = f'gridval.apps.smpi.{name}'"),
        ('"""Text.\n\n>>> from apps.smpi import x\n"""', '"""Text.\n\n>>> from gridval.apps.smpi import x\n"""'),
    ],
)
def test_what_names_a_package_is_rewritten(layout, before, after):
    assert layout.rewritten(before, frozenset({"apps", "apps.smpi"})) == after


@pytest.mark.parametrize(
    "source",
    [
        "from . import apps",
        "from mypackage.apps import x",
        "import appsignal",
        "x = 'apps'",  # a word, such as a column's name
        "x = 'apps.toml'",  # no module of this name
        "x = f'{name}apps.smpi'",
        "x = apps.smpi",
    ],
)
def test_everything_else_stays(layout, source):
    assert layout.rewritten(source, frozenset({"apps", "apps.smpi"})) == source


def test_an_import_that_would_bind_another_name_is_refused(layout):
    with pytest.raises(ValueError, match=r"line 2: import apps\.smpi"):
        layout.rewritten("\nimport apps.smpi\napps.smpi.run()", frozenset())


@pytest.mark.slow
def test_all_modules_can_be_rewritten_and_name_no_package_of_the_repository(layout):
    modules = layout.module_names(ROOT)
    assert {"platforms.addons", "apps.smpi", "validation.gridval.run"} <= modules
    for package in layout.PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            made = layout.rewritten(path.read_text("utf-8"), modules)
            assert layout.rewritten(made, modules) == made, path


_ASK = """
import predictor.base, apps.spec.run_spec
from gridval.predictor.base import Prediction
from gridval.apps.spec import run_spec
import gridval.apps.spec.run_spec as same
assert Prediction is predictor.base.Prediction
assert same is run_spec is apps.spec.run_spec
assert predictor.base.__spec__.name == "predictor.base"
import gridval.predictor.base as base
import gridval.run
import gridval
assert base is predictor.base and base.Prediction is Prediction
assert callable(gridval.run) and callable(gridval.predictor.list), "verbs keep their names"
import gridval.validation.nothing
"""


def test_in_a_checkout_the_packages_have_both_names(tmp_path):
    done = subprocess.run([sys.executable, "-c", _ASK], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.strip().splitlines()[-1] == "ModuleNotFoundError: No module named 'gridval.validation.nothing'"


def test_the_module_run_is_the_command_run(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "gridval.run", "--scenario", "nowhere"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2 and "nowhere" in done.stderr and len(done.stderr.splitlines()) == 1
