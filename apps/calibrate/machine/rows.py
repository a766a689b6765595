"""Rows printed by the measuring program, with the kinds of routes that they measure: reading, checks and queries."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeAlias

from apps.calibrate.readers import MOST_BYTES
from apps.programs.kernel import kernel_names
from platforms.errors import UserError, nearest

Kind: TypeAlias = tuple[int, int]  # two clusters, the smaller number first; equal: within one
Pair: TypeAlias = tuple[str, str]  # of nodes; equal: on one


@dataclass(frozen=True)
class Routes:
    """Measured round trips by kind of route."""

    fitted: Mapping[Kind, Pair]  # the pair of each kind whose times are fitted
    local: Mapping[int, Pair]  # by cluster: a node with itself
    held_out: Sequence[Pair]  # further pairs, for validation
    trips: Mapping[Pair, Mapping[int, float]]  # median round trip in s by size in bytes

    @property
    def main(self) -> Kind:
        """The kind with the most sizes and the smallest latency: the one whose single calls were measured."""
        return min(self.fitted, key=lambda kind: (-len(self.trips[self.fitted[kind]]), kind[0] != kind[1], kind))


def routes_of(rows: Rows) -> Routes:
    """Return the routes; of each kind the first measured pair is fitted."""
    trips = rows.medians("pingpong")
    fitted: dict[Kind, Pair] = {}
    local: dict[int, Pair] = {}
    held_out: list[Pair] = []
    for pair in sorted(trips, key=lambda pair: -len(trips[pair])):
        kind = kind_of(rows, pair)
        if pair[0] == pair[1]:
            local.setdefault(kind[0], pair)
        elif kind not in fitted:
            fitted[kind] = pair
        else:
            held_out.append(pair)
    if not fitted:  # a single node
        fitted = {(cluster, cluster): pair for cluster, pair in local.items()}
    return Routes(fitted, local, held_out, trips)


def kind_of(rows: Rows, pair: Pair) -> Kind:
    """Return the kind of the route between two nodes."""
    first, other = sorted(rows.cluster_of(name) for name in pair)
    return first, other


COLUMNS = ("experiment", "group", "first", "second", "amount", "time_s", "at_s")
CALLS = ("pingpong", "send", "isend", "recv")
ALONE, BUSY = "kernel-alone", "kernel-busy"  # their ``second`` is the kernel
TRIAD = "triad"  # on all cores of a node; their amount is bytes as STREAM counts them
EXPERIMENTS = (
    *CALLS, "node", "latency", "send-waits", "recv-waits", "flow", "alltoall", "alone", "busy", ALONE, BUSY, TRIAD,
    "end",
)  # fmt: skip
_TIMED = (*CALLS, "latency", "flow", "alltoall", "alone", "busy", ALONE, BUSY, TRIAD)
_COMPUTING = ("alone", "busy", ALONE, BUSY, TRIAD)
_LONGEST_S = 1e6


@dataclass(frozen=True)
class MachineTime:
    """One measured value."""

    experiment: str  # of EXPERIMENTS
    group: int  # rows of one group were measured at once; for "node": its cluster
    first: str  # node of the sender, or computing node
    second: str  # node of the receiver, or the kernel; empty: none
    amount: int  # bytes of a message or triad, operations of computing, ranks on a node, or a threshold in bytes
    time_s: float
    at_s: float  # since the measurement began


@dataclass(frozen=True)
class Node:
    """A node of the measured machine."""

    name: str
    cluster: int
    ranks: int  # participating ranks


@dataclass(frozen=True)
class Rows:
    """A whole measurement."""

    nodes: tuple[Node, ...]
    rows: tuple[MachineTime, ...]

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return 1 + max(node.cluster for node in self.nodes)

    def members(self, cluster: int) -> tuple[str, ...]:
        """Return the names of a cluster's nodes."""
        return tuple(node.name for node in self.nodes if node.cluster == cluster)

    def cluster_of(self, name: str) -> int:
        """Return the cluster of a node."""
        return next(node.cluster for node in self.nodes if node.name == name)

    def of(self, *experiments: str) -> tuple[MachineTime, ...]:
        """Return the rows of experiments."""
        return tuple(row for row in self.rows if row.experiment in experiments)

    def medians(self, experiment: str) -> Mapping[tuple[str, str], Mapping[int, float]]:
        """Return the median time in s of an experiment by pair of nodes and amount."""
        times_s: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in self.of(experiment):
            times_s[row.first, row.second][row.amount].append(row.time_s)
        return {
            pair: {amount: median(times) for amount, times in sorted(by_amount.items())}
            for pair, by_amount in times_s.items()
        }

    def threshold(self, experiment: str) -> int | None:
        """Return the size in bytes found by bisection; None: none up to the largest size."""
        amounts = [row.amount for row in self.of(experiment)]
        return amounts[0] if amounts and amounts[0] <= self.largest else None

    @property
    def largest(self) -> int:
        """Size of the largest message in bytes."""
        return max(row.amount for row in self.of("pingpong"))

    @property
    def passes(self) -> int:
        """Number of completed passes; 0 if the measurement ended in the first one."""
        return sum(row.amount for row in self.of("end"))

    def renamed(self, names: Sequence[str]) -> Rows:
        """Return the same with other names of the nodes, in their order."""
        new = {"": "", **{node.name: name for node, name in zip(self.nodes, names, strict=True)}}

        def second(row: MachineTime) -> str:
            return row.second if row.experiment in (ALONE, BUSY) else new[row.second]

        nodes = tuple(replace(node, name=new[node.name]) for node in self.nodes)
        return Rows(nodes, tuple(replace(row, first=new[row.first], second=second(row)) for row in self.rows))

    def beside(self, rows: Sequence[MachineTime]) -> Rows:
        """Return the same with further rows, which were measured before it began."""
        later_s = max((row.at_s for row in rows), default=0.0)
        moved = (replace(row, at_s=row.at_s + later_s) for row in self.rows)
        return Rows(self.nodes, (*rows, *moved))


