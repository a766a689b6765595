"""Compile the program that measures a machine, and let it measure a simulated one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from apps.child.verdict import check_success
from apps.probes.simulated import check_ready, run_simulated
from platforms.model.platform import Platform
from platforms.simgrid.compiling import compile_once

_HERE = Path(__file__).parent
SOURCES = tuple(_HERE / name for name in ("measure.c", "plan.c", "nodes.c", "orders.c", "triads.c"))
_COMMON = _HERE.parents[1] / "common"
_STREAM = _HERE.parents[1] / "stream" / "triad.h"
_HEADERS = ("plan.h", "nodes.h", "orders.h", "triads.h")
HEADERS = (*(_HERE / name for name in _HEADERS), _COMMON / "checked.h", _COMMON / "work.h", _STREAM)


def program_hash() -> str:
    """Return a hash of the program's sources and headers."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in (*SOURCES, *HEADERS))).hexdigest()


def machine_program(compiler: str, flags: Sequence[str] = ("-O2",), folder: Path | None = None) -> Path:
    """Return the executable for a real MPI library.

    Args:
        compiler: The machine's compiler for MPI programs in C, such as ``mpicc``.
        flags: Its flags.
        folder: Where the executable is kept; None: the cache folder.

    Raises:
        UserError: The compiler is missing, or compiling fails.
    """
    return compile_once(
        "measure", SOURCES, compiler=[compiler], flags=[*flags, "-std=gnu11"], libraries=["-ldl"], headers=HEADERS,
        folder=folder,
    )  # fmt: skip


def simulated_rows(
    platform: Platform, hosts: Sequence[str], arguments: Sequence[str], *, time_limit_s: float | None = None
) -> str:
    """Return the CSV that the program prints on a simulated platform.

    Args:
        platform: The platform; its <config> holds the factors of SMPI.
        hosts: The host of every rank, at least two.
        arguments: The program's, such as ``["passes=1"]``.
        time_limit_s: Wall time that the simulation may take, s; None: any.

    Raises:
        UserError: A host is not on the platform, or smpirun cannot name it.
        SimulationError: The simulation does not succeed.
    """
    check_ready(platform, hosts)
    program = compile_once(
        "measure-simulated", SOURCES, compiler=["smpicc"], flags=["-O2", "-std=gnu11", "-DSIMULATED"], headers=HEADERS
    )
    done = run_simulated(program, arguments, hosts, platform, time_limit_s=time_limit_s)
    check_success(done, f"measuring {platform.name}")
    return done.output
