"""Run several jobs in one simulation under SMPI, each as an instance with its own MPI_COMM_WORLD.

A job is a kernel or a recording of a program that is replayed (apps/replay).  The ranks of all jobs are those of one
smpirun, whose program (dispatcher.cpp) starts each job at its date.  A job that runs alone from date 0 on takes exactly
the time of its own run.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from apps.child.process import run_bounded
from apps.child.run_folder import environment
from apps.child.smpirun import smpirun_command, write_host_file
from apps.child.verdict import check_success
from apps.errors import KernelError, OptionError, SimulationError
from apps.recording.events import Recording
from apps.runs.engines import run_identity
from apps.smpi.launch import launch
from apps.smpi.thread_clock import thread_clock_library
from apps.spec.run_spec import RunSpec
from apps.together.events import PlatformEvent, directions
from platforms.files.scratch import is_plain, scratch_folder
from platforms.model.platform import Link
from platforms.read.content import loadable
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import check_simgrid, compiler_flags
from platforms.simgrid.repairs import loaded_first

_SOURCE = Path(__file__).with_name("dispatcher.cpp")
_INSTANCES = Path(__file__).with_name("instances.c")
_FLAGS = ("-O2", "-std=gnu++17", "-DSMPI_NO_OVERRIDE_MALLOC")
RecordingOf = Callable[[RunSpec], Recording]


@dataclass(frozen=True)
class Attempt:
    """A job on its hosts, from a date on."""

    name: str  # of the job
    spec: RunSpec
    start_s: float
    stop_s: float | None = None  # date at which it is killed; None: it runs to its end

    def identity(self) -> dict[str, Any]:
        """Return all that decides its course, as JSON values."""
        return {"run": run_identity(self.spec), "start_s": self.start_s, "stop_s": self.stop_s}


@dataclass(frozen=True)
class Ran:
    """Dates of an attempt."""

    start_s: float
    end_s: float  # of the timed section of its slowest rank, or of its whole program where it is replayed
    time_s: float  # of the timed section


def run_together(
    attempts: Sequence[Attempt],
    recording_of: RecordingOf,
    *,
    events: Sequence[PlatformEvent] = (),
    links: Mapping[str, Link] | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> list[Ran | None]:
    """Run all attempts in one simulation, and return their dates; None for those that are killed.

    Args:
        attempts: The attempts, on one platform and under equal SimGrid options.
        recording_of: Returns the recording of a user's program with all iterations, its computation scaled as in runs.
        events: Changes of links and speeds; hosts that fail do so by the ``stop_s`` of the attempts on them.
        links: The links of the events, by SimGrid's name of a direction.
        time_limit_s: Limit of the wall time, s; None: none.
        stop: Stops the run when it is set.

    Raises:
        KernelError: A kernel refuses its problem.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    check_simgrid()
    first = attempts[0].spec
    if any((a.spec.target.platform, a.spec.options) != (first.target.platform, first.options) for a in attempts):
        raise OptionError("jobs", "they differ in their platform or SimGrid's options", "Give all jobs the same")
    what = f"{len(attempts)} jobs on {first.target.platform.name}"
    with scratch_folder("together") as folder:
        if not is_plain(str(folder)):
            raise KernelError(f"folder {folder}", "smpirun cannot use such a name", "Set TMPDIR to another folder")
        placement = [host for attempt in attempts for host in attempt.spec.target.placement]
        write_host_file(folder / "hosts", placement)
        words = [str(len(attempts))]
        for number, attempt in enumerate(attempts):
            words += _words(attempt, f"job{number}", recording_of, folder)
        words += _event_words(events, links or {})
        (folder / "jobs").write_text("".join(f"{word}\n" for word in words))
        (folder / "program").symlink_to(compile_once("dispatcher", [_SOURCE], compiler=["smpicxx"], flags=_FLAGS))
        libraries = (thread_clock_library(), _instances_library())
        command = smpirun_command(
            f"{folder}/program",
            [f"{folder}/jobs"],
            nranks=len(placement),
            host_file=f"{folder}/hosts",
            platform=loadable(first.target.platform),
            options={**first.engine_options, **dict(first.options)},
            wrapper=" ".join([*die_with_parent(), *loaded_first(folder, *libraries, called=str(folder))]),
        )
        done = run_bounded(
            command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder), stop=stop
        )
        check_success(replace(done, log=_without_expected(done.log, attempts)), what)
        return [_ran(attempt, folder / f"job{number}", done.log) for number, attempt in enumerate(attempts)]


