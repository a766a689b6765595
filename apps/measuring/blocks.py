"""Times of computation and communication blocks on the hosts of a real machine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from statistics import median

from apps.errors import KernelError, SimulationError
from apps.machines.launch import alone_on, launch, printed_json
from apps.machines.machine_file import Machine
from apps.probes.blocks.measure import (
    DISK_BLOCKS,
    ON_ONE_NODE,
    BlockPlan,
    Experiment,
    mpi_plan,
    node_seconds,
    real_blocks,
)
from apps.probes.plan import Measurement

_PLAN = "plan"


def measure_blocks_on_machine(
    plan: BlockPlan, machine: Machine, *, time_limit_s: float | None = None, stop: threading.Event | None = None
) -> Measurement:
    """Execute a plan on a machine, each experiment up to five times; times are medians, without energies.

    Processes of one host that compute at once are threads of one rank.

    Raises:
        KernelError: A host does not belong to the machine, or an experiment uses a disk.
        UserError: A compiler or the launcher is missing.
        SimulationError: The program does not succeed.
        Stopped: ``stop`` was set.
    """
    for experiment in plan.experiments:
        if experiment.block in DISK_BLOCKS:
            raise KernelError(f"machine {machine.name}", "its file names no disks", "Leave out the blocks of disks")
    hosts, lines = machine_plan(plan.experiments)
    program = real_blocks(machine)
    with alone_on(machine, stop):
        done = launch(
            machine,
            [str(program)],
            hosts,
            environment={"BLOCKS_PLAN": f"{{folder}}/{_PLAN}"},
            files={_PLAN: "".join(f"{line}\n" for line in lines).encode()},
            time_limit_s=time_limit_s,
            stop=stop,
        )
    printed = printed_json(done) if done.succeeded else None
    if printed is None:
        raise SimulationError(f"measuring the blocks of machine {machine.name}: {done.why}", done.stderr)
    node_s = sum(map(node_seconds, plan.experiments, printed["held_s"]))
    times_s = tuple((float(median(rounds)),) for rounds in printed["times_s"])
    return Measurement(times_s, node_s, done.wall_s, (None,) * len(times_s))


def machine_plan(experiments: Sequence[Experiment]) -> tuple[list[str], list[str]]:
    """Return the host of every rank of the program, and the lines of its plan.

    A host has as many ranks as it has processes in a block that sends messages, and at least one.
    """
    sending = [
        experiment if experiment.block not in ON_ONE_NODE else Experiment("idle", experiment.hosts[:1])
        for experiment in experiments
    ]
    hosts, lines = mpi_plan(sending)
    count = int(lines[0].split()[1])  # of the groups
    groups = {line: number for number, line in enumerate(lines[1 : 1 + count])}
    made = []
    for experiment, line in zip(experiments, lines[1 + count :], strict=True):
        group = int(line.split()[1])
        if experiment.block in ON_ONE_NODE:  # the first rank of the host, once per thread
            members = [str(hosts.index(experiment.hosts[0]))] * len(experiment.hosts)
            group = groups.setdefault(" ".join([str(len(members)), *members]), len(groups))
        made.append(f"{experiment.block} {group} {experiment.amount:.17g}")
    return hosts, [f"groups {len(groups)} experiments {len(made)}", *groups, *made]
