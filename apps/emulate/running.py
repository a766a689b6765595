"""Run a command on an emulated grid."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from apps.emulate.carrying import overload
from apps.emulate.links import description
from apps.emulate.processors import own_processor
from apps.emulate.report import Report, read_report
from apps.emulate.requirements import check_command, check_machine
from apps.emulate.settings import COUNTED, Settings
from apps.errors import SimulationError
from platforms.errors import UserError
from platforms.grids.grid import Grid
from platforms.simgrid.compiling import compile_once

_HERE = Path(__file__).parent
_FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")
SPACES = "/dev/shm"  # as in grid/spaces.h: inside the grid a folder of its own
_ENTER = f"{SPACES}/emulated enter"  # runs a command in a node, as ssh would
PACER = f"{SPACES}/pacer.so"


def run_on_grid(grid: Grid, settings: Settings, command: Sequence[str], caution: Callable[[str], None]) -> Report:
    """Run a command in the front node of an emulated grid, and return the reports of router and pacers.

    In counted mode ``caution`` gets a sentence before the run begins if one processor is too slow for the grid.

    mpirun of Open MPI starts its ranks on the nodes without further options.  Nothing of the grid is left when this
    function returns or raises, nor when the calling process is killed.

    Raises:
        UserError: This machine lacks a requirement, or the grid cannot be emulated.
        SimulationError: The grid ended before the command.
    """
    settings.check(grid)
    check_machine()
    check_command(command[0])
    emulator, pacer = emulator_program(), pacer_library()
    with own_processor(settings.cpu) as processor, os.fdopen(os.memfd_create("grid"), "wb") as described:
        too_much = overload(grid, processor) if settings.pace == COUNTED else None
        if too_much:
            caution(too_much)
        described.write(f"pacer {pacer}\n{description(grid, processor, settings.queues)}".encode())
        described.flush()
        os.lseek(described.fileno(), 0, os.SEEK_SET)
        report = _run(emulator, described.fileno(), command, environment(grid, settings, processor))
    if report.error is not None:
        raise UserError("emulated grid", report.error, "Say `gridval platform emulate --help` for what it needs")
    if report.status is None:
        raise SimulationError("the emulated grid was killed before its command had ended")
    return report


def _run(emulator: Path, described: int, command: Sequence[str], variables: dict[str, str]) -> Report:
    source, sink = os.pipe()
    try:
        process = subprocess.Popen(
            [str(emulator), "run", str(described), str(sink), *command], env=variables, pass_fds=(described, sink)
        )
    finally:
        os.close(sink)
    try:
        with os.fdopen(source, encoding="utf-8") as lines:
            report = read_report(lines)
        process.wait()
    except BaseException:  # an interrupt: the command ends with the grid
        process.kill()
        process.wait()
        raise
    return report


def environment(grid: Grid, settings: Settings, processor: int) -> dict[str, str]:
    """Return the environment of the command: that of this process, with settings for Open MPI and the pacer."""
    speeds = settings.node_speeds(grid)
    limits = ("eager_limit", "rndv_eager_limit", "max_send_size") if settings.eager_bytes is not None else ()
    return {
        **os.environ,
        "GRIDVAL_PACE": settings.pace,
        "GRIDVAL_SPEEDS": " ".join(f"{host}={speed!r}" for host, speed in speeds.items()),
        "GRIDVAL_CPU": str(processor),
        "GRIDVAL_PACERS": f"{SPACES}/pacers",
        "GRIDVAL_PACER": PACER,
        "GRIDVAL_ENTER": _ENTER,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_plm_rsh_agent": _ENTER,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_default_hostfile": f"{SPACES}/hosts",
        "OMPI_MCA_orte_tmpdir_base": SPACES,
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_oob_tcp_if_include": "tun0",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": "tun0",
        # Connections are opened by MPI_Init; otherwise the first message of each pair would wait for its connection.
        "OMPI_MCA_mpi_preconnect_mpi": "1",
        **{f"OMPI_MCA_btl_tcp_{limit}": str(settings.eager_bytes) for limit in limits},
    }


def emulator_program() -> Path:
    """Return the program that makes the grid; it is compiled on first use."""
    return _compiled("emulated", "grid", ())


def pacer_library() -> Path:
    """Return the library that paces a rank; it is compiled on first use."""
    return _compiled("pacer", "pacer", ("-shared", "-fPIC"))


def _compiled(name: str, folder: str, flags: Sequence[str]) -> Path:
    sources, headers = sorted((_HERE / folder).glob("*.c")), sorted((_HERE / folder).glob("*.h"))
    return compile_once(name, sources, compiler=["gcc"], flags=[*_FLAGS, *flags], libraries=["-ldl"], headers=headers)
