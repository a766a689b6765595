"""Expected times of a run with failures on several numbers of nodes, and the best number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.blocks.published.formulas import success
from predictor.failures.expected import INTERVALS, SEGMENTS, restart_from_scratch

NO_FAILURES, SCRATCH = "no failures", "scratch"
RATE_RANGE_PER_S = (1e-30, 1e9)  # of one node; outside this range the formulas exceed the range of floats
SHORTEST_S = 1e-9  # of a checkpoint, and of a run on one node
LONGEST_S = 1e15  # of a checkpoint, a restart and a run without failures: 30 million years


@dataclass(frozen=True)
class Failures:
    """Failure rate of the nodes, and the times of a checkpoint and a restart."""

    rate_per_s: float  # lambda of one node, 1/(s node): 0, or in RATE_RANGE_PER_S
    checkpoint_s: float  # time to write a checkpoint, from SHORTEST_S to LONGEST_S
    restart_s: float = 0.0  # time between a failure and the continuation of the work, >= 0, <= LONGEST_S

    def __post_init__(self) -> None:
        low, high = RATE_RANGE_PER_S
        rate, checkpoint_s, restart_s = self.rate_per_s, self.checkpoint_s, self.restart_s
        least_s = SHORTEST_S
        for name, value, good, wanted in (
            ("failure rate", rate, rate == 0 or low <= rate <= high, f"0, or from {low:g} to {high:g} 1/s"),
            ("checkpoint time", checkpoint_s, least_s <= checkpoint_s <= LONGEST_S, f"{least_s:g} to {LONGEST_S:g} s"),
            ("restart time", restart_s, 0 <= restart_s <= LONGEST_S, f"0 to {LONGEST_S:g} s"),
        ):
            if not good:
                raise UserError(f"{name} {value:g}", "out of its range", f"Give {wanted}")


@dataclass(frozen=True)
class Outlook:
    """Arrays over the numbers of nodes; times are in s, and infinite if they exceed the range of floats."""

    nodes: np.ndarray
    run_s: np.ndarray  # time without failures
    success: np.ndarray  # probability that no failure occurs during a run
    intervals_s: Mapping[str, np.ndarray]  # work between two checkpoints, by name of the interval
    expected_s: Mapping[str, np.ndarray]  # expected times by strategy: NO_FAILURES, SCRATCH and the intervals

    def best(self, strategy: str) -> int | None:
        """Return the index of the shortest expected time, the first among equals; None if all are infinite."""
        place = int(np.argmin(self.expected_s[strategy]))
        return place if np.isfinite(self.expected_s[strategy][place]) else None


def outlook(
    nodes: Sequence[float] | np.ndarray,
    run_s: Sequence[float] | np.ndarray,
    failures: Failures,
    intervals: Sequence[str],
    *,
    segments: str = "whole",
) -> Outlook:
    """Compute the expected times of runs with failures.

    Args:
        nodes: Numbers of nodes.
        run_s: Time of the run without failures on each number of nodes, s, up to LONGEST_S.
        failures: Failure rate, and times of a checkpoint and a restart.
        intervals: Names of checkpoint intervals, of INTERVALS.
        segments: Formula for the times with checkpoints, of SEGMENTS.
    """
    P, T = np.asarray(nodes, float), np.asarray(run_s, float)
    rate = failures.rate_per_s * P
    with np.errstate(divide="ignore"):
        M = 1 / rate
    chosen = {name: INTERVALS[name](failures.checkpoint_s, M, failures.restart_s) for name in intervals}
    expected = {NO_FAILURES: T, SCRATCH: restart_from_scratch(T, rate, restart_s=failures.restart_s)}
    for name, interval_s in chosen.items():
        expected[name] = SEGMENTS[segments](
            T, rate, interval_s=interval_s, checkpoint_s=failures.checkpoint_s, restart_s=failures.restart_s
        )
    return Outlook(P, T, success(T, P, failures.rate_per_s), chosen, expected)
