"""Parts of the processes' times in a graph, from the dates of its instructions.

If turns of a loop are extrapolated, the parts of the last period that was evaluated stand for those of the others, and
are scaled to the time by which each process's end was extrapolated: so they add up to the end of the process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.recording.events import Elapse, Mark
from apps.results.steady import find_period
from predictor.blocks.parts import COMPUTING, DISK, KINDS, SENDING, WAITING, StepTime, steps_in_order
from predictor.blocks.stream.instructions import Stream
from predictor.dpgraph.instructions import COMPUTE, MARK, SLEEP
from predictor.graph.dates import Moments


@dataclass(frozen=True)
class Dated:
    """The evaluated turns of a graph, instruction by instruction."""

    moments: Moments
    ends_s: np.ndarray  # by process: its end, with the turns that were extrapolated

    @property
    def process(self) -> np.ndarray:
        """The process of each instruction."""
        first = self.moments.program.first
        return np.repeat(np.arange(len(first) - 1), np.diff(first))

    def weights(self) -> np.ndarray:
        """Return how many times each instruction's time counts: more than once for turns that stand for others."""
        moments, process = self.moments, self.process
        program, processes = moments.program, len(self.ends_s)
        weight = np.ones(len(process))
        own_s = np.zeros(processes)
        np.maximum.at(own_s, process, moments.end_s)
        more_s = self.ends_s - own_s
        turns = (program.code == MARK) & (program.argument == Mark.ITERATION)
        if not turns.any() or not (more_s > 0).any():
            return weight
        turns_s = moments.end_s[turns].reshape(processes, -1)
        period = find_period(turns_s.tolist()).iterations
        last = turns_s.shape[1] - 2  # the very last turn may do more
        done = np.cumsum(turns) - turns
        number = done - np.repeat(done[program.first[:-1]], np.diff(program.first))  # of the turn, from 0
        inside = (number > last - period) & (number <= last)
        advance_s = turns_s[:, last] - turns_s[:, last - period]
        again = np.divide(more_s, advance_s, out=np.zeros(processes), where=advance_s > 0)
        weight[inside] += again[process[inside]]
        return weight

    def sums(self, group_of: np.ndarray, groups: int, sites: int) -> np.ndarray:
        """Return groups x sites x KINDS: the parts of the time, s, summed over the processes of each group.

        Args:
            group_of: The group of each process.
            groups: Number of groups.
            sites: Number of sites, the numbers of which begin at 1; 0 is that of marks, which take no time.
        """
        moments, program = self.moments, self.moments.program
        assert program.site is not None
        weight = self.weights()
        takes_s = weight * (moments.end_s - moments.begin_s)
        late_s = weight * moments.late_s
        kind = kinds_of(moments)
        cell = (group_of[self.process] * (sites + 1) + program.site) * len(KINDS)
        size = groups * (sites + 1) * len(KINDS)
        sums_s = np.bincount(cell + kind, takes_s - late_s, size) + np.bincount(cell + WAITING, late_s, size)
        parts: np.ndarray = sums_s.reshape(groups, sites + 1, len(KINDS))[:, 1:]
        return parts


def kinds_of(moments: Moments) -> np.ndarray:
    """Return the kind of each instruction's time, apart from the time for which it waits for another process."""
    program = moments.program
    kind = np.full(len(program.code), SENDING)
    kind[program.code == COMPUTE] = COMPUTING
    kind[program.code == SLEEP] = DISK
    kind[(program.code == SLEEP) & (program.argument == Elapse.ON_CORE)] = COMPUTING
    return kind


def steps_of(stream: Stream, dated: Dated, places: Sequence[str]) -> dict[str, tuple[StepTime, ...]]:
    """Return the parts of the processes' times by label and step, the steps in their order.

    Args:
        stream: The instructions, for the labels of the processes.
        dated: Their dates.
        places: The places of the steps, by site minus 1.
    """
    labels = list(dict.fromkeys(stream.labels))
    number = {label: at for at, label in enumerate(labels)}
    sums_s = dated.sums(np.array([number[label] for label in stream.labels]), len(labels), len(places))
    return {
        label: steps_in_order(
            {places[at]: sums_s[k, at].tolist() for at in np.flatnonzero(sums_s[k].any(axis=1)).tolist()}
        )
        for k, label in enumerate(labels)
    }
