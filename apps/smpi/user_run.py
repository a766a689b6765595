"""Runs of the user's own programs, which print no record; the recorder loaded into them makes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.child.failure import check_recorded, failures_explained
from apps.child.process import LOG_LIMIT_BYTES, OUTPUT_LIMIT_BYTES, Finished, run_bounded
from apps.child.run_folder import environment, keep_output, working_folder
from apps.child.verdict import as_expected, check_success
from apps.errors import NoIterations, SimulationError, Unrecorded
from apps.recording.events import DATA_OPS, Kind, Mark, Op
from apps.recording.files import Incomplete, difference, no_moment, read_energies, read_events, read_moments
from apps.recording.fingerprints import (
    Cut,
    Fingerprints,
    cuts_at,
    fingerprints_of_calls,
    fingerprints_of_marks,
    read_calls,
)
from apps.recording.iterations import split_iterations
from apps.recording.recorder.library import recorder_library
from apps.recording.under_way import UnderWay, under_way
from apps.results.energy import counted
from apps.results.record import RunRecord, Timed, energy_fields
from apps.results.steady import Period
from apps.smpi.launch import (
    Launch,
    bus_settings,
    check_program,
    expected_status,
    launch,
    prepare,
    repeatable,
    replay_settings,
    run_inputs,
    timer_settings,
)
from apps.spec.choices import REPLAY
from apps.spec.run_spec import RunSpec
from platforms.addons import provided
from platforms.files.scratch import scratch_folder


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


_REMEDY = "Mark the iterations (docs/programs/own-program.md), or give --iterations full"


@dataclass(frozen=True)
class _Noted:
    """The recorder's notes of a run."""

    moments: Sequence[
        npt.NDArray[np.void]
    ]  # by rank: the marked moments, including the beginning and the end of the section
    timeline: Timeline | None  # None: no iterations were found or searched for
    energy: dict[str, Any] | None  # as written by the recorder; None: not measured


def run_user_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
    started: Launch | None = None,
) -> RunRecord:
    """Run the program with a number of iterations and return their record.

    ``started`` replaces the spec's own program; it must do and print the same.

    The timed section is that marked by the program, else everything between MPI_Init and MPI_Finalize.  Iterations are
    those marked by the program; if fewer than all are run, those that repeat in its events also count.  The record of a
    full run without marks has no iterations.

    Raises:
        KernelError: The program makes a call that SimGrid lacks.
        SimulationError: The run does not succeed; every rank must reach MPI_Finalize.
        NoIterations: Fewer iterations than all were requested, and they cannot be identified.
        Departed: The program behaves differently from the run in which its computation was timed.
        Stopped: ``stop`` was set.
    """
    what = str(spec.target)
    partial = iterations < spec.target.iterations
    energy = counted(spec.target.platform)
    started = started or launch(spec, iterations, energy=energy)
    with scratch_folder("smpi") as folder:
        notes = folder / "notes"
        notes.mkdir()
        work = working_folder(folder, started.files)
        done = run_bounded(
            prepare(spec, started, folder, recorder=recorder_library()),
            folder=folder,
            time_limit_s=time_limit_s,
            environment=environment(
                folder,
                **_recorder_settings(spec, notes, events=partial, energy=energy),
                **replay_settings(spec, iterations, folder),
                **bus_settings(spec),
                **timer_settings(spec, iterations),
            ),
            working_folder=work,
            stop=stop,
            output_limit_bytes=LOG_LIMIT_BYTES if spec.keep_output is None else OUTPUT_LIMIT_BYTES,
        )
        if spec.keep_output is not None:
            keep_output(spec.keep_output, done, work)
        check_program(spec)
        try:
            check_recorded(done, what)
        except Unrecorded as err:
            raise NoIterations(what, f"{err.problem}, so that its iterations cannot be identified", _REMEDY) from err
        with failures_explained(spec.target.changes, done):
            done = as_expected(done, expected_status(spec), what)
            check_success(done, what)
        try:
            noted = _read_notes(notes, spec, iterations, partial=partial, energy=energy)
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log, done.output) from err
        done = replace(done, inputs=run_inputs(notes, folder, work, started))
    if partial:
        _check_iterations_known(what, iterations, noted.timeline, hosts=spec.target.placement, energy=energy)
    return _record(spec, noted, identity=identity, done=done, started=started)


