"""What every rank does when, in one iteration of a run on its own platform: computing, or inside MPI.

The run is made again with the recorder loaded (apps/recorder), which takes no simulated time, and only as many of its
iterations as it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from apps.record_events import run_recorded
from apps.recording import Kind, Mark
from apps.spec import RunSpec
from apps.steady import FIRST_TRY
from apps.wording import number_of
from platforms.simgrid import check_simgrid

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from apps.recording import Recording


class Activity(IntEnum):
    """What a rank spends time with."""

    COMPUTATION = 0
    MESSAGES = 1  # sending, receiving and waiting for messages
    COLLECTIVES = 2


_ACTIVITIES = {
    Kind.COMPUTE: Activity.COMPUTATION,
    Kind.SEND: Activity.MESSAGES,
    Kind.RECV: Activity.MESSAGES,
    Kind.WAIT: Activity.MESSAGES,
    Kind.PROBE: Activity.MESSAGES,
    Kind.COLLECTIVE: Activity.COLLECTIVES,
}


@dataclass(frozen=True, eq=False)
class Timeline:
    """One iteration, or a whole run.  Times are s since the first rank started its timed section."""

    iteration: int | None  # which one, from 1; None: the timed section of a program that shows no iterations
    simulated: int  # iterations that were
    clock_s: tuple[npt.NDArray[np.float64], ...]  # by rank: when it begins to do something else, rising
    activity: tuple[npt.NDArray[np.int64], ...]  # by rank: what it then does, of Activity; -1: neither
    begin_s: npt.NDArray[np.float64]  # by rank: start of its iteration
    end_s: npt.NDArray[np.float64]

    @property
    def nranks(self) -> int:
        return len(self.clock_s)

    @property
    def span_s(self) -> tuple[float, float]:
        """From the first rank that begins the iteration to the last one that ends it."""
        return float(self.begin_s.min()), float(self.end_s.max())

    @property
    def spent_s(self) -> npt.NDArray[np.float64]:
        """ranks x activities: s of each rank's own iteration."""
        import numpy as np

        ends_s = np.stack([self.begin_s, self.end_s], axis=1)
        return np.array([np.diff(self._until(rank, ends_s[rank]))[:, 0] for rank in range(self.nranks)])

    def shares(self, bins: int) -> npt.NDArray[np.float64]:
        """ranks x activities x bins: the share of each of so many equal parts of ``span_s``, 0 to 1.

        A rank's neighbouring iterations are a part of it where they reach into the span.
        """
        import numpy as np

        edges_s = np.linspace(*self.span_s, bins + 1)
        spent_s = np.array([np.diff(self._until(rank, edges_s)) for rank in range(self.nranks)])
        return spent_s / max(float(edges_s[1] - edges_s[0]), float(np.finfo(float).tiny))

    def _until(self, rank: int, moments_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """activities x moments: s that the rank has spent with each until then."""
        import numpy as np

        clock_s, lasts_s = self.clock_s[rank], np.diff(self.clock_s[rank])
        each_s = [np.where(self.activity[rank][:-1] == one, lasts_s, 0.0) for one in Activity]
        return np.array([np.interp(moments_s, clock_s, np.append(0.0, np.cumsum(one_s))) for one_s in each_s])


def record_timeline(spec: RunSpec, *, iterations: int = FIRST_TRY, time_limit_s: float | None = None) -> Timeline:
    """The last but one of so many iterations of the spec's problem, in which it has settled if it does so at all.

    The whole timed section where the program has no iterations, or shows none.  Raises KernelError and SimulationError
    as a run does, and KernelError for a program that calls what the recorder does not know.
    """
    check_simgrid()
    iterations = min(iterations, spec.target.iterations)
    what = f"{spec.target.problem} on {spec.target.platform.name}, {number_of(spec.target.nranks, 'rank')}"
    recording = run_recorded(spec, iterations, what=what, time_limit_s=time_limit_s)
    return _timeline(recording, iterations if spec.target.problem.iterative else 0, iterations)


def _timeline(recording: Recording, iterations: int, simulated: int) -> Timeline:
    """``iterations``: that the recording is known to have; 0: none."""
    import numpy as np

    from apps.periodicity import marked_iterations, told_apart, with_marks

    if iterations and marked_iterations(recording) != iterations:
        found = told_apart(recording, iterations)
        recording, iterations = (recording, 0) if found is None else (with_marks(recording, found), iterations)
    at = max(0, iterations - 2)
    start_s = min(_marks_s(events, Mark.START)[0] for events in recording.events)
    begin_s, end_s = [], []
    for events in recording.events:
        ends_s = _marks_s(events, Mark.ITERATION)
        whole = not iterations
        begin_s.append(_marks_s(events, Mark.START)[0] if whole or at == 0 else ends_s[at - 1])
        end_s.append(_marks_s(events, Mark.STOP)[0] if whole else ends_s[at])
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


def _marks_s(events: npt.NDArray[np.void], mark: Mark) -> npt.NDArray[np.float64]:
    """The clock at each of these marks."""
    clock_s: npt.NDArray[np.float64] = events["clock_s"][(events["kind"] == Kind.MARK) & (events["op"] == mark)]
    return clock_s
