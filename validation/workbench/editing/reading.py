"""Values and places that are read from the text of a draft, kept for the next operation on the same text."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from platforms.files.checked_toml import toml_values
from platforms.files.toml_places import Path, Places, places_of

_KEPT = 16  # texts: those that are edited at the moment, as they are and as they were
_KEPT_TABLES = 20_000
_values: dict[str, Mapping[str, Any]] = {}
_keeping = threading.Lock()


def read_values(text: str) -> Mapping[str, Any]:
    """Return the values of a text, which are not to be changed.

    Raises:
        TomlError: The text is no TOML, or too large.
    """
    return _values.get(text) or _keep(text, toml_values(text, "draft"))


def values_after_change(text: str) -> Mapping[str, Any]:
    """Return the values of a text that a program has changed, which are not to be changed further.

    Only the tables that changed are read: the others are known.  Where a table is written in several parts, the whole
    text is read.

    Raises:
        TomlError: The text is no TOML.
    """
    known = _values.get(text)
    if known is not None:
        return known
    try:
        return _keep(text, _assembled(text))
    except (ValueError, KeyError, IndexError, TypeError):  # TOMLDecodeError is a ValueError
        return read_values(text)


def _keep(text: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    with _keeping:
        _values[text] = values
        while len(_values) > _KEPT:
            del _values[next(iter(_values))]
    return values


@lru_cache(_KEPT)
def read_places(text: str) -> Places:
    """Return the places in a text, which has to be sound TOML; they are not to be changed."""
    return places_of(text)


@lru_cache(_KEPT_TABLES)
def _table(body: str) -> Mapping[str, Any]:
    return tomllib.loads(body)


def _assembled(text: str) -> Mapping[str, Any]:
    """Return the values of a text from those of its tables.

    Raises:
        ValueError: A table is written in several parts, or a part is no TOML.
    """
    values: dict[str, Any] = {}
    seen: set[Path] = set()
    for section in read_places(text).sections:
        path = section.path
        if path in seen or any(step for step in path[-1:] if isinstance(step, str) and _is_there(values, path)):
            raise ValueError("a table in several parts")
        seen.add(path)
        table: Any = values
        for step, following in zip(path, (*path[1:], "")[: len(path)], strict=True):
            empty: Any = [] if isinstance(following, int) else {}
            if isinstance(step, str):
                table = table.setdefault(step, empty)
            else:
                if step == len(table):
                    table.append(empty)
                table = table[step]
        if not isinstance(table, dict):
            raise ValueError("a list and a table of one name")
        table |= copied(_table(text[section.body : section.end]))
    return values


def _is_there(values: Any, path: Path) -> bool:
    try:
        for step in path:
            values = values[step]
    except (KeyError, IndexError):
        return False
    return True


def copied(value: Any) -> Any:
    """Return a copy of values of TOML, whose tables and lists may be changed."""
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [copied(inner) for inner in value]
    return value
