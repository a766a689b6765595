"""Fit latencies and bandwidths of routes together with SMPI's factors by size, which are common to all routes.

Half a ping-pong of s bytes on route r takes os(s) + or(s) + lat_r f(s) + (s + 16) / (bw_r g(s)) with the overheads os
and or of the calls, and factors f and g that are constant in each segment of sizes.  Overheads are measured; routes of
different latency separate f from the parts that do not grow with the latency.  f is 1 in the first segment, g in the
last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from apps.calibrate.machine.rows import Kind, Pair, Routes, Rows
from apps.calibrate.model import HEADER_BYTES, NEVER, Model, Thresholds
from apps.calibrate.points import Points, points_of
from apps.probes.segments import Array, Curve, Segment, fitted

_MOST_OVERHEAD = 0.5  # largest share of half a ping-pong for both overheads
_FEWEST_EAGER_BYTES = 64  # late receives with a smaller threshold do not show it
_NOTABLE_SHARE = 0.03  # of the overheads
_L1_SCALE = 0.02
_LEAST_SHARE = 0.02  # least share of the wire time in half a ping-pong
_FACTOR_RANGE = (0.02, 50.0)
_PULL = 1e-3
_LARGE_SHARE = 64  # sizes above this share of the largest determine the bandwidth
_MOST_ABOVE = 1.5  # largest bandwidth, in highest rates of a ping-pong


@dataclass(frozen=True)
class Wire:
    """A route as used by a single flow."""

    latency_s: float
    bandwidth_Bps: float


@dataclass(frozen=True)
class NetworkFit:
    """The factors and overheads common to all routes, and the wire of each kind of route."""

    model: Model  # of the main kind; factors are relative to its latency and bandwidth
    wires: Mapping[Kind, Wire]
    local: Mapping[int, Wire]  # on one node, by cluster
    notes: tuple[str, ...]

    def half_trip(self, wire: Wire, sizes: Array) -> Array:
        """Return half a ping-pong on a route, s."""
        model = self.model
        lone = Model(
            model.thresholds, model.send, model.receive, model.isend,
            _transfer(model.transfer.segments, model, wire), wire.bandwidth_Bps, wire.latency_s,
        )  # fmt: skip
        return lone.predicted("pingpong", sizes) / 2


def _transfer(segments: tuple[Segment, ...], model: Model, wire: Wire) -> Curve:
    """Return the curve of another route: its latency and bandwidth with the same factors."""
    scaled = []
    for segment in segments:
        per_byte_s = segment.per_byte_s * model.bandwidth_Bps / wire.bandwidth_Bps
        latency_factor = (segment.base_s - HEADER_BYTES * segment.per_byte_s) / model.latency_s
        scaled.append(
            Segment(segment.from_bytes, latency_factor * wire.latency_s + HEADER_BYTES * per_byte_s, per_byte_s)
        )
    return Curve(tuple(scaled))


def fit_network(rows: Rows, routes: Routes, held_out: Array) -> NetworkFit:
    """Fit the network to the fitted pairs, at the sizes that are not held out."""
    thresholds = _thresholds(rows)
    main = routes.fitted[routes.main]
    half = _halves(routes, main, held_out)
    calls = {call: _call_points(rows, call, main, held_out) for call in ("send", "isend", "recv")}
    measured = _overheads(calls, thresholds)
    most = _most_share(half, measured)
    left = np.maximum(half.times_s - most * measured.at(half.sizes), _LEAST_SHARE * half.times_s)
    overheads = measured.times(most)
    wires, segments = _joint(routes, held_out, _starts(half.sizes, left, thresholds), overheads)
    notes = _contradictions(most)
    main_wire = wires[routes.main]
    model = Model(
        thresholds, overheads.send, overheads.receive, overheads.isend, Curve(segments), main_wire.bandwidth_Bps,
        main_wire.latency_s,
    )  # fmt: skip
    local = {
        cluster: _local_wire(_halves(routes, pair, held_out), segments, model, overheads)
        for cluster, pair in routes.local.items()
    }
    return NetworkFit(model, wires, local, tuple(notes))


def _contradictions(share: float) -> list[str]:
    if share > 1 - _NOTABLE_SHARE:
        return []
    return [
        f"MPI_Send and MPI_Recv alone together take longer than half of half a ping-pong: {share:.2f} of their times "
        "count as overheads, the rest as latencies"
    ]


def _thresholds(rows: Rows) -> Thresholds:
    """Return the thresholds found by bisection."""
    waits, eager = rows.threshold("send-waits"), rows.threshold("recv-waits")
    detached = NEVER if waits is None else waits
    waits_reason = "bisected" if waits is not None else "absent: MPI_Send of no measured size waits"
    if eager is None or eager >= detached:
        return Thresholds(detached, detached, "up to the size from which MPI_Send waits", waits_reason)
    if eager < _FEWEST_EAGER_BYTES:
        reason = "assumed: up to the size from which MPI_Send waits, because late receives do not show it"
        return Thresholds(detached, detached, reason, waits_reason)
    return Thresholds(eager, detached, "bisected", waits_reason)


def _halves(routes: Routes, pair: Pair, held_out: Array) -> Points:
    """Return half ping-pongs of a pair at the sizes to fit."""
    trips = routes.trips[pair]
    points = points_of((size, time_s / 2) for size, time_s in trips.items())
    return points.only(np.setdiff1d(points.sizes, held_out))


def _call_points(rows: Rows, call: str, pair: Pair, held_out: Array) -> Points:
    points = points_of(rows.medians(call).get(pair, {}).items())
    return points.only(np.setdiff1d(points.sizes, held_out))


@dataclass(frozen=True)
class _Overheads:
    send: Curve | None
    receive: Curve | None
    isend: Curve | None
    thresholds: Thresholds

    def at(self, sizes: Array) -> Array:
        """Return os + or for the protocols in which SMPI charges them, s."""
        send = np.zeros(len(sizes)) if self.send is None else self.send.at(sizes)
        receive = np.zeros(len(sizes)) if self.receive is None else self.receive.at(sizes)
        sent, received = sizes < self.thresholds.detached_bytes, sizes < self.thresholds.async_bytes
        return np.asarray(np.where(sent, send, 0.0) + np.where(received, receive, 0.0))

    def times(self, share: float) -> _Overheads:
        """Return the same with this share of os and or; MPI_Isend is judged alone."""
        return replace(self, send=_scaled(self.send, share), receive=_scaled(self.receive, share))


def _scaled(curve: Curve | None, share: float) -> Curve | None:
    if curve is None:
        return None
    return Curve(
        tuple(
            Segment(segment.from_bytes, share * segment.base_s, share * segment.per_byte_s)
            for segment in curve.segments
        )
    )


def _overheads(calls: Mapping[str, Points], thresholds: Thresholds) -> _Overheads:
    """Return curves of the measured overheads."""
    sends = calls["send"].only(calls["send"].sizes[calls["send"].sizes < thresholds.detached_bytes])
    receives = calls["recv"].only(calls["recv"].sizes[calls["recv"].sizes < thresholds.async_bytes])
    send, receive, isend = (
        fitted(send.sizes, send.times_s) if len(send) else None for send in (sends, receives, calls["isend"])
    )
    return _Overheads(send, receive, isend, thresholds)


def _most_share(half: Points, overheads: _Overheads) -> float:
    """Return the share of both overheads, at most 1, that leaves enough of half a ping-pong for the wire."""
    taken = overheads.at(half.sizes)
    room = _MOST_OVERHEAD * half.times_s[taken > 0] / taken[taken > 0]
    return min(1.0, float(np.median(room))) if len(room) else 1.0


def _starts(sizes: Array, times_s: Array, thresholds: Thresholds) -> list[int]:
    """Return the sizes at which the segments of the wire time begin; thresholds are among them."""
    limits = [limit for limit in sorted({thresholds.async_bytes, thresholds.detached_bytes}) if limit <= sizes[-1]]
    starts: set[int] = set()
    for low, high in zip([0, *limits], [*limits, NEVER], strict=True):
        inside = (sizes >= low) & (sizes < high)
        if np.any(inside):
            curve = fitted(sizes[inside], times_s[inside])
            starts |= {low, *(segment.from_bytes for segment in curve.segments[1:])}
    return sorted({0, *starts})


def _joint(
    routes: Routes, held_out: Array, starts: list[int], overheads: _Overheads
) -> tuple[dict[Kind, Wire], tuple[Segment, ...]]:
    """Fit all kinds of routes at once; return each one's wire, and the segments of the main kind's."""
    kinds = sorted(routes.fitted)
    points = [_halves(routes, routes.fitted[kind], held_out) for kind in kinds]
    bandwidths = np.array([_bandwidth(point, starts[-1]) for point in points])
    sizes = np.concatenate([point.sizes for point in points])
    measured = np.concatenate([point.times_s for point in points])
    route = np.repeat(np.arange(len(kinds)), [len(point) for point in points])
    segment = np.searchsorted(starts, sizes, side="right") - 1
    fixed = overheads.at(sizes)
    n, k = len(kinds), len(starts)

    def parts(x: Array) -> tuple[Array, Array, Array]:
        """Return latencies and both factors."""
        return np.exp(x[:n]), np.exp(np.append(0.0, x[n : n + k - 1])), np.exp(np.append(x[n + k - 1 :], 0.0))

    def errors(x: Array) -> Array:
        """Return errors of the times, and weak regularisation towards 1 for factors not determined by any time."""
        latency, f, g = parts(x)
        way = latency[route] * f[segment] + (sizes + HEADER_BYTES) / (bandwidths[route] * g[segment])
        return np.concatenate([np.log((fixed + way) / measured), _PULL * x[n:]])

    latencies = [max(float(point.times_s[0] - overheads.at(point.sizes[:1])[0]), 1e-9) for point in points]
    start = np.concatenate([np.log(latencies), np.zeros(k - 1), np.full(k - 1, -0.01)])
    low = np.concatenate([np.full(n, -40.0), np.full(2 * (k - 1), np.log(_FACTOR_RANGE[0]))])
    high = np.concatenate([np.full(n, 40.0), np.full(k - 1, np.log(_FACTOR_RANGE[1])), np.zeros(k - 1)])
    done = least_squares(errors, start, bounds=(low, high), loss="soft_l1", f_scale=_L1_SCALE)
    latency, f, g = parts(done.x)
    wires = {kind: Wire(float(latency[i]), float(bandwidths[i])) for i, kind in enumerate(kinds)}
    main_wire = wires[routes.main]
    segments = []
    for place, begin in enumerate(starts):
        per_byte_s = 1 / float(main_wire.bandwidth_Bps * g[place])
        segments.append(Segment(begin, main_wire.latency_s * float(f[place]) + HEADER_BYTES * per_byte_s, per_byte_s))
    return wires, tuple(segments)


def _bandwidth(half: Points, last_start: int) -> float:
    """Return the rate at which half a ping-pong grows with the size in the last segment, byte/s.

    This excludes handshakes of large messages, which SMPI can express only as a multiple of the latency.
    """
    large = half.sizes >= max(last_start, half.sizes[-1] / _LARGE_SHARE)
    highest = float(np.max(half.sizes / half.times_s))
    if np.count_nonzero(large) < 2:
        return highest
    sizes, times_s = half.sizes[large], half.times_s[large]
    weights = 1 / times_s**2
    x, y = np.average(sizes, weights=weights), np.average(times_s, weights=weights)
    per_byte_s = float(np.sum(weights * (sizes - x) * (times_s - y)) / np.sum(weights * (sizes - x) ** 2))
    return max(highest, min(1 / per_byte_s if per_byte_s > 0 else highest, _MOST_ABOVE * highest))


def _local_wire(half: Points, segments: tuple[Segment, ...], model: Model, overheads: _Overheads) -> Wire:
    """Return latency and bandwidth on one node that fit its times best with the factors of the network."""
    fixed = overheads.at(half.sizes)

    def errors(x: Array) -> Array:
        way = _transfer(segments, model, Wire(float(np.exp(x[0])), float(np.exp(x[1])))).at(half.sizes)
        return np.asarray(np.log((fixed + way) / half.times_s))

    start = np.log([max(float(half.times_s[0] - fixed[0]), 1e-8), float(np.max(half.sizes / half.times_s))])
    done = least_squares(errors, start, bounds=(-25.0, 40.0), loss="soft_l1", f_scale=_L1_SCALE)
    return Wire(*(float(number) for number in np.exp(done.x)))
