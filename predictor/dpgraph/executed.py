"""Result of the evaluation of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.recording.events import Mark


@dataclass(frozen=True)
class Execution:
    """An evaluated program.  Times in s, one entry per rank."""

    marks: tuple[np.ndarray, ...]  # apps.recording.events.Mark, by rank
    marks_s: np.ndarray  # ranks x marks: dates of the marks
    end_s: np.ndarray

    def date_s(self, mark: Mark, otherwise: np.ndarray) -> np.ndarray:
        """Return the date of a mark that each rank has once, or ``otherwise`` if the program has no such mark."""
        if mark not in self.marks[0]:
            return otherwise
        return np.array([row[np.flatnonzero(m == mark)[0]] for m, row in zip(self.marks, self.marks_s, strict=True)])

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
        rows = [row[: len(m)][m == Mark.ITERATION] for m, row in zip(self.marks, self.marks_s, strict=True)]
        since_start_s: np.ndarray = np.array(rows) - self.start_s[:, None]
        return since_start_s
