"""Times that a given share of runs stay below, from the interval of a prediction and the spread of the machine.

A share r below is the upper end of the central interval of level 2 r - 1 (predictor/intervals/calibration.py), so that
95 % is the upper end of the 90 % interval that ``gridval predict`` prints.  The spread of runs multiplies it by
exp(z s), with z the quantile of the normal distribution: as if both were at their worst together.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

from predictor.answers.answers import Answer
from predictor.intervals.features import features_of
from predictor.intervals.interval import bounds, calibration_of

_LEAST_LEVEL = 1e-6  # of the interval that stands for the median


def below_s(answer: Answer, risk: float) -> float | None:
    """Return the time that a share of runs like the predicted one stay below, in s; None: there is no interval.

    Args:
        answer: The answer, with a prediction.
        risk: The share, from 0.5.
    """
    prediction = answer.prediction
    if prediction is None or prediction.interval is None:
        return None
    features = features_of(prediction, answer.target, answer.evidence)
    calibration = calibration_of(answer.predictor, features.surroundings)
    if calibration is None:
        return None
    level = max(2 * risk - 1, _LEAST_LEVEL)
    _, usual = bounds(features, calibration)
    _, asked = bounds(features, replace(calibration, level=level, _stretches={}))
    # Each level is calibrated apart, so that intervals need not lie in each other: a larger share never gets less.
    more = max(asked - usual, 0.0) if level >= calibration.level else min(asked - usual, 0.0)
    return prediction.interval.high_s * math.exp(more)  # high_s also has what timing leaves unknown


def spread_factor(risk: float, spread_percent: float | None) -> float:
    """Return by which the spread of runs raises the time that a share of them stay below.

    >>> round(spread_factor(0.95, 10.0), 4), spread_factor(0.5, 10.0), spread_factor(0.95, None)
    (1.1788, 1.0, 1.0)
    """
    return math.exp(NormalDist().inv_cdf(risk) * (spread_percent or 0.0) / 100)
