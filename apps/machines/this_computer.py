"""This computer as a machine that needs no file: it records programs of its own MPI (apps/programs/native.py)."""

from __future__ import annotations

import os
from pathlib import Path

from apps.errors import KernelError
from apps.machines.machine_file import PROGRAM, Compilers, Launcher, Limits, Machine, MachineCluster, Wire
from apps.programs.own_program import UserProgram
from platforms.wording import number_of

HOST = "localhost"
_RANKS_PER_CORE = 64  # waiting ranks yield the processor; more of them take long to start, and memory for each
_WIRE = Wire(1.25e9, 1e-5)  # no recording depends on it


def this_computer(program: UserProgram, nranks: int, *, speed_flops: float, wall_s: float | None = None) -> Machine:
    """Return this computer as the machine on which a program is recorded.

    Ranks may share cores, because their computation is timed in processor time of their threads.

    Args:
        program: A program of an ordinary MPI.
        nranks: Number of its ranks.
        speed_flops: Speed of a core, flop/s, which converts computation times to flops.
        wall_s: Limit of the wall time of a run; None: the default without a file.

    Raises:
        KernelError: There are too many ranks.
        UserError: The launcher or the compiler of the program's MPI is missing.
    """
    native = program.native
    assert native is not None  # read_program has found it
    cores = os.cpu_count() or 1
    most = _RANKS_PER_CORE * cores
    if nranks > most:
        problem = f"it has to run once with {number_of(nranks, 'rank')}, and this computer takes at most {most}"
        remedy = "Take fewer ranks, or record it on your cluster (docs/programs/traces.md)"
        raise KernelError(f"--program {program.path}", problem, remedy)
    command = str(native.launcher)
    launcher = Launcher((command, *native.family.options, PROGRAM), version=(command, "--version"))
    limits = Limits(ranks=most) if wall_s is None else Limits(ranks=most, wall_s=wall_s)
    return Machine(
        name=HOST,
        launcher=launcher,
        compilers=Compilers(str(native.compiler)),
        clusters=(MachineCluster("here", (HOST,), cores, speed_flops),),
        network=_WIRE,
        between_clusters=_WIRE,
        environment=_environment(),
        limits=limits,
        path=Path(program.path),
    )


def _environment() -> tuple[tuple[str, str], ...]:
    """Return the variables of every rank: it computes in one thread, unless the user has set another number.

    Compiled modules written by a script would change the folder that it reads.
    """
    threads = () if "OMP_NUM_THREADS" in os.environ else (("OMP_NUM_THREADS", "1"),)
    return (*threads, ("PYTHONDONTWRITEBYTECODE", "1"), ("RECORDER_CLOCK", "thread"))
