"""SMPI's model of a call, fitted to measured times.

A message of s bytes uses one of three protocols:

- eager, s < ``async_bytes``: MPI_Send takes os(s), the message travels for T(s), MPI_Recv takes or(s) from its arrival;
- detached, s < ``detached_bytes``: MPI_Send takes os(s), the message travels for T(s) once MPI_Recv is called;
- rendezvous: MPI_Send and MPI_Recv both take T(s), once both are called.

Half a ping-pong takes os + T + or, os + T, and T.  MPI_Isend takes ois(s) in all of them.  Three measured times per
size thus determine at most three unknowns; if they contradict each other, all get the same relative error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from apps.calibrate.points import Measured
from apps.probes.segments import Array, Curve, Segment, fitted, simplified

NEVER = 2**31 - 1  # a threshold above all messages: SMPI reads them as an int
SMPI_DEFAULT_BYTES = 65536  # smpi/send-is-detached-thresh
_NOTABLE_JUMP = 1.25  # factor by which a receive takes longer if the message still has to travel
_MOST_ERROR = 0.95  # largest relative error of each time due to a contradiction
_NOTABLE_GAIN = 0.005  # least improvement of the mean relative error by a range of detached messages
_NOTABLE_DIFFERENCE = 0.02  # least improvement of the mean relative error by a jump over a higher one
HEADER_BYTES = 16  # added by SMPI to each message


@dataclass(frozen=True)
class Thresholds:
    """Sizes at which the protocol changes, each with the reason for its value."""

    async_bytes: int  # smpi/async-small-thresh: smaller messages are eager
    detached_bytes: int  # smpi/send-is-detached-thresh: from here on MPI_Send waits for the receiver
    async_reason: str
    detached_reason: str


@dataclass(frozen=True)
class Model:
    """The fitted model: curves in s by size in bytes."""

    thresholds: Thresholds
    send: Curve | None  # os; None: not measured, taken as 0
    receive: Curve | None  # or
    isend: Curve | None  # ois
    transfer: Curve  # T
    bandwidth_Bps: float  # of a link: the highest rate seen
    latency_s: float  # of a route: half the ping-pong of the smallest message

    def predicted(self, call: str, sizes: Array) -> Array:
        """Return the time of a call in SMPI, s; ``call`` is one of CALLS."""
        zeros = np.zeros(len(sizes))
        transfer = self.transfer.at(sizes)
        eager, detached = sizes < self.thresholds.async_bytes, sizes < self.thresholds.detached_bytes
        send = np.where(detached, zeros if self.send is None else self.send.at(sizes), 0.0)
        receive = np.where(eager, zeros if self.receive is None else self.receive.at(sizes), 0.0)
        if call == "send":
            return np.where(detached, send, transfer)
        if call == "recv":
            return np.where(eager, receive, transfer)
        if call == "isend":
            return zeros if self.isend is None else self.isend.at(sizes)
        return 2 * (send + transfer + receive)


def model_of(measured: Measured, *, async_bytes: int | None = None, detached_bytes: int | None = None) -> Model:
    """Fit the model.

    Args:
        measured: Points of some calls; ping-pong is required.
        async_bytes: smpi/async-small-thresh, if it is known.
        detached_bytes: smpi/send-is-detached-thresh, if it is known.
    """
    pingpong = measured["pingpong"]
    curves = {call: fitted(points.sizes, points.times_s) for call, points in measured.items()}
    bandwidth_Bps = float(np.max((pingpong.sizes + HEADER_BYTES) / (pingpong.times_s / 2)))
    ways = _Ways(pingpong.sizes, curves, bandwidth_Bps)
    thresholds = _thresholds(ways, async_bytes, detached_bytes)
    send, receive, transfer = _parts(ways, thresholds)
    return Model(
        thresholds,
        send=send,
        receive=receive,
        isend=curves.get("isend"),
        transfer=transfer,
        bandwidth_Bps=bandwidth_Bps,
        latency_s=float(ways.half[0]),
    )


@dataclass(frozen=True)
class _Ways:
    """Smoothed times of the calls for some sizes, and their explanation by each protocol."""

    sizes: Array
    curves: Mapping[str, Curve]
    bandwidth_Bps: float

    @cached_property
    def half(self) -> Array:
        """Half a ping-pong, s."""
        return self.curves["pingpong"].at(self.sizes) / 2

    @cached_property
    def send(self) -> Array | None:
        """MPI_Send, s; None: not measured."""
        return self.curves["send"].at(self.sizes) if "send" in self.curves else None

    @cached_property
    def receive(self) -> Array | None:
        """MPI_Recv of a message that has arrived, s; None: not measured."""
        return self.curves["recv"].at(self.sizes) if "recv" in self.curves else None

    @property
    def floor(self) -> Array:
        """Time of travelling at the link's bandwidth, s."""
        return (self.sizes + HEADER_BYTES) / self.bandwidth_Bps

    def segments(self, call: str) -> tuple[Segment, ...]:
        """Return the segments of a call's times; none if it was not measured."""
        return self.curves[call].segments if call in self.curves else ()

    def at(self, sizes: Array) -> _Ways:
        """Return the same for other sizes."""
        return replace(self, sizes=sizes)

    def eager(self) -> tuple[Array, Array, Array, Array]:
        """Return os, or, T, and the relative error of each of the measured times."""
        send, receive = self._or_zero(self.send), self._or_zero(self.receive)
        left = self.half - send - receive
        error = np.where(left < self.floor, (self.floor - left) / (self.half + send + receive), 0.0)
        error = np.minimum(error, _MOST_ERROR)
        return send * (1 - error), receive * (1 - error), np.maximum(left, self.floor), error

    def detached(self) -> tuple[Array, Array, Array, Array]:
        """Return os, or (0), T, and the relative error."""
        send = self._or_zero(self.send)
        transfer = np.maximum(self.half - send, self.floor) if self.receive is None else self.receive
        error = (send + transfer - self.half) / (send + transfer + self.half)
        return send * (1 - error), 0 * send, transfer * (1 - error), np.abs(error)

    def rendezvous(self) -> tuple[Array, Array, Array, Array]:
        """Return os (0), or (0), T, and the relative error."""
        seen = np.log([threshold for threshold in (self.half, self.send, self.receive) if threshold is not None])
        middle = seen.mean(axis=0)
        return 0 * self.half, 0 * self.half, np.exp(middle), np.abs(seen - middle).mean(axis=0)

    def explained(self, thresholds: tuple[int, int]) -> tuple[Array, Array, Array, Array]:
        """Return os, or, T and the relative error with these thresholds of eager and detached messages."""
        way = self._way(thresholds)
        parts = zip(self.eager(), self.detached(), self.rendezvous(), strict=True)
        send, receive, transfer, error = (np.choose(way, part) for part in parts)
        return send, receive, transfer, error

    @cached_property
    def errors(self) -> Array:
        """Relative errors of the three protocols by size."""
        return np.array([self.eager()[3], self.detached()[3], self.rendezvous()[3]])

    def cost(self, thresholds: tuple[int, int]) -> float:
        """Return the mean relative error with these thresholds."""
        return float(np.mean(np.choose(self._way(thresholds), self.errors)))

    def contradictions(self) -> list[int]:
        """Return the sizes at which eager messages begin or end to contradict the measured times."""
        contradicted = self.eager()[3] > 0
        places = np.flatnonzero(contradicted[1:] != contradicted[:-1])
        return [int((self.sizes[place] + self.sizes[place + 1]) / 2) for place in places]

    def _way(self, thresholds: tuple[int, int]) -> NDArray[np.int_]:
        """Return 0 for the sizes of eager messages, 1 for detached ones, 2 for rendezvous."""
        eager, detached = thresholds
        return np.where(self.sizes < eager, 0, np.where(self.sizes < detached, 1, 2))

    def _or_zero(self, times: Array | None) -> Array:
        return np.zeros(len(self.sizes)) if times is None else times


