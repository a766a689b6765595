"""After how many runs the evidence of a choice has paid, against the whole platform with a process on each core.

Section 6.1 of Ichikawa, Takahashi and Kawai asks whether the choice is worth "all the efforts required to construct the
models", and compares it with static allocations, of which "the simplest example" is the whole cluster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from platforms.model.platform import Platform
from platforms.terminal.quantities import duration
from platforms.wording import number_of
from predictor.allocation.configuration import Configuration
from predictor.allocation.space import Space
from predictor.nodes.drivers import Estimates


@dataclass(frozen=True)
class BreakEven:
    """The runs that made up for the evidence."""

    configuration: str  # that is used without a choice: all nodes within the limits, a process on each core
    time_s: float  # its time by the same estimates
    saved_s: float  # by each run of the choice; not positive: none
    evidence_s: float  # time of the runs of the evidence, one after another
    runs: int | None  # after which the evidence has paid; None: never

    def __str__(self) -> str:
        if self.runs is None:
            return f"all nodes, {self.configuration}, are as fast: the evidence does not pay"
        return (
            f"against all nodes, {self.configuration}, each run saves {duration(self.saved_s)}: the evidence, "
            f"{duration(self.evidence_s)} of runs, has paid after {number_of(self.runs, 'run')}"
        )


def break_even(
    space: Space, estimates: Estimates, platform: Platform, chosen_s: float, evidence_s: float
) -> BreakEven | None:
    """Return after how many runs the evidence has paid.

    Args:
        space: The configurations.
        estimates: Their estimates.
        platform: The platform, which says how many cores the nodes have.
        chosen_s: Time of the choice.
        evidence_s: Time of all runs of the evidence, one after another; 0: there were none.

    Returns:
        None where nothing was measured, or the whole platform has no estimate.
    """
    limits = zip(space.limits.pes, space.limits.processes, platform.clusters, strict=True)
    shares = tuple((pes, min(cluster.cores, most)) if pes and most else (0, 0) for pes, most, cluster in limits)
    (row,) = space.rows([Configuration(shares)])
    if evidence_s <= 0 or row < 0 or not estimates.times_s[row] > 0:
        return None
    whole_s = float(estimates.times_s[row])
    saved_s = whole_s - chosen_s
    runs = math.ceil(evidence_s / saved_s) if saved_s > 1e-9 * whole_s and np.isfinite(saved_s) else None
    return BreakEven(str(Configuration(shares)), whole_s, saved_s, evidence_s, runs)
