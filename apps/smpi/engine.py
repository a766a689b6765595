"""The engine smpi: kernels and MPI programs in simulated time, under SimGrid's SMPI."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from apps.child.failure import check_recorded, failures_explained
from apps.child.process import Finished, run_bounded
from apps.child.run_folder import environment, working_folder
from apps.child.verdict import as_expected, check_success, final_record
from apps.errors import KernelError
from apps.programs.compile import kernel_hash
from apps.programs.kernel import named_kernel
from apps.programs.own_program import UserProgram
from apps.recording.recorder.library import recorder_hash, recorder_library
from apps.results.energy import counted
from apps.results.record import RunRecord, from_kernel
from apps.smpi.launch import (
    Launch,
    bus_settings,
    check_program,
    expected_status,
    launch,
    prepare,
    repeatable,
    replay_settings,
    run_inputs,
    timer_settings,
)
from apps.smpi.memorybus.library import bus_hash
from apps.spec.run_spec import RunSpec
from platforms.files.scratch import scratch_folder
from platforms.simgrid.installed import check_simgrid

# Functions whose results change with the surroundings, by the part they query (recorder/clocks.c).
PARTS: dict[str, tuple[str, ...]] = {
    "time": (
        *("time", "clock", "times", "getrusage", "clock_gettime", "gettimeofday", "timespec_get"),
        *("std::chrono::steady_clock", "std::chrono::system_clock"),
        *("system_clock", "cpu_time", "date_and_time", "second", "etime", "dtime"),
    ),
    "process": ("getpid", "getppid", "gettid"),
    "random": ("getrandom", "getentropy", "arc4random", "arc4random_uniform", "arc4random_buf", "std::random_device"),
    "host": ("gethostname", "uname"),
    "clock": ("MPI_Wtime", "smpi_gettimeofday", "smpi_clock_gettime"),
    "layout": (),
    "marks": ("stat",),
    "computer": (
        *("getrlimit", "getrlimit64", "get_nprocs", "get_nprocs_conf", "sched_getaffinity", "sysconf"),
        *("getuid", "geteuid", "getgid", "getlogin"),
    ),
    "names": (
        *("getcwd", "get_current_dir_name", "mkstemp", "mkstemp64", "mkdtemp", "tmpnam", "tempnam"),  # in every run
    ),
}


@dataclass(frozen=True)
class Surroundings:
    """Surroundings of a run that is compared with another (recorder/surroundings.c)."""

    changed: tuple[str, ...]  # the changed PARTS

    def settings(self) -> dict[str, str]:
        """Return the environment variables that set them."""
        more = {"IN_OTHER_SURROUNDINGS": "x" * 4001} if "layout" in self.changed else {}
        return {**more, "RECORDER_SURROUNDINGS": " ".join(self.changed)}


def program_hash(spec: RunSpec) -> str:
    """Return the identity of the kernel, or of the program and the recorder, and of the memory bus if there is one."""
    problem = spec.target.problem
    code = kernel_hash(named_kernel(problem.name)) if problem.program is None else user_program_hash(problem.program)
    return code if spec.memory_bus is None else f"{code}-{bus_hash()[:16]}"


def user_program_hash(program: UserProgram) -> str:
    """Return the identity of a program and of the recorder that records it."""
    return f"{program.content_hash}-{recorder_hash()[:16]}"


def run_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunRecord:
    """Run a number of the problem's iterations; see apps.runs.engines.Engine.

    An exit status of 0 is not sufficient: a run has succeeded only if the program has also printed its final record.
    """
    check_simgrid()
    if spec.target.problem.program is not None:
        # Imported here because it is slow to import.
        from apps.smpi.user_run import run_user_iterations

        return run_user_iterations(spec, iterations, identity=identity, time_limit_s=time_limit_s, stop=stop)
    started = launch(spec, iterations, energy=counted(spec.target.platform))
    with scratch_folder("smpi") as folder:
        command = prepare(spec, started, folder)
        done = run_bounded(
            command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder), stop=stop
        )
        with failures_explained(spec.target.changes, done):
            output = final_record(done, str(spec.target))
    _check_not_refused(output, spec.target.problem.on(spec.target.nranks))
    return from_kernel(
        output,
        spec.target.platform,
        identity=identity,
        wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=repeatable(spec, started),
    )


def note_events(
    spec: RunSpec,
    iterations: int,
    notes: Path,
    *,
    what: str,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Run a number of iterations under the recorder; see apps.runs.engines.Engine."""
    return noted(spec, launch(spec, iterations), notes, "yes", what=what, time_limit_s=time_limit_s, stop=stop)


