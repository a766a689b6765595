"""The neural network as a baseline."""

import sys

import numpy as np
import pytest

from platforms.errors import UserError
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


def test_without_scikit_learn_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    with pytest.raises(UserError, match=r"fit:neural: it needs scikit-learn. Install the extra"):
        learned_times(*law([2, 4, 8]), law([16])[0])


def test_the_predictor_has_a_name_of_its_family():
    assert FIT_NEURAL.name == "fit:neural"
