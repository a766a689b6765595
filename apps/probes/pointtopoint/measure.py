"""Simulated times of MPI_Send, MPI_Isend, MPI_Recv and ping-pongs between two hosts of a platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from apps.child.verdict import final_record
from apps.probes.simulated import check_ready, run_simulated
from platforms.model.platform import Platform
from platforms.simgrid.compiling import compile_once

_SOURCE = Path(__file__).with_name("p2pprobe.c")
_HEADER = _SOURCE.parents[2] / "common" / "checked.h"


def call_times(
    platform: Platform, hosts: tuple[str, str], sizes: Sequence[int], *, time_limit_s: float | None = None
) -> Mapping[str, tuple[float, ...]]:
    """Return the times in s of each call (send, isend, recv, pingpong) for messages of these sizes.

    Args:
        platform: The platform; its <config> holds the factors of SMPI.
        hosts: Two hosts, or one of several cores twice.
        sizes: Bytes, at most 2^31 - 1.
        time_limit_s: Wall time that the simulation may take, s; None: any.

    Raises:
        UserError: A host is not on the platform, or smpirun cannot name it.
        SimulationError: The simulation does not succeed.
    """
    check_ready(platform, hosts)
    program = compile_once("p2pprobe", [_SOURCE], compiler=["smpicc"], flags=["-O2", "-std=gnu11"], headers=[_HEADER])
    lines = "".join(f"{size}\n" for size in sizes)
    done = run_simulated(program, ["sizes"], hosts, platform, files={"sizes": lines}, time_limit_s=time_limit_s)
    record = final_record(done, f"replaying the calls on {platform.name}")
    return {call: tuple(times_s) for call, times_s in record.items()}
