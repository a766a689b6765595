"""An MPI program in simulated time, by SimGrid's SMPI."""

from __future__ import annotations

import threading
from typing import Any

from apps.build import kernel_hash
from apps.catalog import app
from apps.energy import counted
from apps.errors import KernelError
from apps.launch import environment, launch, prepare, repeatable
from apps.memorybus.library import bus_hash
from apps.outages import failures_explained
from apps.process import run_bounded
from apps.record import RunRecord, from_kernel
from apps.recorder_library import user_program_hash
from apps.s4u.program import layer_hash
from apps.spec import RunSpec
from apps.verdict import final_record
from apps.wording import number_of
from platforms.repairs import simgrid_identity
from platforms.scratch import scratch_folder
from platforms.simgrid import check_simgrid


def run_identity(spec: RunSpec) -> dict[str, Any]:
    """What decides the result of a run: the spec, the program and the simulator."""
    problem = spec.target.problem
    if spec.engine == "s4u":
        own = "" if problem.program is None else f"{problem.program.content_hash}-"
        program_hash = f"{own}{layer_hash()[:16]}"
    else:
        program_hash = kernel_hash(app(problem.app)) if problem.program is None else user_program_hash(problem.program)
    if spec.memory_bus is not None:
        program_hash += f"-{bus_hash()[:16]}"
    return {**spec.identity(), "kernel_hash": program_hash, "simgrid": simgrid_identity()}


def run_iterations(
    spec: RunSpec, iterations: int, *, time_limit_s: float | None = None, stop: threading.Event | None = None
) -> RunRecord:
    """Runs so many iterations of the spec's problem, whatever its policy, and returns the record of them.

    Raises KernelError where the program refuses the problem (too many ranks, say) and SimulationError where the run
    does not succeed; for a program of the user's own also NoIterations; Stopped once ``stop`` is set.  Exit status 0 of
    SMPI proves nothing: success needs the program's final record too.
    """
    check_simgrid()
    if spec.target.problem.program is not None:
        from apps.user_run import run_user_iterations

        identity = run_identity(spec)
        return run_user_iterations(spec, iterations, identity=identity, time_limit_s=time_limit_s, stop=stop)
    started = launch(spec, iterations, energy=counted(spec.target.platform))
    with scratch_folder("smpi") as folder:
        command = prepare(spec, started, folder)
        done = run_bounded(
            command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder), stop=stop
        )
        ranks = number_of(spec.target.nranks, "rank")
        with failures_explained(spec.target, done):
            output = final_record(done, f"{spec.target.problem} on {spec.target.platform.name}, {ranks}")
    if "refused" in output:
        where = f"{spec.target.problem} on {ranks}"
        raise KernelError(where, output["refused"], "Choose other ranks, or another class or size")
    return from_kernel(
        output,
        spec.target.platform,
        identity=run_identity(spec),
        wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=repeatable(spec, started),
    )
