"""Timeline of one iteration of a run on its own platform: the times of each rank in computation and in MPI.

The run is repeated with the recorder loaded (apps/recording/recorder), which takes no simulated time, and with only as
many iterations as are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from apps.recording.events import Kind, Mark
from apps.results.steady import FIRST_TRY
from apps.runs.recorded_run import run_recorded
from apps.spec.run_spec import RunSpec
from platforms.simgrid.installed import check_simgrid

if TYPE_CHECKING:
    import numpy.typing as npt

    from apps.recording.events import Recording


class Activity(IntEnum):
    """Activity of a rank."""

    COMPUTATION = 0
    MESSAGES = 1  # sending, receiving and waiting for messages
    COLLECTIVES = 2


_ACTIVITIES = {
    Kind.COMPUTE: Activity.COMPUTATION,
    Kind.ELAPSE: Activity.COMPUTATION,
    Kind.SEND: Activity.MESSAGES,
    Kind.RECV: Activity.MESSAGES,
    Kind.WAIT: Activity.MESSAGES,
    Kind.PROBE: Activity.MESSAGES,
    Kind.COLLECTIVE: Activity.COLLECTIVES,
}


@dataclass(frozen=True, eq=False)
class Timeline:
    """One iteration, or a whole run.  Times are s since the first rank started its timed section."""

    iteration: int | None  # number of the iteration, from 1; None: the whole timed section, without known iterations
    simulated: int  # number of simulated iterations
    clock_s: tuple[npt.NDArray[np.float64], ...]  # by rank: times at which an activity begins, ascending
    activity: tuple[npt.NDArray[np.int64], ...]  # by rank: the Activity that begins then; -1: none
    begin_s: npt.NDArray[np.float64]  # by rank: start of its iteration
    end_s: npt.NDArray[np.float64]  # by rank: end of its iteration

    @property
    def nranks(self) -> int:
        """Number of ranks."""
        return len(self.clock_s)

    @property
    def span_s(self) -> tuple[float, float]:
        """Times at which the first rank begins the iteration and the last rank ends it, s."""
        return float(self.begin_s.min()), float(self.end_s.max())

    @property
    def spent_s(self) -> npt.NDArray[np.float64]:
        """Time that each rank spends with each activity in its own iteration, s, as an array of ranks x activities."""
        ends_s = np.stack([self.begin_s, self.end_s], axis=1)
        return np.array([np.diff(self._until(rank, ends_s[rank]))[:, 0] for rank in range(self.nranks)])

    def shares(self, bins: int) -> npt.NDArray[np.float64]:
        """Return the share of each activity in each of ``bins`` equal parts of ``span_s``: ranks x activities x bins.

        Shares lie between 0 and 1.  Parts of a rank's neighbouring iterations that reach into the span count too.
        """
        edges_s = np.linspace(*self.span_s, bins + 1)
        spent_s = np.array([np.diff(self._until(rank, edges_s)) for rank in range(self.nranks)])
        return spent_s / max(float(edges_s[1] - edges_s[0]), float(np.finfo(float).tiny))

    def _until(self, rank: int, moments_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the time that the rank has spent with each activity up to each moment, s: activities x moments."""
        clock_s, lasts_s = self.clock_s[rank], np.diff(self.clock_s[rank])
        each_s = [np.where(self.activity[rank][:-1] == activity, lasts_s, 0.0) for activity in Activity]
        return np.array([np.interp(moments_s, clock_s, np.append(0.0, np.cumsum(one_s))) for one_s in each_s])


def record_timeline(spec: RunSpec, *, iterations: int = FIRST_TRY, time_limit_s: float | None = None) -> Timeline:
    """Return the timeline of the last but one of ``iterations`` iterations; the run has normally settled by then.

    If the program has no iterations, or none are found, the timeline covers the whole timed section.

    Raises:
        KernelError: The program refuses the problem, or calls a function that the recorder does not know.
        SimulationError: The run does not succeed.
    """
    check_simgrid()
    iterations = min(iterations, spec.target.iterations)
    what = str(spec.target)
    recording = run_recorded(spec, iterations, what=what, time_limit_s=time_limit_s)
    return _timeline(recording, iterations if spec.target.problem.iterative else 0, iterations)


def _timeline(recording: Recording, iterations: int, simulated: int) -> Timeline:
    """Return the timeline; ``iterations`` is the recording's known number of iterations, 0 for none."""
    if iterations:
        recording, iterations = with_iterations(recording, iterations)
    at = max(0, iterations - 2)
    start_s = min(marks_s(events, Mark.START)[0] for events in recording.events)
    begin_s, end_s = [], []
    for events in recording.events:
        ends_s = marks_s(events, Mark.ITERATION)
        whole = not iterations
        begin_s.append(marks_s(events, Mark.START)[0] if whole or at == 0 else ends_s[at - 1])
        end_s.append(marks_s(events, Mark.STOP)[0] if whole else ends_s[at])
    lookup = np.full(256, -1, np.int8)
    for kind, activity in _ACTIVITIES.items():
        lookup[kind] = activity
    return Timeline(
        iteration=at + 1 if iterations else None,
        simulated=simulated,
        clock_s=tuple(events["clock_s"] - start_s for events in recording.events),
        activity=tuple(lookup[events["kind"]] for events in recording.events),
        begin_s=np.array(begin_s) - start_s,
        end_s=np.array(end_s) - start_s,
    )


def with_iterations(recording: Recording, iterations: int) -> tuple[Recording, int]:
    """Return the recording with marks of its iterations, found if there are none, and their number; 0: not found."""
    # Imported here because it is slow to import.
    from apps.recording.iterations import marked_iterations, split_iterations, with_marks

    if marked_iterations(recording) == iterations:
        return recording, iterations
    iterations_found = split_iterations(recording, iterations)
    return (recording, 0) if iterations_found is None else (with_marks(recording, iterations_found), iterations)


def marks_s(events: npt.NDArray[np.void], mark: Mark) -> npt.NDArray[np.float64]:
    """Return the clock at each of these marks, s."""
    clock_s: npt.NDArray[np.float64] = events["clock_s"][(events["kind"] == Kind.MARK) & (events["op"] == mark)]
    return clock_s
