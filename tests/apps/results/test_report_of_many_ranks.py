"""The report of a run with enough ranks to be sent along a tree: every rank's row is in its place."""

import pytest

from apps.programs.problem import problem
from apps.runs.engines import run_iterations
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


def test_the_rows_of_more_than_512_ranks_are_in_their_places_and_disturb_no_rank_that_is_still_busy():
    ranks = 601  # neither a power of two nor even, so that some parts of the tree are not full
    platform = materialise(named_grid("grid1x601", speeds_flops=[50e9]))
    target = Target(problem("ep", "A"), platform, block(platform, ranks))
    smpi, s4u = (run_iterations(Settings(engine=one).spec(target), 1) for one in ("smpi", "s4u"))
    assert list(smpi.host) == [f"c1-{number}" for number in range(ranks)]
    assert smpi.rank_flops == s4u.rank_flops  # the S4U program gathers nothing
    assert smpi.comm_s == pytest.approx(s4u.comm_s, abs=1e-12)
