"""Simulated times of calls that several hosts make at once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
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

PATTERNS = ("send", "sendrecv_same", "sendrecv_diff", "alltoall")  # in the order of their numbers in patternprobe.c
_SOURCE = Path(__file__).with_name("patternprobe.c")
_HEADER = _SOURCE.parents[2] / "common" / "checked.h"


@dataclass(frozen=True)
class Call:
    """A call of the first ``ranks`` ranks at once."""

    pattern: str  # of PATTERNS; their meaning is in patternprobe.c
    ranks: int
    size_bytes: int  # of a message; in an all-to-all, of what a rank sends to each rank


def pattern_times(
    platform: Platform, hosts: Sequence[str], calls: Sequence[Call], *, time_limit_s: float | None = None
) -> tuple[float, ...]:
    """Return the time in s of each call, as the mean of the ranks that make it.

    Args:
        platform: The platform; its <config> holds the factors of SMPI.
        hosts: The host of each rank, as many as the calls need.
        calls: The calls, one after the other.
        time_limit_s: Wall time that the simulation may take, s; None: any.

    Raises:
        UserError: A host is not on the platform, or smpirun cannot name it.
        SimulationError: The simulation does not succeed.
    """
    check_simgrid()
    for host in hosts:
        platform.host(host)
    check_host_names(hosts)
    flags = ["-O2", "-std=gnu11"]
    program = compile_once("patternprobe", [_SOURCE], compiler=["smpicc"], flags=flags, headers=[_HEADER])
    with scratch_folder("smpi") as folder:
        (folder / "patternprobe").symlink_to(program)
        write_host_file(folder / "hosts", hosts)
        lines = [f"{PATTERNS.index(call.pattern)} {call.ranks} {call.size_bytes}\n" for call in calls]
        (folder / "calls").write_text("".join(lines))
        command = smpirun_command(
            "./patternprobe",
            ["calls"],
            nranks=len(hosts),
            host_file="hosts",
            platform=loadable(platform),
            options=ENGINE_OPTIONS,
            wrapper=shlex.join([*die_with_parent(), *loaded_first(folder)]),
        )
        done = run_bounded(command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder))
        record = final_record(done, f"replaying the patterns on {platform.name}")
    return tuple(float(time_s) for time_s in record["times_s"])
