"""Recordings of programs: run once on a neutral platform with the recorder loaded, then kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from apps.build import kernel_hash
from apps.catalog import app
from apps.errors import KernelError, SimulationError
from apps.launch import environment, launch, prepare, working_folder
from apps.process import Finished, run_bounded
from apps.recorder_library import check_recorded, recorder_hash, recorder_library
from apps.recording import Kind, Recording
from apps.s4u.engine import note_events
from apps.s4u.program import layer_hash
from apps.spec import RunSpec, Target, default_engine
from apps.store import Store
from apps.verdict import check_success, final_record
from apps.wording import number_of
from platforms.platform import Platform
from platforms.repairs import simgrid_identity
from platforms.scratch import scratch_folder
from platforms.simgrid import check_simgrid

NEUTRAL_SPEED_FLOPS = 1e9


def record_events(
    spec: RunSpec, iterations: int, *, store: Store | None = None, time_limit_s: float | None = None
) -> Recording:
    """What so many iterations of the spec's problem do, on so many ranks as its target has.

    Of the target only the number of ranks counts: the program runs on a platform of its own, one rank per host and
    hardly any network, kernels in mode skeleton.  Flops are those that the spec injects (its efficiency included).
    Kept in ``store``, and taken from there, unless computation is measured.

    The recording has so many iterations marked as are asked for.  For a program of the user's own it may have none, and
    is then of a full run: where the program has no iterations, or they can be told apart neither by its own marks nor
    by what repeats.

    Raises KernelError where the program refuses the problem or calls what a recording cannot represent, and
    SimulationError where the run does not succeed.
    """
    from apps.recording_io import from_bytes, to_bytes  # NumPy takes its time

    if spec.memory_bus is not None:
        problem = "recorded events say what is computed, not what is moved between cores and memory"
        raise KernelError(f"recording of {spec.target.problem}, --memory-bus", problem, "Leave it out")
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


def recording_identity(spec: RunSpec, iterations: int) -> dict[str, Any]:
    """What decides a recording: the program, what it is asked, the recorder and the simulator."""
    problem = spec.target.problem
    if problem.program is None:
        program: dict[str, Any] = {"kernel_hash": kernel_hash(app(problem.app)), "params": dict(problem.params)}
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
        "recorder_hash": layer_hash() if default_engine(problem) == "s4u" else recorder_hash(),
        "simgrid": simgrid_identity(),
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
    """One host of NEUTRAL_SPEED_FLOPS per rank, and a network that takes little time.

    Not the network `ideal`: SimGrid 3.32 crashes there when 32 ranks send to each other at once.
    """
    from platforms.grid import Grid, GridCluster, Wire
    from platforms.network import named_network
    from platforms.read import materialise

    node, backbone = Wire(1e11, 1e-6), Wire(1e14, 1e-6)
    cluster = GridCluster("c1", nranks, NEUTRAL_SPEED_FLOPS, node, backbone)
    return materialise(Grid(f"neutral{nranks}", "neutral", (cluster,), "mesh", (), named_network("ideal").options))


def _record(spec: RunSpec, iterations: int, time_limit_s: float | None) -> Recording:
    from apps.periodicity import marked_iterations, told_apart, with_marks, without_marks

    check_simgrid()
    plain = _on_neutral_platform(spec)
    recording = _record_once(plain, iterations, time_limit_s)
    problem = spec.target.problem
    if problem.program is None or (problem.iterative and marked_iterations(recording) == iterations):
        return recording
    unmarked = without_marks(recording)
    if not problem.iterative:
        return unmarked
    found = told_apart(unmarked, iterations)
    if found is not None:
        return with_marks(unmarked, found)
    full = spec.target.iterations
    return unmarked if iterations == full else without_marks(_record_once(plain, full, time_limit_s))


def _record_once(plain: RunSpec, iterations: int, time_limit_s: float | None) -> Recording:
    from apps.recording_io import without_clocks

    what = f"{plain.target.problem} on {number_of(plain.target.nranks, 'rank')}"
    return without_clocks(run_recorded(plain, iterations, what=what, time_limit_s=time_limit_s))


def run_recorded(spec: RunSpec, iterations: int, *, what: str, time_limit_s: float | None) -> Recording:
    """What every rank does when, in a run of so many iterations on the spec's own platform; ``what`` begins messages.

    Raises KernelError and SimulationError as a run does, and KernelError for a program that calls what the recorder
    does not know.
    """
    from apps.recording_io import Incomplete, read_events

    with scratch_folder("recording") as folder:
        notes = folder / "notes"
        notes.mkdir()
        if spec.engine == "s4u":
            done = note_events(spec, iterations, notes, time_limit_s=time_limit_s)
        else:
            done = _run_with_recorder(spec, iterations, what, folder, notes, time_limit_s)
        try:
            return read_events(notes, spec.target.nranks, measured=spec.compute == "measured")
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err


def _run_with_recorder(
    spec: RunSpec, iterations: int, what: str, folder: Path, notes: Path, time_limit_s: float | None
) -> Finished:
    """Runs it in ``folder``; what the ranks did is then in ``notes``."""
    started = launch(spec, iterations)
    settings = {"RECORDER_FOLDER": str(notes)}
    if spec.compute == "none":
        settings["RECORDER_COMPUTE"] = "none"
    done = run_bounded(
        prepare(spec, started, folder, recorder=recorder_library()),
        folder=folder,
        time_limit_s=time_limit_s,
        environment=environment(folder, **settings),
        working_folder=working_folder(folder) if started.finds_input else None,
    )
    check_recorded(done, what)
    if spec.target.problem.program is not None:
        check_success(done, what)
    elif "refused" in (output := final_record(done, what)):
        raise KernelError(what, output["refused"], "Choose other ranks or another class")
    return done


def _on_neutral_platform(spec: RunSpec) -> RunSpec:
    """The spec with nothing of its target but the problem and the number of ranks, and flops as they are counted."""
    platform = neutral_platform(spec.target.nranks)
    target = Target(spec.target.problem, platform, tuple(host.name for host in platform.hosts))
    if spec.compute == "measured":
        return RunSpec(target, compute="measured", host_speed_flops=spec.host_speed_flops)
    return RunSpec(target, engine=default_engine(target.problem))
