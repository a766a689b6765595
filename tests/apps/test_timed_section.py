"""What a kernel does after its timed section leaves the times of that section alone."""

from pathlib import Path

import pytest

from apps.catalog import problem
from apps.s4u.engine import run_iterations as run_s4u
from apps.smpi import run_identity
from apps.smpi import run_iterations as run_smpi
from apps.spec import Settings, Target
from platforms.placement import block
from platforms.read import read_platform

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("ranks", [16, 36])
def test_records_that_are_gathered_do_not_disturb_ranks_that_are_still_busy(ranks):
    # EP's ranks leave its last sum one after the other.  The program on S4U gathers nothing, and is otherwise the same.
    platform = read_platform(DATA / "platform-grid-ref.xml")
    target = Target(problem("ep", "S"), platform, block(platform, ranks))
    smpi, s4u = (Settings(engine=one).spec(target) for one in ("smpi", "s4u"))
    gathering = run_smpi(smpi, 1)
    silent = run_s4u(s4u, 1, identity=run_identity(s4u))
    assert max(gathering.comm_s) - min(gathering.comm_s) > 1e-4  # they do leave it at different moments
    assert gathering.comm_s == pytest.approx(silent.comm_s, abs=1e-12)
