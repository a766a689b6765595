"""The time that MPI calls take on sender and receiver, and the remaining wire time between two nodes.

On calibrated platforms and real machines, calls take time (SimGrid's smpi/os and smpi/or).  A message whose receive is
posted late shows it: MPI_Send takes the sender's part and, long after the message has arrived, MPI_Recv the receiver's.
A message and its answer by the same calls take both parts and the wire time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from apps.probes.network.measure import LateReceive, NetworkPlan, Return
from apps.probes.plan import Measurement, Plan
from platforms.model.platform import Platform
from predictor.base import OutOfRange
from predictor.factorisation.machine import Segment
from predictor.network.lines import alone_s, sizes_bytes
from predictor.network.segments import measured_pieces
from predictor.network.survey import Survey

_TIMES_LATE = 10  # delay of a late receiver, in times of the message
_LEAST_LATE_S = 1e-5
_WENT = 0.9  # a late MPI_Recv found its message if it takes less than this share of call and wire time
# Added to times before lines are fitted and subtracted afterwards: lines are fitted relative to times, which may be 0.
_OFFSET_S = 1e-7


def call_sizes(survey: Survey) -> list[int]:
    """Return the sizes whose calls are measured: those of the ping-pongs, and both sides of every protocol change."""
    edges = {int(size) for ends in survey.between.values() for size in ends}
    return sorted({*sizes_bytes(), *edges})


def call_plan(platform: Platform, hosts: tuple[str, str], survey: Survey) -> NetworkPlan:
    """Return the plan that measures the calls by which two nodes of a cluster send and receive messages."""
    line, sizes = survey.lines[0], call_sizes(survey)
    late = [
        LateReceive(*hosts, size, int(1e6 * max(_LEAST_LATE_S, _TIMES_LATE * alone_s(line, size))) + 1)
        for size in sizes
        if size < survey.waits_from_bytes[0]
    ]
    return NetworkPlan(platform, (*(Return(*hosts, size) for size in sizes), *late))


def has_calls(plan: Plan | None) -> bool:
    """Return whether a plan is that of ``call_plan``."""
    return isinstance(plan, NetworkPlan) and isinstance(plan.experiments[0], Return)


class Calls:
    """Times by size of the calls of a message between two nodes, and its wire time.

    Attributes:
        sender: Seconds that MPI_Send takes if the sender does not wait; empty if none.
        receiver: Seconds that MPI_Recv takes although the message has arrived; empty if none.
        wire: Wire time, s.
        eager_bytes: Size from which on a message waits for its receive.
    """

    def __init__(self, survey: Survey, measurement: Measurement):
        """Read the result of ``call_plan``.

        Raises:
            OutOfRange: The measured times do not lie on lines.
        """
        size = np.array(call_sizes(survey), float)
        waits_from, _ = survey.waits_from_bytes
        buffered = size < waits_from
        returned_s = np.array([times[1] / 2 for times in measurement.times_s[: len(size)]])
        late_s = np.zeros((len(size), 2))
        late_s[buffered] = np.array(measurement.times_s[len(size) :]).reshape(-1, 2)
        sender_s, found_s = late_s.T
        # A message that waits for its receive is transferred during MPI_Recv; else MPI_Recv shows only the call.
        self.eager_bytes = _eager_bytes(survey, size, buffered & (found_s < _WENT * (returned_s - sender_s)))
        eager = size < self.eager_bytes
        receiver_s = np.where(eager, found_s, 0.0)
        way_s = returned_s - sender_s - receiver_s
        starts = sorted({0.0, self.eager_bytes, waits_from} - {np.inf})
        self.sender = _joined(size[buffered], sender_s[buffered], starts)
        self.receiver = _joined(size[eager], receiver_s[eager], starts)
        self.wire = _joined(size, np.maximum(way_s, 0.0), starts)


def _eager_bytes(survey: Survey, size: np.ndarray, went: np.ndarray) -> float:
    """Return the size from which on messages wait for their receive, found from those that did not."""
    waits_from, seen_from = survey.waits_from_bytes
    if not went.any():
        return 0.0
    last = int(np.flatnonzero(went)[-1])
    if last + 1 == len(size) or size[last + 1] >= waits_from:
        return waits_from
    return seen_from if size[last] < seen_from <= size[last + 1] else float(size[last] + size[last + 1]) / 2


def _joined(size: np.ndarray, time_s: np.ndarray, starts: Sequence[float]) -> tuple[Segment, ...]:
    """Return the segments of times, fitted separately between the sizes at which the protocol changes."""
    if not len(size) or time_s.max() <= 0:
        return ()
    segments: list[Segment] = []
    for start, end in zip(starts, [*starts[1:], np.inf], strict=True):
        inside = (size >= start) & (size < end)
        if inside.any():
            segments += _segments(start, size[inside], time_s[inside])
    return tuple(segments)


def _segments(start: float, size: np.ndarray, time_s: np.ndarray) -> list[Segment]:
    fitted = measured_pieces(size, time_s + _OFFSET_S) if len(size) > 2 else []
    if not fitted:
        if len(size) < 6:  # too few for a line: their mean
            return [(start, float(time_s.mean()), 0.0)]
        problem = "the times of calls by size do not lie on lines"
        raise OutOfRange("structural, calls of MPI", problem, "Use dpgraph, or a calibrated platform")
    froms = [start, *((size[a.last] + size[b.first]) / 2 for a, b in pairwise(fitted))]
    return [
        (float(at), max(0.0, piece.start_s - _OFFSET_S), max(0.0, piece.s_per_byte))
        for at, piece in zip(froms, fitted, strict=True)
    ]


def merged(parts: Sequence[tuple[float, Sequence[Segment]]]) -> tuple[Segment, ...]:
    """Return the weighted sum of some curves as segments; their times are not below 0."""
    summed = []
    for at in sorted({segment[0] for _, segments in parts for segment in segments}):
        here = [
            (factor, [segment for segment in segments if segment[0] <= at][-1])
            for factor, segments in parts
            if segments
        ]
        base_s, per_byte_s = (sum(factor * segment[i] for factor, segment in here) for i in (1, 2))
        summed.append((at, max(0.0, base_s), max(0.0, per_byte_s)))
    return tuple(summed)
