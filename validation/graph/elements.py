"""Times of a program's elements by place in the program: computation, and time in calls of MPI."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from predictor.dpgraph.instructions import COMPUTE, SEND, SLEEP

if TYPE_CHECKING:
    from predictor.graph.dates import Step
    from predictor.graph.on_platform import Analysis

COMPUTATION, MPI = "computation", "MPI"
Element = tuple[str, str | None]  # COMPUTATION or MPI, and the place; None: not known


@dataclass(frozen=True)
class Elements:
    """Times of a timed section, s."""

    time_s: float  # T_exec: the largest time of a process
    compute_s: np.ndarray  # by process
    ended_s: np.ndarray  # by process: T_exec without its own time
    spent_s: Mapping[Element, float]  # sums over the processes
    path_s: Mapping[Element, float]  # the parts of the critical path; of a message, under the place that sends it
    path_by_rank_s: np.ndarray  # the parts of the critical path that a process computes or waits for

    @property
    def idle_s(self) -> np.ndarray:
        """Time of each process without computation, after its end included."""
        return self.time_s - self.compute_s

    @property
    def places(self) -> list[Element]:
        """The elements, the one with the largest sum first."""
        return sorted(self.spent_s, key=lambda place: -self.spent_s[place])


def elements_of_analysis(analysis: Analysis) -> Elements:
    """Return the predicted times of an analysis' elements."""
    dates, places = analysis.timed.dates, analysis.places
    program = dates.program
    site = np.zeros(len(program.code), np.int64) if program.site is None else program.site
    computing = np.isin(program.code, (COMPUTE, SLEEP))
    rank_of = np.repeat(np.arange(program.nranks), np.diff(program.first))
    takes_s = dates.end_s - dates.begin_s

    def element(at: int) -> Element:
        return COMPUTATION if computing[at] else MPI, place_at(places, int(site[at]))

    spent_s = sums((element(at), float(takes_s[at])) for at in np.flatnonzero(takes_s > 0).tolist())
    sent_at = np.full(program.nmessages, -1, np.int64)
    sends = np.flatnonzero(program.code == SEND)
    sent_at[program.argument[sends]] = sends

    def of_step(step: Step) -> Element:
        sent = -1 if step.post is None else int(sent_at[program.argument[step.instruction]])
        return element(step.instruction if sent < 0 else sent)  # one-sided messages have no send

    steps = [(step.instruction, step.end_s - step.begin_s) for step in dates.critical]
    by_rank_s = np.zeros(program.nranks)
    for at, lasts_s in steps:
        by_rank_s[rank_of[at]] += lasts_s
    processes = analysis.timed.processes
    return Elements(
        time_s=dates.time_s,
        compute_s=np.array([process.compute_s for process in processes]),
        ended_s=np.array([process.ended_s for process in processes]),
        spent_s=spent_s,
        path_s=sums((of_step(step), step.end_s - step.begin_s) for step in dates.critical),
        path_by_rank_s=by_rank_s,
    )


def place_at(places: Sequence[str | None], site: int) -> str | None:
    """Return the place of a path of calls, which is numbered from 1; 0: not known."""
    return places[site - 1] if 0 < site <= len(places) else None


def sums(parts: Iterable[tuple[Element, float]]) -> dict[Element, float]:
    """Return the sum of each element's parts."""
    totals: defaultdict[Element, float] = defaultdict(float)
    for key, value in parts:
        totals[key] += value
    return dict(totals)
