"""Work after the timed section does not affect the times of the section."""

from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.runs.engines import run_iterations
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.placement import block
from platforms.read.read import read_platform

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("ranks", [16, 36])
def test_records_that_are_gathered_do_not_disturb_ranks_that_are_still_busy(ranks):
    # EP's ranks leave its last sum one after the other.  The S4U program is the same without the gathering.
    platform = read_platform(DATA / "platform-grid-ref.xml")
    target = Target(problem("ep", "S"), platform, block(platform, ranks))
    smpi, s4u = (Settings(engine=one).spec(target) for one in ("smpi", "s4u"))
    gathering = run_iterations(smpi, 1)
    silent = run_iterations(s4u, 1)
    assert max(gathering.comm_s) - min(gathering.comm_s) > 1e-4  # they do leave it at different moments
    assert gathering.comm_s == pytest.approx(silent.comm_s, abs=1e-12)
