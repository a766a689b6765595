"""Glitches (Ichikawa, Takahashi, Kawai, section 5.6) by hand, and the noise that makes them."""

from dataclasses import replace

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.nodes.drivers import Noise, perturb
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.outliers import glitches

ONE, TWO = Configuration.parse("1,1"), Configuration.parse("2,1")


def performances(*values, configuration=ONE):
    """Return runs at N = 10, 20, ... with these performances in flop/s."""
    return [Measurement(configuration, 10 * (n + 1), 100 / p, 100) for n, p in enumerate(values)]


def found(runs, k=0.9):
    return glitches(Measurements.of(runs), k).tolist()


def test_a_glitch_is_slower_than_k_times_the_size_before():
    #                         first  rises  0.92   0.75 of 12
    assert found(performances(10, 13, 12, 9)) == [False, False, False, True]
    assert found(performances(10, 9)) == [False, True]  # p(n) = k p(m) counts, "<="
    assert found(performances(10, 9), k=0.89) == [False, False]


def test_a_glitch_counts_as_the_size_before_the_next():
    # 5 is a glitch, and 4.6 is 0.92 of it: not one; 10 after it is no glitch either.
    assert found(performances(10, 5, 4.6, 10)) == [False, True, False, False]


def test_series_are_apart_and_their_order_does_not_matter():
    runs = performances(10, 13) + performances(8, 7, configuration=TWO)
    assert found(runs) == [False, False, False, True]
    assert found(runs[::-1]) == [True, False, False, False]


def test_repeated_sizes_are_compared_with_the_size_before():
    runs = [*performances(8, 10), Measurement(ONE, 10, 100 / 12, 100)]
    # Size 10 ran at 8 and 12 flop/s: 200 flops in 12.5 + 8.333 s, 9.6 flop/s.  Size 20 at 10 is above.
    assert found(runs) == [False, False, False]
    assert found([*runs, Measurement(ONE, 20, 100 / 8.6, 100)]) == [False, False, False, True]


def test_work_may_be_a_function_of_the_size():
    data = Measurements.of([Measurement(ONE, 10, 1), Measurement(ONE, 20, 9), Measurement(ONE, 40, 60)])
    with pytest.raises(UserError, match="the work of some measurements is not known"):
        glitches(data)
    # N^3 flops: 1000, 889, 1067 flop/s.
    cubic = replace(data, work_flops=data.size**3)
    assert glitches(cubic).tolist() == [False, True, False]
    with pytest.raises(UserError, match="between 0 and 1"):
        glitches(cubic, 1.0)


def many(n=20000):
    return Measurements.of([Measurement(ONE, 10, 2.0)] * n)


def test_noise_is_log_normal_and_repeats_with_its_seed():
    data = many()
    noisy = perturb(data, sigma=0.02, seed=3, glitch_share=0)
    logs = np.log(noisy.time_s / 2)
    assert logs.mean() == pytest.approx(0, abs=4 * 0.02 / np.sqrt(len(data)))
    assert logs.std() == pytest.approx(0.02, rel=0.03)
    assert (perturb(data, sigma=0.02, seed=3, glitch_share=0).time_s == noisy.time_s).all()
    assert (perturb(data, sigma=0.02, seed=4, glitch_share=0).time_s != noisy.time_s).all()


def test_glitches_come_on_top_of_the_same_noise():
    data = many()
    plain = perturb(data, sigma=0.02, seed=3, glitch_share=0)
    factor = perturb(data, sigma=0.02, seed=3, glitch_share=0.1, glitch_factor=2).time_s / plain.time_s
    assert set(np.round(factor, 9).tolist()) == {1.0, 2.0}
    assert (factor > 1.5).mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / len(data)))
    assert (perturb(data, sigma=0, seed=0, glitch_share=0).time_s == 2).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"sigma": -0.1}, "noise -0.1"),
        ({"sigma": float("nan")}, "noise nan"),
        ({"glitch_share": 2}, "glitch share 2"),
        ({"glitch_factor": 0.5}, "a glitch is slower"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(arguments, said):
    with pytest.raises(UserError, match=said):
        perturb(many(1), **{"sigma": 0.02, "seed": 1, **arguments})


def test_measurements_that_are_none_are_refused():
    with pytest.raises(UserError, match="its time is 0 s"):
        Measurement(ONE, 10, 0)
    with pytest.raises(UserError, match="not a size"):
        Measurement(ONE, 0, 1)
    with pytest.raises(UserError, match="its work is nan flops"):
        Measurement(ONE, 10, 1, float("nan"))
    with pytest.raises(UserError, match="runs on no sub-clusters"):
        Measurements.of([])
    with pytest.raises(UserError, match="runs on 1 and 2 sub-clusters"):
        Measurements.of([Measurement(ONE, 10, 1), Measurement(Configuration.parse("1,1,1,1"), 10, 1)])


def test_noise_is_written_out():
    assert str(Noise()) == "none"
    assert str(Noise(sigma=0.05, seed=3, glitch_share=0.1, glitch_factor=2)) == "5 %, 10 % glitches of 2 times, seed 3"
