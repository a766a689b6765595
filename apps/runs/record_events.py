"""Recordings of programs, made by one run on a neutral platform with the recorder loaded, and kept in the store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from apps.errors import Departed, KernelError, SimulationError
from apps.recording.events import Elapse, Kind, Recording
from apps.results.inputs import Inputs, merged
from apps.runs.cautions import retimed
from apps.runs.computation import with_timer, with_work
from apps.runs.engines import NATIVE, engine_named
from apps.runs.neutral import kept_options, neutral_platform, recording_identity
from apps.runs.recorded_run import run_recorded, undated, with_source
from apps.spec.choices import REPLAY
from apps.spec.run_spec import RunSpec
from apps.spec.settings import default_engine
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.addons import provided
from platforms.files.scratch import scratch_folder
from platforms.simgrid.installed import check_simgrid

# Runs of more events are not held in memory: they take a gigabyte.
_MOST_EVENTS = 1 << 24


def record_events(
    spec: RunSpec,
    iterations: int,
    *,
    store: Store | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Recording:
    """Return a recording of ``iterations`` iterations of the spec's problem on the number of ranks of its target.

    A spec with a machine is recorded there, on the target's hosts, and its computation is measured; one for a replay is
    recorded in full under this computer's own MPI (apps/replay).  For all others only the target's number of ranks
    matters: the program runs on a neutral platform with one rank per host and almost no network, kernels in mode
    skeleton.  The flops are those injected by the spec, including its efficiency. Measured computation is timed once
    and replayed while the events are recorded (computation.py).  The recording is taken from and saved to ``store``,
    unless its computation was timed during the recording.

    The recording has ``iterations`` marked iterations.  For a user's own program it may cover a full run without marks,
    if the program has no iterations or not all of them were found to be alike (apps/runs/repetition.py).

    Another thread sets ``stop`` to end a run on a machine.

    Raises:
        KernelError: The program refuses the problem, or makes calls that a recording cannot represent.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    from apps.recording.files import from_bytes, to_bytes  # imported here because NumPy is slow to import

    if spec.memory_bus is not None:
        problem = "a recording has the computation, but not the data moved between cores and memory"
        raise KernelError(f"recording of {spec.target.problem}, --memory-bus", problem, "Leave it out")
    spec = with_timer(spec, store=store, time_limit_s=time_limit_s, stop=stop)
    if spec.engine == REPLAY:
        recording, _ = provided(NATIVE)(spec, store=store, time_limit_s=time_limit_s, stop=stop)
        return _finished(recording, spec)
    identity = recording_identity(spec, iterations)
    if store is not None and store.unchanged("recording", identity):
        known = store.get_bytes("recording", identity)
        if known is not None:
            try:
                return _finished(from_bytes(known, nranks=spec.target.nranks), spec)
            except ValueError as err:
                store.refuse("recording", identity_hash(identity), str(err))
    read: list[Inputs | None] = []

    def settle_inputs(inputs: Inputs | None) -> Inputs | None:
        # Imported here because it is slow to import.
        from apps.runs.surroundings import settled

        return settled(spec, inputs, store=store, time_limit_s=time_limit_s, stop=stop)

    if spec.machine is not None:
        recording = _record_on_machine(spec, iterations, time_limit_s, stop)
    else:
        timed = with_work(spec, store=store, time_limit_s=time_limit_s, stop=stop)
        more: dict[str, Any] = {"settle_inputs": settle_inputs, "store": store, "read": read}
        try:
            recording = _record(timed, iterations, time_limit_s, **more)
        except Departed as reason:
            recording = _record(spec, iterations, time_limit_s, **more)
            recording = replace(recording, cautions=(*recording.cautions, retimed(str(reason))))
    kept = None if recording.timed and spec.machine is None else store
    inputs = None if spec.target.problem.program is None else settle_inputs(merged(read))
    if inputs is not None and (inputs.asks or inputs.varies or inputs.threads or recording.cautions):
        with_inputs = replace(recording, asks=inputs.asks, varies=inputs.varies, threads=inputs.threads)
        return _finished(with_inputs, spec)  # removed, because archives do not contain it
    if kept is not None:
        events = sum(map(len, recording.events))
        kept.put_bytes("recording", identity, to_bytes(recording), inputs=inputs, summary=f"{events} events")
    return _finished(recording, spec)


