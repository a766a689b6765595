"""The interval of a prediction, from the calibration cases that come with the project."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.recording.events import Kind, Recording
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, Interval, Prediction
from predictor.intervals.cases import (
    CORES,
    FILE,
    GRID,
    MEASURED,
    UNLIKE,
    CalibrationCase,
    Features,
    features_of,
    is_measured,
    known_cases,
)

if TYPE_CHECKING:
    from predictor.intervals.calibration import Calibration

LEAST_CASES = 36  # of a predictor: fewer leave the coverage uncertain by more than sqrt(0.9 x 0.1 / 36) = 5 %
LEAST = 1e-4  # least distance of an end of an interval from its middle, relative: no use needs a more precise time
LEAST_OTHER = (
    5e-3  # of programs that have no cases: those of other people were up to 0.4 % off (docs/results/programs.md)
)
_MOST_POLLING = 0.05  # largest share of polls with which there is an interval
_LEAST_OFF = 0.03  # by which measured computation of another run may be off, even if those that were timed agree
_MOST_OFF = 0.9  # by which measured computation may be off, as a share of the time
FARTHEST = 2.0  # times the largest calibrated extrapolation in the number of ranks
# What is said of surroundings that are not those of a generated grid.
_AROUND = {
    GRID: (),
    FILE: ("on a platform file",),
    UNLIKE: ("where the measured paths do not stand for all others",),
    CORES: ("several ranks on a node",),
    MEASURED: ("measured on emulated grids",),
}


@functools.cache
def calibration_of(predictor: str, surroundings: str = GRID) -> Calibration | None:
    """Return the calibration of a predictor in such surroundings, or None if there are too few cases."""
    return calibration_or_none(known_cases(predictor), surroundings)


def calibration_or_none(cases: Sequence[CalibrationCase], surroundings: str = GRID) -> Calibration | None:
    """Return the calibration by the cases of one predictor with these surroundings, or None if there are too few.

    A predictor without cases from any platform file has the same calibration there as on generated grids, and one
    without cases from generated grids the same as on platform files.
    """
    present, around = {case.features.surroundings for case in cases} - {MEASURED}, surroundings
    if surroundings in (FILE, UNLIKE) and present == {GRID}:
        around = GRID
    elif surroundings == GRID and GRID not in present:
        around = FILE
    chosen = tuple(case for case in cases if case.features.surroundings == around)
    if len(chosen) < LEAST_CASES:
        return None
    # Imported here for a quick start: NumPy is slow to import.
    from predictor.intervals.calibration import Calibration

    return Calibration(chosen)


def with_interval(prediction: Prediction, predictor: str, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction with its interval, or with the reason why there is none.

    ``low_s`` and ``high_s`` become its ends; without it those of the model are widened by what the measurement of
    computation leaves unknown.

    Args:
        prediction: The prediction; a reason that the model itself gives for no interval stays.
        predictor: Name of the predictor.
        target: The target.
        evidence: The evidence, which may be for other targets too.
    """
    reason = prediction.no_interval or _uncalibrated(prediction, target, evidence)
    features = features_of(prediction, target, evidence)
    off_rel = _off_rel(features, measured_spread(prediction, evidence))
    calibration = None if reason is not None else calibration_of(predictor, features.surroundings)
    if reason is None and calibration is None:
        reason = _too_few(predictor, target, features)
    if calibration is None:
        return _without_interval(prediction, reason, off_rel)
    if too_far(features, calibration):
        reason = (
            f"{features.ratio:.3g} times the ranks of the evidence, calibrated up to {calibration.largest_ratio:.3g}"
        )
        return _without_interval(prediction, reason, off_rel)
    interval = _interval(prediction.time_s, features, calibration, off_rel)
    if off_rel:
        made_of = f"computation timed within {100 * measured_spread(prediction, evidence):.3g} %"
        interval = replace(interval, made_of=(*interval.made_of, made_of))
    return replace(prediction, interval=interval, low_s=interval.low_s, high_s=interval.high_s)


def _without_interval(prediction: Prediction, reason: str | None, off_rel: float) -> Prediction:
    low_s, high_s = prediction.low_s, prediction.high_s
    return replace(
        prediction,
        no_interval=reason,
        low_s=None if low_s is None else low_s * (1 - off_rel),
        high_s=None if high_s is None else high_s * (1 + off_rel),
    )


