"""The engine replay: a recording, made under this computer's own MPI, is run in SMPI in place of its program."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from apps.child.process import Finished
from apps.recording.events import Recording
from apps.recording.recorder.library import recorder_hash
from apps.recording.recorder.real.library import real_recorder_hash
from apps.replay.files import write_files
from apps.replay.native_recording import native_recording
from apps.results.energy import counted
from apps.results.inputs import Inputs
from apps.results.record import RunRecord
from apps.results.timed import Timed
from apps.runs.record_events import scaled
from apps.smpi.engine import noted
from apps.smpi.launch import Launch
from apps.smpi.user_run import run_user_iterations
from apps.spec.choices import RECORDED
from apps.spec.machine_speed import processor_model
from apps.spec.run_spec import RunSpec
from platforms.files.scratch import scratch_folder
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import check_simgrid

_SOURCE = Path(__file__).with_name("replayer.c")
_HEADER = Path(__file__).parents[1] / "recording" / "recorder" / "recorder.h"
_FLAGS = ("-O2", "-std=gnu11", "-DSMPI_NO_OVERRIDE_MALLOC")


def program_hash(spec: RunSpec) -> str:
    """Return the identity of the program, of the processor it was recorded on, and of the recorder and the replayer."""
    program = spec.target.problem.program
    assert program is not None  # RunSpec checks that a replay is one of a program
    parts = (program.content_hash, processor_model(), real_recorder_hash(), recorder_hash(), _replayer_hash())
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def run_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunRecord:
    """Replay the recording of a full run; see apps.runs.engines.Engine.

    Its inputs are those of the run that was recorded.
    """
    energy = counted(spec.target.platform)
    with _recorded(spec, time_limit_s, stop, energy=energy) as (started, recording, inputs):
        record = run_user_iterations(
            spec, iterations, identity=identity, time_limit_s=time_limit_s, stop=stop, started=started
        )
    timed = None
    if spec.compute == RECORDED:
        timed = Timed(replayed=True, spread_rel=recording.spread_rel, kept=recording.replayed)
    return replace(record, inputs=inputs, timed=timed, command=())  # the files of the recording are gone


def note_events(
    spec: RunSpec,
    iterations: int,
    notes: Path,
    *,
    what: str,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Replay the recording under the recorder; see apps.runs.engines.Engine."""
    with _recorded(spec, time_limit_s, stop) as (started, _, inputs):
        done = noted(spec, started, notes, "yes", what=what, time_limit_s=time_limit_s, stop=stop)
    return replace(done, inputs=inputs)


@contextmanager
def _recorded(
    spec: RunSpec, time_limit_s: float | None, stop: threading.Event | None, *, energy: tuple[str, ...] = ()
) -> Iterator[tuple[Launch, Recording, Inputs | None]]:
    """Yield the launch of the replayer, the recording of the spec's program, and what that has read."""
    check_simgrid()
    recording, inputs = native_recording(spec, time_limit_s=time_limit_s, stop=stop)
    program = replayer_program()
    with scratch_folder("replay") as folder:
        size_bytes = write_files(scaled(recording, spec.flop_scale), folder)
        arguments = (str(folder), str(size_bytes))
        all_iterations = spec.target.iterations
        started = Launch(
            program, arguments, privatize=False, finds_input=False, iterations=all_iterations, energy=energy
        )
        yield started, recording, inputs


def replayer_program() -> Path:
    """Return the program that replays the files of a recording (files.py), compiled on first use."""
    return compile_once("replayer", [_SOURCE], compiler=["smpicc"], flags=_FLAGS, headers=[_HEADER])


@cache
def _replayer_hash() -> str:
    return hashlib.sha256(_SOURCE.read_bytes() + _HEADER.read_bytes()).hexdigest()
