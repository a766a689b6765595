"""Reports of the router, the pacers and the keeper of an emulated grid, and the cautions that they call for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from apps.emulate.settings import COUNTED
from platforms.terminal.quantities import significant
from platforms.wording import number_of


@dataclass(frozen=True)
class RouterTally:
    """Work of the router; a packet is late by the time between its computed and its true delivery."""

    wall_s: float
    cpu_s: float
    delivered: int  # packets
    lost: int  # packets dropped by a full queue or a node
    very_late: int  # packets: later than 0.5 ms
    mean_late_s: float
    most_late_s: float
    most_waiting_bytes: float  # in the longest queue


@dataclass(frozen=True)
class RankTally:
    """Work of the pacer of one rank, from MPI_Init to MPI_Finalize."""

    host: str
    wall_s: float
    cpu_s: float
    queued_s: float  # time it was runnable while the processor was busy with others
    held_s: float  # slept, because the node is slower than this machine
    short_s: float  # time by which the rank fell behind its node; it may have caught up later
    lost_s: float  # the part of it that it cannot catch up
    holds: int
    operations_told: int  # calls in which the program reported its counted operations


@dataclass(frozen=True)
class Report:
    """Everything known about a command that ran on an emulated grid."""

    status: int | None  # of the command; None: it was stopped
    error: str | None  # of the emulation
    router: RouterTally | None
    ranks: tuple[RankTally, ...]


def read_report(lines: Iterable[str]) -> Report:
    """Return the report written by apps/emulate/grid as lines of JSON."""
    status, error, router = None, None, None
    ranks = []
    for line in lines:
        for key, value in json.loads(line).items():
            if key == "status":
                status = value
            elif key == "error":
                error = error or value  # the first one is the cause
            elif key == "router":
                router = RouterTally(**value)
            else:
                ranks.append(RankTally(**value))
    return Report(status, error, router, tuple(ranks))


MOST_SHORT = 0.01  # of a rank's wall time
_MOST_KNOWN_SHORT = 0.9  # of a rank's wall time; beyond it only the next emulation shows more
_MARGIN = 1.1  # safety factor on the smallest sufficient slowdown
MOST_VERY_LATE = 0.01  # of all packets
FEW_LATE = 20  # number of late packets accepted in any run: mpirun starts many processes at once


@dataclass(frozen=True)
class Gate:
    """A condition under which measured times are valid."""

    name: str
    value: float
    limit: float  # the largest valid value
    caution: str  # caution if it is exceeded
    decides: bool = True  # False: only a caution, because programs without computation always fail it

    @property
    def passed(self) -> bool:
        """True if the value is within the limit."""
        return self.value <= self.limit


def gates(report: Report, pace: str) -> list[Gate]:
    """Return the gates of a run; those of ranks only if an MPI program has run."""
    checked_gates = []
    if report.ranks:
        short = max(rank.short_s / max(rank.wall_s, 1e-9) for rank in report.ranks)
        behind = f"{significant(100 * short, 2)} % of its time"
        text = f"a rank fell behind its node by {behind}, because this machine was too slow"
        checked_gates.append(
            Gate("short", short, MOST_SHORT, f"{text} (gate {100 * MOST_SHORT:g} %). {_slower(short)}")
        )
        if pace == COUNTED:
            untold = float(sum(not rank.operations_told for rank in report.ranks))
            text = f"{number_of(int(untold), 'rank')} reported no operations, so that their computing took"
            text = f"{text} the time of this machine. Take --pace free"
            checked_gates.append(Gate("untold", untold, 0, text, decides=False))
    if report.router is not None and report.router.delivered:
        few = report.router.very_late <= FEW_LATE
        late = 0.0 if few else report.router.very_late / report.router.delivered
        came = f"{significant(100 * late, 2)} % of the packets came more than 0.5 ms late"
        text = f"{came} (gate {100 * MOST_VERY_LATE:g} %)"
        checked_gates.append(Gate("late", late, MOST_VERY_LATE, f"{text}. Repeat, or take --slowdown F"))
        lost = f"{number_of(report.router.lost, 'packet')} lost, which no simulation of the grid knows"
        checked_gates.append(Gate("lost", float(report.router.lost), 0, lost))
    return checked_gates


def _slower(short: float) -> str:
    """Return the advice for a rank that fell behind by a share of its time."""
    return f"Take a --slowdown that is {_MARGIN / (1 - min(short, _MOST_KNOWN_SHORT)):.2g} times as large"


def summary(report: Report) -> str:
    """Return one line about the run and its validity."""
    parts = []
    if report.ranks:
        short = max(rank.short_s / max(rank.wall_s, 1e-9) for rank in report.ranks)
        parts.append(f"{number_of(len(report.ranks), 'rank')}, short at most {significant(100 * short, 2)} %")
    if report.router is not None:
        parts.append(f"{number_of(report.router.delivered, 'packet')}")
    if report.router is not None and report.router.delivered:
        late = 100 * report.router.very_late / report.router.delivered
        mean = f"late by {1e3 * report.router.mean_late_s:.2g} ms on average"
        parts.append(f"{mean}, {significant(late, 2)} % by more than 0.5 ms, {report.router.lost} lost")
    return f"emulated grid: {'; '.join(parts)}"


def as_json(report: Report, checked_gates: list[Gate]) -> dict[str, Any]:
    """Return everything known about a run as JSON values."""
    return {
        "status": report.status,
        "gates": [{**asdict(gate), "passed": gate.passed} for gate in checked_gates],
        "router": None if report.router is None else asdict(report.router),
        "ranks": [asdict(rank) for rank in report.ranks],
    }
