"""Widen the interval of a prediction by what messages scatter on the machine.

A calibrated platform says in which interval the measured time of a message lies, relative to the simulated one
(apps/calibrate/points.py); messages that a predictor measures on the machine itself are repeated.  Messages of a
run are taken to be wrong alike, as they are where sizes differ from those that the model follows; what scatters from
one message to the next averages out, and makes the interval too wide.  Runs of the evidence count by their repeats.

Caution where an all-to-all sends blocks that wait for their receivers, on a platform calibrated from a machine.

Under TCP such blocks are announced first, and the answers wait behind other data: measured all-to-alls take longer than
simulated.  Where clusters of unlike speed share a link or a switch, slow ranks go on computing while what they have
sent is still under way: the run takes less time than simulated (docs/validation/league.md).  SMPI can express
neither.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from apps.calibrate.points import message_error
from apps.probes.plan import Measurement
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, Interval, Prediction

_OPERATIONS = {"alltoall": "MPI_Alltoall", "alltoallv": "MPI_Alltoallv"}  # by their names in records
_THRESHOLD = "smpi/async-small-thresh"
# Of measured over predicted times of FT and IS on emulated grids, without a higher limit of eager messages.
SEEN = (0.84, 1.28)
_LEAST = 0.005  # what scatters less is not mentioned


def with_handshakes(prediction: Prediction, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction, with a caution if the blocks of its all-to-alls wait for their receivers."""
    threshold = float(dict(target.platform.options).get(_THRESHOLD, "inf"))
    runs = [item.answer for item in evidence if isinstance(item.answer, RunRecord)]
    block, name = max(
        (
            (largest_block(run, operation, target.nranks), name)
            for run in runs
            for operation, name in _OPERATIONS.items()
        ),
        default=(0.0, ""),
    )
    if block < threshold or all(run.source != "measurement" for run in runs):
        return prediction
    flag = (
        f"{name} sends blocks of {block:.0f} bytes, and from {threshold:.0f} bytes on messages wait for their "
        f"receivers: measured runs took {SEEN[0]:g} to {SEEN[1]:g} times as long as predicted (a higher limit of eager "
        "messages avoids it)"
    )
    return replace(prediction, flags=(*prediction.flags, flag))


def largest_block(run: RunRecord, operation: str, ranks: int) -> float:
    """Return the bytes that a rank sends to each of ``ranks`` by one call, if all send as much together as in a run."""
    used = run.collectives.get(operation)
    if not used or not used["calls"]:
        return 0.0
    return float(sum(used["bytes"]) / used["calls"]) / (ranks * ranks)


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
