"""Experiments with messages between the hosts of a real machine."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from apps.errors import SimulationError
from apps.machines.launch import alone_on, launch, printed_json, tool_stamps
from apps.machines.machine_file import Machine
from apps.probes.network.measure import FLAGS, HEADERS, REAL_SOURCES, NetworkPlan, node_seconds, program_hash
from apps.probes.plan import Measurement
from platforms.simgrid.compiling import compile_once

REPEATS = 5  # of every experiment: its times are medians
_ENDS, _FEWEST = (0.05, 0.95), 20  # least number of repeats for an estimate of the scatter of messages
_OF_MEDIAN = 1.25 / REPEATS**0.5  # standard error of a median relative to that of a mean (normal distribution)
_PLAN = "plan"


def real_netprobe(machine: Machine) -> Path:
    """Return the program that executes plans under the machine's MPI.

    Its argument is a file of ``NetworkPlan.lines``; rank i runs on the plan's i-th host.
    """
    return compile_once(
        "real-netprobe", REAL_SOURCES, compiler=[machine.compilers.c], flags=FLAGS, headers=HEADERS,
        folder=machine.compiled_folder,
    )  # fmt: skip


def identity_on(plan: NetworkPlan, machine: Machine, experiments: str) -> dict[str, Any]:
    """Return the inputs that determine the result of a plan on a machine; ``experiments`` is a hash of its own."""
    return {
        "source": "measurement",
        "machine": machine.content_hash,
        "host": list(plan.hosts),
        "experiments": experiments,
        "repeats": REPEATS,
        "program_hash": program_hash(REAL_SOURCES),
        "tools": tool_stamps(machine),
    }


def measure_on_machine(
    plan: NetworkPlan, machine: Machine, *, time_limit_s: float | None = None, stop: threading.Event | None = None
) -> Measurement:
    """Execute a plan on a machine: all experiments one after the other, in several rounds; times are medians.

    The first messages between two hosts also open a connection and so take longer; the median ignores them.

    Raises:
        KernelError: A host does not belong to the machine.
        UserError: A compiler or the launcher is missing.
        SimulationError: The program does not succeed.
        Stopped: ``stop`` was set.
    """
    program = real_netprobe(machine)
    rounds = replace(plan, experiments=tuple(plan.experiments) * REPEATS)
    with alone_on(machine, stop):
        done = launch(
            machine,
            [str(program)],
            [*plan.hosts, *plan.second_ranks],
            environment={"NETPROBE_PLAN": f"{{folder}}/{_PLAN}"},
            files={_PLAN: "".join(f"{line}\n" for line in rounds.lines(plan.second_ranks)).encode()},
            time_limit_s=time_limit_s,
            stop=stop,
        )
    printed = printed_json(done) if done.succeeded else None
    if printed is None:
        raise SimulationError(f"measuring the network of machine {machine.name}: {done.why}", done.stderr)
    count = len(plan.experiments)
    times_s = tuple(
        tuple(map(median, zip(*printed["times_s"][i::count], strict=True))) for i in range(count)
    )  # a time of each of its exchanges
    ratios = [
        repeat / middle
        for i, medians in enumerate(times_s)
        for times in printed["times_s"][i + count :: count]  # without the first repeat, which opens connections
        for repeat, middle in zip(times, medians, strict=True)
        if middle > 0
    ]
    scatter = tuple(map(float, np.quantile(ratios, _ENDS) ** _OF_MEDIAN)) if len(ratios) >= _FEWEST else None
    return Measurement(times_s, node_seconds(rounds, printed["took_s"]), done.wall_s, scatter=scatter)
