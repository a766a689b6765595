"""The command that compiles ahead of time."""

from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.files.caching import cache_folder
from predictor import prepare
from predictor.native.library import Library

ROOT = Path(__file__).parents[2]


@pytest.mark.checkout
def test_it_compiles_the_c_files_of_every_predictor():
    libraries = [step.__self__ for step in prepare.STEPS if isinstance(getattr(step, "__self__", None), Library)]
    predictor = ROOT / "predictor"
    folders = {folder for one in libraries for folder in (one.folder, *one.others)}
    assert folders == {*predictor.glob("*/native"), *predictor.glob("*/*/native")}
    assert len({one.name for one in libraries}) == len(libraries)


def test_it_leaves_everything_in_the_cache_folder(capsys):
    assert prepare.main([]) == 0
    assert str(cache_folder()) in capsys.readouterr().out
    kept = {path.name.partition("-")[0] for path in (cache_folder() / "compiled").iterdir()}
    assert kept >= {"structural", "graph", "keeper", "recorder", "describe", "thread"}


def test_what_fails_is_told_in_one_line(monkeypatch, capsys):
    def fail():
        raise UserError("compiler gcc", "not found", "Run: apt-get install gcc")

    monkeypatch.setattr(prepare, "STEPS", (lambda: None, fail))
    assert prepare.main([]) == 2
    assert capsys.readouterr().err == "error: compiler gcc: not found. Run: apt-get install gcc.\n"
