"""Memory use of simulations of the largest classes."""

import pytest

from apps.programs.problem import problem
from apps.runs.engines import run_iterations
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


# With its data MG D would hold 8 GB in each of its three fields (1024^3 doubles), LU D 2.7 GB in its unknowns alone
# (5 x 408^3).  Measured on 48 ranks, SimGrid 3.32: cg 38, mg 45, lu 46, is 401, ft C 135, ep 36 MB.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("app", "preset"), [("cg", "D"), ("mg", "D"), ("lu", "D"), ("is", "D"), ("ft", "C"), ("ep", "D")]
)
def test_skeletons_of_large_classes_take_less_than_1_gb_on_48_ranks(app, preset):
    platform = materialise(named_grid("grid4x12", speeds_flops=(40e9, 50e9, 60e9, 70e9)))
    target = Target(problem(app, preset), platform, block(platform, 48))
    # One iteration, so that LU D takes only seconds; three iterations of IS D take 0.1 % more memory.
    assert run_iterations(Settings().spec(target), 1).peak_memory_bytes < 1e9
