"""Expected time and energy of an application on nodes that fail, for each strategy, and the best of several placements.

The expected times are those of predictor.failures.expected.  Of a segment of tau seconds of work and a checkpoint
of delta seconds, which begins again after each failure with rate r, and of its restarts of R seconds, the application
works for e^(r delta) (e^(r tau) - 1) / r on average, writes for (e^(r delta) - 1) / r, and restarts for
(e^(r (tau + delta)) - 1) (e^(r R) - 1) / r; each has its own power.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1, inf, isfinite

from predictor.checkpoints.placed import Placed
from predictor.failures.expected import INTERVALS

NO_FAILURES, SCRATCH, OWN = "no failures", "scratch", "own"


@dataclass(frozen=True)
class Expectation:
    """Expected time and energy of one placement by one strategy; infinite if they exceed the range of floats."""

    interval_s: float  # work between two checkpoints; infinite: none is written
    work_s: float  # time of computing, work that is lost included
    checkpoint_s: float  # time of writing checkpoints
    restart_s: float
    energy_j: float | None  # None: a power is not known

    @property
    def time_s(self) -> float:
        """Expected time, s."""
        return self.work_s + self.checkpoint_s + self.restart_s


def expectations(run: Placed, intervals: Sequence[str], *, restart_s: float = 0.0) -> dict[str, Expectation]:
    """Return the expectations of one placement by strategy.

    The strategies are NO_FAILURES, SCRATCH (restart from the beginning), OWN, if the application writes checkpoints (at
    its own interval), and the intervals, of predictor.failures.expected.INTERVALS.
    """
    M = inf if run.rate_per_s == 0 else 1 / run.rate_per_s
    expected = {
        NO_FAILURES: expectation(run, inf, rate_per_s=0.0, restart_s=restart_s),
        SCRATCH: expectation(run, inf, rate_per_s=run.rate_per_s, restart_s=restart_s),
    }
    if run.own_interval_s is not None:
        expected[OWN] = expectation(run, run.own_interval_s, rate_per_s=run.rate_per_s, restart_s=restart_s)
    for name in intervals:
        interval_s = float(INTERVALS[name](run.checkpoint_s, M, restart_s))
        expected[name] = expectation(run, interval_s, rate_per_s=run.rate_per_s, restart_s=restart_s)
    return expected


def expectation(run: Placed, interval_s: float, *, rate_per_s: float, restart_s: float) -> Expectation:
    """Return the expectation of a run with a checkpoint after every ``interval_s`` of work, except at its end."""
    before_last = 0 if interval_s >= run.work_s else max(0, ceil(run.work_s / interval_s * (1 - 1e-12)) - 1)
    last_s = run.work_s - before_last * interval_s if before_last else run.work_s
    parts = [0.0, 0.0, 0.0]
    segments = [(1, last_s, 0.0)]
    if before_last:
        segments.append((before_last, interval_s, run.checkpoint_s))
    for number, work_s, checkpoint_s in segments:
        for i, part_s in enumerate(_segment(work_s, checkpoint_s, rate_per_s, restart_s)):
            parts[i] += number * part_s
    return Expectation(interval_s, parts[0], parts[1], parts[2], _energy(run, parts))


def _segment(work_s: float, checkpoint_s: float, rate: float, restart_s: float) -> tuple[float, float, float]:
    """Return the expected times of work, of its checkpoint and of restarts, s, until the segment has passed."""
    if rate == 0:
        return work_s, checkpoint_s, 0.0
    try:
        return (
            exp(rate * checkpoint_s) * expm1(rate * work_s) / rate,
            expm1(rate * checkpoint_s) / rate,
            expm1(rate * (work_s + checkpoint_s)) * expm1(rate * restart_s) / rate,
        )
    except OverflowError:
        return inf, inf, inf


def _energy(run: Placed, parts: Sequence[float]) -> float | None:
    powers = (run.work_w, run.checkpoint_w, run.idle_w)
    joules = 0.0
    for part_s, power_w in zip(parts, powers, strict=True):
        if part_s == 0:
            continue
        if power_w is None:
            return None
        joules += part_s * power_w
    return joules


def best(
    expectations_of_rows: Sequence[Mapping[str, Expectation]], strategy: str, *, energy: bool = False
) -> int | None:
    """Return the index of the placement with the least expected time, or energy; None: none is finite and known."""
    values = []
    for i, by_strategy in enumerate(expectations_of_rows):
        value = (
            None
            if strategy not in by_strategy
            else by_strategy[strategy].energy_j
            if energy
            else by_strategy[strategy].time_s
        )
        if value is not None and isfinite(value):
            values.append((value, i))
    return min(values)[1] if values else None
