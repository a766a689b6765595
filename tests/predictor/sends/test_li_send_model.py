"""The lines of Li, Wang and Gaudiot by send mode, and the components of a message."""

import pytest

from apps.recording.events import Mode
from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.sends import tables as li_tables
from predictor.sends.components import (
    MessageComponents,
    execution_time_s,
    hidden_copy_share,
    identify_components,
    percentage_error,
)
from predictor.sends.send_model import Line, SendModel, Side

WIRE_S_PER_BYTE = 80e-9 * 1538 / 1448  # TCP on Fast Ethernet, full frames


def test_a_line_through_points_by_hand():
    # Mean size 2, mean time 10/3: slope (-1 (1 - 10/3) + 1 (6 - 10/3)) / 2 = 5/2, intercept 10/3 - 5.
    line = Line.fit([1, 2, 3], [1, 3, 6])
    assert (line.c_s_per_byte, line.k_s) == (pytest.approx(2.5), pytest.approx(-5 / 3))
    assert line.time_s(10) == pytest.approx(25 - 5 / 3)
    # Residuals: 1/6, -1/3, 1/6.
    assert line.rms_s == pytest.approx(((1 / 36 + 1 / 9 + 1 / 36) / 3) ** 0.5)
    assert line.covers(3) and not line.covers(3.1)


def test_bounds_by_hand():
    line = Line.fit([0, 10], [1, 2])  # slope weights -1/10, 1/10; intercept weights 1, 0
    assert line.error_bound(0.5) == (pytest.approx(0.1), pytest.approx(0.5))
    assert line.prediction_bound(10, 0.5) == pytest.approx(0.5)
    assert line.prediction_bound(20, 0.5) == pytest.approx(1.5)  # weights -1, 2


@pytest.mark.parametrize(
    ("sizes", "times", "said"),
    [
        ([5, 5], [1, 2], "1 message sizes"),
        ([], [], "0 message sizes"),
        ([1, 2], [1], "2 sizes for 1 times"),
        ([1, 2], [1, float("nan")], "negative or not a number"),
        ([1, 2], [1, -1], "negative or not a number"),
        ([-1, 2], [1, 1], "negative or not a number"),
    ],
)
def test_what_is_no_line_is_refused(sizes, times, said):
    with pytest.raises(UserError, match=said):
        Line.fit(sizes, times)
    with pytest.raises(UserError, match="send times, ready receiver"):
        SendModel.fit(sizes, {Mode.READY: {Side.RECEIVER: times}})


def test_a_mode_that_was_not_measured_or_a_negative_time_is_out_of_range():
    model = SendModel.fit([1e6, 2e6], {Mode.STANDARD: {Side.SENDER: [0.1, 0.3]}})
    assert model.time_s(3e6, Mode.STANDARD, Side.SENDER) == pytest.approx(0.5)
    with pytest.raises(OutOfRange, match="Known: standard sender"):
        model.time_s(1e6, Mode.STANDARD, Side.RECEIVER)
    with pytest.raises(OutOfRange, match=r"gives -0\.1 s"):
        model.time_s(0, Mode.STANDARD, Side.SENDER)


def test_components_add_up_as_in_section_3_3():
    parts = MessageComponents(c1_s_per_byte=1e-9, k_b_s_per_byte=10e-9, c2_s_per_byte=3e-9, k_l_s=1e-4)
    n = 1e6
    assert parts.copy_time_s(n) == pytest.approx(1e-3)
    assert parts.transfer_time_s(n) == pytest.approx(10.1e-3)
    assert parts.receive_time_s(n) == pytest.approx(3e-3)
    assert parts.time_s(n) == pytest.approx(14.1e-3)


def test_components_are_found_again_where_nothing_overlaps():
    parts = MessageComponents(c1_s_per_byte=17e-9, k_b_s_per_byte=85e-9, c2_s_per_byte=15e-9, k_l_s=1e-3)
    sizes = [1e5, 1e6, 3e6]
    sender = [parts.copy_time_s(n) + parts.transfer_time_s(n) for n in sizes]
    receiver = [parts.time_s(n) for n in sizes]
    buffered = {Mode.BUFFERED: {Side.SENDER: [parts.copy_time_s(n) for n in sizes]}}
    times = {Mode.SYNCHRONOUS: {Side.SENDER: sender, Side.RECEIVER: receiver}}
    found = identify_components(SendModel.fit(sizes, times | buffered), Mode.SYNCHRONOUS)
    for name in ("c1_s_per_byte", "k_b_s_per_byte", "c2_s_per_byte", "k_l_s"):
        assert getattr(found, name) == pytest.approx(getattr(parts, name), rel=1e-9)
    with pytest.raises(OutOfRange, match="buffered sender"):
        identify_components(SendModel.fit(sizes, times), Mode.SYNCHRONOUS)


def test_on_cluster_1_what_is_left_for_the_network_is_the_wire():
    # Celeron, LAM: 85.3 ns/byte against 85.0 by the layout of frames.
    assert identify_components(li_tables.model(1)).k_b_s_per_byte == pytest.approx(WIRE_S_PER_BYTE, rel=0.005)


def test_on_cluster_2_copies_overlap_with_the_transfer():
    # The remaining time of the network is less than frames need: the assumption of no overlap fails here.
    assert identify_components(li_tables.model(2)).k_b_s_per_byte < 0.96 * WIRE_S_PER_BYTE


def test_the_buffered_receiver_tells_whether_the_copy_is_hidden():
    # Cluster 1: 117.40 - 117.79 of 17.31 ns/byte; cluster 2: 95.34 - 90.88 of 4.47.
    assert hidden_copy_share(li_tables.model(1)) == pytest.approx(-0.022, abs=1e-3)
    assert hidden_copy_share(li_tables.model(2)) == pytest.approx(0.997, abs=1e-3)


def test_the_execution_time_is_that_of_the_slowest_process():
    assert execution_time_s([(1, 2, 3), (4, 0.5, 1)]) == 6
    assert percentage_error(0.0133, 0.0124) == pytest.approx(7.258, abs=1e-3)
