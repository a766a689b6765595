"""The runner of a command that is interrupted says how many runs are kept."""

import pytest

from apps.options.runner import RunnerOptions, runner_from_request
from apps.programs.problem import problem
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


@pytest.mark.parametrize(("runs", "said"), [(0, ()), (1, ("1 run is kept in the store",))])
@pytest.mark.parametrize("store", [True, False])
def test_it_counts_the_runs_in_the_store(tmp_path, runs, said, store):
    request = RunnerOptions(store=str(tmp_path)) if store else RunnerOptions(no_store=True)
    platform = materialise(named_grid("grid4x2"))
    with pytest.raises(KeyboardInterrupt) as ended, runner_from_request(request) as runner:
        for _ in range(runs):
            runner.record(RunSpec(Target(problem("ep", "S"), platform, block(platform, 2))))
        raise KeyboardInterrupt
    assert ended.value.args == (said if store else ())
