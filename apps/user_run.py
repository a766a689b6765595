"""Runs of programs of the user's own.  They print no record, so the recorder, loaded into them, tells what they did."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.energy import counted
from apps.errors import NoIterations, SimulationError
from apps.launch import environment, launch, prepare, repeatable, working_folder
from apps.outages import failures_explained
from apps.periodicity import told_apart
from apps.process import LOG_LIMIT_BYTES, run_bounded
from apps.record import RunRecord, energy_fields
from apps.recorder_library import check_recorded, recorder_library
from apps.recording import Kind, Mark, Op
from apps.recording_io import MOMENT, Incomplete, read_energies, read_events, read_moments
from apps.spec import RunSpec
from apps.verdict import check_success
from apps.wording import number_of
from platforms.scratch import scratch_folder


def run_user_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunRecord:
    """Runs the program with so many iterations and returns the record of them.

    The timed section is what the program marks, else all between MPI_Init and MPI_Finalize.  Iterations are those that
    it marks; for fewer than all, else those that repeat in its events.  A full run that marks none has none in its
    record.  Raises SimulationError for a run that does not succeed, which includes reaching MPI_Finalize on every rank,
    KernelError for a call that cannot be recorded, NoIterations, and Stopped once ``stop`` is set.
    """
    problem = spec.target.problem
    what = f"{problem} on {spec.target.platform.name}, {number_of(spec.target.nranks, 'rank')}"
    partial = iterations < spec.target.iterations
    energy = counted(spec.target.platform)
    started = launch(spec, iterations, energy=energy)
    with scratch_folder("smpi") as folder:
        notes = folder / "notes"
        notes.mkdir()
        command = prepare(spec, started, folder, recorder=recorder_library())
        settings = {"RECORDER_FOLDER": str(notes), "RECORDER_EVENTS": "yes" if partial else "no"}
        if spec.compute == "none":
            settings["RECORDER_COMPUTE"] = "none"
        if energy:
            settings["RECORDER_ENERGY"] = "+".join(energy)
        done = run_bounded(
            command,
            folder=folder,
            time_limit_s=time_limit_s,
            environment=environment(folder, **settings),
            working_folder=working_folder(folder),
            stop=stop,
            output_limit_bytes=LOG_LIMIT_BYTES,
        )
        check_recorded(done, what)
        with failures_explained(spec.target, done):
            check_success(done, what)
        try:
            moments = read_moments(notes, spec.target.nranks)
            timeline = _marked(moments, iterations)
            consumed = json.loads((notes / "energy").read_bytes()) if energy else None
            if timeline is None and partial:
                timeline = _found(notes, spec, iterations)
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err
    if partial and timeline is None:
        raise NoIterations(
            what,
            f"{iterations} iterations of the program cannot be told apart",
            "Mark them (docs/programs/own-program.md), or give --iterations full",
        )
    if partial and timeline is not None and not _tells_energy(timeline, spec.target.placement, energy):
        raise NoIterations(
            what,
            "its iterations can be told apart, but not what they consume",
            "Mark them (docs/programs/own-program.md), or give --iterations full",
        )
    whole = [_between(one[0], one[-1]) for one in moments]
    each = [_nothing()] * len(whole) if timeline is None else timeline.each
    elapsed_s = [float(one["clock_s"]) for one in whole]
    compute_s = [float(one["compute_s"]) for one in whole]
    return RunRecord(
        identity=identity,
        time_s=max(elapsed_s),
        simulated_s=max(elapsed_s),
        compute_s=tuple(compute_s),
        comm_s=tuple(elapsed - compute for elapsed, compute in zip(elapsed_s, compute_s, strict=True)),
        flops=float(sum(one["flops"] for one in whole)),
        rank_flops=tuple(float(one["flops"]) for one in whole),
        messages=_counts(whole, "messages"),
        bytes=_counts(whole, "bytes"),
        self_messages=_counts(whole, "self_messages"),
        self_bytes=_counts(whole, "self_bytes"),
        iteration_messages=_counts(each, "messages"),
        iteration_bytes=_counts(each, "bytes"),
        iteration_self_messages=_counts(each, "self_messages"),
        iteration_self_bytes=_counts(each, "self_bytes"),
        collectives=_collectives(whole),
        iteration_collectives=_collectives(each),
        iteration_flops=tuple(float(one["flops"]) for one in each),
        host=spec.target.placement,
        iteration_s=((),) * len(whole) if timeline is None else timeline.end_s,
        iteration_compute_s=((),) * len(whole) if timeline is None else timeline.compute_s,
        verified=None,
        checks={},
        wall_s=done.wall_s,
        timed_wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=repeatable(spec, started),
        **energy_fields(consumed, spec.target.platform, () if timeline is None else timeline.energy_j),
    )


_COUNTED = ("messages", "bytes", "self_messages", "self_bytes")


@dataclass(frozen=True)
class _Timeline:
    """The iterations of a run, by rank: when each ended and how long the rank had computed by then, s from the start of
    the timed section; what the rank's host had consumed, as in IterationEnergy; and what one iteration did (a MOMENT
    that is a difference)."""

    end_s: tuple[tuple[float, ...], ...]
    compute_s: tuple[tuple[float, ...], ...]
    energy_j: tuple[tuple[float, ...], ...]
    each: list[npt.NDArray[np.void]]
    marked: bool  # by the program


def _marked(moments: Sequence[npt.NDArray[np.void]], iterations: int) -> _Timeline | None:
    """The iterations as the program marks them; None if it does not, or another number of them than it was asked."""
    ends = [one[one["op"] == Mark.ITERATION] for one in moments]
    if {len(end) for end in ends} != {iterations}:
        return None
    each = []
    for one, end in zip(moments, ends, strict=True):
        first = one[one["op"] == Mark.FIRST_ITERATION]
        before = end[0] if iterations > 1 else first[0] if len(first) else one[0]
        each.append(_between(before, end[min(1, iterations - 1)]))

    def since_start(name: str) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple((end[name] - one[0][name]).tolist()) for one, end in zip(moments, ends, strict=True))

    return _Timeline(since_start("clock_s"), since_start("compute_s"), since_start("energy_j"), each, marked=True)


def _found(notes: Path, spec: RunSpec, iterations: int) -> _Timeline | None:
    """The iterations as they repeat in the events."""
    recording = read_events(notes, spec.target.nranks, measured=spec.compute == "measured")
    found = told_apart(recording, iterations)
    if found is None:
        return None
    energies = read_energies(notes, recording)
    end_s, compute_s, energy_j, each = [], [], [], []
    for rank, (events, starts) in enumerate(zip(recording.events, found.starts, strict=True)):
        ends = starts[1:]
        begin = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.START))[0]
        end_s.append(tuple((events["clock_s"][ends] - events["clock_s"][begin]).tolist()))
        # A COMPUTE has its flops there; what precedes it says how long the rank had computed until then.
        so_far = np.where(events["kind"][ends] == Kind.COMPUTE, ends - 1, ends)
        compute_s.append(tuple((events["amount"][so_far] - events["amount"][begin]).tolist()))
        known = len(energies[rank]) and all(before < after for before, after in pairwise((0.0, *compute_s[-1])))
        energy_j.append(tuple((energies[rank][so_far] - energies[rank][begin]).tolist()) if known else ())
        each.append(_summed(events[starts[-2] : starts[-1]], rank, recording.communicators))
    return _Timeline(tuple(end_s), tuple(compute_s), tuple(energy_j), each, marked=False)


def _tells_energy(timeline: _Timeline, hosts: Sequence[str], energy: Sequence[str]) -> bool:
    """Whether it is known what iterations consume.

    In those that the program does not mark, that of a host is known if one of its ranks computes in each of them, or
    none ever does; that of a link never is.
    """
    if timeline.marked:
        return True
    known = {host for host, row in zip(hosts, timeline.energy_j, strict=True) if row}
    computing = {host for host, row in zip(hosts, timeline.compute_s, strict=True) if row[-1] > 0}
    return "links" not in energy and ("hosts" not in energy or computing <= known)


def _summed(events: npt.NDArray[np.void], rank: int, communicators: Sequence[Sequence[int]]) -> npt.NDArray[np.void]:
    """What these events are, as a MOMENT without times."""
    made = _nothing()
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


def _nothing() -> npt.NDArray[np.void]:
    return np.zeros((), MOMENT)


def _between(before: np.void, after: np.void) -> npt.NDArray[np.void]:
    made = _nothing()
    for name in MOMENT.fields or ():
        made[name] = after[name] - before[name]
    return made


def _counts(moments: Sequence[npt.NDArray[np.void]], name: str) -> tuple[int, ...]:
    return tuple(int(one[name]) for one in moments)


def _collectives(moments: Sequence[npt.NDArray[np.void]]) -> dict[str, Any]:
    """As RunRecord.collectives has them; calls are those of the rank that makes most."""
    return {
        op.name.lower(): {
            "calls": int(max(one["calls"][op] for one in moments)),
            "bytes": [int(one["call_bytes"][op]) for one in moments],
        }
        for op in Op
        if any(one["calls"][op] for one in moments)
    }