def _too_few(predictor: str, target: Target, features: Features) -> str:
    """Return that a predictor has too few cases in such surroundings."""
    if features.surroundings == CORES and calibration_of(predictor) is not None:
        return f"calibrated with one rank on a node, not {target.nranks} ranks on {target.nodes} nodes"
    if features.surroundings == MEASURED:
        return "calibrated with simulated runs, not with measured ones"
    return f"no calibration of {predictor}"


def too_far(features: Features, calibration: Calibration) -> bool:
    """Return whether the prediction extrapolates further in the number of ranks than the calibration covers."""
    return features.ratio is not None and features.ratio > FARTHEST * calibration.largest_ratio


def bounds(features: Features, calibration: Calibration) -> tuple[float, float]:
    """Return the ends of the interval of ln(true / predicted), which is never narrower than LEAST or LEAST_OTHER."""
    expected = calibration.expected(features)
    least = LEAST if features.app in calibration.apps else LEAST_OTHER
    middle = (expected.low + expected.high) / 2
    return min(expected.low, middle - least), max(expected.high, middle + least)


def measured_spread(prediction: Prediction, evidence: Sequence[Evidence]) -> float:
    """Return by which the measured computation of the evidence may be wrong, as a share of it; 0: none is measured."""
    used = [item.answer for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    spreads = [answer.spread_rel for answer in used if isinstance(answer, Recording)]
    spreads += [
        answer.timed.spread_rel for answer in used if isinstance(answer, RunRecord) and answer.timed is not None
    ]
    spread_rel = max(spreads, default=0.0)
    return max(spread_rel, _LEAST_OFF) if spread_rel else 0.0


def _off_rel(features: Features, spread_rel: float) -> float:
    """Return by which a time may be off, as a share of it, where measured computation may be wrong by ``spread_rel``.

    The truth is of another measurement than the evidence, so that both may be off.
    """
    share = 1.0 if features.compute_share is None else features.compute_share
    return min(math.sqrt(2) * spread_rel * share, _MOST_OFF)


def _interval(time_s: float, features: Features, calibration: Calibration, off_rel: float) -> Interval:
    """Return the calibrated interval, widened by what the measurement of computation leaves unknown.

    Times are printed with the digits that the interval needs (platforms/terminal/quantities.py).
    """
    low, high = bounds(features, calibration)
    low_s, high_s = time_s * math.exp(low), time_s * math.exp(high)
    low_s, high_s = low_s * (1 - off_rel), high_s * (1 + off_rel)
    described = _described(features, known=features.app in calibration.apps)
    return Interval(low_s, high_s, calibration.level, len(calibration.cases), tuple(described))


def _described(features: Features, *, known: bool) -> list[str]:
    """Return the features in words."""
    said = [features.app if known else "a program that is not among them", *_AROUND[features.surroundings]]
    if features.compute_share is not None:
        said.append(f"compute share {100 * features.compute_share:.3g} %")
    if features.ratio is not None and features.ratio != 1:
        said.append(f"{features.ratio:.3g} times the ranks of the evidence")
    if features.fit_residual is not None:
        said.append(f"fit residual {100 * features.fit_residual:.3g} %")
    return said


def _uncalibrated(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> str | None:
    """Return which property of the target or its evidence no calibration case has; None: none."""
    if not 0 < prediction.time_s < math.inf:
        return "the predicted time is not positive"
    if target.problem.shares:
        return "calibrated with equal shares only"
    if target.changes:
        return "calibrated on platforms that do not change over time"
    if target.nranks != target.nodes and any(map(is_measured, evidence)):
        return "calibrated on machines with one rank on a node"
    used = [item.answer for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    if any(_is_doubtful(answer) for answer in used if isinstance(answer, Recording)):
        return "calibrated with recordings that need no caution"
    if any(_polls(answer) for answer in used):
        return "calibrated with programs that do not poll: SimGrid charges each poll"
    return None


def _polls(answer: object) -> bool:
    """Return whether a noticeable part of the evidence is polling, of which SimGrid charges each call."""
    if isinstance(answer, RunRecord):
        return answer.polling_share > _MOST_POLLING
    if not isinstance(answer, Recording):
        return False
    polls = sum(int((events["kind"] == Kind.POLL).sum()) for events in answer.events)
    return polls > _MOST_POLLING * sum(map(len, answer.events))


def _is_doubtful(recording: Recording) -> bool:
    """Return whether the program may do something else on the target, or wait for what a recording leaves out."""
    said = recording.cautions or recording.asks or recording.varies
    return bool(said) or recording.timed or recording.waits_at_windows
