"""Busy times of the hosts of an evaluated program, from marks around the computations of their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from apps.recording.events import Elapse, Mark
from predictor.dpgraph.instructions import COMPUTE, MARK, SLEEP, may_repeat
from predictor.dpgraph.program import Program

if TYPE_CHECKING:
    from predictor.dpgraph.executed import Execution

_BEGIN, _END = 100, 101  # numbers of marks that apps.recording.events.Mark does not use


def watch_computation(program: Program, ranks: Sequence[int]) -> Program:
    """Return the program with a mark before and after every computation of these ranks; marks take no time."""
    rank = np.repeat(np.arange(program.nranks), np.diff(program.first))
    on_core = (program.code == SLEEP) & (program.argument == Elapse.ON_CORE)
    watched = ((program.code == COMPUTE) | on_core) & np.isin(rank, ranks)
    watched &= ~may_repeat(program.code, program.argument)
    copies = np.where(watched, 3, 1)
    begins = np.concatenate([[0], np.cumsum(copies)])
    code, argument, value = (np.repeat(field, copies) for field in (program.code, program.argument, program.value))
    before = begins[:-1][watched]
    for at, mark in ((before, _BEGIN), (before + 2, _END)):
        code[at], argument[at], value[at] = MARK, mark, 0.0
    loop = program.loop
    if loop is not None:
        loop = loop._replace(first=begins[loop.first], last=begins[loop.last])
    return replace(
        program, code=code, argument=argument, value=value, first=begins[program.first], loop=loop, site=None
    )


@dataclass(frozen=True)
class BusyTime:
    """The time during which at least one of a host's ranks computes, in an evaluated program."""

    spans_s: np.ndarray  # spans x 2: dates of begin and end in the evaluation; disjoint and in order
    start_s: float  # start of the timed section
    ends_s: np.ndarray  # end of each iteration of the host's first rank, or of the one whose iteration repeats

    @classmethod
    def of(cls, run: Execution, ranks: Sequence[int]) -> BusyTime:
        """Return the busy time of the host with these ranks, from the marks of ``watch_computation``."""
        spans = []
        for rank in ranks:
            marks, dates_s = run.marks[rank], run.marks_s[rank]
            spans.append(np.stack((dates_s[marks == _BEGIN], dates_s[marks == _END]), axis=1))
        shown = run.leader if run.left_out else ranks[0]
        ends_s = run.marks_s[shown][run.marks[shown] == Mark.ITERATION]
        return cls(_union(np.concatenate(spans)), float(run.start_s[list(ranks)].min()), ends_s)

    def total_s(self) -> float:
        """Return the busy time in the timed section, s."""
        return self._within_s(self.start_s, np.inf)

    def period_s(self, iterations: int) -> float:
        """Return the busy time of one period, s.

        It is the last period that ends before the last iteration, because the last iteration may do more.

        Args:
            iterations: Length of the period in iterations.
        """
        last = len(self.ends_s) - 2
        return self._within_s(self.ends_s[last - iterations], self.ends_s[last])

    def _within_s(self, begin_s: float, end_s: float) -> float:
        clipped = np.clip(self.spans_s, begin_s, end_s)
        return float((clipped[:, 1] - clipped[:, 0]).sum())


def _union(spans_s: np.ndarray) -> np.ndarray:
    """Return disjoint spans that cover the same time."""
    spans_s = spans_s[np.argsort(spans_s[:, 0], kind="stable")]
    if not len(spans_s):
        return spans_s
    latest_s = np.maximum.accumulate(spans_s[:, 1])
    opens = np.concatenate([[True], spans_s[1:, 0] > latest_s[:-1]])
    firsts = np.flatnonzero(opens)
    lasts = np.concatenate([firsts[1:] - 1, [len(spans_s) - 1]])
    return np.stack((spans_s[firsts, 0], latest_s[lasts]), axis=1)