def _thresholds(ways: _Ways, async_bytes: int | None, detached_bytes: int | None) -> Thresholds:
    """Return the thresholds: given ones, or those that explain the measured times best."""
    async_reason = detached_reason = "given"
    if async_bytes is None:
        async_bytes, async_reason = _async_threshold(ways, detached_bytes)
    if detached_bytes is None:
        detached_bytes, detached_reason = _detached_threshold(ways, async_bytes)
    return Thresholds(async_bytes, detached_bytes, async_reason, detached_reason)


def _async_threshold(ways: _Ways, detached_bytes: int | None) -> tuple[int, str]:
    """Return the size from which messages travel only once they are received, and the reason."""
    told_by = "recv" if ways.receive is not None else "pingpong"
    most = NEVER if detached_bytes is None else detached_bytes
    jumps = [(size, by) for size, by in ways.curves[told_by].jumps() if by >= _NOTABLE_JUMP and size <= most]
    if not jumps:
        return _without_jump(ways, most)
    costs = [ways.cost((size, _detached_threshold(ways, size)[0])) for size, _ in jumps]
    plausible = [jump for jump, cost in zip(jumps, costs, strict=True) if cost <= min(costs) + _NOTABLE_DIFFERENCE]
    size, factor = max(plausible, key=lambda jump: jump[1])
    what = "receiving" if told_by == "recv" else "a ping-pong"
    return size, f"found: {what} takes {factor:.2g} times as long from here"


