"""The engine replay: a recording, made under this computer's own MPI, is run in SMPI in place of its program."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.child.process import Finished
from apps.recording.events import Kind, Op, Recording
from apps.recording.recorder.library import recorder_hash
from apps.recording.recorder.real.library import real_recorder_hash
from apps.replay.native_recording import native_recording
from apps.results.energy import counted
from apps.results.inputs import Inputs
from apps.results.record import RunRecord, Timed
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

_BLOCKS = (Op.GATHER, Op.SCATTER, Op.ALLGATHER, Op.ALLTOALL)  # size_bytes is one member's


def write_files(recording: Recording, folder: Path) -> int:
    """Write the events and counts of every rank and the communicators; return the size of the largest buffer, bytes."""
    received = _received(recording)
    most = 0
    for rank, (events, counts) in enumerate(zip(recording.events, recording.counts, strict=True)):
        events = events.copy()
        more = [counts]
        total = len(counts)
        for at in _of(events, Op.ALLTOALLV):
            first, members = int(events["request"][at]), len(recording.communicators[events["comm"][at]])
            more += [counts[first : first + members], received[rank, at]]
            events["request"][at] = total
            total += 2 * members
        together = np.concatenate(more)
        events.tofile(folder / f"{rank}.events")
        together.astype(np.int64).tofile(folder / f"{rank}.counts")
        most = max(most, int(together[together > 0].sum()) if len(together) else 0, _largest(recording, events))
    rows = [np.array([len(members), *members], np.int32) for members in recording.communicators]
    np.concatenate(rows).tofile(folder / "communicators")
    return most


def _of(events: npt.NDArray[np.void], op: Op) -> list[int]:
    """Return the indices of the collectives of a kind."""
    indices: list[int] = np.flatnonzero((events["kind"] == Kind.COLLECTIVE) & (events["op"] == op)).tolist()
    return indices


def _received(recording: Recording) -> dict[tuple[int, int], npt.NDArray[np.int64]]:
    """Return what each rank receives of each member in its all-to-alls, by rank and index of the event.

    The n-th call of one member of a communicator belongs to the n-th calls of the others.
    """
    calls: dict[int, dict[int, list[int]]] = defaultdict(dict)  # indices of the events by communicator and rank
    for rank, events in enumerate(recording.events):
        for at in _of(events, Op.ALLTOALLV):
            calls[int(events["comm"][at])].setdefault(rank, []).append(at)
    received = {}
    for comm, by_rank in calls.items():
        members = recording.communicators[comm]
        for together in zip(*(by_rank[rank] for rank in members), strict=True):
            firsts = [int(recording.events[rank]["request"][at]) for rank, at in zip(members, together, strict=True)]
            sent = [
                recording.counts[rank][first : first + len(members)]
                for rank, first in zip(members, firsts, strict=True)
            ]
            for place, key in enumerate(zip(members, together, strict=True)):
                received[key] = np.stack(sent)[:, place]
    return received


def _largest(recording: Recording, events: npt.NDArray[np.void]) -> int:
    """Return the size of the largest message or block of blocks of a rank, bytes."""
    sized = events[np.isin(events["kind"], (Kind.SEND, Kind.RECV, Kind.COLLECTIVE))]
    if not len(sized):
        return 0
    members = np.array([len(ranks) for ranks in recording.communicators])[sized["comm"]]
    many = (sized["kind"] == Kind.COLLECTIVE) & np.isin(sized["op"], _BLOCKS)
    return int((sized["size_bytes"] * np.where(many, members, 1)).max())


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
