"""Values of varied names in words: short numbers, and file names without folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from platforms.plotting.styles import plain

Row = Mapping[str, Any]
MOST_DIGITS = 5  # of a whole number that is not written with an exponent although that would be shorter


def value_text(value: object) -> str:
    """Return a value in words.

    >>> [value_text(one) for one in (4, 1e10, 100000000, 48517, "idle-waiting")]
    ['4', '1e10', '1e8', '48517', 'idle-waiting']
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    whole = str(value) if isinstance(value, int) else ""
    return whole if 0 < len(whole) <= MOST_DIGITS else plain(value)


def shortened(values: Sequence[object]) -> dict[object, str]:
    """Return each value in words; files are named without folder and ending if the short names differ.

    >>> shortened(["a/left.toml", "a/right.toml", "grid4x8"])
    {'a/left.toml': 'left', 'a/right.toml': 'right', 'grid4x8': 'grid4x8'}
    >>> shortened(["a/left.toml", "b/left.toml"])
    {'a/left.toml': 'a/left.toml', 'b/left.toml': 'b/left.toml'}
    """
    distinct = list(dict.fromkeys(values))
    stems = {value: _stem(value) for value in distinct}
    often = Counter(stems.values())
    return {value: stems[value] if often[stems[value]] == 1 else value_text(value) for value in distinct}


def texts_of(rows: Sequence[Row], names: Sequence[str]) -> dict[str, dict[object, str]]:
    """Return the words of each value by name."""
    return {name: shortened([row[name] for row in rows]) for name in names}


def _stem(value: object) -> str:
    if not isinstance(value, str) or not value.endswith((".toml", ".json", ".xml")):
        return value_text(value)
    return PurePath(value).stem or value
