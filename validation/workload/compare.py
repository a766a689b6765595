"""Predicted beside simulated schedules of a workload, and what events cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from apps.together.run import Ran
from platforms.errors import UserError
from predictor.workload.figures import Figures, Span, figures
from predictor.workload.schedule import Placed, scheduled
from predictor.workload.workload import Workload


class Evaluator(Protocol):
    """Evaluates attempts together: ``Predicted`` and ``Simulated``."""

    def ran(self, placed: Sequence[Placed], *, events: bool = True) -> dict[str, Ran]:
        """Return the dates of the attempts that are not stopped, by name."""

    def ends_s(self, placed: Sequence[Placed]) -> Mapping[str, float]:
        """Return their ends."""

    def alone(self, one: Placed) -> Ran:
        """Return the dates of an attempt on the quiet platform."""


@dataclass(frozen=True)
class Course:
    """The course of a job in one evaluation."""

    placed: Placed  # its last attempt
    time_s: float  # of its timed section
    end_s: float
    alone_s: float  # the time on the same hosts without the other jobs and without events

    @property
    def slowdown(self) -> float:
        """Its time over its time alone."""
        return self.time_s / self.alone_s if self.alone_s > 0 else math.nan


@dataclass(frozen=True)
class Side:
    """A schedule and its figures."""

    courses: Mapping[str, Course]  # by job
    figures: Figures
    lost_node_s: float  # of attempts that failing hosts have ended


def side(workload: Workload, evaluator: Evaluator, *, progress: Callable[[int, int], None] | None = None) -> Side:
    """Return the schedule by an evaluator.

    Raises:
        UserError: Too few hosts are left for a job.
    """
    try:
        placed = scheduled(
            [job.asked for job in workload.jobs],
            workload.clusters,
            workload.policy,
            evaluator.ends_s,
            failures=workload.failures,
            progress=progress,
        )
    except ValueError as err:
        raise UserError(workload.name, str(err), "Leave out an event, or give the job fewer ranks") from None
    ran = evaluator.ran(placed)
    courses = {}
    for one in placed:
        if one.stop_s is None:
            dates = ran[one.name]
            courses[one.job] = Course(one, dates.time_s, dates.end_s, evaluator.alone(one).time_s)
    jobs = workload.by_name()
    spans = [
        Span(jobs[name].arrival_s, course.placed.start_s, course.end_s, jobs[name].nodes)
        for name, course in courses.items()
    ]
    lost = sum(len(one.hosts) * (one.stop_s - one.start_s) for one in placed if one.stop_s is not None)
    return Side(courses, figures(spans, len(workload.platform.hosts)), lost)


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
                    **{name: _course_json(one.courses[job.name]) for name, one in sides.items() if one is not None},
                    "error_pct": _or_none(self.error_pct(job.name)),
                    "slowdown_error_pct": _or_none(self.slowdown_error_pct(job.name)),
                }
                for job in self.workload.jobs
            ],
            "mean_error_pct": _or_none(self.mean_error_pct),
            "mean_slowdown_error_pct": _or_none(self.mean_slowdown_error_pct),
            **{name: _side_json(one) for name, one in sides.items() if one is not None},
            **{f"{name}_without_events": _side_json(one) for name, one in quiet.items() if one is not None},
        }


def compared(workload: Workload, predicted: Evaluator | None, simulated: Evaluator | None) -> Compared:
    """Return the predicted and the simulated schedule, with events also those without."""
    sides = [None if one is None else side(workload, one) for one in (predicted, simulated)]
    if not workload.events:
        return Compared(workload, *sides)
    calm = replace(workload, events=())
    quiet = [None if one is None else side(calm, _Quiet(one)) for one in (predicted, simulated)]
    return Compared(workload, *sides, *quiet)


@dataclass(frozen=True)
class _Quiet:
    """An evaluator without events."""

    of: Evaluator

    def ran(self, placed: Sequence[Placed], *, events: bool = False) -> dict[str, Ran]:
        return self.of.ran(placed, events=False)

    def ends_s(self, placed: Sequence[Placed]) -> dict[str, float]:
        return {name: ran.end_s for name, ran in self.ran(placed).items()}

    def alone(self, one: Placed) -> Ran:
        return self.of.alone(one)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _course_json(course: Course) -> dict[str, Any]:
    return {
        "host": list(course.placed.hosts),
        "attempts": course.placed.number + 1,
        "start_s": course.placed.start_s,
        "end_s": course.end_s,
        "time_s": course.time_s,
        "alone_s": course.alone_s,
        "slowdown": _or_none(course.slowdown),
    }


def _side_json(one: Side) -> dict[str, Any]:
    shown = one.figures
    return {
        "wait_s": shown.wait_s,
        "turnaround_s": shown.turnaround_s,
        "bounded_slowdown": shown.bounded_slowdown,
        "utilisation": shown.utilisation,
        "makespan_s": shown.makespan_s,
        "lost_node_s": one.lost_node_s,
    }
