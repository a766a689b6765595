"""Judging predicted distributions by simulated runs under drawn load."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from predictor.background.forecast import Forecast
from predictor.base import Prediction
from validation.background.cli import main
from validation.background.judge import crps, judged
from validation.background.picture import judged_figure


def forecast(times_s, quiet_s=1.0):
    return Forecast("some", "cg S on 8 ranks of grid4x2", Prediction(quiet_s), tuple(times_s))


def normal(count):
    """Return the quantiles of the standard normal distribution in the middle of as many equal parts."""
    return norm.ppf((np.arange(count) + 0.5) / count)


def test_the_score_of_a_point_is_its_error():
    assert crps([3.0], 5.0) == pytest.approx(2.0)


@pytest.mark.parametrize("true", [0.0, 1.0, -2.5])
def test_the_score_of_a_normal_distribution_is_the_published_one(true):
    # Gneiting and Raftery 2007, eq. (22), with mean 0 and standard deviation 1.
    known = true * (2 * norm.cdf(true) - 1) + 2 * norm.pdf(true) - 1 / np.sqrt(np.pi)
    assert crps(normal(2000), true) == pytest.approx(known, rel=1e-3)


def test_coverage_counts_the_truths_in_the_interval():
    found = judged(forecast(np.linspace(1, 2, 101)), [1.0, 1.05, 1.5, 1.95, 2.0])  # from 1.05 to 1.95
    assert found.inside == 3
    assert found.coverage == 0.6
    low, high = found.coverage_range  # Clopper and Pearson for 3 of 5, from tables
    assert (low, high) == pytest.approx((0.1466, 0.9473), abs=1e-4)
    assert found.width_pct == pytest.approx(100 * 0.9 / 1.5)
    assert found.median_error_pct == pytest.approx(0.0)
    assert found.quiet_s == pytest.approx((0 + 0.05 + 0.5 + 0.95 + 1) / 5)


def test_truths_of_the_same_distribution_lie_evenly_in_it_and_others_do_not():
    generator = np.random.default_rng(1)
    sample = generator.normal(10, 1, 2000)
    same, later = judged(forecast(sample), generator.normal(10, 1, 500)), judged(forecast(sample + 1), sample[:500])
    assert np.histogram(same.pit, bins=4, range=(0, 1))[0] == pytest.approx([125] * 4, abs=30)
    assert 0.86 < same.coverage < 0.94
    assert same.crps_s == pytest.approx(same.best_s, rel=0.01)
    assert same.p_value > 0.01
    assert max(later.pit) < 1
    assert np.mean(later.pit) < 0.3
    assert later.p_value < 1e-6
    assert later.crps_s > 1.5 * later.best_s


def test_the_picture_has_both_panels_for_each_target():
    judged_one = judged(forecast(np.linspace(1, 2, 50)), [1.2, 1.4, 1.9])
    figure = judged_figure([judged_one])
    assert len(figure.axes) == 2


@pytest.fixture
def half(tmp_path):
    path = tmp_path / "load.toml"
    path.write_text("[nodes]\navailability = { kind = 'values', values = [0.5, 1] }\n[clusters.c2]\n"
                    "availability = { kind = 'constant', value = 0.5 }\n")  # fmt: skip
    return path


ASKED = "--scenario grid2x1 --speeds 50,50 --app ep --class S --draws 10 --truths 4 --no-store".split()


def test_runs_under_load_are_simulated_and_the_prediction_is_judged(half, tmp_path, capsys):
    words = [*ASKED, "--background", str(half), "--predictor", "dpgraph:known", "--picture", str(tmp_path / "a.png")]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["results"][0]["predictions"]
    # The node of c2 always has half of its speed, and equal work: every run takes twice the quiet time.
    assert one["true_s"] == pytest.approx([2 * one["quiet_s"]] * 4, rel=0.05)
    assert one["times_s"] == pytest.approx(one["true_s"][:1] * 10, rel=1e-3)
    assert Path(tmp_path / "a.png").stat().st_size > 0
    assert not [line for line in found["cautions"] if "changes" in line]


def test_a_dry_run_counts_the_runs(capsys):
    assert main([*ASKED, "--background", "bursts", "--dry-run"]) == 0
    assert "4 of targets" in capsys.readouterr().out


def test_too_few_truths_are_refused(half, capsys):
    assert main([*ASKED, "--background", str(half), "--truths", "1"]) == 2
    assert "error: --truths 1: out of its range. Give 2 to 10000." in capsys.readouterr().err
