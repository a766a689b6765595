"""Simulated times of MPI_Send, MPI_Isend, MPI_Recv and ping-pongs between two hosts of a platform."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from apps.child.process import run_bounded
from apps.child.run_folder import environment
from apps.child.smpirun import smpirun_command, write_host_file
from apps.child.verdict import final_record
from apps.spec.engine_options import ENGINE_OPTIONS, check_host_names
from platforms.files.scratch import scratch_folder
from platforms.model.platform import Platform
from platforms.read.content import loadable
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import check_simgrid
from platforms.simgrid.repairs import loaded_first

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
    check_simgrid()
    for host in hosts:
        platform.host(host)
    check_host_names(hosts)
    program = compile_once("p2pprobe", [_SOURCE], compiler=["smpicc"], flags=["-O2", "-std=gnu11"], headers=[_HEADER])
    with scratch_folder("smpi") as folder:
        (folder / "p2pprobe").symlink_to(program)
        write_host_file(folder / "hosts", hosts)
        (folder / "sizes").write_text("".join(f"{size}\n" for size in sizes))
        command = smpirun_command(
            "./p2pprobe",
            ["sizes"],
            nranks=2,
            host_file="hosts",
            platform=loadable(platform),
            options=ENGINE_OPTIONS,
            wrapper=shlex.join([*die_with_parent(), *loaded_first(folder)]),
        )
        done = run_bounded(command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder))
        record = final_record(done, f"replaying the calls on {platform.name}")
    return {call: tuple(times_s) for call, times_s in record.items()}
