"""Activities of the ranks in a run on its own platform, with the messages between them.

The run is repeated with the recorder loaded, which takes no simulated time (apps/timelines/timeline.py).  All calls of
MPI that begin at the same moment are one activity, because only the last of them takes time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from apps.recording.events import Kind, Mark, Op
from apps.recording.iterations import marked_iterations
from apps.runs.recorded_run import run_recorded
from apps.timelines.timeline import marks_s, with_iterations

if TYPE_CHECKING:
    import numpy.typing as npt

    from apps.recording.events import Recording
    from apps.results.record import RunRecord
    from apps.spec.run_spec import RunSpec

COMPUTATION, SEND, RECEIVE, SEND_AND_RECEIVE, PROBE, OTHER = range(6)
FIRST_COLLECTIVE = 6  # plus the Op
# Names by number.  "other": the time of calls that neither compute nor communicate, such as MPI_Wtime.  "waiting" (for
# another process) and "disk" are separate only if a model distinguishes them.
NAMES = (
    *("computation", "send", "receive", "send and receive", "probe", "other"),
    *(op.name.lower() for op in Op),
    *("waiting", "disk"),
)
WAITING, DISK = len(NAMES) - 2, len(NAMES) - 1


@dataclass(frozen=True, eq=False)
class RankActivities:
    """The activities of a rank in its timed section, without gaps.  Times are s since the first rank's start."""

    begin_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]  # > begin_s
    activity: npt.NDArray[np.int64]  # indices into NAMES
    iteration_s: npt.NDArray[np.float64]  # start of the first iteration and the end of each; empty: none are known


@dataclass(frozen=True, eq=False)
class Messages:
    """The messages that are sent and received in the timed sections of their ranks, in the order of ``sent_s``."""

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    tag: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    sent_s: npt.NDArray[np.float64]  # moment at which the sender begins to send it
    received_s: npt.NDArray[np.float64]  # end of the call that completes its receive


@dataclass(frozen=True, eq=False)
class Activities:
    """The activities of all ranks."""

    what: str  # the run, in words
    hosts: tuple[str, ...]  # by rank
    clusters: tuple[str, ...]  # by rank
    iterations: int  # of the whole run
    simulated: int  # iterations among them that were simulated and are here; equal: the whole run is
    ranks: tuple[RankActivities, ...]
    messages: Messages
    made: str = "simulated"  # how the iterations came about, in a word

    @property
    def known_iterations(self) -> int:
        """Number of iterations whose moments are known."""
        return max(0, max(len(rank.iteration_s) for rank in self.ranks) - 1)

    @property
    def scope(self) -> str:
        """The part of the run that is here, in words."""
        if self.simulated == self.iterations:
            return "the whole run"
        return f"the {self.simulated} of {self.iterations} iterations that were {self.made}"


def record_activities(spec: RunSpec, record: RunRecord, *, time_limit_s: float | None = None) -> Activities:
    """Simulate once more the iterations that were simulated for the record of this spec, and return their activities.

    Raises:
        KernelError: The program refuses the problem, or calls a function that the recorder does not know.
        SimulationError: The run does not succeed.
    """
    target, how = spec.target, record.extrapolation
    simulated = spec.full_iterations if how is None else how.simulated
    recording = run_recorded(spec, simulated, what=str(target), time_limit_s=time_limit_s)
    start_s = min(marks_s(events, Mark.START)[0] for events in recording.events)
    problem = target.problem
    ended = marked_iterations(recording) or simulated  # a program may end itself before
    marked, iterations = with_iterations(recording, ended) if problem.iterative else (recording, 0)
    none = np.empty(0)
    return Activities(
        what=str(target),
        hosts=target.placement,
        clusters=tuple(target.platform.cluster_of(host).name for host in target.placement),
        iterations=ended if how is None else how.iterations,
        simulated=ended,
        ranks=tuple(
            _rank(events, start_s, _iteration_s(section) - start_s if iterations else none)
            for events, section in zip(recording.events, marked.events, strict=True)
        ),
        messages=_messages(recording, start_s),
    )