def _finished(recording: Recording, spec: RunSpec) -> Recording:
    program = spec.target.problem.program
    if program is not None and program.timer is not None:
        recording = replace(recording, timed_rank=program.timer.rank)
    return scaled(recording, spec.flop_scale)


def scaled(recording: Recording, flop_scale: float) -> Recording:
    """Return the recording with its flops multiplied by ``flop_scale``; 0 removes the computation."""
    if flop_scale == 1:
        return recording
    events = tuple(event.copy() for event in recording.events)
    for event in events:
        event["amount"][event["kind"] == Kind.COMPUTE] *= flop_scale
    if flop_scale == 0:
        events = tuple(
            event[
                ~((event["kind"] == Kind.COMPUTE) | ((event["kind"] == Kind.ELAPSE) & (event["op"] == Elapse.ON_CORE)))
            ]
            for event in events
        )
    return replace(recording, events=events)


def _record(
    spec: RunSpec,
    iterations: int,
    time_limit_s: float | None,
    *,
    settle_inputs: Callable[[Inputs | None], Inputs | None],
    store: Store | None,
    read: list[Inputs | None],
) -> Recording:
    """Return the recording; the inputs of all its runs are added to ``read``."""
    # Imported here because it is slow to import.
    from apps.recording.iterations import without_marks
    from apps.runs.course import looks, on_its_course

    check_simgrid()
    plain, problem = _on_neutral_platform(spec), spec.target.problem
    if problem.program is None:
        return _record_once(plain, iterations, time_limit_s, read)
    full = spec.target.iterations
    if problem.iterative and iterations < full:
        with scratch_folder("recording") as notes:
            limits: dict[str, Any] = {
                "settle_inputs": settle_inputs, "store": store, "time_limit_s": time_limit_s
            }  # fmt: skip
            recording, whole = _record_like_all(plain, iterations, notes, limits=limits, read=read)
        if recording is not None and not looks(merged(read)):
            return recording
        recording = without_marks(whole or _record_once(plain, full, time_limit_s, read))
    elif problem.iterative and iterations == full:
        recording = _record_marked(plain, full, time_limit_s, read)
    else:
        recording = without_marks(_record_once(plain, full, time_limit_s, read))
    return on_its_course(plain, recording, settle_inputs(merged(read)), time_limit_s=time_limit_s)


def _record_on_machine(
    spec: RunSpec, iterations: int, time_limit_s: float | None, stop: threading.Event | None
) -> Recording:
    """Return the recording of a run on the spec's machine, without its dates.

    For a user's program it covers a full run: a machine does not show whether iterations are alike.
    """
    # Imported here because it is slow to import.
    from apps.recording.iterations import without_marks

    target, is_program = spec.target, spec.target.problem.program is not None
    what = f"{target.problem.on(target.nranks)} on machine {spec.machine.name if spec.machine else ''}"
    count = target.iterations if is_program else iterations
    recording = run_recorded(spec, count, what=what, time_limit_s=time_limit_s, stop=stop)
    held_s = max(float(events["clock_s"].max() - events["clock_s"].min()) for events in recording.events)
    recording = replace(undated(recording), measured=True, held_node_s=held_s * target.nodes)
    return without_marks(recording) if is_program else recording


def _record_marked(plain: RunSpec, iterations: int, time_limit_s: float | None, read: list[Inputs | None]) -> Recording:
    """Return a recording of all iterations of a user's program, with marks if their boundaries are known."""
    # Imported here because it is slow to import.
    from apps.recording.iterations import marked_iterations, split_iterations, with_marks, without_marks

    recording = _record_once(plain, iterations, time_limit_s, read)
    if marked_iterations(recording) == iterations:
        return recording
    unmarked = without_marks(recording)
    iterations_found = split_iterations(unmarked, iterations)
    return unmarked if iterations_found is None else with_marks(unmarked, iterations_found)


