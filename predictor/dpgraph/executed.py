"""Result of the evaluation of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.recording.events import Mark


@dataclass(frozen=True)
class Execution:
    """An evaluated program.  Times in s, one entry per rank."""

    marks: np.ndarray  # ranks x marks: apps.recording.events.Mark, -1 after the last one of a rank
    marks_s: np.ndarray  # ranks x marks: dates of the marks
    end_s: np.ndarray
    arrived_s: np.ndarray | None = None  # by message, if requested: date of arrival
    others: int = 0  # polls whose result differs from the recording
    left_out: int = 0  # copies of the loop, which take as long as the last one of the rank `leader`
    leader: int = 0
    took: np.ndarray | None = None  # as in predictor.dpgraph.instructions.Choices

    def date_s(self, mark: Mark, otherwise: np.ndarray) -> np.ndarray:
        """Return the date of a mark that each rank has once, or ``otherwise`` if the program has no such mark."""
        at_mark = self.marks == mark
        if not at_mark[0].any():
            return otherwise
        dates_s: np.ndarray = self.marks_s[np.arange(len(at_mark)), at_mark.argmax(axis=1)]
        return dates_s

    @property
    def start_s(self) -> np.ndarray:
        """Start of the timed section by rank, s; 0 if it is not marked."""
        return self.date_s(Mark.START, np.zeros_like(self.end_s))

    @property
    def stop_s(self) -> np.ndarray:
        """End of the timed section by rank, s; the end of the program if it is not marked."""
        return self.date_s(Mark.STOP, self.end_s)

    @property
    def iteration_s(self) -> np.ndarray:
        """Ends of the iterations since the start of the timed section, s, as an array of ranks x iterations."""
        ends_s = self.marks_s[self.marks == Mark.ITERATION].reshape(len(self.marks), -1)
        since_start_s: np.ndarray = ends_s - self.start_s[:, None]
        return since_start_s
