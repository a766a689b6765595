"""Answers of verbs that show themselves: JSON values with tables, a picture, and a short text for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError, known_names
from platforms.wording import number_of

if TYPE_CHECKING:
    import pandas as pd

    from validation.interactive.results import Picture

_MOST_ROWS, _MOST_TABLES = 20, 12  # that a notebook shows
_ACROSS = ("ranks", "nodes", "cores", "size_bytes", "efficiency_scale", "network_scale")  # what pictures are drawn over
_MOST_SHOWN = 6  # values in a line
_TIME = "_s"  # ending of columns of times


class Shown:
    """Base of answers: tables, pictures and texts of their JSON values.

    A list of objects in the answer is a table, whose name is the way to it: ``studies[0].clusters.c1``.
    """

    verb: str = ""

    def _json(self) -> Any:
        """Return the answer as JSON values."""
        raise NotImplementedError

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Every list of objects in the answer as a DataFrame, the one with most rows first."""
        # Imported here because it is slow to import.
        import pandas as pd

        made = {name: pd.json_normalize([_flat(row) for row in rows]) for name, rows in _lists(self._json(), "")}
        return dict(sorted(made.items(), key=lambda item: -len(item[1])))

    def table(self, name: str | None = None) -> pd.DataFrame:
        """Return a table of the answer; without a name, the one with most rows.

        Raises:
            UserError: The answer has no table, or none of that name.
        """
        tables = self.tables
        if not tables:
            raise UserError(f"answer of {self.verb}", "it has no table", "Use its values by their names")
        if name is None:
            return next(iter(tables.values()))
        if name not in tables:
            raise UserError(f"table {name!r}", f"the answer of {self.verb} has none", known_names(name, list(tables)))
        return tables[name]

    def plot(self, x: str | None = None, y: str | None = None, *, table: str | None = None) -> Picture:
        """Draw a column of a table over another one.

        Args:
            x: The column across; without it, ranks, nodes or the like, else the rows by their names.
            y: The column upwards; without it, the first time.
            table: The name of the table; without it, the one with most rows.

        Raises:
            UserError: There is no such table or column, or no column of numbers.
        """
        # Imported here because it is slow to import.
        from validation.interactive.drawing import drawn

        return drawn(self.table(table), *_axes(self.table(table), x, y), title=self.verb)

    def _repr_html_(self) -> str:
        parts = [f"<b>{escape(self.verb)}</b>", *_html_of(self._json())]
        tables = self.tables
        for name, table in list(tables.items())[:_MOST_TABLES]:
            more = len(table) - _MOST_ROWS
            html = table.head(_MOST_ROWS).to_html(index=False, float_format="{:.4g}".format, na_rep="", border=0)
            parts.append(f"<p>{escape(name)}</p>{html}" + (f"<p>and {number_of(more, 'row')} more</p>" * (more > 0)))
        if len(tables) > _MOST_TABLES:
            parts.append(f"<p>and {number_of(len(tables) - _MOST_TABLES, 'table')} more: .tables has them</p>")
        return "\n".join(parts)


class Answer(dict[str, Any], Shown):
    """The answer of a verb: what it prints with --json, in SI units."""

    def __init__(self, verb: str, values: Mapping[str, Any]):
        super().__init__(values)
        self.verb = verb

    def _json(self) -> Any:
        return dict(self)

    @property
    def cautions(self) -> list[str]:
        """The cautions about the runs, each a sentence."""
        return list(self.get("cautions", []))

    def __repr__(self) -> str:
        known = [_short(name, value) for name, value in self.items() if value is not None]
        more = ", ..." if len(known) > _MOST_SHOWN else ""
        return f"<{self.verb}: {', '.join(known[:_MOST_SHOWN])}{more}>"


class Answers(list[Any], Shown):
    """The answer of a verb that is a list."""

    def __init__(self, verb: str, values: Sequence[Any]):
        super().__init__(values)
        self.verb = verb

    def _json(self) -> Any:
        return list(self)

    def __repr__(self) -> str:
        return f"<{self.verb}: {number_of(len(self), 'entry', 'entries')}>"


class Text(str):
    """The text of a verb without --json, which shows itself as it would be printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def shown(verb: str, values: Any) -> Any:
    """Return JSON values or a text as an object that shows itself."""
    if isinstance(values, dict):
        return Answer(verb, values)
    if isinstance(values, list):
        return Answers(verb, values)
    return Text(values) if isinstance(values, str) else values


def _short(name: str, value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{name} ({len(value)})"
    return f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _lists(value: Any, name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every list of objects with the way to it."""
    if _is_table(value):
        yield name or "rows", value
        for number, row in enumerate(value):
            yield from _lists(row, f"{name}[{number}]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _lists(inner, f"{name}.{key}" if name else key)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without the tables in it, which are tables of their own."""
    return {
        key: _flat(value) if isinstance(value, dict) else value
        for key, value in row.items()
        if not _is_table(value) and not (isinstance(value, dict) and any(map(_is_table, value.values())))
    }


def _html_of(values: Any) -> Iterator[str]:
    """Yield the single values of an answer as a table, and its cautions as a list."""
    if not isinstance(values, dict):
        return
    single = {key: value for key, value in values.items() if not isinstance(value, dict | list)}
    if single:
        rows = "".join(
            f"<tr><td>{escape(key)}</td><td>{escape(_short('', value).strip())}</td></tr>"
            for key, value in single.items()
        )
        yield f"<table>{rows}</table>"
    if values.get("cautions"):
        yield f"<ul>{''.join(f'<li>{escape(str(caution))}</li>' for caution in values['cautions'])}</ul>"


def _axes(table: pd.DataFrame, x: str | None, y: str | None) -> tuple[str | None, str]:
    """Return the columns of a picture; None: the rows in their order."""
    for name in (x, y):
        if name is not None and name not in table.columns:
            remedy = known_names(name, [str(column) for column in table.columns])
            raise UserError(f"plot {name!r}", "the table has no such column", remedy)
    numbers = [str(name) for name in table.select_dtypes("number").columns]
    if x is None:
        x = next((name for name in _ACROSS if name in numbers and table[name].nunique() > 1), None)
    left = [name for name in numbers if name != x]
    if y is None and not left:
        raise UserError("plot", "the table has no column of numbers", "Name the columns x and y, or another table")
    return x, y or next((name for name in left if name.endswith(_TIME)), left[0] if left else "")
