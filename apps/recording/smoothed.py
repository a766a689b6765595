"""Recordings of real runs with scattered computation times: repeated ones become medians (apps/recording/work.py)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from apps.recording.events import EVENT, Kind, Recording
from apps.recording.work import STEP, Repeat, measured_work

# Fields in which equal calls agree.  Tags are not among them: mpi4py numbers the messages of its reductions by them.
_TELLING = ("kind", "mode", "op", "comm", "peer", "size_bytes")


def smoothed(recording: Recording, speed_flops: float, iterations: int, *, shared: bool = False) -> Recording:
    """Return a recording with medians as computation times if the calls around them repeat, with their possible error.

    Args:
        recording: A recording of a run of ``iterations`` iterations.
        speed_flops: The speed that converted its seconds to flops.
        iterations: Number of iterations; 1: the program has none.
        shared: Ranks shared cores, and so caches.
    """
    measured = [_steps(events, speed_flops) for events in recording.events]
    work = measured_work(measured, iterations, simulated=False, shared=shared)
    events = tuple(
        _with_times(events, steps["time_s"] * speed_flops)
        for events, steps in zip(recording.events, work.steps, strict=True)
    )
    apart = [_apart_rel(*each) for each in zip(measured, work.steps, work.repeats, strict=True)]
    return replace(recording, events=events, spread_rel=max(work.spread_rel, *apart))


def _apart_rel(measured: npt.NDArray[np.void], kept: npt.NDArray[np.void], repeat: Repeat) -> float:
    """Return how far a rank's computation is from its medians, if it was kept because its iterations differ.

    Either the program or other load on this computer may be the reason.
    """
    total_s = float(measured["time_s"].sum())
    if not repeat.count or total_s <= 0 or not np.array_equal(measured["time_s"], kept["time_s"]):
        return 0.0
    table = measured["time_s"][repeat.first : repeat.first + repeat.count * repeat.lag].reshape(repeat.count, -1)
    return abs(float(table.sum() - repeat.count * np.median(table, axis=0).sum())) / total_s


def _calls(events: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    calls: npt.NDArray[np.void] = events[events["kind"] != Kind.COMPUTE]
    return calls


def _steps(events: npt.NDArray[np.void], speed_flops: float) -> npt.NDArray[np.void]:
    """Return the computation before each call, and a hash of the call and the one before it: dtype STEP."""
    computes = events["kind"] == Kind.COMPUTE
    so_far = np.cumsum(np.where(computes, events["amount"], 0.0))[~computes]
    calls = _calls(events)
    call = np.zeros(len(calls), np.uint64)
    for name in _TELLING:
        call = _mixed(call ^ calls[name].astype(np.int64).view(np.uint64))
    steps = np.zeros(len(calls), STEP)
    steps["time_s"] = np.diff(so_far, prepend=0.0) / speed_flops
    steps["check"] = _mixed(np.concatenate([call[:1], call[:-1]]) ^ np.uint64(1)) ^ call
    return steps


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a hash of each value (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _with_times(events: npt.NDArray[np.void], flops: npt.NDArray[np.float64]) -> npt.NDArray[np.void]:
    """Return the calls with these computations before them."""
    calls = _calls(events)
    before = np.flatnonzero(flops > 0)
    computes = np.zeros(len(before), EVENT)
    computes["kind"], computes["amount"] = Kind.COMPUTE, flops[before]
    for name in ("comm", "peer", "tag", "request"):
        computes[name] = -1
    made: npt.NDArray[np.void] = np.insert(calls, before, computes)
    return made
