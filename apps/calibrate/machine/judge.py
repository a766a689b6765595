"""Validate a calibrated platform: repeat the whole measurement on it in SMPI, and compare the values not fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from apps.calibrate.machine.contention import flow_times, held_out_flows, label
from apps.calibrate.machine.rows import CALLS, Pair, Routes, Rows, read_rows
from apps.probes.machine.measure import simulated_rows
from apps.probes.segments import Array
from platforms.model.platform import Platform

SIZES, PAIRS = "ping-pong, new sizes", "ping-pong, new pairs"
ALL_TO_ALL = "MPI_Alltoall, all nodes"
_NOTABLE_SLOWDOWN = 1.15
_NAMES = {"send": "MPI_Send", "isend": "MPI_Isend", "recv": "MPI_Recv, late"}


@dataclass(frozen=True)
class Judged:
    """A measured and replayed value."""

    what: str  # SIZES, PAIRS, ALL_TO_ALL, a call or a label of flows
    where: str  # pair or pairs of nodes
    size_bytes: int
    measured_s: float
    replayed_s: float

    @property
    def error(self) -> float:
        """Replayed minus measured time, relative to the measured time."""
        return self.replayed_s / self.measured_s - 1


@dataclass(frozen=True)
class Judgement:
    """All values that were not fitted, and the whole replay."""

    judged: Sequence[Judged]
    replay: Rows = field(repr=False)

    @property
    def by_what(self) -> Mapping[str, Sequence[Judged]]:
        """Values by kind."""
        groups: dict[str, list[Judged]] = {}
        for judgement in self.judged:
            groups.setdefault(judgement.what, []).append(judgement)
        return groups

    def ratios(self, rows: Rows) -> Array:
        """Return measured over replayed time of all ping-pongs, each by pair and size."""
        replayed = self.replay.medians("pingpong")
        return np.array(
            [
                time_s / replayed[pair][size]
                for pair, by_size in rows.medians("pingpong").items()
                for size, time_s in by_size.items()
                if size in replayed.get(pair, {})
            ]
        )


def median_error(judged: Sequence[Judged]) -> float:
    """Return the median absolute error."""
    return median(abs(judgement.error) for judgement in judged)


def worst(judged: Sequence[Judged]) -> Judged:
    """Return the value with the largest absolute error."""
    return max(judged, key=lambda judgement: abs(judgement.error))


def all_to_all_notes(judgement: Judgement, waits_bytes: int) -> list[str]:
    """Return a note if all-to-alls of messages that wait for their receiver take much longer than their replay.

    Args:
        judgement: The judgement.
        waits_bytes: The size in bytes from which MPI_Send waits for the receiver.
    """
    waiting = [judged for judged in judgement.by_what.get(ALL_TO_ALL, ()) if judged.size_bytes >= waits_bytes]
    slowdown = max((judgement.measured_s / judgement.replayed_s for judgement in waiting), default=1.0)
    if slowdown < _NOTABLE_SLOWDOWN:
        return []
    return [
        f"MPI_Alltoall of messages from {waits_bytes} bytes on takes up to {slowdown:.2f} times as long as simulated: "
        "their handshakes wait behind other data on the same connections, which SMPI cannot express; a higher limit "
        "of eager messages avoids it (of Open MPI over TCP: btl_tcp_eager_limit and btl_tcp_rndv_eager_limit)"
    ]


def judge(platform: Platform, rows: Rows, routes: Routes, held_out: Sequence[int]) -> Judgement:
    """Repeat a measurement in SMPI.

    Args:
        platform: The calibrated platform; its hosts have the names of the nodes.
        rows: The measurement.
        routes: Its routes, with the pairs that were fitted.
        held_out: Sizes in bytes that were not fitted.

    Raises:
        SimulationError: The simulation does not succeed.
    """
    hosts = [node.name for node in rows.nodes for _ in range(node.ranks)]
    clusters = ",".join(str(rows.cluster_of(host)) for host in hosts)
    arguments = ["passes=1", "budget=1e9", f"largest={rows.largest}", f"clusters={clusters}"]
    replay = read_rows(simulated_rows(platform, hosts, arguments), f"the replay on {platform.name}")
    judged = [*_trips(rows, replay, routes, set(held_out)), *_calls(rows, replay, routes, set(held_out))]
    return Judgement([*judged, *_flows(rows, replay), *_all_to_all(rows, replay)], replay)


def _trips(rows: Rows, replay: Rows, routes: Routes, held_out: set[int]) -> Iterator[Judged]:
    fitted = {*routes.fitted.values(), *routes.local.values()}
    replayed = replay.medians("pingpong")
    for pair, by_size in rows.medians("pingpong").items():
        what = SIZES if pair in fitted else PAIRS
        for size, time_s in by_size.items():
            if (what == PAIRS or size in held_out) and size in replayed.get(pair, {}):
                yield Judged(what, _pair_text(pair), size, time_s, replayed[pair][size])


def _calls(rows: Rows, replay: Rows, routes: Routes, held_out: set[int]) -> Iterator[Judged]:
    pair = routes.fitted[routes.main]
    for call in CALLS[1:]:
        replayed = replay.medians(call).get(pair, {})
        for size, time_s in rows.medians(call).get(pair, {}).items():
            if size in held_out and size in replayed:
                yield Judged(_NAMES[call], _pair_text(pair), size, time_s, replayed[size])


def _flows(rows: Rows, replay: Rows) -> Iterator[Judged]:
    """Yield flows of the held-out sizes."""
    measured, replayed = flow_times(rows), flow_times(replay)
    held_out = held_out_flows(rows)
    for (flows, size), time_s in sorted(measured.items()):
        if size in held_out and (flows, size) in replayed:
            where = " + ".join(_pair_text(pair) for pair in flows)
            yield Judged(label(rows, flows), where, size, time_s, replayed[flows, size])


def _all_to_all(rows: Rows, replay: Rows) -> Iterator[Judged]:
    """Yield calls of MPI_Alltoall; none is fitted."""
    replayed = replay.medians("alltoall")
    for pair, by_size in rows.medians("alltoall").items():
        for size, time_s in by_size.items():
            if size in replayed.get(pair, {}):
                yield Judged(ALL_TO_ALL, f"{len(rows.nodes)} nodes", size, time_s, replayed[pair][size])


def _pair_text(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"
