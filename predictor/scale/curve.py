"""Scaling curves: speed-up and efficiency of the points, the fastest one, and the knee.

The knee is the number of ranks P with the largest speed-up times efficiency, S^2 / P: there efficiency per time is
largest (D. Eager, J. Zahorjan and E. Lazowska, "Speedup versus Efficiency in Parallel Systems", IEEE Transactions on
Computers 38(3), 1989, section III).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.spec.target import Target
from platforms.prices.bill import Bill, bill
from platforms.prices.options import CostQuestion
from predictor.answers.energy import no_watts
from predictor.scale.points import Point
from predictor.scale.request import Growth
from predictor.series.pool import Failure


@dataclass(frozen=True)
class Row:
    """A point of the curve."""

    target: Target
    value: int | None  # of what grows in weak scaling
    point: Point | None
    failure: Failure | None  # why there is no point
    speed_up: float | None = None  # over the first point; in weak scaling the work per time over that of the first
    efficiency: float | None = None  # speed-up over the ratio of the numbers of ranks
    recorded: bool = False  # on this number of ranks, where others are learned from such recordings

    @property
    def source(self) -> str | None:
        """Source of the program on this number of ranks, where some are learned: recorded, exact or range."""
        if self.recorded:
            return "recorded"
        if self.point is None or not self.point.calls:
            return None
        return "exact" if all(call.state == "exact" for call in self.point.calls) else "range"

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.target.nranks

    def bill(self, costs: CostQuestion) -> Bill | None:
        """Return the bill of the point; None: there is no point.

        Raises:
            UserError: A series of emissions has no values for the time of the run.
        """
        if self.point is None:
            return None
        made, target = self.point, self.target
        why = no_watts(target)
        return bill(
            costs, target.platform, target.placement, time_s=made.time_s, energies_j=made.energy_j, no_energy=why
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the point as JSON values; what a failed point does not have is None."""
        point = self.point
        held_by = None if point is None else point.critical_part
        of_what = "communication_time_s" if point is not None and point.communication_only else "time_s"
        return {
            "ranks": self.ranks,
            "nodes": self.target.nodes,
            "value": self.value,
            of_what: None if point is None else point.time_s,
            "low_s": None if point is None else point.low_s,
            "high_s": None if point is None else point.high_s,
            "speed_up": self.speed_up,
            "efficiency": self.efficiency,
            "compute_s": None if point is None else point.compute_s,
            "critical_part": None if held_by is None else held_by.name,
            "critical_share": None if held_by is None else held_by.share,
            "call": None if held_by is None else held_by.call,
            "call_share": None if held_by is None else held_by.call_share,
            "energy_j": None if point is None else point.energy_j,
            "evidence_node_s": None if point is None else point.evidence_node_s,
            "source": self.source,
            "refused": None if self.failure is None else str(self.failure),
        }


def rows_of(
    targets: Sequence[Target], results: Sequence[Point | Failure], growth: Growth | None, few: int = 0
) -> list[Row]:
    """Return the rows; speed-ups are over the first point that has a time above zero.

    Args:
        targets: The targets, by increasing ranks.
        results: The prediction of each, or why there is none.
        growth: What grows in weak scaling; None: nothing.
        few: Numbers of ranks up to this one are recorded, the others learned; 0: nothing is learned.
    """
    known = [
        (target.nranks, result.time_s)
        for target, result in zip(targets, results, strict=True)
        if isinstance(result, Point) and result.time_s > 0
    ]
    rows = []
    for target, result in zip(targets, results, strict=True):
        value = None if growth is None else growth.value(target.nranks, targets[0].nranks)
        if not isinstance(result, Point):
            rows.append(Row(target, value, None, result, recorded=target.nranks <= few))
            continue
        speed_up = efficiency = None
        if known and result.time_s > 0:
            ranks, time_s = known[0]
            times_as_many = target.nranks / ranks
            speed_up = time_s / result.time_s * (1 if growth is None else times_as_many)
            efficiency = speed_up / times_as_many
        rows.append(Row(target, value, result, None, speed_up, efficiency, target.nranks <= few))
    return rows


def best_row(rows: Sequence[Row]) -> Row | None:
    """Return the row with the largest speed-up, the first of equals; None: no row has one."""
    return max(_with_speed_up(rows), key=lambda row: row.speed_up or 0.0, default=None)


def knee_row(rows: Sequence[Row]) -> Row | None:
    """Return the row with the largest speed-up times efficiency; None: no row has them."""
    return max(_with_speed_up(rows), key=lambda row: (row.speed_up or 0.0) * (row.efficiency or 0.0), default=None)


def _with_speed_up(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.speed_up is not None]
