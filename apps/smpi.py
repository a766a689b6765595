"""An MPI program in simulated time, by SimGrid's SMPI."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from apps.build import kernel_hash, kernel_program
from apps.catalog import App, app
from apps.errors import KernelError
from apps.process import die_with_parent, run_bounded
from apps.record import RunRecord, from_kernel
from apps.spec import ENGINE_OPTIONS, RunSpec
from apps.verdict import final_record
from platforms.simgrid import check_simgrid, simgrid_version


def run_identity(spec: RunSpec) -> dict:
    """What decides the result of a run: the spec, the kernel and the simulator."""
    return {**spec.identity(), "kernel_hash": kernel_hash(app(spec.target.problem.app)), "simgrid": simgrid_version()}


def run_iterations(spec: RunSpec, iterations: int, *, time_limit_s: float | None = None) -> RunRecord:
    """Runs so many iterations of the spec's problem, whatever its policy, and returns the record of them.

    Raises KernelError where the program refuses the problem (too many ranks, say) and SimulationError where the run
    does not succeed.  Exit status 0 of SMPI proves nothing: success needs the program's final record too.
    """
    check_simgrid()
    kernel = app(spec.target.problem.app)
    program = kernel_program(kernel)
    _check_hosts(spec)
    with tempfile.TemporaryDirectory(prefix="smpi-") as name:
        folder = Path(name)
        command = _prepare(spec, kernel, program, folder, iterations)
        done = run_bounded(
            command, folder=folder, time_limit_s=time_limit_s, environment={**os.environ, "TMPDIR": str(folder)}
        )
        output = final_record(done, f"{spec.target.problem} on {spec.target.platform.name}, {spec.target.nranks} ranks")
    if "refused" in output:
        where = f"{spec.target.problem} on {spec.target.nranks} ranks"
        raise KernelError(where, output["refused"], "Choose other ranks or another class")
    return from_kernel(
        output,
        identity=run_identity(spec),
        wall_s=done.wall_s,
        peak_memory_bytes=done.peak_memory_bytes,
        command=tuple(_repeatable(spec, kernel, program, iterations)),
    )


def _check_hosts(spec: RunSpec) -> None:
    for host in spec.target.placement:
        spec.target.platform.host(host)  # raises with near matches
        if any(character.isspace() for character in host) or ":" in host:
            raise KernelError(f"host {host!r}", "smpirun's host file cannot name it", "Rename the host in the platform")


def _kernel_arguments(spec: RunSpec, iterations: int) -> list[str]:
    return [
        f"mode={spec.mode}",
        f"flop_scale={spec.flop_scale:.17g}",
        f"iterations={iterations}",
        *(f"{key}={value!r}" for key, value in spec.target.problem.params),
    ]


def _options(spec: RunSpec) -> list[str]:
    return [f"--cfg={key}:{value}" for key, value in {**ENGINE_OPTIONS, **dict(spec.options)}.items()]


def _prepare(spec: RunSpec, kernel: App, program: Path, folder: Path, iterations: int) -> list[str]:
    """Fills the run's folder and returns the command.  smpirun is a shell script that quotes only the platform, so
    everything else has a plain name inside the folder."""
    (folder / kernel.name).symlink_to(program)
    (folder / "hosts").write_text("".join(f"{host}\n" for host in spec.target.placement))
    guard = die_with_parent()
    return [
        "smpirun",
        *(["-wrapper", shlex.join(guard)] if guard else []),
        *("-np", str(spec.target.nranks), "-hostfile", "hosts"),
        *("-platform", str(spec.target.platform.path), "-no-privatize"),
        *_options(spec),
        f"./{kernel.name}",
        *_kernel_arguments(spec, iterations),
    ]


def _repeatable(spec: RunSpec, kernel: App, program: Path, iterations: int) -> list[str]:
    """The plain command that repeats the run, given a file HOSTS with the record's hosts, one per line."""
    return [
        *("smpirun", "-np", str(spec.target.nranks), "-hostfile", "HOSTS"),
        *("-platform", str(spec.target.platform.path), "-no-privatize"),
        *_options(spec),
        str(program),
        *_kernel_arguments(spec, iterations),
    ]
