"""Iterations of a program's run: those marked by the program, or those that repeat in its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import DATA_OPS, Kind, Mark, Op
from apps.recording.files import difference, no_moment, read_energies, read_events
from apps.recording.fingerprints import (
    Cut,
    Fingerprints,
    cuts_at,
    fingerprints_of_calls,
    fingerprints_of_marks,
    read_calls,
)
from apps.recording.iterations import split_iterations
from apps.recording.under_way import UnderWay, under_way
from apps.results.steady.period import Period
from apps.spec.run_spec import RunSpec


@dataclass(frozen=True)
class Timeline:
    """The iterations of a run, by rank."""

    end_s: tuple[tuple[float, ...], ...]  # end of each iteration, from the start of the timed section
    compute_s: tuple[tuple[float, ...], ...]  # computation time of the rank until then
    energy_j: tuple[tuple[float, ...], ...]  # energy of the rank's host until then, as in IterationEnergy
    each: list[npt.NDArray[np.void]]  # counts of one iteration: the difference of two MOMENTs
    marked: bool  # whether the program marks its iterations
    counts: list[list[npt.NDArray[np.void]]]  # counts of each iteration: MOMENTs by rank
    fingerprints: Fingerprints | None  # None: the iterations have different numbers of calls
    cuts: tuple[Cut, ...] | None  # of the calls of each rank, for iterations that are not marked
    under_way: UnderWay | None = None  # None: not recorded


def marked_timeline(moments: Sequence[npt.NDArray[np.void]], iterations: int) -> Timeline | None:
    """Return the iterations marked by the program, or None if their number is not the requested one."""
    ends = [snapshots[snapshots["op"] == Mark.ITERATION] for snapshots in moments]
    if {len(end) for end in ends} != {iterations}:
        return None
    each = []
    for snapshots, end in zip(moments, ends, strict=True):
        first = snapshots[snapshots["op"] == Mark.FIRST_ITERATION]
        before = end[0] if iterations > 1 else first[0] if len(first) else snapshots[0]
        each.append(difference(before, end[min(1, iterations - 1)]))

    def since_start(name: str) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple((end[name] - snapshots[0][name]).tolist()) for snapshots, end in zip(moments, ends, strict=True)
        )

    return Timeline(
        since_start("clock_s"),
        since_start("compute_s"),
        since_start("energy_j"),
        each,
        marked=True,
        counts=[[difference(*pair) for pair in pairwise(end)] for end in ends],
        fingerprints=fingerprints_of_marks(moments),
        cuts=None,
    )


def found_timeline(
    notes: Path, spec: RunSpec, iterations: int, moments: Sequence[npt.NDArray[np.void]]
) -> Timeline | None:
    """Return the iterations that repeat in the events, or None."""
    recording = read_events(notes, spec.target.nranks, measured=spec.compute == "measured")
    iterations_found = split_iterations(recording, iterations)
    if iterations_found is None:
        return None
    energies = read_energies(notes, recording)
    end_s, compute_s, energy_j, each, counts = [], [], [], [], []
    for rank, (events, starts) in enumerate(zip(recording.events, iterations_found.starts, strict=True)):
        ends = starts[1:]
        begin = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.START))[0]
        end_s.append(tuple((events["clock_s"][ends] - events["clock_s"][begin]).tolist()))
        # The amount of a COMPUTE event is its own; the event before it has the computation time of the rank so far.
        tells = ~np.isin(events["kind"], (Kind.COMPUTE, Kind.ELAPSE))
        so_far = np.maximum.accumulate(np.where(tells, np.arange(len(events)), 0))[ends]
        compute_s.append(tuple((events["amount"][so_far] - events["amount"][begin]).tolist()))
        known = len(energies[rank]) and all(before < after for before, after in pairwise((0.0, *compute_s[-1])))
        energy_j.append(tuple((energies[rank][so_far] - energies[rank][begin]).tolist()) if known else ())
        each.append(_summed(events[starts[-2] : starts[-1]], rank, recording.communicators))
        counts.append(
            [_summed(events[start:next], rank, recording.communicators) for start, next in pairwise(starts[1:])]
        )
    cuts = cuts_at(notes, recording, iterations_found)
    return Timeline(
        tuple(end_s),
        tuple(compute_s),
        tuple(energy_j),
        each,
        marked=False,
        counts=counts,
        fingerprints=None if cuts is None else fingerprints_of_calls(read_calls(notes, len(cuts)), cuts, moments),
        cuts=cuts,
        under_way=under_way(notes, recording, iterations_found.starts),
    )


class Seen:
    """Notes of the recorder about the iterations of a shortened run."""

    def __init__(self, timeline: Timeline) -> None:
        self.marked = timeline.marked
        self.fingerprints = timeline.fingerprints
        self.cuts = timeline.cuts
        self._counts = timeline.counts
        self._under_way = timeline.under_way

    def drift_rel(self, period: Period, start: int) -> float:
        """Return ``UnderWay.drift_rel``."""
        return 0.0 if self._under_way is None else self._under_way.drift_rel(period, start)

    def advance(self, period: int) -> dict[str, Any]:
        """Return the counts of ``period`` iterations before the last one, as in RunRecord."""
        return counts_of([total(count[-1 - period : -1]) for count in self._counts])


def counts_of(moments: Sequence[npt.NDArray[np.void]]) -> dict[str, Any]:
    """Return these counts of every rank, as in RunRecord; flops are those of each rank."""
    return {
        **{name: tuple(int(snapshot[name]) for snapshot in moments) for name in _COUNTED},
        "flops": tuple(float(snapshot["flops"]) for snapshot in moments),
        "collectives": {
            op.name.lower(): {
                "calls": int(max(snapshot["calls"][op] for snapshot in moments)),
                "bytes": [int(snapshot["call_bytes"][op]) for snapshot in moments],
            }
            for op in DATA_OPS
            if any(snapshot["calls"][op] for snapshot in moments)
        },
    }


_COUNTED = ("messages", "bytes", "self_messages", "self_bytes")


def total(moments: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Return the sum of these counts, as a MOMENT without times."""
    made = no_moment()
    for name in (*_COUNTED, "flops", "calls", "call_bytes"):
        made[name] = sum((snapshot[name] for snapshot in moments), made[name])
    return made