def _without_jump(ways: _Ways, most: int) -> tuple[int, str]:
    """Return the threshold of eager messages, at most ``most``, where no time jumps, and the reason."""
    if ways.receive is None:
        size = min(SMPI_DEFAULT_BYTES, most)
        return size, "assumed: SimGrid's smpi/send-is-detached-thresh; no measured time shows it"
    candidates = [most, *(int(size) for size in ways.sizes if size < most)]
    costs = [ways.cost((size, most if most < NEVER else size)) for size in candidates]
    best = int(np.argmin(costs))
    if costs[0] - costs[best] < _NOTABLE_DIFFERENCE:
        return most, "absent: messages of all measured sizes have arrived when they are received"
    return candidates[best], f"found: the calls' times contradict each other least, {costs[best]:.1%} in the mean"


def _detached_threshold(ways: _Ways, async_bytes: int) -> tuple[int, str]:
    """Return the size from which MPI_Send waits for the receiver, and the reason."""
    if ways.send is None:
        return async_bytes, "as eager messages: no time of MPI_Send shows it"
    candidates = [async_bytes, *(int(size) for size in ways.sizes if size > async_bytes), NEVER]
    costs = [ways.cost((async_bytes, size)) for size in candidates]
    best = int(np.argmin(costs))
    if async_bytes == NEVER or costs[0] - costs[best] < _NOTABLE_GAIN:
        return async_bytes, "as eager messages: a range of detached ones does not explain the times better"
    return candidates[best], f"found: the calls' times contradict each other least, {costs[best]:.1%} in the mean"


def _parts(ways: _Ways, thresholds: Thresholds) -> tuple[Curve | None, Curve | None, Curve]:
    """Return the curves of os, or and T."""
    limits = (thresholds.async_bytes, thresholds.detached_bytes)
    end = int(ways.sizes[-1]) + 1
    breaks = {segment.from_bytes for call in ("send", "recv", "pingpong") for segment in ways.segments(call)}
    starts = sorted(start for start in {0, *limits, *breaks, *ways.contradictions()} if start < end)

    def curve(part: int, present: int, least_per_byte_s: float = 0.0) -> Curve:
        """Return the curve of a part of the explanation that is ``present`` in the first one to three protocols."""
        segments: list[Segment] = []
        for way, (low, high) in enumerate(pairwise((0, *limits, end))):
            inside = [start for start in starts if low <= start < high]
            if inside and way < present:
                smooth = simplified(
                    lambda sizes: ways.at(sizes).explained(limits)[part],
                    inside,
                    min(high, end),
                    least_per_byte_s=least_per_byte_s,
                )
                segments += smooth.segments
            elif inside and (way == present or not segments):
                segments.append(Segment(low, 0.0, 0.0))
        return Curve(tuple(segments))

    return (
        None if ways.send is None else curve(0, 2),
        None if ways.receive is None else curve(1, 1),
        curve(2, 3, 1 / ways.bandwidth_Bps),
    )
