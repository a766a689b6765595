"""One run under the recorder, on the platform or machine of its spec."""

from __future__ import annotations

import threading
from dataclasses import replace

from apps.errors import SimulationError
from apps.recording.events import Kind, Recording
from apps.results.inputs import Inputs
from apps.runs.engines import engine_named
from apps.spec.run_spec import RunSpec
from platforms.files.scratch import scratch_folder


def run_recorded(
    spec: RunSpec,
    iterations: int,
    *,
    what: str,
    time_limit_s: float | None,
    read: list[Inputs | None] | None = None,
    stop: threading.Event | None = None,
) -> Recording:
    """Return the timed events of a run of ``iterations`` iterations on the spec's own platform.

    ``what`` is the beginning of error messages.  Inputs of a user's program are added to ``read``.

    Raises:
        KernelError: The program refuses the problem, or calls a function that the recorder does not know.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    # Imported here because it is slow to import.
    from apps.recording.files import Incomplete, read_events

    with scratch_folder("recording") as folder:
        notes = folder / "notes"
        notes.mkdir()
        done = engine_named(spec.engine).note_events(
            spec, iterations, notes, what=what, time_limit_s=time_limit_s, stop=stop
        )
        if read is not None:
            read.append(done.inputs)
        try:
            return with_source(spec, read_events(notes, spec.target.nranks, measured=spec.compute == "measured"))
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err


def with_source(spec: RunSpec, recording: Recording) -> Recording:
    """Return a recording of a spec's run with information about its measured computation."""
    if spec.compute != "measured" or spec.work is None:
        return recording
    return replace(recording, measured=True, replayed=True, spread_rel=spec.work.spread_rel)


def undated(recording: Recording) -> Recording:
    """Return a recording of a real run without its dates and times in calls.  The events are changed in place."""
    for events in recording.events:
        events["amount"][(events["kind"] != Kind.COMPUTE) & (events["kind"] != Kind.ELAPSE)] = 0
        events["clock_s"] = 0
    return recording
