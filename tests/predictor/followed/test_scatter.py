"""What messages and runs of a machine scatter widens the interval of a prediction."""

import math
from dataclasses import replace

import pytest

from apps.probes.plan import Measurement
from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.base import Cost, Evidence, EvidenceRequest, Interval, Prediction
from predictor.followed.scatter import with_scatter


@pytest.fixture
def asked():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("mg", "S"), platform, block(platform, 8))


def evidence(asked, *scatter):
    request = EvidenceRequest("exchange", asked)
    return [Evidence(request, Measurement((), 1.0, 1.0, scatter=ends), str(ends), Cost()) for ends in scatter]


def test_repeated_messages_widen_the_interval_by_their_share_of_the_time(asked):
    made = Prediction(1.0, {"compute_s": 0.6}, interval=Interval(0.99, 1.01, 0.9, 40, ("mg",)))
    wide = with_scatter(made, asked, evidence(asked, (0.9, 1.1), (0.95, 1.5), None))
    # By hand: messages are 40 % of the time, and at most 50 % longer: ln 1.2 beside ln 1.01.
    assert math.log(wide.high_s) == pytest.approx(math.hypot(math.log(1.2), math.log(1.01)), rel=1e-2)
    assert (wide.interval.low_s, wide.interval.high_s) == (wide.low_s, wide.high_s)
    assert wide.interval.made_of == ("mg", "messages of the machine -10% to +50%")


def test_what_was_not_repeated_changes_nothing(asked):
    made = Prediction(1.0, interval=Interval(0.99, 1.01, 0.9, 40, ()))
    assert with_scatter(made, asked, evidence(asked, None)).interval == made.interval
    without = replace(made, interval=None)
    assert with_scatter(without, asked, evidence(asked, (0.5, 2.0))) == without
