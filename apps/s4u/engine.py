"""Run programs on S4U's actors, each in a process of its own: SimGrid allows one engine in a process."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
import threading
from dataclasses import replace
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from apps.child.failure import failures_explained
from apps.child.inputs import noted_inputs
from apps.child.process import LOG_LIMIT_BYTES, Finished, run_bounded
from apps.child.run_folder import environment, working_folder
from apps.child.verdict import check_success
from apps.errors import NoIterations, SimulationError, check_still
from apps.programs.kernel import Kernel, named_kernel
from apps.programs.own_program import check_unchanged
from apps.results.energy import counted
from apps.results.record import RunRecord, from_kernel
from apps.spec.engine_options import trace_options
from apps.spec.run_spec import RunSpec
from apps.spec.s4u_limits import detached_below_bytes
from apps.traffic import check
from platforms.errors import UserError
from platforms.files.scratch import scratch_folder
from platforms.read.content import loadable
from platforms.simgrid.installed import INSTALL, check_simgrid
from platforms.simgrid.repairs import loaded_first

_HERE = Path(__file__).parent
_LANGUAGE = _HERE.parent / "traffic"


@cache
def layer_hash(kernel: Kernel | None = None) -> str:
    """Return a hash of this package and of the declaration that it plays, if it plays a kernel's.

    The hash is that of the files at the first call.
    """
    return _hash_now(kernel)


def check_layer(kernel: Kernel | None) -> None:
    """Check that the files are still those of ``layer_hash``.

    Raises:
        KernelError: They were changed.
    """
    check_still("the engine s4u", layer_hash(kernel), _hash_now(kernel))


def _hash_now(kernel: Kernel | None) -> str:
    declaration = () if kernel is None else (*sorted(_LANGUAGE.glob("*.py")), *kernel.declarations)
    digest = hashlib.sha256()
    for source in (*sorted(_HERE.glob("*.py")), *declaration):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


_ROOT = Path(__file__).parents[2]  # the folder of the package `apps`
# Files of this project, which are no inputs of a program.
_OURS = tuple(f"{_ROOT / name}{os.sep}" for name in ("platforms", "apps", "predictor", "validation"))


def program_hash(spec: RunSpec) -> str:
    """Return the identity of this layer, and of the program if there is one."""
    program = spec.target.problem.program
    prefix = "" if program is None else f"{program.content_hash}-"
    return f"{prefix}{layer_hash(_played(spec))[:16]}"


def _played(spec: RunSpec) -> Kernel | None:
    """Return the kernel whose declared traffic a run plays; None if it runs a program in Python."""
    asked = spec.target.problem
    return named_kernel(asked.name) if asked.program is None else None


def run_iterations(
    spec: RunSpec,
    iterations: int,
    *,
    identity: dict[str, Any],
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunRecord:
    """Run a number of the problem's iterations; see apps.runs.engines.Engine.

    Raises:
        SimulationError: The run does not succeed, for example by an exception in the user's program.
        NoIterations: Fewer iterations than all are requested, and the program did not mark as many on every rank.
    """
    energy = counted(spec.target.platform)
    done, output = _run(spec, iterations, time_limit_s=time_limit_s, energy=energy, stop=stop)
    problem = spec.target.problem
    if problem.program is not None and iterations < spec.target.iterations and not output["iteration_end_s"][0]:
        remedy = "Call rank.iteration() at the end of each, or give --iterations full"
        raise NoIterations(str(spec.target), f"the ranks do not mark {iterations} iterations each", remedy)
    record = from_kernel(
        output,
        spec.target.platform,
        identity=identity,
        wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=_repeatable(spec, iterations),
    )
    return replace(record, inputs=done.inputs)


def note_events(
    spec: RunSpec,
    iterations: int,
    notes: Path,
    *,
    what: str,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Run a number of iterations, and write the ranks' events; see apps.runs.engines.Engine."""
    return _run(spec, iterations, time_limit_s=time_limit_s, notes=notes, what=what, stop=stop)[0]


