"""Speeds of the kernels on every node of a machine, with one rank and with all cores busy, and their consequences."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from apps.calibrate.machine.kept import Kept
from apps.calibrate.machine.rows import ALONE, BUSY, TRIAD, MachineTime, Rows
from apps.errors import SimulationError
from apps.machines.machine_file import Machine
from apps.machines.machine_platform import machine_platform
from apps.machines.turns import alone_on
from apps.measuring.solo import solo_problem, solo_times
from platforms.errors import UserError
from platforms.model.platform import KernelEfficiency

_SLOWED = 1.05  # slowdown with all cores busy from which on a kernel shows the memory bus
_MOVING = 1.0  # bytes per operation from which on a kernel shows it
_FEWEST = 2  # least number of kernels that show it
_MOST_FAILURES = 2  # failed runs after which a kernel is left out


@dataclass(frozen=True)
class KernelSpeed:
    """Counted operations per second of a rank on one node."""

    alone: float
    busy: float | None  # of each rank while all cores of the node compute; None: measured with one rank only


Kernels = Mapping[str, Mapping[str, KernelSpeed]]  # by kernel and node


@dataclass(frozen=True)
class TimedKernels:
    """Kernels that were run on a machine."""

    rows: tuple[MachineTime, ...]
    refused: Mapping[tuple[str, str], str]  # reason for missing rows, by experiment and kernel


def timed_kernels(
    machine: Machine, names: Sequence[str], hosts: Sequence[str], budget_s: float, kept: Kept
) -> TimedKernels:
    """Run the kernels on the machine until the budget is used up, and return a row for every rank of every run.

    A run has one rank on each node, or all of ``hosts``; ranks do not communicate.  All kernels run once before any
    runs again.  A kernel that fails twice is left out.

    Args:
        machine: The machine.
        names: Of the kernels.
        hosts: The host of every rank if all cores are busy.
        budget_s: Time limit; the run that exceeds it is the last.
        kept: Storage for rows; those of an interrupted command are reused.
    """
    times = [row for row in kept.kernel_rows() if row.second in names and row.first in machine.hosts]
    group = 1 + max((row.group for row in times), default=-1)
    spent_s = max((row.at_s for row in times), default=0.0)
    made = Counter((what, name) for what, name, _ in {(row.experiment, row.second, row.group) for row in times})
    failures: Counter[tuple[str, str]] = Counter()
    refused: dict[tuple[str, str], str] = {}
    with alone_on(machine):
        start_s = time.monotonic() - spent_s
        for what, name in _turns(names, several=len(hosts) > len(machine.hosts)):
            if (group or refused) and time.monotonic() - start_s > budget_s:
                break
            if made[what, name] > 0:
                made[what, name] -= 1
            elif failures[what, name] < _MOST_FAILURES:
                try:
                    rows = _run(machine, what, name, machine.hosts if what == ALONE else hosts, group, start_s)
                except (SimulationError, UserError) as err:
                    failures[what, name] += 1
                    refused[what, name] = str(err)
                    continue
                group += 1
                kept.add_kernels(rows)
                times += rows
            elif all(failures[ALONE, other] >= _MOST_FAILURES for other in names):
                break
    timed = {(row.experiment, row.second) for row in times}
    return TimedKernels(tuple(times), {run: why for run, why in refused.items() if run not in timed})


def _run(machine: Machine, what: str, name: str, hosts: Sequence[str], group: int, start_s: float) -> list[MachineTime]:
    """Run a kernel once and return its rows."""
    operations, times_s = solo_times(machine, machine_platform(machine), name, hosts)
    at_s = time.monotonic() - start_s
    return [
        MachineTime(what, group, host, name, round(operations), max(time_s, 1e-9), at_s)
        for host, time_s in zip(hosts, times_s, strict=True)
    ]


def _turns(names: Sequence[str], *, several: bool) -> Iterator[tuple[str, str]]:
    """Yield experiment and kernel of every run, endlessly; ``several``: a node has several cores."""
    while names:
        for name in names:
            yield ALONE, name
            if several:
                yield BUSY, name


def kernels_of(rows: Rows) -> Kernels:
    """Return the median speeds; those with all cores busy are missing if the budget ended before."""
    rates: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows.of(ALONE, BUSY):
        rates[row.second][row.first][row.experiment].append(row.amount / row.time_s)
    return {
        name: {
            node: KernelSpeed(median(by[ALONE]), median(by[BUSY]) if by[BUSY] else None)
            for node, by in by_node.items()
            if by[ALONE]
        }
        for name, by_node in rates.items()
    }


def spread(kernels: Kernels, name: str, members: Sequence[str]) -> float:
    """Return the largest minus the smallest speed of a single kernel on a cluster's nodes, relative to their median."""
    speeds = [kernels[name][node].alone for node in members if node in kernels[name]]
    return (max(speeds) - min(speeds)) / median(speeds)


