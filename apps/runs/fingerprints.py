"""Fingerprints of all iterations of a user's program, from one full run on a network of almost no cost.

They depend only on the program and its number of ranks: all platforms share them, and they are stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apps.errors import SimulationError
from apps.recording.files import Incomplete
from apps.recording.fingerprints import (
    Cut,
    Fingerprints,
    fingerprints_of_calls,
    fingerprints_of_marks,
    from_bytes,
    read_notes,
    to_bytes,
)
from apps.results.inputs import Inputs, merged
from apps.runs.neutral import NEUTRAL_SPEED_FLOPS, recording_identity
from apps.smpi.engine import PARTS, Surroundings, note_events, note_fingerprints
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.files.scratch import scratch_folder
from platforms.model.platform import Platform
from platforms.read.read import kept_file, read_platform

_HEADER = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


@dataclass(frozen=True)
class Notes:
    """Notes of the recorder about a full run."""

    calls: tuple[npt.NDArray[np.uint64], ...]  # hashes by rank; empty arrays if the program marks its iterations
    moments: tuple[npt.NDArray[np.void], ...]  # MOMENT by rank
    inputs: Inputs | None = None  # inputs of the run; None: the notes come from the store

    def fingerprints(self, cuts: tuple[Cut, ...] | None) -> Fingerprints | None:
        """Return the fingerprints of the iterations: marked ones, or those cut out of the calls."""
        if cuts is None:
            return fingerprints_of_marks(self.moments)
        return fingerprints_of_calls(self.calls, cuts, self.moments)


def noted_in_full(
    spec: RunSpec,
    *,
    marked: bool,
    settle_inputs: Callable[[Inputs | None], Inputs | None] = lambda inputs: inputs,
    store: Store | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
    events: Path | None = None,
    read: list[Inputs | None] | None = None,
) -> Notes:
    """Return the notes of a full run of the spec's program on its number of ranks, from ``store`` if available.

    It runs in changed surroundings, including the clock (PARTS): if the program's course depends on them, its
    iterations differ from those of the run they are compared with.  With a folder ``events``, it is a run in the usual
    surroundings on the spec's own platform, its events are also written there, and its inputs are added to ``read``.

    Raises:
        KernelError: The program makes a call that cannot be recorded.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    identity = {**recording_identity(spec, spec.target.iterations), "marked": marked}
    usable = store is not None and store.unchanged("fingerprints", identity)
    kept = store.get_bytes("fingerprints", identity) if store is not None and usable else None
    known = None if kept is None else from_bytes(kept)
    if known is not None and all(len(part) == spec.target.nranks for part in known):
        return Notes(*known)
    if kept is not None and store is not None:
        store.refuse("fingerprints", identity_hash(identity), "its content has another version")
    iterations = spec.target.iterations
    what = f"fingerprints of {spec.target.problem.on(spec.target.nranks)}"
    with scratch_folder("fingerprints") as scratch:
        folder = events or scratch
        if events is not None:
            done = note_events(spec, iterations, folder, what=what, time_limit_s=time_limit_s, stop=stop)
        else:
            platform = silent_platform(spec.target.nranks)
            plain = RunSpec(Target(spec.target.problem, platform, ("h",) * spec.target.nranks))
            done = note_fingerprints(
                plain, iterations, folder, calls=not marked, what=what, time_limit_s=time_limit_s, stop=stop,
                surroundings=Surroundings(tuple(PARTS)),
            )  # fmt: skip
        try:
            calls, moments = read_notes(folder, spec.target.nranks)
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err
    inputs = settle_inputs(done.inputs)
    notes = Notes(tuple(call[:0] for call in calls) if marked else calls, moments, inputs)
    if events is not None and read is not None:
        read.append(done.inputs)
    if store is not None:
        items = sum(map(len, notes.moments if marked else notes.calls))
        content = to_bytes(notes.calls, notes.moments)
        store.put_bytes("fingerprints", identity, content, inputs=merged([inputs]), summary=f"{items} hashes")
    return notes


def silent_platform(nranks: int) -> Platform:
    """Return a platform with one host, which has a core for each rank and carries all messages at once.

    SimGrid's network model Constant would be cheaper, but with it programs that compute do not end (SimGrid 3.32).
    """
    text = f"""{_HEADER}<platform version="4.1">
  <zone id="silent" routing="Full">
    <host id="h" speed="{NEUTRAL_SPEED_FLOPS:g}f" core="{nranks}"/>
    <link id="inside" bandwidth="1e14Bps" latency="1us" sharing_policy="FATPIPE"/>
    <route src="h" dst="h"><link_ctn id="inside"/></route>
  </zone>
</platform>
"""
    return read_platform(kept_file(text.encode()), f"silent{nranks}")
