"""Recordings of programs that SimGrid cannot run, made under this computer's own MPI."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from apps.errors import Stopped
from apps.machines.machine_platform import HOST, machine_platform, this_computer
from apps.recording.events import EVENT, Kind, Recording
from apps.recording.work import STEP, Repeat, measured_work
from apps.results.inputs import Inputs
from apps.runs.engines import engine_named
from apps.runs.neutral import recording_identity
from apps.runs.recorded_run import run_recorded, undated
from apps.spec.choices import MACHINE
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.terminal.progress import doing

# Fields in which equal calls agree.  Tags are not among them: mpi4py numbers the messages of its reductions by them.
_TELLING = ("kind", "mode", "op", "comm", "peer", "size_bytes")


def smoothed(recording: Recording, speed_flops: float, iterations: int, *, shared: bool = False) -> Recording:
    """Return a recording with medians as computation times if the calls around them repeat, with their possible error.

    Args:
        recording: A recording of a run of ``iterations`` iterations.
        speed_flops: The speed that converted its seconds to flops.
        iterations: Number of iterations; 1: the program has none.
        shared: Ranks shared cores, and so caches.
    """
    measured = [_steps(events, speed_flops) for events in recording.events]
    work = measured_work(measured, iterations, simulated=False, shared=shared)
    events = tuple(
        _with_times(events, steps["time_s"] * speed_flops)
        for events, steps in zip(recording.events, work.steps, strict=True)
    )
    apart = [_apart_rel(*each) for each in zip(measured, work.steps, work.repeats, strict=True)]
    return replace(recording, events=events, spread_rel=max(work.spread_rel, *apart))


def _apart_rel(measured: npt.NDArray[np.void], kept: npt.NDArray[np.void], repeat: Repeat) -> float:
    """Return how far a rank's computation is from its medians, if it was kept because its iterations differ.

    Either the program or other load on this computer may be the reason.
    """
    total_s = float(measured["time_s"].sum())
    if not repeat.count or total_s <= 0 or not np.array_equal(measured["time_s"], kept["time_s"]):
        return 0.0
    table = measured["time_s"][repeat.first : repeat.first + repeat.count * repeat.lag].reshape(repeat.count, -1)
    return abs(float(table.sum() - repeat.count * np.median(table, axis=0).sum())) / total_s


def _calls(events: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    calls: npt.NDArray[np.void] = events[events["kind"] != Kind.COMPUTE]
    return calls


def _steps(events: npt.NDArray[np.void], speed_flops: float) -> npt.NDArray[np.void]:
    """Return the computation before each call, and a hash of the call and the one before it: dtype STEP."""
    computes = events["kind"] == Kind.COMPUTE
    so_far = np.cumsum(np.where(computes, events["amount"], 0.0))[~computes]
    calls = _calls(events)
    call = np.zeros(len(calls), np.uint64)
    for name in _TELLING:
        call = _mixed(call ^ calls[name].astype(np.int64).view(np.uint64))
    steps = np.zeros(len(calls), STEP)
    steps["time_s"] = np.diff(so_far, prepend=0.0) / speed_flops
    steps["check"] = _mixed(np.concatenate([call[:1], call[:-1]]) ^ np.uint64(1)) ^ call
    return steps


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a hash of each value (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _with_times(events: npt.NDArray[np.void], flops: npt.NDArray[np.float64]) -> npt.NDArray[np.void]:
    """Return the calls with these computations before them."""
    calls = _calls(events)
    before = np.flatnonzero(flops > 0)
    computes = np.zeros(len(before), EVENT)
    computes["kind"], computes["amount"] = Kind.COMPUTE, flops[before]
    for name in ("comm", "peer", "tag", "request"):
        computes[name] = -1
    made: npt.NDArray[np.void] = np.insert(calls, before, computes)
    return made


_KEPT = 4  # recordings in memory
_STEP_S = 0.2
_WAITING = ("MPI_Probe",)  # looks under SMPI alone: a real MPI waits in it
_lock = threading.Lock()
_recordings: OrderedDict[str, tuple[Recording, Inputs | None]] = OrderedDict()  # the latest, by identity


def native_recording(
    spec: RunSpec,
    *,
    store: Store | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> tuple[Recording, Inputs | None]:
    """Return the recording of a full run of the spec's program under its own MPI, and what that run has read.

    The program runs once, with as many ranks as the target has; the recording is taken from ``store`` and kept there.
    All that this process asks for are one recording, so that a replay and a prediction have the same computation.
    Where calls repeat, their computation is the median (apps/replay/native_recording.py).

    Raises:
        KernelError: There are too many ranks for this computer, or the program makes calls that a recording cannot
            represent.
        SimulationError: The run does not succeed.
        UserError: The launcher or the compiler of the program's MPI is missing.
        Stopped: ``stop`` was set.
    """
    identity = recording_identity(spec, spec.target.iterations)
    key = identity_hash(identity)
    with _turn(stop):
        if key in _recordings and (read := _recordings[key][1]) is not None and read.changed() is not None:
            del _recordings[key]
        if key not in _recordings:
            _recordings[key] = _of_store(store, identity, spec.target.nranks) or _made(spec, time_limit_s, stop)
            if len(_recordings) > _KEPT:
                _recordings.popitem(last=False)
        _recordings.move_to_end(key)
        recording, inputs = _recordings[key]
        if store is not None and not store.unchanged("recording", identity):
            from apps.recording.files import to_bytes  # imported here because NumPy is slow to import

            events, kept = sum(map(len, recording.events)), replace(recording, replayed=True)
            # The archive does not hold cautions, so that a recording with any is not kept.
            if not recording.cautions and store.put_bytes(
                "recording", identity, to_bytes(kept), inputs=inputs, summary=f"{events} events"
            ):
                recording = kept
                _recordings[key] = recording, inputs
    return recording, inputs


@contextmanager
def _turn(stop: threading.Event | None) -> Iterator[None]:
    """Wait until no other thread records."""
    while not _lock.acquire(timeout=_STEP_S):
        if stop is not None and stop.is_set():
            raise Stopped("not recorded, because its runner was closed")
    try:
        yield
    finally:
        _lock.release()


def _of_store(store: Store | None, identity: dict[str, object], nranks: int) -> tuple[Recording, Inputs | None] | None:
    """Return a stored recording that may be used again; None: there is none."""
    if store is None or not store.unchanged("recording", identity):
        return None
    from apps.recording.files import from_bytes  # imported here because NumPy is slow to import

    known = store.get_bytes("recording", identity)
    if known is None:
        return None
    try:
        return from_bytes(known, nranks=nranks), store.inputs("recording", identity)
    except ValueError as err:
        store.refuse("recording", identity_hash(identity), str(err))
        return None


def on_this_computer(spec: RunSpec, time_limit_s: float | None) -> RunSpec:
    """Return the spec's program on as many ranks under this computer's own MPI."""
    problem, nranks = spec.target.problem, spec.target.nranks
    assert problem.program is not None  # the spec's engine is for such programs
    assert spec.host_speed_flops is not None  # Settings has given it
    machine = this_computer(problem.program, nranks, speed_flops=spec.host_speed_flops, wall_s=time_limit_s)
    target = Target(problem, machine_platform(machine), (HOST,) * nranks)
    return RunSpec(target, engine=MACHINE, machine=machine, repeats=1)


def _made(spec: RunSpec, time_limit_s: float | None, stop: threading.Event | None) -> tuple[Recording, Inputs | None]:
    """Run the program, and return its recording without dates, and its inputs."""
    # Imported here because it is slow to import.
    from apps.recording.iterations import without_marks

    here = on_this_computer(spec, time_limit_s)
    target, nranks = here.target, here.target.nranks
    program = target.problem.program
    assert program is not None and program.native is not None and spec.host_speed_flops is not None
    engine_named(MACHINE)  # refused before anything is said
    read: list[Inputs | None] = []
    what = f"{target.problem.on(nranks)} under {program.native.family.name}"
    with doing(f"running {what}, to record it"):
        recording = run_recorded(here, target.iterations, what=what, time_limit_s=time_limit_s, read=read, stop=stop)
    recording = replace(without_marks(undated(recording)), measured=True)
    looks = () if read[0] is None else tuple(name for name in read[0].polls if name not in _WAITING)
    if looks:
        said = f"the program polls for messages with {looks[0]}: the time between two polls counts as computation"
        recording = replace(recording, cautions=(said,))
    shared = nranks > (os.cpu_count() or 1)
    return smoothed(recording, spec.host_speed_flops, target.iterations, shared=shared), read[0]
