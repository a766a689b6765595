"""One row of a campaign of choices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AllocationRow:
    """A choice or a static allocation with its truth.  None: there is no estimate, or no answer."""

    app: str
    size: int
    model: str
    small: bool = False  # the size is one of those without which the mean epsilon is given too
    noise: float = 0.0
    seed: int = 0
    chosen: str | None = None
    ranks: int | None = None
    estimated_s: float | None = None
    simulated_s: float | None = None
    optimum: str
    optimum_s: float
    epsilon: float | None = None
    delta: float | None = None
    configurations: int
    evidence_node_s: float = 0.0
    evidence_wall_s: float = 0.0
    measured_s: float = 0.0  # sum of the times of the evidence's runs
    gather_s: float = 0.0  # wall time of gathering the evidence on this computer
    fit_s: float = 0.0  # wall time of fitting the models
    search_s: float = 0.0  # wall time of estimating all configurations and choosing
    flags: str = ""