def note_fingerprints(
    spec: RunSpec,
    iterations: int,
    notes: Path,
    *,
    calls: bool,
    what: str,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
    surroundings: Surroundings | None = None,
) -> Finished:
    """Run a number of iterations, and write hashes of the ranks' actions to the folder ``notes``.

    ``calls``: write a hash of each call, not only of each marked iteration.  ``surroundings``: None: unchanged.

    Raises:
        KernelError: The program makes a call that cannot be recorded.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    events = "hashes" if calls else "no"
    return noted(
        spec, launch(spec, iterations), notes, events, what=what, time_limit_s=time_limit_s, stop=stop,
        settings={} if surroundings is None else surroundings.settings(),
    )  # fmt: skip


def note_looks(
    spec: RunSpec, iterations: int, notes: Path, *, what: str, time_limit_s: float | None = None
) -> Finished:
    """Run like ``note_events``, with an event for each poll (``apps.recording.events.PollKind``)."""
    return noted(spec, launch(spec, iterations), notes, "polls", what=what, time_limit_s=time_limit_s)


def note_work(
    spec: RunSpec,
    iterations: int,
    notes: Path,
    *,
    apart: bool,
    what: str,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Run a number of iterations, and write the times of the ranks' computation to the folder ``notes``.

    ``apart``: some computations are repeated to time them with warm caches.

    Raises:
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    started, timing = launch(spec, iterations), {"RECORDER_WORK": "apart" if apart else "time"}
    return noted(spec, started, notes, "no", what=what, time_limit_s=time_limit_s, stop=stop, settings=timing)


def noted(
    spec: RunSpec,
    started: Launch,
    notes: Path,
    events: str,
    *,
    what: str,
    time_limit_s: float | None,
    stop: threading.Event | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Finished:
    """Run a program under the recorder, which writes ``events`` (recorder.h); ``settings`` are more variables for it.

    Raises:
        KernelError: The program makes a call that cannot be recorded.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    settings = {"RECORDER_FOLDER": str(notes), "RECORDER_EVENTS": events, **settings}
    if spec.compute == "none":
        settings["RECORDER_COMPUTE"] = "none"
    settings = {**timer_settings(spec, started.iterations), **settings}
    with scratch_folder("smpi") as folder:
        settings |= replay_settings(spec, started.iterations, folder)
        if spec.target.problem.program is not None:
            settings |= bus_settings(spec)
        work = working_folder(folder, started.files) if started.finds_input else None
        done = run_bounded(
            prepare(spec, started, folder, recorder=recorder_library()),
            folder=folder,
            time_limit_s=time_limit_s,
            environment=environment(folder, **settings),
            working_folder=work,
            stop=stop,
        )
        if work is not None:
            done = replace(done, inputs=run_inputs(notes, folder, work, started))
    check_program(spec)
    check_recorded(done, what)
    if spec.target.problem.program is not None:
        done = as_expected(done, expected_status(spec), what)
        check_success(done, what)
    else:
        _check_not_refused(final_record(done, what), what)
    return done


def _check_not_refused(output: dict[str, Any], where: str) -> None:
    """Raise KernelError if the kernel has refused the problem."""
    if "refused" in output:
        raise KernelError(where, output["refused"], "Choose other ranks, or another class or size")
