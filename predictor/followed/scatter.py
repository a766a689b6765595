"""Widen the interval of a prediction by what messages scatter on the machine.

A calibrated platform says in which interval the measured time of a message lies, relative to the simulated one
(apps/calibrate/points.py); messages that a predictor measures on the machine itself are repeated.  Messages of a
run are taken to be wrong alike, as they are where sizes differ from those that the model follows; what scatters from
one message to the next averages out, and makes the interval too wide.  Runs of the evidence count by their repeats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from apps.calibrate.points import message_error
from apps.probes.plan import Measurement
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, Interval, Prediction
from predictor.followed.handshakes import with_handshakes

_LEAST = 0.005  # what scatters less is not mentioned


def with_scatter(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction with an interval that holds the time on the machine, and a caution about handshakes."""
    prediction = with_handshakes(prediction, target, evidence)
    interval = prediction.interval
    if interval is None:
        return prediction
    used = [item.answer for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    known = [answer.scatter for answer in used if isinstance(answer, Measurement)]
    known.append(message_error(target.platform) if target.platform.calibrated else None)
    messages = [ends for ends in known if ends is not None]
    repeats = [
        (min(times_s) / median(times_s), max(times_s) / median(times_s))
        for answer in used
        if isinstance(answer, RunRecord) and answer.measured is not None
        for times_s in [answer.measured.repeats_s]
        if len(times_s) > 1
    ]
    for name, seen, share in (
        ("messages of the machine", messages, 1.0 - (prediction.compute_share or 0.0)),
        ("repeats of its runs", repeats, 1.0),
    ):
        ends = min((low for low, _ in seen), default=1.0), max((high for _, high in seen), default=1.0)
        if max(1.0 - ends[0], ends[1] - 1.0) >= _LEAST:
            interval = widened(interval, ends, share, name)
    return replace(prediction, interval=interval, low_s=interval.low_s, high_s=interval.high_s)


def widened(interval: Interval, ends: tuple[float, float], share: float, name: str) -> Interval:
    """Return an interval whose sides, in logarithms, are the roots of the sums of both squares.

    Args:
        interval: Of the predicted time.
        ends: Of true over measured times of a part of it.
        share: Of the part.
        name: Of the part.
    """
    low, high = (math.log1p(share * (end - 1.0)) for end in ends)
    middle = math.sqrt(interval.low_s * interval.high_s)
    side = math.log(interval.high_s / middle)
    return replace(
        interval,
        low_s=middle * math.exp(-math.hypot(side, min(0.0, low))),
        high_s=middle * math.exp(math.hypot(side, max(0.0, high))),
        made_of=(*interval.made_of, f"{name} {ends[0] - 1:+.0%} to {ends[1] - 1:+.0%}"),
    )