def tells_energy(timeline: Timeline, hosts: Sequence[str], energy: Sequence[str]) -> bool:
    """Return whether the energy of each iteration is known.

    If the program does not mark iterations, a host's energy is known if one of its ranks computes in each of them, or
    none of its ranks ever computes; a link's energy is never known.
    """
    if timeline.marked:
        return True
    known = {host for host, row in zip(hosts, timeline.energy_j, strict=True) if row}
    computing = {host for host, row in zip(hosts, timeline.compute_s, strict=True) if row[-1] > 0}
    return "links" not in energy and ("hosts" not in energy or computing <= known)


def _summed(events: npt.NDArray[np.void], rank: int, communicators: Sequence[Sequence[int]]) -> npt.NDArray[np.void]:
    """Sum up these events as a MOMENT without times."""
    made = no_moment()
    sends = events[events["kind"] == Kind.SEND]
    to_itself = sends[sends["peer"] == rank]
    made["flops"] = events["amount"][events["kind"] == Kind.COMPUTE].sum()
    made["messages"], made["bytes"] = len(sends), sends["size_bytes"].sum()
    made["self_messages"], made["self_bytes"] = len(to_itself), to_itself["size_bytes"].sum()
    for event in events[events["kind"] == Kind.COLLECTIVE]:
        blocks = len(communicators[event["comm"]]) if event["op"] == Op.ALLTOALL else 1
        made["calls"][event["op"]] += 1
        made["call_bytes"][event["op"]] += blocks * event["size_bytes"]
    return made
