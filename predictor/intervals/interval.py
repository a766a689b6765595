"""The interval of a prediction, from the calibration cases that come with the project."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.recording.events import Recording
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, Interval, Prediction
from predictor.intervals.cases import CalibrationCase, known_cases
from predictor.intervals.features import Features, features_of

if TYPE_CHECKING:
    from predictor.intervals.calibration import Calibration

LEAST_CASES = 36  # of a predictor: fewer leave the coverage uncertain by more than sqrt(0.9 x 0.1 / 36) = 5 %
FARTHEST = 2.0  # times the largest calibrated extrapolation in the number of ranks


@functools.cache
def calibration_of(predictor: str) -> Calibration | None:
    """Return the calibration of a predictor, or None if there are too few cases."""
    return calibration_or_none(known_cases(predictor))


def calibration_or_none(cases: Sequence[CalibrationCase]) -> Calibration | None:
    """Return the calibration by these cases of one predictor, or None if there are too few."""
    if len(cases) < LEAST_CASES:
        return None
    # Imported here for a quick start: NumPy is slow to import.
    from predictor.intervals.calibration import Calibration

    return Calibration(tuple(cases))


def with_interval(prediction: Prediction, predictor: str, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction with its interval, or with the reason why there is none.

    Args:
        prediction: The prediction; a reason that the model itself gives for no interval stays.
        predictor: Name of the predictor.
        target: The target.
        evidence: The evidence, which may be for other targets too.
    """
    reason = prediction.no_interval or _uncalibrated(prediction, target, evidence)
    calibration = None if reason is not None else calibration_of(predictor)
    if reason is None and calibration is None:
        reason = f"no calibration of {predictor}"
    if calibration is None:
        return replace(prediction, no_interval=reason)
    features = features_of(prediction, target, evidence)
    if too_far(features, calibration):
        reason = (
            f"{features.ratio:.3g} times the ranks of the evidence, calibrated up to {calibration.largest_ratio:.3g}"
        )
        return replace(prediction, no_interval=reason)
    return replace(prediction, interval=_interval(prediction.time_s, features, calibration))


def too_far(features: Features, calibration: Calibration) -> bool:
    """Return whether the prediction extrapolates further in the number of ranks than the calibration can tell."""
    return features.ratio is not None and features.ratio > FARTHEST * calibration.largest_ratio


def _interval(time_s: float, features: Features, calibration: Calibration) -> Interval:
    expected = calibration.expected(features)
    low_s, high_s = time_s * math.exp(expected.low), time_s * math.exp(expected.high)
    made_of = (*_described(features, known=features.app in calibration.apps),)
    return Interval(low_s, high_s, calibration.level, len(calibration.cases), made_of)


def _described(features: Features, *, known: bool) -> list[str]:
    """Return the features in words."""
    said = [features.app if known else "a program that is not among them"]
    if features.compute_share is not None:
        said.append(f"compute share {100 * features.compute_share:.3g} %")
    if features.ratio is not None and features.ratio != 1:
        said.append(f"{features.ratio:.3g} times the ranks of the evidence")
    if features.fit_residual is not None:
        said.append(f"fit residual {100 * features.fit_residual:.2g} %")
    return said


def _uncalibrated(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> str | None:
    """Return which property of the target or its evidence no calibration case has; None: none."""
    if not 0 < prediction.time_s < math.inf:
        return "the predicted time is not positive"
    if target.nranks != target.nodes:
        return f"calibrated with one rank on a node, not {target.nranks} ranks on {target.nodes} nodes"
    if target.problem.shares:
        return "calibrated with equal shares only"
    if target.changes:
        return "calibrated on platforms that do not change over time"
    if any(_is_measured(item) for item in evidence):
        return "calibrated with simulated runs, not with measured ones"
    used = [item.answer for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    if any(_is_doubtful(answer) for answer in used if isinstance(answer, Recording)):
        return "calibrated with recordings that need no caution"
    return None


def _is_doubtful(recording: Recording) -> bool:
    """Return whether the program may do something else on the target, or wait for what a recording leaves out."""
    said = recording.cautions or recording.asks or recording.varies
    return bool(said) or recording.timed or recording.waits_at_windows


def _is_measured(evidence: Evidence) -> bool:
    """Return whether a run or recording was made on a real machine."""
    if isinstance(evidence.answer, RunRecord):
        return evidence.answer.source == "measurement"
    return isinstance(evidence.answer, Recording) and not math.isnan(evidence.answer.held_node_s)