def _timed(spec: RunSpec) -> Timed | None:
    """Return the source of the run's measured computation; None: it has none."""
    if spec.compute != "measured":
        return None
    if spec.work is None:
        return Timed(replayed=False, spread_rel=0.0, kept=False)
    return Timed(replayed=True, spread_rel=spec.work.spread_rel, kept=spec.work.kept)


def _recorder_settings(spec: RunSpec, notes: Path, *, events: bool, energy: Sequence[str]) -> dict[str, str]:
    """Return the environment variables that select what the recorder writes, and where."""
    settings = {"RECORDER_FOLDER": str(notes), "RECORDER_EVENTS": "yes" if events else "no"}
    if events:
        settings["RECORDER_FLIGHTS"] = "yes"
    if spec.compute == "none":
        settings["RECORDER_COMPUTE"] = "none"
    if energy:
        settings["RECORDER_ENERGY"] = "+".join(energy)
    return settings


def _read_notes(notes: Path, spec: RunSpec, iterations: int, *, partial: bool, energy: Sequence[str]) -> _Noted:
    """Read the recorder's notes; raise Incomplete if those of a rank are missing."""
    moments = read_moments(notes, spec.target.nranks)
    timeline = marked_timeline(moments, iterations)
    consumed = json.loads((notes / "energy").read_bytes()) if energy else None
    if timeline is not None and partial:
        recording = read_events(notes, spec.target.nranks, measured=False)
        timeline = replace(timeline, under_way=under_way(notes, recording))
    elif partial:
        timeline = found_timeline(notes, spec, iterations, moments)
    return _Noted(moments, timeline, consumed)


def _check_iterations_known(
    what: str, iterations: int, timeline: Timeline | None, *, hosts: Sequence[str], energy: Sequence[str]
) -> None:
    """Raise NoIterations if the iterations, or their energy if it is measured, cannot be identified."""
    if timeline is None:
        raise NoIterations(what, f"{iterations} iterations of the program cannot be identified", _REMEDY)
    if not tells_energy(timeline, hosts, energy):
        raise NoIterations(what, "its iterations can be identified, but not their energy", _REMEDY)


def _record(spec: RunSpec, noted: _Noted, *, identity: dict[str, Any], done: Finished, started: Launch) -> RunRecord:
    """Return the record of a run from the recorder's notes."""
    timeline = noted.timeline
    whole = [difference(snapshots[0], snapshots[-1]) for snapshots in noted.moments]
    counts = counts_of(whole)
    each = counts_of([no_moment()] * len(whole) if timeline is None else timeline.each)
    elapsed_s = [float(change["clock_s"]) for change in whole]
    compute_s = [float(change["compute_s"]) for change in whole]
    program = spec.target.problem.program
    assert program is not None
    rank = None if program.timer is None else program.timer.rank
    time_s = max(elapsed_s) if rank is None else elapsed_s[rank]
    if program.timer is not None and spec.engine != REPLAY:  # a replay prints nothing
        provided("apps.programs.printed_time:checked")(
            program.time_from, f"{done.output}\n{done.log}", program.timer, time_s, str(spec.target)
        )
    return RunRecord(
        identity=identity,
        time_s=time_s,
        simulated_s=time_s,
        timed_rank=rank,
        compute_s=tuple(compute_s),
        comm_s=tuple(elapsed - compute for elapsed, compute in zip(elapsed_s, compute_s, strict=True)),
        flops=float(sum(counts["flops"])),
        rank_flops=counts["flops"],
        messages=counts["messages"],
        bytes=counts["bytes"],
        self_messages=counts["self_messages"],
        self_bytes=counts["self_bytes"],
        iteration_messages=each["messages"],
        iteration_bytes=each["bytes"],
        iteration_self_messages=each["self_messages"],
        iteration_self_bytes=each["self_bytes"],
        collectives=counts["collectives"],
        iteration_collectives=each["collectives"],
        iteration_flops=each["flops"],
        host=spec.target.placement,
        iteration_s=((),) * len(whole) if timeline is None else timeline.end_s,
        iteration_compute_s=((),) * len(whole) if timeline is None else timeline.compute_s,
        verified=None,
        checks={},
        wall_s=done.wall_s,
        timed_wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=repeatable(spec, started) if spec.memory_bus is None else (),  # smpirun alone has no memory bus
        inputs=done.inputs,
        look_s=tuple(float(change["polled_s"]) for change in whole),
        seen=None if timeline is None else Seen(timeline),
        timed=_timed(spec),
        **energy_fields(noted.energy, spec.target.platform, () if timeline is None else timeline.energy_j),
    )