def ratios(kernels: Kernels, node: str, members: Sequence[str]) -> list[float]:
    """Return the speeds of all kernels on a node relative to the medians of its cluster."""
    rates = []
    for by_node in kernels.values():
        if node in by_node:
            rates.append(by_node[node].alone / median(by_node[member].alone for member in members if member in by_node))
    return rates


def efficiencies(
    kernels: Kernels, members: Sequence[str], speeds_flops: Mapping[str, float], ranks: Mapping[str, int]
) -> tuple[list[KernelEfficiency], list[str]]:
    """Return the shares of their cores' speed that the nodes of a cluster sustain, and the kernels above it.

    Args:
        kernels: The measured speeds.
        members: Names of the nodes.
        speeds_flops: Speed of a core of each node on the platform, flop/s.
        ranks: Number of ranks on each node while all its cores are busy; kernels not timed in this way are left out.
    """
    shares, above = [], []
    for name, by_node in kernels.items():
        speeds = [(by_node[node], speeds_flops[node]) for node in members if node in by_node]
        if not speeds or any(by_node[node].busy is None and ranks[node] > 1 for node in members if node in by_node):
            continue
        alone = median(speed.alone / flops for speed, flops in speeds)
        busy = median((speed.alone if speed.busy is None else speed.busy) / flops for speed, flops in speeds)
        if max(alone, busy) > 1:
            above.append(name)
        else:
            shares.append(KernelEfficiency(name, alone, busy))
    return shares, above


def memory_Bps(kernels: Kernels, ranks: Mapping[str, int]) -> float | None:
    """Return the bandwidth between cores and memory derived from the slowdown of kernels on nodes, byte/s.

    On the bus of docs/kernels/index.md each of c ranks waits for the bytes of all: an operation takes
    (c - 1) times its bytes over the bandwidth longer than alone.  The median over kernels counts.

    Args:
        kernels: The measured speeds.
        ranks: Number of ranks by node, while all cores were busy; the nodes to take.
    """
    bandwidths = []
    for name, by_node in kernels.items():
        moved = solo_problem(name).bytes_per_flop or 0.0
        for node, speed in by_node.items():
            c = ranks.get(node, 1)
            if moved >= _MOVING and c > 1 and speed.busy is not None and speed.alone > _SLOWED * speed.busy:
                bandwidths.append((name, moved * (c - 1) / (1 / speed.busy - 1 / speed.alone)))
    names = dict.fromkeys(name for name, _ in bandwidths)
    by_kernel = [median(rate for other, rate in bandwidths if other == name) for name in names]
    return median(by_kernel) if len(by_kernel) >= _FEWEST else None


def triad_Bps(rows: Rows, members: Sequence[str]) -> float | None:
    """Return the bandwidth that STREAM's triad has measured on nodes, byte/s: the median; None: on none of them."""
    rates = [row.amount / row.time_s for row in rows.of(TRIAD) if row.first in members]
    return median(rates) if rates else None
