"""Expected times and energies of placed applications against drawn failures."""

from math import inf

import numpy as np
import pytest

from predictor.checkpoints.expectation import expectations
from predictor.checkpoints.placed import Placed
from predictor.checkpoints.report import Row
from validation.checkpoints.cli import checks
from validation.checkpoints.draws import drawn_parts

RUN = Placed(
    processes=4, nodes=4, work_s=1000.0, work_w=100.0, checkpoint_s=30.0, checkpoint_w=50.0, idle_w=20.0,
    rate_per_s=2e-3, own_interval_s=300.0,
)  # fmt: skip


def test_expected_times_and_energies_lie_in_the_intervals_of_drawn_runs():
    row = Row({}, RUN, expectations(RUN, ["young"], restart_s=60.0))
    found = checks([row], restart_s=60.0, runs=1500, seed=7)
    assert len(found) == 2 * 3  # time and energy of scratch, own and young
    assert all(check.inside for check in found)


def test_without_failures_a_drawn_run_is_as_planned():
    calm = Placed(1, 1, 1000.0, None, 30.0, None, None, 0.0, None)
    parts = drawn_parts(np.random.default_rng(1), 2, calm, interval_s=300.0, restart_s=60.0)
    assert parts.tolist() == [[1000.0, 90.0, 0.0]] * 2
    parts = drawn_parts(np.random.default_rng(1), 1, calm, interval_s=inf, restart_s=60.0)
    assert parts.tolist() == [[pytest.approx(1000.0), 0.0, 0.0]]
