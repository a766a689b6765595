"""Formulas of Proficz and Czarnul, lines of Li, Wang and Gaudiot, frequency options: edge cases and messages."""

import math
from fractions import Fraction

import numpy as np
import pytest

from apps.recording.events import Mode
from platforms.errors import PlatformError, UserError
from platforms.model.frequency import Frequencies, known_frequencies, parse_frequency
from predictor.base import OutOfRange
from predictor.blocks.published.formulas import (
    barrier,
    communication_time,
    computation_time,
    node_power,
    success,
    whole_units,
)
from predictor.sends.send_model import Line, SendModel, Side

# Table 1 with HyperThreading: 12 cores, 24 threads.
O = {"P_low": 12, "P_hi": 24, "T_min": 1.0, "T_low": 2.0, "T_hi": 3.0, "K_hi": 0.5}  # noqa: E741
PW = {"P_low": 4, "P_hi": 8, "PW_low": 50, "KW_low": 20, "PW_hi": 100, "KW_hi": 5, "PW_max": 135}


def test_computation_has_three_branches_whose_ends_belong_to_the_lower_one():
    assert computation_time(10, [1, 12, 13, 24, 25], **O).tolist() == [10, 10, 20, 20, 155]
    assert float(computation_time(Fraction(10), Fraction(25), **O)) == 155
    assert computation_time(10.0, [Fraction(25)], **O).dtype == float


def test_whole_units_of_a_fraction_are_rounded_up():
    assert whole_units([0, 1, 2048, 2049], 2048).tolist() == [0, 2048, 2048, 4096]
    assert float(whole_units(Fraction(4097, 2), 2048)) == 4096


def test_a_barrier_has_the_shape_of_its_sizes():
    assert barrier(np.zeros((2, 1)), [2, 8], 2048).tolist() == [[1, 3], [1, 3]]


def test_a_time_below_zero_is_none():
    assert float(communication_time("p2p", 2048, 2, T=-3000.0, K=1.0, D_tu=2048)) == 0
    assert float(communication_time("p2p", 2049, 2, T=-3000.0, K=1.0, D_tu=2048)) == 1096


def test_power_is_monotone_unless_it_is_to_be_as_printed():
    threads = [0, 4, 5, 7, 8, 9]
    assert node_power(threads, **PW).tolist() == [50, 130, 130, 135, 135, 135]
    assert node_power(threads, **PW, law="printed").tolist() == [50, 130, 125, 135, 140, 135]
    assert float(node_power(Fraction(5), **PW, law="printed")) == 125
    assert node_power([Fraction(5)], **PW).dtype == float
    with pytest.raises(ValueError) as error:
        node_power(1, **PW, law="cubic")
    assert str(error.value) == "power law 'cubic' is not of monotone, printed"


def test_success_of_fractions():
    assert float(success(Fraction(10), 5, 0.02)) == pytest.approx(math.exp(-1))


# Lines.


def test_bounds_of_a_line_by_hand():
    # Sizes 1 and 3: weights of the slope -1/2 and 1/2, of the intercept 3/2 and -1/2.
    line = Line.fit([1, 3], [2, 6])
    assert line.error_bound(0.5) == (pytest.approx(0.5), pytest.approx(1.0))
    assert line.prediction_bound(2, 0.5) == pytest.approx(0.5)  # weights 1/2 and 1/2
    assert line.prediction_bound(5, 0.5) == pytest.approx(1.5)  # -1 and 2
    assert (line.sizes_bytes, line.rms_s) == ((1.0, 3.0), pytest.approx(0))
    assert line.covers(1) and line.covers(3) and not line.covers(0.9)


def said(kind, call):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_times_that_make_no_line_are_refused_in_these_words():
    assert said(UserError, lambda: Line.fit([1, 2, 3], [1, 2])) == (
        "send times: 3 sizes for 2 times. Give one time per size."
    )
    assert said(UserError, lambda: Line.fit([[1, 2]], [[1, 2]])) == (
        "send times: 2 sizes for 2 times. Give one time per size."
    )
    for sizes, times in (([1, math.inf], [1, 2]), ([1, 2], [1, math.nan]), ([-1, 2], [1, 2]), ([1, 2], [1, -2])):
        assert said(UserError, lambda a=sizes, b=times: Line.fit(a, b)) == (
            "send times: a size or time is negative or not a number. Give bytes and seconds."
        )
    assert said(UserError, lambda: Line.fit([2, 2], [1, 2])) == (
        "send times: 1 message sizes. Give at least two different ones."
    )
    assert said(UserError, lambda: SendModel.fit([2, 2], {Mode.BUFFERED: {Side.SENDER: [1, 2]}})) == (
        "send times, buffered sender: 1 message sizes. Give at least two different ones."
    )
    assert Line.fit([0, 2], [0, 4]).c_s_per_byte == pytest.approx(2)  # nothing is a size, and no time a time


def test_what_a_send_model_does_not_know_is_said_in_these_words():
    model = SendModel.fit([1e6, 2e6], {Mode.STANDARD: {Side.SENDER: [0.1, 0.3], Side.RECEIVER: [0.1, 0.2]}})
    assert said(OutOfRange, lambda: model.line(Mode.READY, Side.SENDER)) == (
        "ready sender: its times were not measured. Known: standard sender, standard receiver."
    )
    assert said(OutOfRange, lambda: model.time_s(0, Mode.STANDARD, Side.SENDER)) == (
        "message of 0 bytes: the line of the sender, mode standard, gives -0.1 s. "
        "Fit the line to sizes as small as this."
    )
    exact = SendModel({(Mode.STANDARD, Side.SENDER): Line(1.0, -4.0, (4.0, 8.0), 0.0)})
    assert exact.time_s(4, Mode.STANDARD, Side.SENDER) == 0  # just so


# Options.


def test_frequency_options_are_refused_in_these_words():
    clusters = [("a", Frequencies(2.5e9, 1.5e9, 1e9)), ("b", Frequencies(2e9, 1e9, 1e9))]
    assert said(PlatformError, lambda: parse_frequency("2,2,2", clusters)) == (
        "--frequency 2,2,2: 3 frequencies for 2 clusters. Give one, or one for each."
    )
    assert said(PlatformError, lambda: parse_frequency("slow", clusters)) == (
        "--frequency slow: 'slow' is not a frequency. Write GHz, min or max."
    )
    assert said(PlatformError, lambda: parse_frequency("2.5, 3", clusters)) == (
        "--frequency 2.5, 3, cluster b: no level of 3 GHz. Levels: 2, 1 GHz."
    )
    assert parse_frequency(" min , 1", clusters) == (1.5e9, 1e9) and parse_frequency("max", clusters) == (2.5e9, 2e9)


def test_the_type_of_a_node_is_known_by_its_speed_but_for_rounding():
    assert known_frequencies(40e9 * (1 + 0.9e-9)) == known_frequencies(40e9)
    assert known_frequencies(40e9 * (1 + 1.1e-9)) is None
