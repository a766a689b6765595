"""Progress of runs on a terminal."""

import io
import sys

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


def test_runs_are_a_bar_on_a_terminal(monkeypatch, spec):
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = apps.runs.run_progress.RunProgress()
    progress.expect(1)
    progress.expect(2)
    progress(spec, known=True)
    progress(spec, known=False)
    progress.waits(spec)  # a line would break the bar
    progress.close()
    last = sys.stderr.getvalue().rpartition("\r")[2]
    assert " 67%" in last and "2/3" in last and str(spec.target.problem) in last and last.endswith("\n")
    assert "waiting" not in sys.stderr.getvalue()
    progress.check()
