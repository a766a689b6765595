"""The schedule of a workload by one evaluation of its jobs: predicted, or simulated."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from apps.together.run import Ran
from platforms.errors import UserError
from platforms.terminal.quantities import duration
from platforms.terminal.table import Cell
from predictor.workload.figures import Figures, Span, figures
from predictor.workload.schedule import Placed, Workload, scheduled

HEAD = ("schedule", "mean wait", "mean turnaround", "bounded slowdown", "utilisation %", "makespan")


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
class Quiet:
    """An evaluator without events."""

    of: Evaluator

    def ran(self, placed: Sequence[Placed], *, events: bool = False) -> dict[str, Ran]:
        """Return the dates without events."""
        return self.of.ran(placed, events=False)

    def ends_s(self, placed: Sequence[Placed]) -> dict[str, float]:
        """Return the ends without events."""
        return {name: ran.end_s for name, ran in self.ran(placed).items()}

    def alone(self, one: Placed) -> Ran:
        """Return the dates of an attempt alone."""
        return self.of.alone(one)


def or_none(value: float) -> float | None:
    """Return a number for JSON, where NaN has no place."""
    return None if math.isnan(value) else value


def course_json(course: Course) -> dict[str, Any]:
    """Return a course as JSON values."""
    return {
        "host": list(course.placed.hosts),
        "attempts": course.placed.number + 1,
        "start_s": course.placed.start_s,
        "end_s": course.end_s,
        "time_s": course.time_s,
        "alone_s": course.alone_s,
        "slowdown": or_none(course.slowdown),
    }


def side_json(one: Side) -> dict[str, Any]:
    """Return the figures of a schedule as JSON values."""
    shown = one.figures
    return {
        "wait_s": shown.wait_s,
        "turnaround_s": shown.turnaround_s,
        "bounded_slowdown": shown.bounded_slowdown,
        "utilisation": shown.utilisation,
        "makespan_s": shown.makespan_s,
        "lost_node_s": one.lost_node_s,
    }


def cost_line(name: str, one: Side, quiet: Side) -> str:
    """Return what events cost, from the schedules with and without them."""
    later_s = one.figures.turnaround_s - quiet.figures.turnaround_s
    last_s = one.figures.makespan_s - quiet.figures.makespan_s
    text = f"what the events cost, {name}: jobs end {_later(later_s)} on average, the last one {_later(last_s)}"
    if one.lost_node_s:
        text += f"; {one.lost_node_s:.4g} node-seconds of killed jobs are lost"
    return text


def _later(time_s: float) -> str:
    return f"{duration(abs(time_s))} {'later' if time_s >= 0 else 'earlier'}"


def figures_row(name: str, shown: Figures) -> list[str | Cell]:
    """Return a row of a table with the columns HEAD."""
    times = [duration(value) for value in (shown.wait_s, shown.turnaround_s)]
    return [name, *times, f"{shown.bounded_slowdown:.3f}", f"{100 * shown.utilisation:.1f}", duration(shown.makespan_s)]