def _run(
    spec: RunSpec,
    iterations: int,
    *,
    time_limit_s: float | None,
    energy: tuple[str, ...] = (),
    notes: Path | None = None,
    stop: threading.Event | None = None,
    what: str | None = None,
) -> tuple[Finished, dict[str, Any]]:
    """Return the process that has simulated the run, and what the ranks did."""
    check_simgrid()
    if PathFinder.find_spec("simgrid") is None:
        raise UserError("SimGrid", "its Python module is not installed", INSTALL)
    _check_problem(spec)
    with scratch_folder("s4u") as folder:
        job, result = folder / "job.json", folder / "result.json"
        job_data = _job(spec, iterations)
        job_data["options"] |= trace_options(spec.options, spec.target.platform.options, folder)
        program = spec.target.problem.program
        work = None if program is None else working_folder(folder)
        inputs = folder / "inputs"
        job_data |= {"energy": energy, "events": None if notes is None else str(notes), "inputs": str(inputs)}
        job.write_text(json.dumps(job_data))
        if program is not None:
            check_unchanged(program)
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
        output = _result(done, result, spec, str(spec.target) if what is None else what)
        check_layer(_played(spec))
        if program is not None:
            check_unchanged(program)
        if work is not None:
            done = replace(done, inputs=noted_inputs(inputs, folder=folder, work=work, ours=_OURS))
        return done, output


def _check_problem(spec: RunSpec) -> None:
    """Check that the hosts exist, and that the kernel accepts the problem and the number of ranks."""
    for host in spec.target.placement:
        spec.target.platform.host(host)  # raises with near matches
    if spec.target.problem.program is None:
        check(spec.target.problem, spec.target.nranks)


def _job(spec: RunSpec, iterations: int) -> dict[str, Any]:
    """Return the description of the run for its process."""
    problem = spec.target.problem
    program = problem.program
    return {
        "kernel": problem.name if program is None else None,
        "program": None if program is None else str(program.path),
        "parameters": dict(problem.params),
        "shares": list(problem.shares),
        "arguments": list(problem.program_arguments(iterations, spec.target.nranks)),
        "iterations": iterations,
        "flop_scale": spec.flop_scale,
        "detached_below_bytes": detached_below_bytes([*spec.target.platform.options, *spec.options]),
        "platform": str(loadable(spec.target.platform)),
        "hosts": list(spec.target.placement),
        "options": {**spec.engine_options, **dict(spec.options)},
    }


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return environment(folder, PYTHONPATH=path)


def _result(done: Finished, result: Path, spec: RunSpec, what: str) -> dict[str, Any]:
    """Return what the ranks did; raise an error where they did not come to their end."""
    output = _read(result)
    if output is not None and "error" in output:
        failed = SimulationError(f"{what}: {output['error']}", done.log)
        if not output["by_platform"]:
            raise failed
        with failures_explained(spec.target.changes, done):
            raise failed
    with failures_explained(spec.target.changes, done):
        check_success(done, what)
        if output is None:
            raise SimulationError(f"{what}: ended without a record", done.log)
    return output


def _read(result: Path) -> dict[str, Any] | None:
    """Return the result of a run; None if it is missing, or cut off because the process was killed."""
    try:
        output: dict[str, Any] = json.loads(result.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return output


def _repeatable(spec: RunSpec, iterations: int) -> tuple[str, ...]:
    """Return the command that repeats the run, given a file HOSTS with the record's hosts, one per line.

    It is empty for a problem that no command line can name.
    """
    problem = spec.target.problem
    if problem.shares:
        return ()
    if problem.program is not None:
        arguments = shlex.join(problem.program_arguments(iterations, spec.target.nranks))
        asked = ["--program", str(problem.program.path), *([f"--program-args={arguments}"] if arguments else [])]
    elif problem.preset is not None:
        done = [] if not problem.iterative else ["--iterations", str(iterations)]
        asked = ["--engine", "s4u", "--app", problem.name, "--class", problem.preset, *done]
        asked += ["--efficiency", f"{spec.efficiency!r}"]
    else:
        return ()
    platform = ["--platform", str(spec.target.platform.path), "--hostfile", "HOSTS"]
    options = [word for key, value in spec.options for word in ("--cfg", f"{key}:{value}")]
    return ("gridval", "program", "run", *asked, *platform, "--compute", spec.compute, *options)
