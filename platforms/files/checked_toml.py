"""TOML files whose keys are checked, so that a misspelt key fails at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

from platforms.errors import Place, PlatformError, did_you_mean, inside
from platforms.files.reading import input_text
from platforms.files.toml_places import Places, places_of

MOST_BYTES = 2 << 20
MOST_LINE = 16_384  # characters in a line
MOST_POINTS = 200  # points in a line: Python's time to parse a key a.b.c grows with the square of its number of parts
MOST_DEPTH = 64  # levels of nested tables and lists
_CORRECT = "Correct the line"
_WHOLE = 2**63  # TOML guarantees integers of 64 bits: -2^63 to 2^63 - 1


class TomlError(PlatformError):
    """A text that is not TOML, or larger than what is read."""

    line: int | None = None  # from 1; None: not known


@dataclass(frozen=True)
class TomlSource:
    """The text of a TOML file, for the lines of errors."""

    name: str  # as the user named it
    text: str = field(repr=False)

    @cached_property
    def _places(self) -> Places:
        return places_of(self.text)

    def line_of(self, keys: tuple[str | int, ...]) -> int | None:
        """Return the number of the line, from 1, of an element, or of the nearest one around it."""
        return self._places.line_of(keys)


def read_checked(path: Path, keys: Mapping[str, Sequence[str]], what: str) -> CheckedTable:
    """Return the file's top-level table, with checked keys.

    Args:
        path: The TOML file.
        keys: The known keys of every kind of table in the file; the kind of the top-level table is "".
        what: The kind of file for error messages, such as "scenario file".

    Raises:
        PlatformError: The file cannot be read, is not TOML or has unknown keys.
    """
    values, place = read_placed(path, what)
    return CheckedTable(values, place, keys)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the file's top-level table without checking its keys.

    ``what`` is the kind of file for error messages.

    Raises:
        PlatformError: The file cannot be read or is not TOML.
    """
    return read_placed(path, what)[0]


def read_placed(path: Path, what: str) -> tuple[dict[str, Any], Place]:
    """Return the file's top-level table as ``read_toml`` does, and its place, for errors with lines."""
    try:
        text = input_text(path, most_bytes=MOST_BYTES)
    except OSError as err:
        raise PlatformError(str(path), f"cannot be read: {err.strerror}", f"Give a {what} in TOML") from err
    except ValueError as err:  # text that is not UTF-8
        raise TomlError(str(path), f"not TOML: {err}", _CORRECT) from err
    return toml_values(text, path), Place(str(path), TomlSource(str(path), text))


