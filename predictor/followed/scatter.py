"""Widen the interval of a prediction by what messages scatter on the machine.

A calibrated platform says in which interval the measured time of a message lies, relative to the simulated one
(apps/calibrate/message_error.py); messages that a predictor measures on the machine itself are repeated.  Messages of a
run are taken to be wrong alike, as they are where sizes differ from those that the model follows; what scatters from
one message to the next averages out, and makes the interval too wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from apps.calibrate.message_error import message_error
from apps.probes.plan import Measurement
from apps.spec.target import Target
from predictor.base import Evidence, Interval, Prediction


def with_scatter(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction with an interval that holds the time on the machine."""
    interval = prediction.interval
    used = [item.answer for item in evidence if not prediction.evidence or item.id in prediction.evidence]
    known = [answer.scatter for answer in used if isinstance(answer, Measurement)]
    known.append(message_error(target.platform) if target.platform.calibrated else None)
    seen = [ends for ends in known if ends is not None]
    if interval is None or not seen:
        return prediction
    ends = min(low for low, _ in seen), max(high for _, high in seen)
    wider = widened(interval, ends, communication=1.0 - (prediction.compute_share or 0.0))
    return replace(prediction, interval=wider, low_s=wider.low_s, high_s=wider.high_s)


def widened(interval: Interval, ends: tuple[float, float], *, communication: float) -> Interval:
    """Return an interval whose sides, in logarithms, are the roots of the sums of both squares.

    Args:
        interval: Of the predicted time.
        ends: Of measured over simulated times of messages.
        communication: Share of the time that messages take.
    """
    low, high = (math.log1p(communication * (end - 1.0)) for end in ends)
    middle = math.sqrt(interval.low_s * interval.high_s)
    side = math.log(interval.high_s / middle)
    said = f"messages of the machine {ends[0] - 1:+.0%} to {ends[1] - 1:+.0%}"
    return replace(
        interval,
        low_s=middle * math.exp(-math.hypot(side, min(0.0, low))),
        high_s=middle * math.exp(math.hypot(side, max(0.0, high))),
        made_of=(*interval.made_of, said),
    )
