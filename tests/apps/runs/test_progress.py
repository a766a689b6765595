"""Progress of runs on a terminal and on a pipe."""

import io
import re
import sys
import time

import pytest

import apps.runs.run_progress
from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def spec():
    platform = materialise(named_grid("grid4x2"))
    return Settings().spec(Target(problem("cg", "S"), platform, block(platform, 4)))


def test_runs_are_a_live_line_on_a_terminal(monkeypatch, spec):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = apps.runs.run_progress.RunProgress()
    progress.start()
    progress.expect(1)
    progress.expect(2)
    progress(spec, known=False)
    progress(spec, known=True)
    progress.waits(spec)  # a line would break the live one
    time.sleep(0.3)  # longer than between two drawings
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.stderr.getvalue())
    progress.close()
    assert f"2 of 3 {spec.target.problem}" in shown
    assert "waiting" not in shown
    progress.check()


def test_runs_of_less_than_a_minute_say_nothing_on_a_pipe(spec, capsys):
    progress = apps.runs.run_progress.RunProgress()
    progress.start()
    progress.expect(1)
    progress(spec, known=False)
    progress.close()
    assert capsys.readouterr().err == ""
