"""The validity map: errors of the predictors, by the compute share that they themselves predict.

``regimes.csv`` is made by ``gridval series map --write-map`` from many predictions and their simulated runs
(docs/validation/regimes.md).  The map uses the predicted compute share, because the true share of a target is not known
when the target is predicted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from apps.spec.target import Target
from platforms.files.commented_csv import commented_rows
from platforms.wording import number_of
from predictor.base import ErrorRange, Prediction

MAP_FILE = Path(__file__).with_name("regimes.csv")
COVERAGE = 0.9  # share of the cases whose errors lie within a range's low_pct to high_pct
TOLERATED_PCT = 20.0  # errors up to this size need no caution
MAP_COLUMNS = (
    *("predictor", "app", "share_from", "share_to", "low_pct", "high_pct", "samples"),
    *("true_share_low", "true_share_high", "ranks_low", "ranks_high"),
)


@dataclass(frozen=True)
class RegimeRow:
    """One range of the map."""

    share_from: float  # smallest predicted compute share in the range
    share_to: float  # end of the range, which does not belong to it unless it is 1
    error: ErrorRange
    true_shares: tuple[float, float]  # smallest and largest compute share of the simulated runs behind it
    ranks: tuple[int, int]  # smallest and largest number of ranks, the same in all rows of a predictor and app

    def holds(self, compute_share: float) -> bool:
        """Return whether a predicted compute share lies in the range."""
        return self.share_from <= compute_share < self.share_to or compute_share == self.share_to == 1


Map = Mapping[tuple[str, str], tuple[RegimeRow, ...]]  # by predictor and app; shares ascend


def error_range(
    predictor: str, app: str, compute_share: float | None, *, ranks: int | None = None, of: Map | None = None
) -> ErrorRange | None:
    """Return the range of errors of predictions with this predicted compute share, or None.

    None: there is no map of this predictor and app, or the compute share or number of ranks lies outside the map.

    Args:
        predictor: Name of the predictor.
        app: Name of the kernel.
        compute_share: Compute share that the prediction itself gives; None: not known.
        ranks: Number of ranks of the target; None: any.
        of: The map; None: the map that comes with the project.
    """
    for row in (known_map() if of is None else of).get((predictor, app), ()):
        if compute_share is not None and row.holds(compute_share):
            return row.error if ranks is None or row.ranks[0] <= ranks <= row.ranks[1] else None
    return None


def holds_from(predictor: str, app: str, *, error_pct: float = TOLERATED_PCT, of: Map | None = None) -> float | None:
    """Return the predicted compute share from which on the map's errors stay within ``error_pct``; infinite: never.

    None if there is no map of this predictor and app.
    """
    rows = (known_map() if of is None else of).get((predictor, app))
    if rows is None:
        return None
    least = math.inf
    for row in reversed(rows):
        if row.error.largest_pct > error_pct:
            break
        least = row.share_from
    return least


def with_error_range(prediction: Prediction, predictor: str, target: Target) -> Prediction:
    """Return the prediction with its range of errors in the map, or with the reason why there is none.

    A prediction without an interval of its own gets the interval of the true times that such errors allow.
    """
    app = target.problem.name
    share = prediction.compute_share
    if target.problem.program is not None or share is None or (predictor, app) not in known_map():
        return replace(prediction, no_error_range=f"no map of {predictor} on {_program(target)}")
    outside = _outside(known_map()[predictor, app], share, target)
    if outside is not None:
        flag = f"{outside[0]}: outside the validity map, {outside[1]}"
        return replace(prediction, flags=(*prediction.flags, flag), no_error_range="outside the validity map")
    error = error_range(predictor, app, share, ranks=target.nranks)
    prediction = replace(prediction, error_range=error)
    if error is None or prediction.low_s is not None or prediction.high_s is not None:
        return prediction
    low_s, high_s = true_times(prediction.time_s, error)
    return replace(prediction, low_s=low_s, high_s=high_s)


def true_times(predicted_s: float, error: ErrorRange) -> tuple[float, float]:
    """Return the interval of true run times, s, for a prediction with such errors: predicted / (1 + error).

    The prediction itself may lie outside the interval, because some errors in the map always have the same sign.
    """
    return predicted_s / (1 + error.high_pct / 100), predicted_s / (1 + error.low_pct / 100)


def _outside(rows: tuple[RegimeRow, ...], share: float, target: Target) -> tuple[str, str] | None:
    """Return which property of the target lies outside the rows, and what the rows hold; None: none does."""
    if target.nranks != target.nodes:
        return f"{target.nranks} ranks on {target.nodes} nodes", "which has one rank per node"
    if target.problem.shares:
        return "unequal shares", "which has equal ones"
    row = next((row for row in rows if row.holds(share)), None)
    if row is None:
        least, most = rows[0].share_from, rows[-1].share_to
        return f"compute share {_pct(share)} %", f"whose shares go from {_pct(least)} % up to {_pct(most)} %"
    low, high = row.ranks
    if not low <= target.nranks <= high:
        return number_of(target.nranks, "rank"), f"whose ranks go from {low} up to {high}"
    return None


def _program(target: Target) -> str:
    return target.problem.name if target.problem.program is None else "a program of your own"


def _pct(share: float) -> str:
    return f"{100 * share:.3g}"


@functools.cache
def known_map() -> Map:
    """Return the map that comes with the project."""
    return read_map(commented_rows(MAP_FILE))


def read_map(rows: Iterable[Mapping[str, str]]) -> Map:
    """Make a map from rows with the columns MAP_COLUMNS, whose values are texts or numbers."""
    ranges: dict[tuple[str, str], list[RegimeRow]] = {}
    for row in rows:
        low, high, samples = float(row["low_pct"]), float(row["high_pct"]), int(row["samples"])
        made = RegimeRow(
            share_from=float(row["share_from"]),
            share_to=float(row["share_to"]),
            error=ErrorRange(low, high, samples),
            true_shares=(float(row["true_share_low"]), float(row["true_share_high"])),
            ranks=(int(row["ranks_low"]), int(row["ranks_high"])),
        )
        ranges.setdefault((row["predictor"], row["app"]), []).append(made)
    return {key: tuple(sorted(rows, key=lambda row: row.share_from)) for key, rows in ranges.items()}