def _instances_library() -> Path:
    return compile_once(
        "instances", [_INSTANCES], compiler=["gcc"], flags=["-O2", "-shared", "-fPIC", *compiler_flags()]
    )


@cache
def together_hash() -> str:
    """Return the identity of the program that starts the jobs."""
    return hashlib.sha256(_SOURCE.read_bytes() + _INSTANCES.read_bytes()).hexdigest()


def _without_expected(log: str, attempts: Sequence[Attempt]) -> str:
    """Return a log without lines on instances that do not end: smpirun's own, which is not used, and killed ones."""
    killed = ["smpirun", *(f"job{number}" for number, attempt in enumerate(attempts) if attempt.stop_s is not None)]
    expected = tuple(f"Stalling SMPI instance: {name}." for name in killed)
    return "\n".join(line for line in log.splitlines() if not any(text in line for text in expected))


def _words(attempt: Attempt, name: str, recording_of: RecordingOf, folder: Path) -> list[str]:
    """Return the lines of the file of jobs about an attempt (dispatcher.cpp)."""
    spec = attempt.spec
    if spec.target.problem.program is None:
        started = launch(spec, spec.target.iterations)
        program, arguments = started.program, started.arguments
    else:
        # Imported here because they are slow to import.
        from apps.replay.engine import replayer_program
        from apps.replay.files import write_files

        files = folder / f"{name}.recording"
        files.mkdir()
        program, arguments = replayer_program(), (str(files), str(write_files(recording_of(spec), files)))
    stop_s = -1.0 if attempt.stop_s is None else attempt.stop_s
    about = [name, str(spec.target.nranks), f"{attempt.start_s:.17g}", f"{stop_s:.17g}", str(program)]
    return [*about, str(len(arguments)), *arguments]


def _event_words(events: Sequence[PlatformEvent], links: Mapping[str, Link]) -> list[str]:
    words = []
    count = 0
    for event in sorted((event for event in events if not event.fails), key=lambda event: event.date_s):
        names = [event.name] if event.kind == "host" else directions(event.name, links)
        for name in names:
            value = event.factor if event.kind == "host" else event.factor * links[name].bandwidth_Bps
            words += [f"{event.date_s:.17g}", event.kind, name, f"{value:.17g}"]
            count += 1
    return [str(count), *words]


def _ran(attempt: Attempt, files: Path, log: str) -> Ran | None:
    """Return the dates of an attempt from what its ranks have written."""
    rows = [line.split() for line in files.with_suffix(".ends").read_text().splitlines()]
    if len(rows) < attempt.spec.target.nranks:
        if attempt.stop_s is not None:
            return None
        raise SimulationError(f"job {attempt.name}: {attempt.spec.target.nranks - len(rows)} ranks do not end", log)
    if attempt.spec.target.problem.program is not None:
        end_s = max(float(row[1]) for row in rows)
        return Ran(attempt.start_s, end_s, end_s - attempt.start_s)
    record = json.loads(files.with_suffix(".out").read_text().rstrip().rpartition("\n")[2])
    if "refused" in record:
        raise KernelError(attempt.name, record["refused"], "Choose other ranks, or another class or size")
    elapsed_s = [stop_s - start_s for start_s, stop_s in zip(record["start_s"], record["stop_s"], strict=True)]
    end_s = max(record["stop_s"])
    if attempt.stop_s is not None and end_s > attempt.stop_s:
        return None
    return Ran(attempt.start_s, end_s, max(elapsed_s))
