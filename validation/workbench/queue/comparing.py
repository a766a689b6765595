"""Comparison of two suites: the same runs and predictions in both, and what only one of them has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from validation.workbench.queue.results import VALUE
from validation.workbench.queue.tables import Tables

CASE = ("app", "class", "ranks", "platform", "network", "mapping", "efficiency", "predictor")
_VALUES = ("id", "predicted_s", "simulated_s", "error_pct", "abs_error_pct")
ORDERS = ("change_pct", "error_change_pct")


@dataclass(frozen=True)
class Pair:
    """One prediction in both suites."""

    case: Mapping[str, Any]  # by CASE, and by the values of a point
    first: Mapping[str, Any]
    second: Mapping[str, Any]

    @property
    def simulated(self) -> bool:
        """True if the run was simulated in both suites."""
        return self.first["simulated_s"] is not None and self.second["simulated_s"] is not None

    @property
    def change_pct(self) -> float | None:
        """The change of the simulated time from the first suite to the second; of the predicted one without it."""
        key = "simulated_s" if self.simulated else "predicted_s"
        return _change_pct(self.first[key], self.second[key])

    @property
    def error_change_pct(self) -> float | None:
        """The size of the second error minus that of the first, in points of percent."""
        first_pct, other = self.first["abs_error_pct"], self.second["abs_error_pct"]
        return None if first_pct is None or other is None else float(other - first_pct)


@dataclass(frozen=True)
class Comparison:
    """All predictions that two suites have in common."""

    pairs: tuple[Pair, ...]
    only_first: int  # predictions without a partner
    only_second: int
    differing: tuple[tuple[str, Any, Any], ...]  # what has one value in each suite, but not the same one
    of_points: bool = False  # both suites are of applications
    ignored: tuple[str, ...] = ()  # keys in which the predictions of a pair may differ

    @property
    def predictors(self) -> list[tuple[str, int, float | None, float | None]]:
        """Each predictor with its pairs, and its mean absolute error in each suite where both have answers, %."""
        by_name: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            by_name.setdefault(pair.case["predictor"], []).append(pair)
        rows = []
        for name, pairs in by_name.items():
            both = [pair for pair in pairs if pair.error_change_pct is not None]
            first = fmean(pair.first["abs_error_pct"] for pair in both) if both else None
            second = fmean(pair.second["abs_error_pct"] for pair in both) if both else None
            rows.append((name, len(pairs), first, second))
        return rows

    @property
    def mean_change_pct(self) -> float | None:
        """The mean change of the times of all common runs."""
        changes = {
            (pair.first["run"], "" if pair.simulated else pair.case["predictor"]): pair.change_pct
            for pair in self.pairs
        }
        known = [change for change in changes.values() if change is not None]
        return fmean(known) if known else None

    @property
    def workloads(self) -> list[tuple[str, int, float | None]]:
        """Each kernel and class, or application, with its pairs and the mean change of its times, %."""
        by_work: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            words = [pair.case["app"]] if self.of_points else [pair.case["app"], pair.case["class"] or ""]
            by_work.setdefault(" ".join(words).strip(), []).append(pair)
        return [(work, len(some), replace(self, pairs=tuple(some)).mean_change_pct) for work, some in by_work.items()]

    def ordered(self, order: str) -> list[Pair]:
        """Return the pairs with the largest of one of ORDERS first, whatever its sign; empty: as in the first suite."""
        if not order:
            return list(self.pairs)
        return sorted(self.pairs, key=lambda pair: -abs(getattr(pair, order) or 0.0))


def compared(tables: Tables, first: int, second: int, ignored: Sequence[str] = ()) -> Comparison:
    """Return the comparison of two suites.

    Predictions belong together if all of CASE, or all values of points of applications, are the same, except what has
    one value in the whole first suite and another in the whole second suite, such as the network that was exchanged.

    Args:
        tables: The queue.
        first: The number of the first suite.
        second: That of the second one.
        ignored: Keys in which predictions that belong together may differ; of several partners the first one counts.
    """
    first_rows, other = _rows(tables, first), _rows(tables, second)
    cases, of_points = _cases([*first_rows, *other])
    differing = tuple(
        (key, first_rows[0][key], other[0][key])
        for key in cases
        if first_rows
        and other
        and first_rows[0][key] != other[0][key]
        and all(len({r[key] for r in rows}) == 1 for rows in (first_rows, other))
    )
    keys = [key for key in cases if key not in {name for name, _, _ in differing} and key not in ignored]
    partners, pairs = {tuple(row[key] for key in keys): row for row in reversed(other)}, {}
    for row in first_rows:
        case = tuple(row[key] for key in keys)
        if case in partners and case not in pairs:
            pairs[case] = Pair({key: row[key] for key in (*CASE, *cases)}, row, partners[case])
    left = len(first_rows) - len(pairs), len(other) - len(pairs)
    return Comparison(tuple(pairs.values()), *left, differing, of_points, tuple(key for key in cases if key in ignored))


def _cases(rows: list[dict[str, Any]]) -> tuple[list[str], bool]:
    """Return the keys by which rows belong together, and whether all are of applications; values are added to them."""
    if not rows or not all(row["point"] for row in rows):
        return list(CASE), False
    points = [json.loads(row["point"]) for row in rows]
    names = dict.fromkeys(name for point in points for name in point)
    for row, point in zip(rows, points, strict=True):
        row |= {VALUE + name: point.get(name) for name in names}
    return ["app", "platform", *(VALUE + name for name in names), "predictor"], True


def _rows(tables: Tables, suite: int) -> list[dict[str, Any]]:
    chosen = ", ".join(f'results."{key}"' for key in (*CASE, *_VALUES, "run"))
    query = f"SELECT {chosen}, point FROM results LEFT JOIN points USING (run) WHERE results.suite = ?"
    return [dict(row) for row in tables.rows(f"{query} ORDER BY results.run, results.id", (suite,))]


def _change_pct(first_value: float | None, other: float | None) -> float | None:
    return None if not first_value or other is None else 100 * (other - first_value) / first_value
