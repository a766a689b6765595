"""Expected times and energies of placed applications against drawn failures."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.checkpoints.expectation import expectations
from predictor.checkpoints.placed import Placed
from predictor.checkpoints.report import CheckpointRow
from validation.checkpoints.cli import checks
from validation.checkpoints.draws import drawn_parts

RUN = Placed(
    processes=4, nodes=4, work_s=1000.0, work_w=100.0, checkpoint_s=30.0, checkpoint_w=50.0, idle_w=20.0,
    rate_per_s=2e-3, own_interval_s=300.0,
)  # fmt: skip


def test_expected_times_and_energies_lie_in_the_intervals_of_drawn_runs():
    row = CheckpointRow({}, RUN, expectations(RUN, ["young"], restart_s=60.0))
    found, refused = checks([row], restart_s=60.0, runs=1500, seed=7)
    assert refused == []
    assert len(found) == 2 * 3  # time and energy of scratch, own and young
    assert all(check.inside for check in found)


def test_without_failures_a_drawn_run_is_as_planned():
    calm = Placed(1, 1, 1000.0, None, 30.0, None, None, 0.0, None)
    parts = drawn_parts(np.random.default_rng(1), 2, calm, interval_s=300.0, restart_s=60.0)
    assert parts.tolist() == [[1000.0, 90.0, 0.0]] * 2
    parts = drawn_parts(np.random.default_rng(1), 1, calm, interval_s=inf, restart_s=60.0)
    assert parts.tolist() == [[pytest.approx(1000.0), 0.0, 0.0]]


def test_cases_that_cannot_be_drawn_do_not_stop_the_others():
    hopeless = replace(RUN, rate_per_s=0.05)  # 50 failures during the work: from scratch it ends after e^50 / 0.05 s
    row = CheckpointRow({}, hopeless, expectations(hopeless, ["young"], restart_s=0.0))
    found, refused = checks([row], restart_s=0.0, runs=100, seed=7)
    assert {check.quantity.split(",")[0] for check in found} == {"s", "J"}
    assert refused and all("too many to draw" in text for text in refused)
    assert any(text.startswith("scratch, 4 nodes: ") for text in refused)
    calm = replace(RUN, rate_per_s=1e-12)
    with pytest.raises(UserError, match="too few to check"):
        checks([CheckpointRow({}, calm, expectations(calm, [], restart_s=0.0))], restart_s=0.0, runs=100, seed=7)


def test_a_million_nodes_fail_as_their_rates_together():
    many = replace(RUN, nodes=1_000_000)
    row = CheckpointRow({}, many, expectations(many, ["young"], restart_s=60.0))
    found, _ = checks([row], restart_s=60.0, runs=1500, seed=7)
    assert len(found) == 6 and all(check.inside for check in found)
