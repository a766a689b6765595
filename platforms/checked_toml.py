"""TOML files read key by key, so that a misspelt key fails at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from platforms.errors import PlatformError


def read_checked(path: Path, keys: Mapping[str, Sequence[str]], what: str) -> CheckedTable:
    """The file's top table; ``what`` names the kind of file in complaints, such as "scenario file".

    Raises PlatformError naming the file for one that cannot be read, is not TOML or has unknown keys.
    """
    return CheckedTable(read_toml(path, what), str(path), keys)


def read_toml(path: Path, what: str) -> dict:
    """The file's top table, unchecked.  Raises PlatformError for one that cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as err:
        raise PlatformError(str(path), f"cannot be read: {err.strerror}", f"Give a {what} in TOML") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise PlatformError(str(path), f"not TOML: {err}", "Mend the line") from err


_REQUIRED = object()


class CheckedTable:
    """A table of a TOML file, checked key by key; every complaint names file and key."""

    def __init__(self, values: dict, where: str, keys: Mapping[str, Sequence[str]], kind: str = ""):
        """``keys``: the known keys of every kind of table in the file; ``kind``: of this one, "" at the top."""
        self._values, self.where, self._keys = values, where, keys
        for key in values:
            if key not in keys[kind]:
                raise PlatformError(where, f"unknown key {key!r}", f"Known here: {', '.join(keys[kind])}")

    def has(self, key: str) -> bool:
        return key in self._values

    def value(self, key: str, default: object) -> object:
        """Whatever stands there."""
        return self._values.get(key, default)

    def number(self, key: str, default: object = _REQUIRED) -> float:
        value = self._get(key, default, "a number")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._not(key, "a number")
        return float(value)

    def integer(self, key: str, default: object = _REQUIRED) -> int:
        value = self._get(key, default, "a whole number")
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._not(key, "a whole number")
        return value

    def text(self, key: str, default: object = _REQUIRED) -> str:
        value = self._get(key, default, "a text")
        if not isinstance(value, str):
            raise self._not(key, "a text")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self._not(key, "true or false")
        return value

    def texts(self, key: str, count: int) -> list[str]:
        value = self._get(key, _REQUIRED, f"a list of {count} texts")
        if not (isinstance(value, list) and len(value) == count and all(isinstance(one, str) for one in value)):
            raise self._not(key, f"a list of {count} texts")
        return value

    def list_of(self, key: str, default: list, kind: type | tuple[type, ...], what: str) -> list:
        """A list of values of one kind; ``what`` names them in the complaint, such as "names"."""
        value = self._values.get(key, default)
        fits = isinstance(value, list) and all(isinstance(one, kind) and not isinstance(one, bool) for one in value)
        if not fits:
            raise self._not(key, f"a list of {what}")
        return value

    def table(self, key: str, kind: str) -> CheckedTable:
        """The table of this key, an empty one if it is absent."""
        value = self._values.get(key, {})
        if not isinstance(value, dict):
            raise self._not(key, "a table")
        return CheckedTable(value, f"{self.where}, {key}", self._keys, kind)

    def tables(self, key: str, kind: str | None = None) -> list[CheckedTable]:
        value = self._values.get(key, [])
        if not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
            raise self._not(key, "a list of tables")
        return [
            CheckedTable(one, f"{self.where}, {key} {i}", self._keys, kind or key) for i, one in enumerate(value, 1)
        ]

    def options(self, key: str) -> dict[str, str]:
        value = self._values.get(key, {})
        if not (isinstance(value, dict) and all(isinstance(one, str) for one in value.values())):
            raise self._not(key, 'a table of texts, such as "network/crosstraffic" = "no"')
        return value

    def _get(self, key: str, default: object, what: str) -> object:
        value = self._values.get(key, default)
        if value is _REQUIRED:
            raise PlatformError(self.where, f"{key!r} is missing", f"Give {what}")
        return value

    def _not(self, key: str, what: str) -> PlatformError:
        return PlatformError(self.where, f"{key} = {self._values[key]!r} is not {what}", "Mend the value")
