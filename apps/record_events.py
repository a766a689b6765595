"""Recordings of programs: run once on a neutral platform with the recorder loaded, then kept."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from apps.build import kernel_hash
from apps.catalog import app
from apps.errors import KernelError, SimulationError
from apps.launch import environment, launch, prepare
from apps.periodicity import find_iterations, marked_iterations, with_marks
from apps.process import run_bounded
from apps.recorder_library import check_recorded, recorder_hash, recorder_library
from apps.recording import Kind, Recording
from apps.recording_io import Incomplete, from_bytes, read_events, to_bytes, without_clocks
from apps.spec import RunSpec, Target
from apps.store import Store
from apps.verdict import check_success, final_record
from platforms.platform import Platform
from platforms.simgrid import check_simgrid, simgrid_version

NEUTRAL_SPEED_FLOPS = 1e9


def record_events(
    spec: RunSpec, iterations: int, *, store: Store | None = None, time_limit_s: float | None = None
) -> Recording:
    """What so many iterations of the spec's problem do, on so many ranks as its target has.

    Of the target only the number of ranks counts: the program runs on a platform of its own, one rank per host and
    hardly any network, kernels in mode skeleton.  Flops are those that the spec injects (its efficiency included).
    Where a program of the user's own marks no iterations, those that can be found are marked.  Kept in ``store``, and
    taken from there, unless computation is measured.

    Raises KernelError where the program refuses the problem or calls what a recording cannot represent, and
    SimulationError where the run does not succeed.
    """
    kept = None if spec.compute == "measured" else store
    identity = recording_identity(spec, iterations)
    known = None if kept is None else kept.get_bytes("trace", identity)
    if known is not None:
        return scaled(from_bytes(known), spec.flop_scale)
    recording = _record(spec, iterations, time_limit_s)
    if kept is not None:
        events = sum(map(len, recording.events))
        kept.put_bytes("trace", identity, to_bytes(recording), summary=f"{events} events")
    return scaled(recording, spec.flop_scale)


def recording_identity(spec: RunSpec, iterations: int) -> dict:
    """What decides a recording: the program, what it is asked, the recorder and the simulator."""
    problem = spec.target.problem
    if problem.program is None:
        program = {"kernel_hash": kernel_hash(app(problem.app)), "params": dict(problem.params)}
    else:
        program = {
            "kernel_hash": problem.program.content_hash,
            "arguments": list(problem.program.arguments),
            "full_iterations": problem.program.iterations,
            "host_speed_flops": spec.host_speed_flops,
        }
    return {
        **program,
        "app": problem.app,
        "class": problem.preset,
        "iterations": iterations,
        "ranks": spec.target.nranks,
        "recorder_hash": recorder_hash(),
        "simgrid": simgrid_version(),
    }


def scaled(recording: Recording, flop_scale: float) -> Recording:
    """With so many times the flops; without computation for 0."""
    if flop_scale == 1:
        return recording
    events = tuple(one.copy() for one in recording.events)
    for one in events:
        one["amount"][one["kind"] == Kind.COMPUTE] *= flop_scale
    if flop_scale == 0:
        events = tuple(one[one["kind"] != Kind.COMPUTE] for one in events)
    return replace(recording, events=events)


def neutral_platform(nranks: int) -> Platform:
    """One host of NEUTRAL_SPEED_FLOPS per rank, and a network that takes next to no time."""
    from platforms.read import materialise
    from platforms.scenario import named_grid

    return materialise(named_grid(f"grid1x{nranks}", "ideal", [NEUTRAL_SPEED_FLOPS]))


def _record(spec: RunSpec, iterations: int, time_limit_s: float | None) -> Recording:
    check_simgrid()
    plain = _on_neutral_platform(spec)
    target = plain.target
    what = f"{target.problem} on {target.nranks} ranks"
    with tempfile.TemporaryDirectory(prefix="recording-") as name:
        folder, notes = Path(name), Path(name) / "notes"
        notes.mkdir()
        started = launch(plain, iterations)
        done = run_bounded(
            prepare(plain, started, folder, recorder=recorder_library()),
            folder=folder,
            time_limit_s=time_limit_s,
            environment=environment(folder, RECORDER_FOLDER=str(notes)),
            working_folder=started.working_folder,
        )
        check_recorded(done, what)
        if target.problem.program is not None:
            check_success(done, what)
        elif "refused" in (output := final_record(done, what)):
            raise KernelError(what, output["refused"], "Choose other ranks or another class")
        try:
            recording = without_clocks(read_events(notes, target.nranks, measured=plain.compute == "measured"))
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err
    if target.problem.program is None or marked_iterations(recording):
        return recording
    found = find_iterations(recording)
    return recording if found is None else with_marks(recording, found)


def _on_neutral_platform(spec: RunSpec) -> RunSpec:
    """The spec with nothing of its target but the problem and the number of ranks, and flops as they are counted."""
    platform = neutral_platform(spec.target.nranks)
    target = Target(spec.target.problem, platform, tuple(host.name for host in platform.hosts))
    if spec.compute == "measured":
        return RunSpec(target, compute="measured", host_speed_flops=spec.host_speed_flops)
    return RunSpec(target)
