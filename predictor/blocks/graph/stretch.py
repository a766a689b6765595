"""Stretches of computations on units with hardware threads, which SimGrid does not have."""

from __future__ import annotations

from platforms.system.scheduler import Load, Schedule
from predictor.blocks.stream.instructions import Stream


def stretches_of(stream: Stream, schedule: Schedule) -> list[float]:
    """Return the factor on each process's computations; 1 on units without hardware threads.

    SimGrid divides a unit's cores among its processes, without the gain of hardware threads.
    """
    loads = schedule.loads()
    if all(_stretch(load) == 1 for load in loads if load.threads):
        return [1.0] * len(stream.program_of)
    stretches = []
    for label, index in zip(stream.labels, stream.indices, strict=True):
        group, number = schedule.place(label, index)
        here = (load for load in loads if load.group is group and load.first <= number < load.first + load.units)
        stretches.append(_stretch(next(here)))
    return stretches


def _stretch(load: Load) -> float:
    """Return the time of computations with this load, relative to SimGrid's time."""
    unit = load.group.unit
    return unit.slowdown(load.threads) / max(1.0, load.threads / unit.cores)
