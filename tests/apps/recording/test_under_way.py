"""What a simulation has under way at the end of its iterations."""

import numpy as np
import pytest

from apps.recording.under_way import FLIGHT, UnderWay
from apps.results.steady import Period

PERIOD = Period(iterations=1, time_s=1.0, spread_s=0.0, window=2)


def under_way(flights, calls_s=None):
    rows = calls_s or [[0.0, 0.5]] * len(flights)
    return UnderWay((tuple(map(np.array, rows)),), np.array(flights, FLIGHT))


def test_a_network_that_repeats_does_not_drift():
    assert under_way([(2, 3.0, 1.0)] * 6).drift_rel(PERIOD) == 0.0


def test_messages_that_have_more_and_more_left_are_a_drift():
    # By hand: 0.1 % more in each iteration, and one of the two messages may account for all of it.
    flights = [(2, 1.001**iteration, 1.0) for iteration in range(6)]
    assert under_way(flights).drift_rel(PERIOD) == pytest.approx(2 * (1 - 1 / 1.001))


def test_other_numbers_of_messages_in_flight_never_repeat():
    assert under_way([(count, 1.0, 1.0) for count in range(6)]).drift_rel(PERIOD) == np.inf


def test_calls_that_come_later_in_each_iteration_are_a_drift():
    calls_s = [[0.0, 0.5 + 1e-3 * iteration] for iteration in range(6)]
    assert under_way([(0, 0.0, 0.0)] * 6, calls_s).drift_rel(PERIOD) == pytest.approx(1e-3)


def test_other_calls_never_repeat():
    calls_s = [[0.0] * (1 + iteration) for iteration in range(6)]
    assert under_way([(0, 0.0, 0.0)] * 6, calls_s).drift_rel(PERIOD) == np.inf


def test_iterations_that_alternate_repeat_after_two():
    flights, calls_s = [(1, 1.0, 1.0), (3, 2.0, 1.0)] * 4, [[0.0, 0.1], [0.0, 0.2]] * 4
    both = Period(iterations=2, time_s=2.0, spread_s=0.0, window=2)
    assert under_way(flights, calls_s).drift_rel(both) == 0.0
    assert under_way(flights, calls_s).drift_rel(PERIOD) == np.inf


def test_the_last_iteration_does_not_count():
    assert under_way([(2, 3.0, 1.0)] * 5 + [(0, 0.0, 0.0)]).drift_rel(PERIOD) == 0.0
