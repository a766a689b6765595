"""Speeds of the kernels on every node of a machine, with one rank and with all cores busy, and where they are kept."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from apps.calibrate.machine.rows import ALONE, BUSY, COLUMNS, TRIAD, MachineTime, Rows, parsed_rows, written_rows
from apps.errors import SimulationError
from apps.machines.launch import alone_on
from apps.machines.machine_file import Machine
from apps.machines.machine_platform import machine_platform
from apps.measuring.rehearsal import solo_problem, solo_times
from platforms.errors import UserError
from platforms.files.caching import cache_folder
from platforms.model.platform import KernelEfficiency

_MOST_AGE_S = 86_400.0  # largest age of kept rows: nodes and networks change
_ONCE = ("node", "send-waits", "recv-waits", "end")  # experiments whose latest measurement counts


@dataclass(frozen=True)
class Kept:
    """Files in which the rows of a calibration are kept until its platform is written.

    Their folder is visible on every host of the machine.
    """

    kernels: Path  # rows of kernels
    earlier: Path  # rows of messages, from earlier commands
    running: Path  # rows of messages being written by the measuring program

    def kernel_rows(self) -> tuple[MachineTime, ...]:
        """Return the kept rows of kernels."""
        return _read(self.kernels)

    def add_kernels(self, rows: Sequence[MachineTime]) -> None:
        """Keep further rows of kernels."""
        with suppress(OSError):  # without a file they are lost if the command is interrupted
            self.kernels.parent.mkdir(parents=True, exist_ok=True)
            with self.kernels.open("a") as file:
                if file.tell() == 0:
                    file.write(",".join(COLUMNS) + "\n")
                file.write(written_rows(rows))

    def begin(self) -> tuple[MachineTime, ...]:
        """Return the rows of messages measured by earlier commands, and store them separately from new ones."""
        rows = _joined(_read(self.earlier), _read(self.running))
        with suppress(OSError):
            self.earlier.parent.mkdir(parents=True, exist_ok=True)
            if rows:
                self.earlier.write_text(",".join(COLUMNS) + "\n" + written_rows(rows))
            self.running.unlink(missing_ok=True)
        return rows

    def written_now(self) -> tuple[MachineTime, ...]:
        """Return the rows of messages measured by this command."""
        return _read(self.running)

    def clear(self) -> None:
        """Forget all rows, because their platform is written."""
        with suppress(OSError):
            for file in (self.kernels, self.earlier, self.running):
                file.unlink(missing_ok=True)


def kept_of(machine: Machine) -> Kept:
    """Return the files of a machine, named by everything that affects its measurements."""
    folder = (machine.folder or cache_folder()) / "calibrations"
    stem = machine.content_hash[:24]
    return Kept(*(folder / f"{stem}.{part}.csv" for part in ("kernels", "earlier", "running")))


def _read(path: Path) -> tuple[MachineTime, ...]:
    """Return the complete rows of a file, without a partly written line; none if the file is old or missing."""
    try:
        if abs(time.time() - path.stat().st_mtime) > _MOST_AGE_S:  # also old if the clock was put back
            return ()
        text = path.read_text(encoding="utf-8")
        return parsed_rows(text[: text.rfind("\n") + 1], str(path))
    except (OSError, UnicodeDecodeError, UserError):
        return ()


def together(earlier: Sequence[MachineTime], later: Rows) -> Rows:
    """Return a measurement with the rows of earlier ones on the same nodes; rows of other nodes are left out."""
    return Rows(later.nodes, _joined(earlier, later.rows))


def _joined(first: Sequence[MachineTime], then: Sequence[MachineTime]) -> tuple[MachineTime, ...]:
    """Return the rows of two measurements, concatenated; groups of rows measured at once stay separate.

    If the nodes differ, or the second measurement did not get that far, only the rows of one of them.
    """
    nodes, later_nodes = ({row.first: row.group for row in rows if row.experiment == "node"} for rows in (first, then))
    if nodes != later_nodes:
        return tuple(then if later_nodes else first)
    groups = 1 + max((row.group for row in first), default=-1)
    at_s = max((row.at_s for row in first), default=0.0)
    moved = (
        replace(row, at_s=row.at_s + at_s, group=row.group + (0 if row.experiment == "node" else groups))
        for row in then
    )
    return (*(row for row in first if row.experiment not in _ONCE), *moved)


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
