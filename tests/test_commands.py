"""Each command that can be started with `python -m` shows that name in its help, and each verb shows its own."""

import runpy
import sys
from pathlib import Path

import pytest

from validation.entrance.choosing import all_commands
from validation.entrance.main import main

ROOT = Path(__file__).parents[1]
# Programs that commands start as child processes, and the command gridval (tests/validation/entrance/test_gridval.py).
NO_COMMANDS = {
    *("apps.s4u", "apps.traces.otf2_child", "predictor.extrap.worker", "validation.gridval"),
    *("apps.programs.compilers.compiler", "validation.workbench.work"),
}


def commands():
    for package in ("platforms", "apps", "predictor", "validation"):
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if path.name == "__main__.py" or 'if __name__ == "__main__":' in path.read_text("utf-8"):
                yield name.removesuffix(".__main__")


def test_one_verb_and_two_commands_for_maintainers_are_modules_too():
    # gridval.run is validation.run, in a checkout and in the wheel.
    known = {"validation.run", "validation.gridval.run", "predictor.prepare", "validation.modes.fit"}
    assert {*commands()} - NO_COMMANDS == known


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", sorted({*commands()} - NO_COMMANDS))
def test_it_says_how_it_is_called(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["-", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(command, run_name="__main__", alter_sys=True)
    assert end.value.code == 0
    called = command.replace("validation.gridval", "gridval")
    assert capsys.readouterr().out.startswith(f"usage: python -m {called} ")


@pytest.mark.parametrize("words", all_commands())
def test_a_verb_says_how_it_is_called(words, capsys):
    name = " ".join(word for word in words.split() if word not in ("--simulate", "APP.toml"))
    with pytest.raises(SystemExit) as end:
        main([*words.split(), "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: gridval {name} ")
