"""Results of a queue: a table that is filtered, sorted and cut into pages where it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from platforms.errors import UserError, known_names
from validation.workbench.queue.tables import Tables

PAGE = 100  # rows
COLUMNS = (
    *("app", "class", "ranks", "platform", "network", "mapping", "efficiency", "predictor", "predicted_s"),
    *("simulated_s", "error_pct", "abs_error_pct", "evidence_share", "flags"),
)
FIGURES = ("energy_predicted_j", "energy_simulated_j", "truth")  # fields of the results that figures show too
FILTERS = ("platform", "app", "class", "ranks", "mapping", "predictor")
MOST_CHOICES = 200  # of a filter
_STEP = 500  # results that are read at a time


@dataclass(frozen=True)
class ResultsView:
    """A part of the results: a filter, an order and a page.  Its address names all of it, so that links are stable."""

    suite: int | None = None
    other: int | None = None  # a second suite, shown with the first one
    filters: tuple[tuple[str, str], ...] = ()  # column and value
    sort: str = ""  # a column, with a leading "-" for the largest first; empty: in the order of the suite
    page: int = 1

    @staticmethod
    def of(query: Mapping[str, str]) -> ResultsView:
        """Return the view that an address asks for.

        Raises:
            UserError: A value is not known.
        """
        sort = query.get("sort", "")
        if sort and sort.removeprefix("-") not in COLUMNS:
            raise UserError(f"sort {sort!r}", "no such column", known_names(sort, COLUMNS))
        return ResultsView(
            number_in(query, "suite"),
            number_in(query, "other"),
            tuple((key, query[key]) for key in FILTERS if query.get(key)),
            sort,
            number_in(query, "page") or 1,
        )

    def address(self, *, page: int | None = None, sort: str | None = None) -> str:
        """Return the query of this view's address, with another page or order if one is given."""
        view = replace(self, page=page or 1, sort=self.sort if sort is None else sort)
        pairs: list[tuple[str, object]] = [("suite", view.suite)] if view.suite is not None else []
        pairs += [("other", view.other)] if view.other is not None else []
        pairs += view.filters
        pairs += [("sort", view.sort)] if view.sort else []
        pairs += [("page", view.page)] if view.page > 1 else []
        return urlencode(pairs)

    def sorted_by(self, column: str) -> str:
        """Return the query that sorts by a column: the smallest first, or the largest if that is so already."""
        return self.address(sort=f"-{column}" if self.sort == column else column)

    @property
    def _source(self) -> str:
        return "results"

    @property
    def _where(self) -> tuple[str, list[Any]]:
        values: list[Any] = [filter_value for filter_value in (self.suite, self.other) if filter_value is not None]
        parts = [f"suite IN ({', '.join('?' * len(values))})"] if values else []
        parts += [f"{key} = ?" for key, _ in self.filters]
        values += [value for _, value in self.filters]
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values

    @property
    def _order(self) -> str:
        column = self.sort.removeprefix("-")
        way = "DESC" if self.sort.startswith("-") else "ASC"
        return f"{column} IS NULL, {column} {way}, id" if column else "suite, run, id"

    @property
    def filter_keys(self) -> tuple[str, ...]:
        """The keys of the filters."""
        return FILTERS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return COLUMNS

    def count(self, tables: Tables) -> int:
        """Return the number of results on all pages."""
        where, values = self._where
        return int(tables.rows(f"SELECT count(*) FROM results {where}", values)[0][0])

    def rows(self, tables: Tables) -> list[dict[str, Any]]:
        """Return the results of the page."""
        where, values = self._where
        columns = f"id, suite, run, {', '.join(COLUMNS)}"
        query = f"SELECT {columns} FROM results {where} ORDER BY {self._order} LIMIT ? OFFSET ?"
        return [dict(row) for row in tables.rows(query, [*values, PAGE, (self.page - 1) * PAGE])]

    def whole(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """Yield all fields of the results on all pages; their order is that of results.csv."""
        order = self._ordered_ids(tables)
        for start in range(0, len(order), _STEP):
            part = order[start : start + _STEP]
            query = f"SELECT result, fields FROM details WHERE result IN ({', '.join('?' * len(part))})"
            fields_by_result = {row["result"]: row["fields"] for row in tables.rows(query, part)}
            yield from (json.loads(fields_by_result[number]) for number in part)

    def _ordered_ids(self, tables: Tables) -> list[int]:
        where, values = self._where
        return [row[0] for row in tables.rows(f"SELECT id FROM results {where} ORDER BY {self._order}", values)]

    def fields(self, tables: Tables) -> list[str]:
        """Return the names of the fields that results of the suites and applications of the view have, in their order.

        Lists within a result, such as that of the labels of an application, are left out.
        """
        where, values = self._where
        query = f"SELECT min(results.id) FROM {self._source} {where} GROUP BY results.suite, results.app"
        first = [row[0] for row in tables.rows(query, values)]
        chosen = f"SELECT fields FROM details WHERE result IN ({', '.join('?' * len(first))}) ORDER BY result"
        fields_of_rows = [json.loads(row["fields"]) for row in tables.rows(chosen, first)]
        return list(
            dict.fromkeys(
                key for fields in fields_of_rows for key, value in fields.items() if not isinstance(value, list)
            )
        )

    def drawn(self, tables: Tables, most: int) -> list[dict[str, Any]]:
        """Return the results on all pages with what figures need: at most so many, in the order of the suites."""
        where, values = self._where
        of_fields = ", ".join(
            f"iif(json_valid(fields), json_extract(fields, '$.{key}'), NULL) AS {key}" for key in FIGURES
        )
        columns = f"id, suite, run, {', '.join(COLUMNS)}, {of_fields}"
        query = f"SELECT {columns} FROM results JOIN details ON result = id {where} ORDER BY suite, run, id LIMIT ?"
        return [dict(row) for row in tables.rows(query, [*values, most])]

    def choices(self, tables: Tables) -> dict[str, list[str]]:
        """Return the values that each filter can have in the suite."""
        by_key = {}
        where, values = replace(self, filters=())._where
        for key in FILTERS:
            query = f"SELECT DISTINCT {key} FROM results {where} ORDER BY {key} LIMIT {MOST_CHOICES}"
            by_key[key] = [str(row[0]) for row in tables.rows(query, values) if row[0] is not None]
        return by_key


def one_result(tables: Tables, number: int) -> dict[str, Any]:
    """Return one result with all its fields, its number, its run and its suite.

    Raises:
        UserError: There is none of this number.
    """
    rows = tables.rows("SELECT id, run, suite, fields FROM results JOIN details ON result = id WHERE id = ?", (number,))
    if not rows:
        raise UserError(f"result {number}", "there is no such result", "Choose one from the results")
    row = rows[0]
    return {"id": row["id"], "run": row["run"], "suite": row["suite"], "fields": json.loads(row["fields"])}


def number_in(query: Mapping[str, str], key: str) -> int | None:
    """Return the positive number that an address gives under a key; None: it gives none.

    Raises:
        UserError: It gives something else.
    """
    text = query.get(key, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) > 0):
        raise UserError(f"{key} {text!r}", "not a number", "Choose one from the page")
    return int(text)
