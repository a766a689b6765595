"""Results of suites of applications: their columns, filters and order include the values that the suites vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from platforms.errors import UserError, known_names
from validation.workbench.queue.results import PAGE, ResultsView, number_in
from validation.workbench.queue.tables import Tables

VALUE = "v:"  # before the name of a label, a variable, the policy or the power rule
_PLAIN = ("app", "platform", "ranks", "predictor", "predicted_s", "simulated_s", "error_pct", "flags")
_FIELDS = ("energy_predicted_j", "energy_simulated_j", "success")  # columns that are fields of the details
_SOURCE = "results JOIN points ON points.run = results.run JOIN details ON details.result = results.id"


@dataclass(frozen=True)
class PointsView(ResultsView):
    """A part of the results of suites of applications: of one, of two, or of all if there are no others."""

    names: tuple[str, ...] = ()  # of the values that differ within the suites, or between them

    @property
    def filter_keys(self) -> tuple[str, ...]:
        """The keys of the filters."""
        return "app", "platform", *(VALUE + name for name in self.names), "predictor"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        first, rest = _PLAIN[:3], _PLAIN[3:]
        return *first[:2], *(VALUE + name for name in self.names), first[2], *rest[:-1], *_FIELDS, rest[-1]

    @property
    def _source(self) -> str:
        return _SOURCE

    @property
    def _where(self) -> tuple[str, list[Any]]:
        values: list[Any] = [filter_value for filter_value in (self.suite, self.other) if filter_value is not None]
        parts = [f"results.suite IN ({', '.join('?' * len(values))})"] if values else []
        for key, value in self.filters:
            parts.append(f"CAST({_sql(key)} AS TEXT) = ?")
            values.append(value)
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values

    @property
    def _order(self) -> str:
        if not self.sort:
            return "results.suite, results.run, results.id"
        column = _sql(self.sort.removeprefix("-"))
        return f"{column} IS NULL, {column} {'DESC' if self.sort.startswith('-') else 'ASC'}, results.id"

    def count(self, tables: Tables) -> int:
        """Return the number of results on all pages."""
        where, values = self._where
        return int(tables.rows(f"SELECT count(*) FROM {_SOURCE} {where}", values)[0][0])

    def rows(self, tables: Tables) -> list[dict[str, Any]]:
        """Return the results of the page."""
        return self._selected(tables, self._order, PAGE, (self.page - 1) * PAGE)

    def drawn(self, tables: Tables, most: int) -> list[dict[str, Any]]:
        """Return the results on all pages with what figures need: at most so many, in the order of the suites."""
        selected = self._selected(tables, "results.suite, results.run, results.id", most, 0)
        return [{**row, "truth": None, "model": row["predictor"]} for row in selected]

    def _selected(self, tables: Tables, order: str, many: int, first: int) -> list[dict[str, Any]]:
        where, values = self._where
        chosen = [f'{_sql(key)} AS "{key}"' for key in (*self.columns, "class", "mapping")]
        query = f"SELECT results.id, results.suite, results.run, {', '.join(chosen)} FROM {_SOURCE} {where}"
        return [dict(row) for row in tables.rows(f"{query} ORDER BY {order} LIMIT ? OFFSET ?", [*values, many, first])]

    def _ordered_ids(self, tables: Tables) -> list[int]:
        where, values = self._where
        query = f"SELECT results.id FROM {_SOURCE} {where} ORDER BY {self._order}"
        return [row[0] for row in tables.rows(query, values)]

    def choices(self, tables: Tables) -> dict[str, list[str]]:
        """Return the values that each filter can have in the suites."""
        where, values = replace(self, filters=())._where
        choices_found = {}
        for key in self.filter_keys:
            query = f"SELECT DISTINCT CAST({_sql(key)} AS TEXT) FROM {_SOURCE} {where} ORDER BY {_sql(key)} LIMIT 200"
            choices_found[key] = [row[0] for row in tables.rows(query, values) if row[0] is not None]
        return choices_found


def view_of(query: Mapping[str, str], tables: Tables) -> ResultsView:
    """Return the view that an address asks for: of suites of applications alone, it knows their values.

    Raises:
        UserError: A value is not known.
    """
    suite, other = number_in(query, "suite"), number_in(query, "other")
    suites = [suite_number for suite_number in (suite, other) if suite_number is not None]
    if not (all(is_of_applications(tables, suite) for suite in suites) if suites else _has_only_points(tables)):
        return ResultsView.of(query)
    names = tuple(varied_names(tables, suites))
    view = PointsView(suite, other, (), "", number_in(query, "page") or 1, names)
    sort = query.get("sort", "")
    if sort and sort.removeprefix("-") not in view.columns:
        raise UserError(f"sort {sort!r}", "no such column", known_names(sort, view.columns))
    return replace(view, sort=sort, filters=tuple((key, query[key]) for key in view.filter_keys if query.get(key)))


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


def _sql(key: str) -> str:
    """Return a column, or the value of a point or a field of the details, as SQL; names are letters, digits and _."""
    if key.startswith(VALUE):
        name = key.removeprefix(VALUE)
        if not name.isidentifier():
            raise UserError(f"name {name!r}", "no such value", "Choose one from the page")
        return f"json_extract(points.point, '$.{name}')"
    return f"json_extract(details.fields, '$.{key}')" if key in _FIELDS else f"results.{key}"
