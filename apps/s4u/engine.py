"""A program on S4U's actors in simulated time, each in a process of its own: SimGrid allows one engine in each."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import sys
import threading
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from apps.energy import counted
from apps.errors import KernelError, NoIterations, SimulationError
from apps.launch import trace_options, working_folder
from apps.outages import failures_explained
from apps.process import LOG_LIMIT_BYTES, Finished, run_bounded
from apps.record import RunRecord, from_kernel
from apps.s4u.limits import detached_below_bytes
from apps.spec import RunSpec
from apps.verdict import check_success
from apps.wording import number_of
from platforms.errors import UserError
from platforms.repairs import loaded_first
from platforms.scratch import scratch_folder
from platforms.simgrid import INSTALL, check_simgrid

_ROOT = Path(__file__).parents[2]  # where `apps` is found


def run_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunRecord:
    """Runs so many iterations of the spec's problem, whatever its policy, and returns the record of them.

    Raises KernelError where the program refuses the problem, SimulationError where the run does not succeed (an
    exception in a program of the user's own included), Stopped once ``stop`` is set, and NoIterations where such a
    program was asked for fewer iterations than all, and has not marked so many on every rank.
    """
    energy = counted(spec.target.platform)
    done, output = _run(spec, iterations, time_limit_s=time_limit_s, energy=energy, stop=stop)
    problem = spec.target.problem
    if problem.program is not None and iterations < spec.target.iterations and not output["iteration_end_s"][0]:
        remedy = "Call rank.iteration() at the end of each, or give --iterations full"
        raise NoIterations(_what(spec), f"the ranks do not mark {iterations} iterations each", remedy)
    return from_kernel(
        output,
        spec.target.platform,
        identity=identity,
        wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=_repeatable(spec, iterations),
    )


def note_events(spec: RunSpec, iterations: int, notes: Path, *, time_limit_s: float | None = None) -> Finished:
    """Runs so many iterations, and leaves what the ranks did in the folder ``notes`` as the recorder of MPI programs
    does (apps/recording_io.py).  Raises as run_iterations, but for NoIterations.
    """
    return _run(spec, iterations, time_limit_s=time_limit_s, notes=notes)[0]


def _run(
    spec: RunSpec,
    iterations: int,
    *,
    time_limit_s: float | None,
    energy: tuple[str, ...] = (),
    notes: Path | None = None,
    stop: threading.Event | None = None,
) -> tuple[Finished, dict[str, Any]]:
    """The process that has simulated it, and what the ranks did."""
    check_simgrid()
    if PathFinder.find_spec("simgrid") is None:
        raise UserError("SimGrid", "its Python module is not installed", INSTALL)
    _check_problem(spec)
    with scratch_folder("s4u") as folder:
        job, result = folder / "job.json", folder / "result.json"
        told = _job(spec, iterations)
        told["options"] |= trace_options(spec, folder)
        job.write_text(json.dumps({**told, "energy": energy, "events": None if notes is None else str(notes)}))
        work = None if spec.target.problem.program is None else working_folder(folder)
        words = loaded_first(folder, called=os.path.relpath(folder, work or folder))
        done = run_bounded(
            [*words, sys.executable, "-P", "-m", "apps.s4u", str(job), str(result)],
            folder=folder,
            time_limit_s=time_limit_s,
            environment=_environment(folder),
            working_folder=work,
            stop=stop,
            output_limit_bytes=LOG_LIMIT_BYTES,
        )
        return done, _result(done, result, spec)


def _what(spec: RunSpec) -> str:
    """The run, in errors."""
    return f"{spec.target.problem} on {spec.target.platform.name}, {number_of(spec.target.nranks, 'rank')}"


def _check_problem(spec: RunSpec) -> None:
    for host in spec.target.placement:
        spec.target.platform.host(host)  # raises with near matches
    problem = spec.target.problem
    if problem.program is None:
        kernel = importlib.import_module(f"apps.s4u.{problem.app}")
        refusal = kernel.refusal(dict(problem.params), spec.target.nranks)
        if refusal is not None:
            where = f"{problem} on {number_of(spec.target.nranks, 'rank')}"
            raise KernelError(where, refusal, "Choose other ranks or another class")


def _job(spec: RunSpec, iterations: int) -> dict[str, Any]:
    """What the simulation's process is told."""
    problem = spec.target.problem
    program = problem.program
    return {
        "kernel": problem.app if program is None else None,
        "program": None if program is None else str(program.path),
        "parameters": dict(problem.params),
        "arguments": [] if program is None else list(program.arguments_for(iterations)),
        "iterations": iterations,
        "flop_scale": spec.flop_scale,
        "detached_below_bytes": detached_below_bytes(spec),
        "platform": str(spec.target.platform.path),
        "hosts": list(spec.target.placement),
        "options": {**spec.engine_options, **dict(spec.options)},
    }


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder)}


def _result(done: Finished, result: Path, spec: RunSpec) -> dict[str, Any]:
    """What the ranks did.  Raises where they did not come to their end."""
    what = _what(spec)
    output = _read(result)
    if output is not None and "error" in output:
        failed = SimulationError(f"{what}: {output['error']}", done.log)
        if not output["by_platform"]:
            raise failed
        with failures_explained(spec.target, done):
            raise failed
    with failures_explained(spec.target, done):
        check_success(done, what)
        if output is None:
            raise SimulationError(f"{what}: ended without a record", done.log)
    return output


def _read(result: Path) -> dict[str, Any] | None:
    """None: there is none, or half of it, as a process leaves that is killed while it writes."""
    try:
        output: dict[str, Any] = json.loads(result.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return output


def _repeatable(spec: RunSpec, iterations: int) -> tuple[str, ...]:
    """The command that repeats the run, given a file HOSTS with the record's hosts, one per line; empty for a problem
    that no command line can name."""
    problem = spec.target.problem
    if problem.program is not None:
        arguments = shlex.join(problem.program.arguments_for(iterations))
        asked = ["--program", str(problem.program.path), *([f"--program-args={arguments}"] if arguments else [])]
    elif problem.preset is not None:
        done = [] if not problem.iterative else ["--iterations", str(iterations)]
        asked = ["--engine", "s4u", "--app", problem.app, "--class", problem.preset, *done]
        asked += ["--efficiency", f"{spec.efficiency!r}"]
    else:
        return ()
    platform = ["--platform", str(spec.target.platform.path), "--hostfile", "HOSTS"]
    options = [word for key, value in spec.options for word in ("--cfg", f"{key}:{value}")]
    return ("python", "-m", "apps.run", *asked, *platform, "--compute", spec.compute, *options)
