"""Simulated times of calls that several hosts make at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.child.verdict import final_record
from apps.probes.simulated import check_ready, run_simulated
from platforms.model.platform import Platform
from platforms.simgrid.compiling import compile_once

PATTERNS = ("send", "sendrecv_same", "sendrecv_diff", "alltoall")  # in the order of their numbers in patternprobe.c
_SOURCE = Path(__file__).with_name("patternprobe.c")
_HEADER = _SOURCE.parents[2] / "common" / "checked.h"


@dataclass(frozen=True)
class Call:
    """A call of the first ``ranks`` ranks at once."""

    pattern: str  # of PATTERNS; their meaning is in patternprobe.c
    ranks: int
    size_bytes: int  # of a message; in an all-to-all, of the block for each rank


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
    check_ready(platform, hosts)
    flags = ["-O2", "-std=gnu11"]
    program = compile_once("patternprobe", [_SOURCE], compiler=["smpicc"], flags=flags, headers=[_HEADER])
    lines = [f"{PATTERNS.index(call.pattern)} {call.ranks} {call.size_bytes}\n" for call in calls]
    done = run_simulated(
        program, ["calls"], hosts, platform, files={"calls": "".join(lines)}, time_limit_s=time_limit_s
    )
    record = final_record(done, f"replaying the patterns on {platform.name}")
    return tuple(float(time_s) for time_s in record["times_s"])
