"""Computation of real runs: medians where the calls repeat, and the times as they were elsewhere."""

import numpy as np
import pytest

from apps.recording.events import EVENT, Kind, Recording
from apps.replay.native_recording import smoothed

GIGA = 1e9
ONE_LONG = [1e-3] * 40 + [5e-3] + [1e-3] * 40


def recording(times_s, *, sizes=None):
    """Return a recording of one rank that computes and sends; two ranks would do the same."""
    rows = np.zeros(3 * len(times_s), EVENT)
    rows["comm"] = rows["peer"] = rows["tag"] = rows["request"] = -1
    rows["kind"][0::3], rows["amount"][0::3] = Kind.COMPUTE, np.array(times_s) * GIGA
    rows["kind"][1::3], rows["size_bytes"][1::3] = Kind.SEND, 8 if sizes is None else sizes
    rows["kind"][2::3] = Kind.WAIT
    return Recording((rows,), (np.empty(0, np.int64),), ((0,),), measured=True)


def times_s(made):
    events = made.events[0]
    return (events["amount"][events["kind"] == Kind.COMPUTE] / GIGA).tolist()


def test_repeated_computations_become_their_median():
    # One of 81 is five times as long, as when another process had the processor's caches.
    made = smoothed(recording(ONE_LONG), GIGA, 1)
    assert times_s(made) == pytest.approx([1e-3] * 81)
    assert (made.events[0]["kind"] != Kind.COMPUTE).sum() == 162  # all calls are still there
    assert made.spread_rel < 0.05


def test_messages_that_are_numbered_by_their_tags_are_alike():
    numbered = recording(ONE_LONG)
    numbered.events[0]["tag"][1::3] = range(81)
    assert times_s(smoothed(numbered, GIGA, 1)) == pytest.approx([1e-3] * 81)


def test_iterations_that_differ_are_kept_and_the_difference_is_told():
    # By hand: 60 take 1 ms and 20 take 2 ms, 100 ms in all, where their median would give 80 ms: a fifth less.
    measured_s = [1e-3] * 60 + [2e-3] * 20
    made = smoothed(recording(measured_s), GIGA, 1)
    assert times_s(made) == pytest.approx(measured_s)
    assert made.spread_rel >= 0.19


def test_computations_between_unlike_calls_stay_as_they_were():
    measured_s = [1e-3 * (1 + step % 7) for step in range(20)]
    made = smoothed(recording(measured_s, sizes=[2**step for step in range(20)]), GIGA, 1)
    assert times_s(made) == pytest.approx(measured_s)
    assert made.spread_rel > 0  # measured once


def test_a_call_without_computation_before_it_gets_none():
    made = smoothed(recording([1e-3, 0.0, 2e-3], sizes=[1, 2, 3]), GIGA, 1)
    assert times_s(made) == pytest.approx([1e-3, 2e-3])
    kinds = made.events[0]["kind"].tolist()
    assert kinds == [Kind.COMPUTE, Kind.SEND, Kind.WAIT, Kind.SEND, Kind.WAIT, Kind.COMPUTE, Kind.SEND, Kind.WAIT]
