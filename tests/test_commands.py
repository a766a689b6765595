"""Each command can be started with `python -m` and shows that name in its help."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Programs that commands start as child processes, and the command gridval (tests/validation/test_gridval.py).
NO_COMMANDS = {
    *("apps.s4u", "apps.traces.otf2_child", "predictor.extrap.worker", "validation.gridval"),
    "validation.workbench.work",
}


def commands():
    for package in ("platforms", "apps", "predictor", "validation"):
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if path.name == "__main__.py" or 'if __name__ == "__main__":' in path.read_text("utf-8"):
                yield name.removesuffix(".__main__")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", sorted({*commands()} - NO_COMMANDS))
def test_it_says_how_it_is_called(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["-", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(command, run_name="__main__", alter_sys=True)
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m {command} ")
