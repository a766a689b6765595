"""Predicted beside simulated schedules of a workload, and what events cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from predictor.workload.schedule import Workload
from predictor.workload.side import Evaluator, Quiet, Side, course_json, or_none, side, side_json


@dataclass(frozen=True)
class Compared:
    """The schedules of a workload."""

    workload: Workload
    predicted: Side | None
    simulated: Side | None
    quiet_predicted: Side | None = None  # without the events, if there are any
    quiet_simulated: Side | None = None

    def error_pct(self, job: str) -> float:
        """Return the error of a job's predicted time, %; NaN without both sides or without a program."""
        if self.predicted is None or self.simulated is None or self.workload.by_name()[job].problem is None:
            return math.nan
        true_s = self.simulated.courses[job].time_s
        return 100 * (self.predicted.courses[job].time_s / true_s - 1) if true_s > 0 else math.nan

    def slowdown_error_pct(self, job: str) -> float:
        """Return the error of a job's predicted slowdown, %; NaN as for ``error_pct``."""
        if math.isnan(self.error_pct(job)):
            return math.nan
        assert self.predicted is not None and self.simulated is not None
        return 100 * (self.predicted.courses[job].slowdown / self.simulated.courses[job].slowdown - 1)

    @property
    def mean_error_pct(self) -> float:
        """Mean absolute error of the jobs' predicted times, %; NaN without both sides."""
        return _mean([abs(self.error_pct(job.name)) for job in self.workload.programs])

    @property
    def mean_slowdown_error_pct(self) -> float:
        """Mean absolute error of the jobs' predicted slowdowns, %; NaN without both sides."""
        return _mean([abs(self.slowdown_error_pct(job.name)) for job in self.workload.programs])

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        sides = {"predicted": self.predicted, "simulated": self.simulated}
        quiet = {"predicted": self.quiet_predicted, "simulated": self.quiet_simulated}
        return {
            "workload": self.workload.name,
            "events": [str(event) for event in self.workload.events],
            "jobs": [
                {
                    "job": job.name,
                    "nodes": job.nodes,
                    "arrival_s": job.arrival_s,
                    **{name: course_json(one.courses[job.name]) for name, one in sides.items() if one is not None},
                    "error_pct": or_none(self.error_pct(job.name)),
                    "slowdown_error_pct": or_none(self.slowdown_error_pct(job.name)),
                }
                for job in self.workload.jobs
            ],
            "mean_error_pct": or_none(self.mean_error_pct),
            "mean_slowdown_error_pct": or_none(self.mean_slowdown_error_pct),
            **{name: side_json(one) for name, one in sides.items() if one is not None},
            **{f"{name}_without_events": side_json(one) for name, one in quiet.items() if one is not None},
        }


def compared(workload: Workload, predicted: Evaluator | None, simulated: Evaluator | None) -> Compared:
    """Return the predicted and the simulated schedule, with events also those without."""
    sides = [None if one is None else side(workload, one) for one in (predicted, simulated)]
    if not workload.events:
        return Compared(workload, *sides)
    calm = replace(workload, events=())
    quiet = [None if one is None else side(calm, Quiet(one)) for one in (predicted, simulated)]
    return Compared(workload, *sides, *quiet)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
