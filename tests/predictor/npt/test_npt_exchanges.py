"""NP-T models with times of messages: known times are found again, jumps included."""

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.nodes.drivers import NptSettings
from predictor.npt.curves import Series
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.tables import equations

SIZES = [2**power for power in range(12, 21)]


def message_s(points):
    """Return 20 us and 0.1 us a point; from 1024 points on half as much again, as with another protocol."""
    return (20e-6 + 1e-7 * points) * (1.5 if points >= 1024 else 1)


def time_s(N, P, M, speed=1e9):
    alone = 5 * N * np.log(N) / P / speed + 1e-4
    return alone if P == M else alone + (P - M) * message_s(N / P**2)


def runs(method="nnls", **settings):
    """Return models of runs on 2, 4 and 8 nodes with one and two processes each, and of single nodes."""
    made = [
        Measurement(Configuration(((nodes, M),)), N, time_s(N, nodes * M, M))
        for nodes in (1, 2, 4, 8) for M in (1, 2) for N in SIZES
    ]  # fmt: skip
    return fit_models(Measurements.of(made), equations("fft"), form="npt:messages", method=method, **settings)


@pytest.mark.parametrize("weights", ["relative", "local"])
def test_a_jump_of_the_protocol_is_found_where_the_same_messages_were_measured(weights):
    models = runs(weights=weights)
    # 2^22 points on 16 and 32 processes: messages of 2^14 and 2^12 points, which smaller sizes had on 2 to 16.
    for nodes, M in ((16, 1), (16, 2)):
        predicted_s, _ = models.predict(Configuration(((nodes, M),)), 2**22)
        assert predicted_s == pytest.approx(time_s(2**22, nodes * M, M), rel=1e-6)


def test_the_papers_equation_smooths_the_jump():
    made = [Measurement(Configuration(((P, 1),)), N, time_s(N, P, 1)) for P in (1, 2, 4, 8) for N in SIZES]
    # 1024 points at P = 32 are the first beyond the jump.
    target = Configuration(((32, 1),)), 2**20
    errors = {
        form: abs(fit_models(Measurements.of(made), equations("fft"), form=form, method="nnls", weights="relative")
                  .predict(*target)[0] / time_s(2**20, 32, 1) - 1)
        for form in ("npt", "npt:messages")
    }  # fmt: skip
    assert errors["npt:messages"] < 1e-6
    assert errors["npt"] > 0.1


def test_the_time_of_a_message_does_not_fall_with_its_size():
    models = runs(weights="relative")
    points = np.array([1.0, 16.0, 100.0, 1024.0, 5000.0, 2.0**18, 2.0**22])
    found = models.curves.message_s(Series(0, 1), points)
    assert (np.diff(found) >= 0).all()
    # Measured were 64 (2^12 on 8) to 2^18 (2^20 on 2) points; below, a message costs what the smallest does.
    assert found[0] == found[1] == pytest.approx(message_s(64), rel=1e-6)
    assert found[3] == pytest.approx(message_s(1024), rel=1e-6)
    assert found[5] == pytest.approx(message_s(2**18), rel=1e-6)


def test_other_programs_and_plain_least_squares_are_refused():
    with pytest.raises(UserError, match="not known to exchange everything"):
        fit_models(
            Measurements.of([Measurement(Configuration(((1, 1),)), 8, 1.0)]), equations("hpl"), form="npt:messages"
        )
    with pytest.raises(UserError, match="by nnls only"):
        NptSettings("npt:messages", "ls")