def read_rows(text: str, where: str) -> Rows:
    """Return the rows in the output of the measuring program; lines before its header are left out.

    Raises:
        UserError: There is no header or no end, a line is wrong, or values needed for a platform are missing.
    """
    rows = parsed_rows(text, where)
    if not rows or rows[-1].experiment != "end":
        raise UserError(where, "the measurement did not end", "Measure again, and let the program finish")
    return checked_rows(rows, where)


def parsed_rows(text: str, where: str) -> tuple[MachineTime, ...]:
    """Return the rows after the header, of any experiment.

    Raises:
        UserError: There is no header, or a line is wrong.
    """
    header = ",".join(COLUMNS)
    _, head, body = text.partition(header)
    if not head:
        raise UserError(where, f"no line {header}", "Give what the measuring program prints")
    lines = enumerate(body.splitlines(), text[: text.index(header)].count("\n") + 1)
    return tuple(_row(f"{where}:{number}", line) for number, line in lines if line.strip() and line[0] != "#")


def checked_rows(rows: Sequence[MachineTime], where: str) -> Rows:
    """Return the rows of a measurement, which may have ended early.

    Raises:
        UserError: Nodes or rows contradict each other, or there is too little for a platform.
    """
    nodes = tuple(Node(row.first, row.group, row.amount) for row in rows if row.experiment == "node")
    if sum(node.ranks for node in nodes) < 2:
        raise UserError(where, "fewer than two ranks", "Measure with at least two")
    known = {"", *(node.name for node in nodes)}
    named = (row.first if row.experiment in (ALONE, BUSY) else name for row in rows for name in (row.first, row.second))
    strange = next((name for name in named if name not in known), None)
    if strange is not None:
        raise UserError(where, f"node {strange!r} has no row of its own", "Give the whole output")
    result = Rows(nodes, tuple(rows))
    _check_enough(result, where)
    return result


def written(rows: Rows) -> str:
    """Return the rows as CSV, in the form that ``read_rows`` takes."""
    return ",".join(COLUMNS) + "\n" + written_rows(rows.rows)


def written_rows(rows: Sequence[MachineTime]) -> str:
    """Return lines of CSV, without a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        values = (row.experiment, row.group, row.first, row.second, row.amount)
        writer.writerow((*values, f"{row.time_s:.9g}", f"{row.at_s:.6f}"))
    return out.getvalue()


def _row(where: str, line: str) -> MachineTime:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != len(COLUMNS):
        raise UserError(where, f"{len(fields)} values", f"Give {len(COLUMNS)}: {', '.join(COLUMNS)}")
    experiment, group, first, second, amount, time, at = fields
    if experiment not in EXPERIMENTS:
        raise UserError(where, f"no experiment {experiment!r}", nearest(experiment, EXPERIMENTS))
    try:
        row = MachineTime(experiment, int(group), first, second, int(amount), float(time), float(at))
    except ValueError:
        raise UserError(where, f"not numbers: {group}, {amount}, {time}, {at}", "Correct the line") from None
    if experiment in (ALONE, BUSY) and (second not in kernel_names() or row.amount < 1):
        raise UserError(where, f"no kernel {second!r}, or no operations", nearest(second, kernel_names()))
    most = MOST_BYTES if experiment not in _COMPUTING else 10**18
    if not 0 <= row.amount <= most or not 0 <= row.group < 10**9 or (experiment == "node" and row.group > 10**4):
        raise UserError(where, f"group {group} or amount {amount} is out of range", "Correct the line")
    if not 0 <= row.time_s < _LONGEST_S or not 0 <= row.at_s < _LONGEST_S:
        raise UserError(where, f"time {time} or {at} is out of range", "Give seconds")
    if experiment in _TIMED and row.time_s == 0:
        row = replace(row, time_s=1e-9)  # below the clock's resolution
    return row


def _check_enough(rows: Rows, where: str) -> None:
    """Refuse a measurement that has too little for a platform."""
    remedy = "Measure with a larger budget"
    if set(range(rows.clusters)) != {node.cluster for node in rows.nodes}:
        raise UserError(where, "clusters are not numbered from 0 on", "Correct the rows of the nodes")
    sizes = rows.medians("pingpong")
    if not sizes or max(map(len, sizes.values())) < 16:
        raise UserError(where, "fewer than 16 sizes of ping-pongs", remedy)
    if not rows.of("alone"):
        raise UserError(where, "no time of computing", remedy)
