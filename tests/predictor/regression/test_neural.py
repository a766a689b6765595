"""The neural network as a baseline."""

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.base import OutOfRange
from predictor.regression import neural
from predictor.regression.neural import FIT_NEURAL, NETWORKS, learned_times


def law(ranks):
    """Return features of hosts of equal speed, and the times 8 / P + 0.1 log P."""
    ranks = np.asarray(ranks, float)
    inputs = np.stack([np.log(ranks), np.log(ranks * 4e9), np.full_like(ranks, np.log(4e9))], axis=1)
    return inputs, 8 / ranks + 0.1 * np.log(ranks)


@pytest.mark.slow  # importing scikit-learn alone takes seconds on a busy computer
def test_a_smooth_law_is_learned_between_the_runs_it_was_trained_on():
    pytest.importorskip("sklearn")
    inputs, times_s = law([2, 4, 6, 8, 12, 16, 24, 32])
    asked, expected_s = law([5, 10, 20])
    made = learned_times(inputs, times_s, asked)
    assert made.shape == (NETWORKS, 3)
    assert np.median(made, axis=0) == pytest.approx(expected_s, rel=0.05)
    assert np.array_equal(made, learned_times(inputs, times_s, asked))  # the seeds are fixed


def test_without_scikit_learn_one_line_says_what_to_install_and_no_run_is_requested(monkeypatch):
    monkeypatch.setattr(neural, "find_spec", lambda name: None)
    grid = materialise(named_grid("grid4x4"))
    target = Target(problem("cg", "S"), grid, block(grid, 16))
    with pytest.raises(OutOfRange, match=r"fit:neural: it needs scikit-learn. Install the extra"):
        FIT_NEURAL.runs(target)
    assert FIT_NEURAL.requests([target]) == []


def test_the_predictor_has_a_name_of_its_family():
    assert FIT_NEURAL.name == "fit:neural"