def _record_like_all(
    plain: RunSpec, iterations: int, folder: Path, *, limits: dict[str, Any], read: list[Inputs | None]
) -> tuple[Recording | None, Recording | None]:
    """Return a recording of ``iterations`` iterations of a user's program, and None; only the first may differ.

    If the others are not shown to be alike, return None and the recording of the whole run made to check this, or None
    if there is none.

    Args:
        plain: The run.
        iterations: Number of iterations.
        folder: An empty folder for notes.
        limits: As for ``shown_pattern``.
        read: The program's inputs are added to it.
    """
    # Imported here because they are slow to import.
    from apps.recording.files import Incomplete, read_events, read_moments, without_clocks
    from apps.recording.fingerprints import cuts_at, fingerprints_of_calls, fingerprints_of_marks, read_calls
    from apps.recording.iterations import marked_iterations, split_iterations, with_marks, without_marks
    from apps.runs.repetition import NotShown, shown_pattern

    if plain.engine != "smpi" or (plain.compute == "measured" and plain.work is None):
        return None, None
    what, nranks = plain.target.problem.on(plain.target.nranks), plain.target.nranks
    notes, events = (folder / name for name in ("few", "all"))
    notes.mkdir()
    events.mkdir()
    done = engine_named(plain.engine).note_events(
        plain, iterations, notes, what=what, time_limit_s=limits["time_limit_s"]
    )
    read.append(done.inputs)
    inputs = limits["settle_inputs"](done.inputs)
    if inputs is not None and (inputs.asks or inputs.varies or inputs.depends):
        return None, None
    try:
        recording, moments = with_source(plain, read_events(notes, nranks, measured=False)), read_moments(notes, nranks)
    except Incomplete as err:
        raise SimulationError(f"{what}: {err}", done.log) from err
    marked = marked_iterations(recording) == iterations
    iterations_found = None if marked else split_iterations(recording, iterations)
    cuts = None if iterations_found is None else cuts_at(notes, recording, iterations_found)
    if not marked and iterations_found is None:
        return None, None
    if cuts is None:
        seen = fingerprints_of_marks(moments)
    else:
        seen = fingerprints_of_calls(read_calls(notes, nranks), cuts, moments)
    before = len(read)
    few = sum(map(len, recording.events)) * plain.target.iterations <= _MOST_EVENTS * iterations
    try:
        # The run that shows that the clock does not matter has a changed clock, so it is not a recording.
        more = {"events": events, "read": read} if few and not (inputs is not None and inputs.reads) else {}
        harmless = inputs is not None and inputs.clock_is_harmless
        pattern = shown_pattern(plain, seen, cuts, marked=marked, clock_is_harmless=harmless, **limits, **more)
        alike = pattern.period == 1 and pattern.start <= 1
    except NotShown:
        alike = False
    recording = without_clocks(recording)
    if alike and marked:
        return recording, None
    unmarked = without_marks(recording)
    again = split_iterations(unmarked, iterations) if alike else None
    if again is not None:
        return with_marks(unmarked, again), None
    whole = (
        with_source(plain, without_clocks(read_events(events, nranks, measured=False))) if len(read) > before else None
    )
    return None, whole


def _record_once(plain: RunSpec, iterations: int, time_limit_s: float | None, read: list[Inputs | None]) -> Recording:
    # Imported here because it is slow to import.
    from apps.recording.files import without_clocks

    what = plain.target.problem.on(plain.target.nranks)
    return without_clocks(run_recorded(plain, iterations, what=what, time_limit_s=time_limit_s, read=read))


def _on_neutral_platform(spec: RunSpec) -> RunSpec:
    """Return the spec on the neutral platform, with the same problem and number of ranks, and flops as counted."""
    platform = neutral_platform(spec.target.nranks)
    target = Target(spec.target.problem, platform, tuple(host.name for host in platform.hosts))
    if spec.compute == "measured":
        return replace(
            RunSpec(target, compute="measured", host_speed_flops=spec.host_speed_flops, options=kept_options(spec)),
            measurement=spec.measurement,
            work=spec.work,
        )
    engine = default_engine(target.problem)
    return RunSpec(target, engine=engine, options=kept_options(spec) if engine == "smpi" else ())
