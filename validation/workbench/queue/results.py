"""Results of a queue: a table that is searched, filtered, sorted and cut into pages where it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from platforms.errors import UserError, known_names
from validation.workbench.queue.tables import COSTS, Tables

PAGE = 100  # rows
COLUMNS = (
    *("app", "class", "ranks", "platform", "network", "mapping", "efficiency", "predictor", "predicted_s"),
    *("simulated_s", "error_pct", "abs_error_pct", "evidence_share", *COSTS, "flags"),
)
FIGURES = ("energy_predicted_j", "energy_simulated_j", "truth")  # fields of the results that figures show too
STATE = "state"
FILTERS = ("platform", "app", "class", "ranks", "mapping", "predictor", STATE)
VALUE = "v:"  # before the name of a label, a variable, the policy or the power rule
MOST_CHOICES = 200  # of a filter
MOST_TEXT, MOST_WORDS = 200, 12  # characters and words of a search
MOST_MARKS = 500
MOST_SHOWN = 60  # columns
_STEP = 500  # results that are read at a time
_DETAILS = "details ON details.result = results.id"
_STATE = (
    "CASE WHEN results.predicted_s IS NULL THEN 'no prediction' WHEN results.flags <> '' THEN 'with cautions'"
    " ELSE 'predicted' END"
)
_SEARCHED = "app, class, ranks, platform, network, mapping, predictor, flags".split(", ")
_TEXT = " || ' ' || ".join(f"coalesce(results.{key}, '')" for key in _SEARCHED)
_OTHER_NAMES = ("scenario",)  # fields of the details that have a column of another name: the platform


@dataclass(frozen=True)
class Choice:
    """A value that a filter can have."""

    value: str
    many: int  # results with it, by all other filters
    chosen: bool


@dataclass(frozen=True)
class ResultsView:
    """A part of the results: a filter, an order and a page.  Its address names all of it, so that links are stable."""

    suite: int | None = None
    other: int | None = None  # a second suite, shown with the first one
    filters: tuple[tuple[str, str], ...] = ()  # column and value; of one column with several, any of them
    sort: str = ""  # a column, with a leading "-" for the largest first; empty: in the order of the suite
    page: int = 1
    run: int | None = None  # the results of one run alone
    text: str = ""  # words that each result has, in any of its names or cautions
    shown: tuple[str, ...] = ()  # columns; empty: the usual ones
    marks: tuple[int, ...] = ()  # numbers of results that somebody has marked
    only_marked: bool = False  # no others
    found: str = ""  # what a search has found, as a list of numbers in JSON; it takes the place of the text

    @staticmethod
    def of(query: Mapping[str, str], columns: Sequence[str] = COLUMNS) -> ResultsView:
        """Return the view that an address asks for.

        Args:
            query: The query of the address; with a method ``getlist``, it gives all values of a name.
            columns: The columns that there are.

        Raises:
            UserError: A value is not known.
        """
        return ResultsView(**common_values(query, columns, FILTERS))

    def address(self, *, page: int | None = None, sort: str | None = None, **changed: Any) -> str:
        """Return the query of this view's address, with another page, order, or other values if they are given."""
        view = replace(self, page=page or 1, sort=self.sort if sort is None else sort, **changed)
        numbers = (("suite", view.suite), ("other", view.other), ("run", view.run))
        pairs: list[tuple[str, object]] = [(key, number) for key, number in numbers if number is not None]
        pairs += [("q", view.text)] if view.text else []
        pairs += view.filters
        pairs += [("column", key) for key in view.shown]
        pairs += [("mark", mark) for mark in view.marks]
        pairs += [("marked", "only")] if view.only_marked else []
        pairs += [("sort", view.sort)] if view.sort else []
        pairs += [("page", view.page)] if view.page > 1 else []
        return urlencode(pairs)

    def sorted_by(self, column: str) -> str:
        """Return the query that sorts by a column: the smallest first, or the largest if that is so already."""
        return self.address(sort=f"-{column}" if self.sort == column else column)

    def without(self, key: str, value: str) -> str:
        """Return the query without one value of a filter."""
        return self.address(filters=tuple(pair for pair in self.filters if pair != (key, value)))

    @property
    def simplest(self) -> ResultsView:
        """The same view with the shortest address: the usual columns need not be named."""
        return replace(self, shown=()) if self.shown == self.usual else self

    @property
    def filtered(self) -> bool:
        """True if there may be more results than those of the view."""
        return bool(self.filters or self.suite or self.run or self.text or self.only_marked)

    @property
    def filter_keys(self) -> tuple[str, ...]:
        """The keys of the filters."""
        return FILTERS

    @property
    def usual(self) -> tuple[str, ...]:
        """The columns that the table has unless others are chosen."""
        return COLUMNS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self.shown or self.usual

    def count(self, tables: Tables) -> int:
        """Return the number of results on all pages."""
        where, values = self._where()
        return int(tables.rows(f"SELECT count(*) FROM {self._source(self._filtering)} {where}", values)[0][0])

    def rows(self, tables: Tables) -> list[dict[str, Any]]:
        """Return the results of the page."""
        return self._selected(tables, self._order, PAGE, (self.page - 1) * PAGE)

    def every_row(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """Yield the columns of the results on all pages."""
        many = self.count(tables)
        for first in range(0, many, _STEP):
            for row in self._selected(tables, self._order, _STEP, first):
                yield {key: row[key] for key in self.columns}

    def whole(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """Yield all fields of the results on all pages; their order is that of results.csv."""
        return self._read(tables, self._ordered_ids(tables))

    def whole_page(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """Yield all fields of the results of the page."""
        return self._read(tables, self._ordered_ids(tables)[(self.page - 1) * PAGE : self.page * PAGE])

    @staticmethod
    def _read(tables: Tables, order: Sequence[int]) -> Iterator[dict[str, Any]]:
        for start in range(0, len(order), _STEP):
            part = order[start : start + _STEP]
            query = f"SELECT result, fields FROM details WHERE result IN ({', '.join('?' * len(part))})"
            fields_by_result = {row["result"]: row["fields"] for row in tables.rows(query, part)}
            yield from (json.loads(fields_by_result[number]) for number in part)

    def fields(self, tables: Tables) -> list[str]:
        """Return the names of the fields that results of the suites and applications of the view have, in their order.

        Lists within a result, such as that of the labels of an application, are left out.
        """
        where, values = self._where()
        source = self._source(self._filtering)
        query = f"SELECT min(results.id) FROM {source} {where} GROUP BY results.suite, results.app"
        first = [row[0] for row in tables.rows(query, values)]
        chosen = f"SELECT fields FROM details WHERE result IN ({', '.join('?' * len(first))}) ORDER BY result"
        fields_of_rows = [json.loads(row["fields"]) for row in tables.rows(chosen, first)]
        return list(
            dict.fromkeys(
                key for fields in fields_of_rows for key, value in fields.items() if not isinstance(value, list)
            )
        )

    def more_columns(self, tables: Tables) -> list[str]:
        """Return the columns beside the usual ones that the table can have."""
        whole = replace(self, filters=(), text="", only_marked=False, run=None)
        return [key for key in whole.fields(tables) if key.isidentifier() and key not in (*self.usual, *_OTHER_NAMES)]

    def drawn(self, tables: Tables, most: int) -> list[dict[str, Any]]:
        """Return the results on all pages with what figures need: at most ``most``, in the order of the suites."""
        view = replace(self, shown=(*COLUMNS, *FIGURES))
        return view._selected(tables, "results.suite, results.run, results.id", most, 0)

    def facets(self, tables: Tables) -> dict[str, list[Choice]]:
        """Return the values that each filter can have, each with the number of results that it would leave."""
        by_key = {}
        view = self
        if self.text:  # which is searched for once, and not for each filter
            every = ResultsView(self.suite, self.other, text=self.text)
            view = replace(self, text="", found=json.dumps(every._ordered_ids(tables)))
        for key in self.filter_keys:
            where, values = replace(view, filters=tuple(pair for pair in self.filters if pair[0] != key))._where()
            source, value = self._source({*self._filtering, key}), self._sql(key)
            query = (
                f"SELECT CAST({value} AS TEXT) AS value, count(*) AS many FROM {source} {where}"
                f" GROUP BY {value} HAVING value IS NOT NULL ORDER BY {value} LIMIT {MOST_CHOICES}"
            )
            chosen = [value for filter_key, value in self.filters if filter_key == key]
            counted = {row["value"]: row["many"] for row in tables.rows(query, values)}
            counted |= {value: 0 for value in chosen if value not in counted}
            by_key[key] = [Choice(value, many, value in chosen) for value, many in counted.items()]
        return by_key

    @property
    def _filtering(self) -> set[str]:
        """The keys that decide which results belong to the view."""
        return {key for key, _ in self.filters}

    def _source(self, keys: set[str]) -> str:
        """Return the tables that have these keys: details are read where they are needed alone, for they are long."""
        details = any(key not in COLUMNS and key != STATE for key in keys)
        return f"results JOIN {_DETAILS}" if details else "results"

    def _where(self) -> tuple[str, list[Any]]:
        values: list[Any] = [number for number in (self.suite, self.other) if number is not None]
        parts = [f"results.suite IN ({', '.join('?' * len(values))})"] if values else []
        for key in dict.fromkeys(key for key, _ in self.filters):
            some = [value for filter_key, value in self.filters if filter_key == key]
            plain = key in COLUMNS
            parts.append(f"{self._sql(key) if plain else f'CAST({self._sql(key)} AS TEXT)'} IN ({_places(some)})")
            values += some
        for word in self.text.split():
            parts.append(f"{_TEXT} LIKE ? ESCAPE '\\'")
            values.append(f"%{_literal(word)}%")
        if self.found:
            parts.append("results.id IN (SELECT value FROM json_each(?))")
            values.append(self.found)
        if self.run is not None:
            parts.append("results.run = ?")
            values.append(self.run)
        if self.only_marked:
            parts.append(f"results.id IN ({_places(self.marks)})")
            values += self.marks
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values

    @property
    def _order(self) -> str:
        if not self.sort:
            return "results.suite, results.run, results.id"
        column = self._sql(self.sort.removeprefix("-"))
        return f"{column} IS NULL, {column} {'DESC' if self.sort.startswith('-') else 'ASC'}, results.id"

    def _selected(self, tables: Tables, order: str, many: int, first: int) -> list[dict[str, Any]]:
        """Return ``many`` results in an order, from number ``first`` on, with the view's and the usual columns."""
        where, values = self._where()
        keys = dict.fromkeys((*self.usual, *self.columns, "class", "mapping", "network"))
        ordering = {self.sort.removeprefix("-")} if self.sort else set()
        chosen = [f'{self._sql(key)} AS "{key}"' for key in keys]
        source = self._source({*keys, *self._filtering, *ordering})
        query = f"SELECT results.id, results.suite, results.run, {', '.join(chosen)} FROM {source} {where}"
        return [dict(row) for row in tables.rows(f"{query} ORDER BY {order} LIMIT ? OFFSET ?", [*values, many, first])]

    def _ordered_ids(self, tables: Tables) -> list[int]:
        where, values = self._where()
        source = self._source({*self._filtering, self.sort.removeprefix("-") or "app"})
        return [
            row[0] for row in tables.rows(f"SELECT results.id FROM {source} {where} ORDER BY {self._order}", values)
        ]

    def _sql(self, key: str) -> str:
        """Return a column, the value of a point or a field of the details as SQL; names have letters, digits and _."""
        if key == STATE:
            return _STATE
        if key in COLUMNS:
            return f"results.{key}"
        name = key.removeprefix(VALUE)
        if not name.isidentifier():
            raise UserError(f"name {name!r}", "no such value", "Choose one from the page")
        if key.startswith(VALUE):
            return f"json_extract(points.point, '$.{name}')"
        return f"iif(json_valid(details.fields), json_extract(details.fields, '$.{name}'), NULL)"


def common_values(query: Mapping[str, str], columns: Sequence[str], filter_keys: Sequence[str]) -> dict[str, Any]:
    """Return the values of a view that an address gives.

    Raises:
        UserError: A value is not known.
    """
    sort = query.get("sort", "")
    shown = tuple(dict.fromkeys(values_in(query, "column")))
    for key, name in [("sort", sort.removeprefix("-"))] * bool(sort) + [("column", name) for name in shown]:
        if name not in columns:
            raise UserError(f"{key} {name[:40]!r}", "no such column", known_names(name[:40], columns))
    if len(shown) > MOST_SHOWN:
        raise UserError("columns", f"{len(shown)} of them", f"Choose at most {MOST_SHOWN}")
    text = " ".join(query.get("q", "").replace("\0", " ").split())
    if len(text) > MOST_TEXT:
        raise UserError("search", f"it has {len(text):,} characters", f"Give at most {MOST_TEXT}")
    if len(text.split()) > MOST_WORDS:
        raise UserError("search", f"it has {len(text.split())} words", f"Give at most {MOST_WORDS}")
    marks = [number_in({"mark": mark}, "mark") for mark in dict.fromkeys(values_in(query, "mark"))]
    if len(marks) > MOST_MARKS:
        raise UserError("marks", f"{len(marks):,} results are marked", f"Mark at most {MOST_MARKS}")
    only = query.get("marked", "")
    if only not in ("", "only"):
        raise UserError(f"marked {only[:40]!r}", "no such choice", "Give only, or leave it out")
    return {
        "suite": number_in(query, "suite"), "other": number_in(query, "other"), "run": number_in(query, "run"),
        "filters": tuple((key, value) for key in filter_keys for value in dict.fromkeys(values_in(query, key))),
        "sort": sort, "page": number_in(query, "page") or 1, "text": text, "shown": shown,
        "marks": tuple(mark for mark in marks if mark is not None), "only_marked": bool(only),
    }  # fmt: skip


def values_in(query: Mapping[str, str], key: str) -> list[str]:
    """Return all values of a name in an address that are not empty."""
    every = getattr(query, "getlist", None)
    return [value for value in (every(key) if every else [query.get(key, "")]) if value]


def _literal(text: str) -> str:
    """Return a text as a pattern of LIKE, with a backslash before the characters that have a meaning there."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


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
        raise UserError(f"{key} {text[:40]!r}", "not a number", "Choose one from the page")
    return int(text)
