"""Results of suites of applications: their columns, filters and order include the values that the suites vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from validation.workbench.queue.results import STATE, VALUE, ResultsView, common_values, number_in, values_in
from validation.workbench.queue.tables import Tables

_PLAIN = ("app", "platform", "ranks", "predictor", "predicted_s", "simulated_s", "error_pct", "flags")
_FIELDS = ("energy_predicted_j", "energy_simulated_j", "success")  # columns that are fields of the details


@dataclass(frozen=True)
class PointsView(ResultsView):
    """A part of the results of suites of applications: of one, of two, or of all if there are no others."""

    names: tuple[str, ...] = ()  # of the values that differ within the suites, or between them

    @property
    def filter_keys(self) -> tuple[str, ...]:
        """The keys of the filters."""
        return points_filters(self.names)

    @property
    def usual(self) -> tuple[str, ...]:
        """The columns that the table has unless others are chosen."""
        return points_columns(self.names)

    def more_columns(self, tables: Tables) -> list[str]:
        """Return the columns beside the usual ones that the table can have."""
        return [key for key in super().more_columns(tables) if key not in self.names]

    def drawn(self, tables: Tables, most: int) -> list[dict[str, Any]]:
        """Return the results on all pages with what figures need: at most ``most``, in the order of the suites."""
        selected = replace(self, shown=())._selected(tables, "results.suite, results.run, results.id", most, 0)
        return [{**row, "truth": None, "model": row["predictor"]} for row in selected]

    def _source(self, keys: set[str]) -> str:
        return f"{super()._source(keys)} JOIN points ON points.run = results.run"


def points_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the usual columns of suites of applications whose points differ in these values."""
    first, rest = _PLAIN[:3], _PLAIN[3:]
    return *first[:2], *(VALUE + name for name in names), first[2], *rest[:-1], *_FIELDS, rest[-1]


def points_filters(names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the filters of suites of applications whose points differ in these values."""
    return "app", "platform", *(VALUE + name for name in names), "ranks", "predictor", STATE


def view_of(query: Mapping[str, str], tables: Tables) -> ResultsView:
    """Return the view that an address asks for: of suites of applications alone, it knows their values.

    Raises:
        UserError: A value is not known.
    """
    suite, other = number_in(query, "suite"), number_in(query, "other")
    suites = [suite_number for suite_number in (suite, other) if suite_number is not None]
    if not (all(is_of_applications(tables, suite) for suite in suites) if suites else _has_only_points(tables)):
        return ResultsView.of(query, _known(query, ResultsView(suite, other), tables)).simplest
    names = tuple(varied_names(tables, suites))
    known = _known(query, PointsView(suite, other, names=names), tables)
    return PointsView(**common_values(query, known, points_filters(names)), names=names).simplest


def _known(query: Mapping[str, str], view: ResultsView, tables: Tables) -> Sequence[str]:
    """Return the columns that there are: those of the details are read if an address names any of them alone."""
    named = {query.get("sort", "").removeprefix("-"), *values_in(query, "column")} - {""}
    return view.usual if named <= set(view.usual) else (*view.usual, *view.more_columns(tables))


def is_of_applications(tables: Tables, suite: int) -> bool:
    """Return whether a suite of the queue is one of applications."""
    return bool(tables.rows("SELECT 1 FROM points WHERE suite = ? LIMIT 1", (suite,)))


def varied_names(tables: Tables, suites: Sequence[int]) -> list[str]:
    """Return the names of the values that differ between points of suites; no suites: of all."""
    where = f"WHERE suite IN ({', '.join('?' * len(suites))})" if suites else ""
    query = (
        f"SELECT key, count(DISTINCT value) AS many FROM points, json_each(points.point) {where}"
        " GROUP BY key ORDER BY min(points.run), min(json_each.id)"
    )
    return [row["key"] for row in tables.rows(query, list(suites)) if row["many"] > 1]


def _has_only_points(tables: Tables) -> bool:
    """Return whether there are results, all of them of suites of applications."""
    other = "SELECT 1 FROM results WHERE run NOT IN (SELECT run FROM points) LIMIT 1"
    return bool(tables.rows("SELECT 1 FROM points LIMIT 1")) and not tables.rows(other)


def point_of(tables: Tables, run: int) -> str:
    """Return the values of a run of a suite of applications as a JSON object; empty: it is another run."""
    rows = tables.rows("SELECT point FROM points WHERE run = ?", (run,))
    return str(rows[0]["point"]) if rows else ""


def names_of(tables: Tables, suite: int) -> dict[str, list[str]]:
    """Return the labels and variables of each application of a suite."""
    query = (
        "SELECT app, key FROM (SELECT app, min(runs.id) AS run FROM runs WHERE suite = ? GROUP BY app)"
        " JOIN points USING (run), json_each(points.point)"
    )
    names: dict[str, list[str]] = {}
    for row in tables.rows(query, (suite,)):
        names.setdefault(row["app"], []).append(row["key"])
    return names
