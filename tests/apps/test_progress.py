"""How far runs have come, on a terminal."""

import io
import sys

import pytest

import apps.progress
from apps.catalog import problem
from apps.spec import Settings, Target
from platforms.placement import block
from platforms.read import materialise
from platforms.scenario import named_grid


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def spec():
    platform = materialise(named_grid("grid4x2"))
    return Settings().spec(Target(problem("cg", "S"), platform, block(platform, 4)))


def test_runs_are_a_bar_on_a_terminal(monkeypatch, spec):
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = apps.progress.Progress()
    progress.expect(1)
    progress.expect(2)
    progress(spec, known=True)
    progress(spec, known=False)
    progress.waits(spec)  # would tear the bar
    progress.close()
    last = sys.stderr.getvalue().rpartition("\r")[2]
    assert " 67%" in last and "2/3" in last and str(spec.target.problem) in last and last.endswith("\n")
    assert "waiting" not in sys.stderr.getvalue()
    progress.check()