def _iteration_s(events: npt.NDArray[np.void]) -> npt.NDArray[np.float64]:
    """Return the start of the first iteration and the end of each, s on the recording's clock."""
    first_s = [*marks_s(events, Mark.FIRST_ITERATION), marks_s(events, Mark.START)[0]][0]
    return np.array([first_s, *marks_s(events, Mark.ITERATION)])


def _rank(events: npt.NDArray[np.void], start_s: float, iteration_s: npt.NDArray[np.float64]) -> RankActivities:
    first, last = (np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark))[0] for mark in _ENDS)
    clock_s = events["clock_s"][first : last + 1] - start_s
    takes_time = np.flatnonzero(np.diff(clock_s) > 0)
    return RankActivities(
        begin_s=clock_s[takes_time],
        end_s=clock_s[takes_time + 1],
        activity=_activity(events)[first:last][takes_time],
        iteration_s=iteration_s,
    )


_ENDS = (Mark.START, Mark.STOP)


def _activity(events: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return what the rank does from each event to the next, as indices into NAMES."""
    lookup = np.full(256, OTHER)
    lookup[[Kind.COMPUTE, Kind.SEND, Kind.RECV, Kind.PROBE]] = COMPUTATION, SEND, RECEIVE, PROBE
    lookup[Kind.ELAPSE] = COMPUTATION
    activity: npt.NDArray[np.int64] = lookup[events["kind"]]
    collective = events["kind"] == Kind.COLLECTIVE
    activity[collective] = FIRST_COLLECTIVE + events["op"][collective].astype(np.int64)
    waits = np.flatnonzero(events["kind"] == Kind.WAIT)
    if not len(waits):
        return activity
    operations = np.flatnonzero((events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV))
    sends = np.zeros(int(events["request"].max()) + 1, bool)
    sends[events["request"][operations]] = events["kind"][operations] == Kind.SEND
    moment = np.append(0, np.cumsum(np.diff(events["clock_s"]) > 0))  # number of the distinct time of each event
    waited = np.zeros((2, moment[-1] + 1), bool)
    waited[sends[events["request"][waits]].astype(np.int64), moment[waits]] = True
    receives, sent = waited[:, moment[waits]]
    activity[waits] = np.where(receives & sent, SEND_AND_RECEIVE, np.where(sent, SEND, RECEIVE))
    return activity


def _messages(recording: Recording, start_s: float) -> Messages:
    key = ["source", "target", "comm", "tag", "place"]
    sends, receives = [], []
    for rank, events in enumerate(recording.events):
        clock_s, kind = events["clock_s"], events["kind"]
        inside = (clock_s >= marks_s(events, Mark.START)[0]) & (clock_s <= marks_s(events, Mark.STOP)[0])
        columns = ["peer", "comm", "tag", "size_bytes", "request", "clock_s"]
        table = pd.DataFrame({name: events[name] for name in columns}).assign(inside=inside)
        sends.append(table[kind == Kind.SEND].assign(source=rank).rename(columns={"peer": "target"}))
        waits = pd.DataFrame({"request": events["request"], "received_s": _later(clock_s)})[kind == Kind.WAIT]
        waits = waits.drop_duplicates("request")
        receiving = table[kind == Kind.RECV].assign(target=rank).rename(columns={"peer": "source", "inside": "arrives"})
        receives.append(
            receiving.merge(waits, on="request")[["source", "target", "comm", "tag", "received_s", "arrives"]]
        )
    sent, received = pd.concat(sends, ignore_index=True), pd.concat(receives, ignore_index=True)
    for table in (sent, received):  # MPI keeps the order of messages of the same ranks, tag and communicator
        table["place"] = table.groupby(key[:-1]).cumcount()
    both = sent.merge(received, on=key)
    both = both[both["inside"] & both["arrives"]].sort_values("clock_s", kind="stable")
    whole = {name: both[name].to_numpy() for name in ("source", "target", "tag", "size_bytes")}
    return Messages(**whole, sent_s=both["clock_s"].to_numpy() - start_s,
                    received_s=both["received_s"].to_numpy() - start_s)  # fmt: skip


def _later(clock_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the next larger time for each of these ascending times; the last time for those that have none."""
    place = np.searchsorted(clock_s, clock_s, side="right")
    later_s: npt.NDArray[np.float64] = clock_s[np.minimum(place, len(clock_s) - 1)]
    return later_s