def toml_values(text: str, path: str | Path) -> dict[str, Any]:
    """Return the top-level table of a text.

    Args:
        text: The content of a TOML file.
        path: The name of the file for error messages.

    Raises:
        TomlError: The text is not TOML.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_LINE or line.count(".") > MOST_POINTS:
            problem = f"a line of {len(line)} characters with {line.count('.')} points"
            remedy = f"Break it into lines of at most {MOST_LINE} and {MOST_POINTS}"
            raise _at_line(path, number, problem, remedy)
    try:
        table = tomllib.loads(text)
    except ValueError as err:  # also numbers of thousands of digits
        raise _not_toml(path, str(err)) from err
    except RecursionError:
        raise _too_deep(path) from None
    _check_bounds(path, table)
    return table


def _not_toml(path: str | Path, said: str) -> TomlError:
    # The line is in the text of tomllib's error alone.
    match = re.fullmatch(r"(.*) \(at line (\d+), (column \d+)\)", said, re.DOTALL)
    if match is None:
        return TomlError(str(path), f"not TOML: {said}", _CORRECT)
    return _at_line(path, int(match[2]), f"not TOML: {match[1]} ({match[3]})", _CORRECT)


def _at_line(path: str | Path, line: int, problem: str, remedy: str) -> TomlError:
    error = TomlError(f"{path}:{line}", problem, remedy)
    error.line = line
    return error


def _check_bounds(path: str | Path, table: dict[str, Any]) -> None:
    """Refuse what Python reads, but TOML does not guarantee: integers beyond 64 bits and very deep nesting."""
    level: list[Any] = [table]
    for _ in range(MOST_DEPTH):
        inner: list[Any] = []
        for bound in level:
            for value in bound.values() if isinstance(bound, dict) else bound:
                if isinstance(value, dict | list):
                    inner.append(value)
                elif isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
                    raise TomlError(str(path), "an integer beyond 2^63", "Give one of at most 18 digits")
        if not inner:
            return
        level = inner
    raise _too_deep(path)


def _too_deep(path: str | Path) -> TomlError:
    return TomlError(str(path), f"tables or lists nested deeper than {MOST_DEPTH}", "Nest them less")


_REQUIRED = object()
T = TypeVar("T")


class CheckedTable:
    """A table of a TOML file whose keys are checked; every error message names file, line and key.

    The methods that read a value raise PlatformError if the value has the wrong type, or if the key is absent and no
    default is given.
    """

    def __init__(self, values: dict[str, Any], where: str, keys: Mapping[str, Sequence[str]], kind: str = ""):
        """Check that all keys of the table are known.

        Args:
            values: The table as ``tomllib`` reads it.
            where: File and table for error messages; a Place gives them lines.
            keys: The known keys of every kind of table in the file.
            kind: The kind of this table; "" is the top-level table.

        Raises:
            PlatformError: A key is unknown.
        """
        self._values, self.where, self._keys = values, where, keys
        for key in values:
            if key not in keys[kind]:
                remedy = f"Known here: {', '.join(keys[kind])}"
                remedy = " ".join(filter(None, (did_you_mean(key, keys[kind]), remedy)))
                raise PlatformError(self.of(key), f"unknown key {key!r}", remedy)

    def at(self, key: str) -> str:
        """Return the place of a key for error messages: file, table and key."""
        return inside(self.where, f", {key}", key)

    def has(self, key: str) -> bool:
        """Return whether the table has the key."""
        return key in self._values

    def value(self, key: str, default: object) -> object:
        """Return the value of any type."""
        return self._values.get(key, default)

    def number(self, key: str, default: object = _REQUIRED) -> float:
        """Return an integer or floating-point number."""
        value = self._get(key, default, "a number")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._not(key, "a number")
        return float(value)

    def integer(self, key: str, default: object = _REQUIRED) -> int:
        """Return an integer."""
        value = self._get(key, default, "a whole number")
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._not(key, "a whole number")
        return value

    def text(self, key: str, default: object = _REQUIRED) -> str:
        """Return a text without control characters (``source`` may contain them)."""
        value = self._get(key, default, "a text")
        if not isinstance(value, str):
            raise self._not(key, "a text")
        if key != "source" and not value.isprintable():  # it is shown in tables and pictures
            problem = f"{key} = {value!r} has characters that cannot be shown"
            raise PlatformError(self.of(key), problem, "Leave them out")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self._not(key, "true or false")
        return value

    def texts(self, key: str, count: int) -> list[str]:
        """Return a list of ``count`` texts."""
        value = self._get(key, _REQUIRED, f"a list of {count} texts")
        if not (isinstance(value, list) and len(value) == count and all(isinstance(item, str) for item in value)):
            raise self._not(key, f"a list of {count} texts")
        return value

    @overload
    def list_of(self, key: str, default: list[T], kind: type[T], what: str) -> list[T]: ...
    @overload
    def list_of(self, key: str, default: list[Any], kind: tuple[type, ...], what: str) -> list[Any]: ...
    def list_of(self, key: str, default: list[Any], kind: type | tuple[type, ...], what: str) -> list[Any]:
        """Return a list of values of one type; ``what`` names them in error messages, such as "names"."""
        value: list[Any] = self._values.get(key, default)
        fits = isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)
        if not fits:
            raise self._not(key, f"a list of {what}")
        return value

    def table(self, key: str, kind: str) -> CheckedTable:
        """Return the table under this key, or an empty table if the key is absent."""
        value = self._values.get(key, {})
        if not isinstance(value, dict):
            raise self._not(key, "a table")
        return CheckedTable(value, self.at(key), self._keys, kind)

    def tables(self, key: str, kind: str | None = None) -> list[CheckedTable]:
        """Return the list of tables under this key; ``kind`` is their kind if it differs from the key."""
        value = self._values.get(key, [])
        if not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
            raise self._not(key, "a list of tables")
        return [
            CheckedTable(item, inside(self.where, f", {key} {i}", key, i - 1), self._keys, kind or key)
            for i, item in enumerate(value, 1)
        ]

    def options(self, key: str) -> dict[str, str]:
        """Return a table of texts, such as SimGrid options."""
        value = self._values.get(key, {})
        if not (isinstance(value, dict) and all(isinstance(item, str) for item in value.values())):
            raise self._not(key, 'a table of texts, such as "network/crosstraffic" = "no"')
        for name, item in value.items():
            if not (name + item).isprintable():  # XML cannot hold such characters
                problem = f"{name!r} = {item!r} has characters that cannot be shown"
                raise PlatformError(inside(self.at(key), "", name), problem, "Leave them out")
        return value

    def of(self, key: str) -> str:
        """Return the place of a key that the text of the error names itself."""
        return inside(self.where, "", key)

    def _get(self, key: str, default: object, what: str) -> object:
        value = self._values.get(key, default)
        if value is _REQUIRED:
            raise PlatformError(self.where, f"{key!r} is missing", f"Give {what}")
        return value

    def _not(self, key: str, what: str) -> PlatformError:
        return PlatformError(self.of(key), f"{key} = {self._values[key]!r} is not {what}", "Correct the value")
