"""Periods for which a volunteer is available: drawn from laws of their lengths, or given by a trace."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.errors import UserError
from platforms.files.checked_toml import CheckedTable
from platforms.files.commented_csv import read_table

if TYPE_CHECKING:  # slow to import
    import numpy as np

Period = tuple[float, float]  # its begin and end, s
LAWS = {"constant": ("mean_s",), "exponential": ("mean_s",), "weibull": ("mean_s", "shape")}
LENGTH_RANGE_S = (1e-3, 1e12)
_SHAPES = (0.1, 100.0)
_CYCLES_BEFORE = 20  # of presence and absence, before a draw that begins at any time
_COLUMNS = ("volunteer", "from_s", "until_s")


@dataclass(frozen=True)
class Law:
    """A distribution of lengths of periods."""

    kind: str
    mean_s: float
    shape: float = 1.0  # of a Weibull distribution; 1: it is exponential

    def draw(self, generator: np.random.Generator) -> float:
        """Return a length, s."""
        if self.kind == "constant":
            return self.mean_s
        if self.kind == "exponential":
            return float(generator.exponential(self.mean_s))
        return float(generator.weibull(self.shape)) * self._scale_s

    @property
    def _scale_s(self) -> float:
        return self.mean_s / math.gamma(1 + 1 / self.shape)

    def whole_stretches(self, length_s: float) -> float:
        """Return the expected number of stretches of this length, one after the other, that fit into a period.

        It is the sum over k of the probability that the period has at least k of them.
        """
        if self.kind == "constant":
            return float(math.floor(self.mean_s / length_s * (1 + 1e-12)))
        if self.kind == "exponential":
            return 1 / math.expm1(length_s / self.mean_s) if length_s < 700 * self.mean_s else 0.0
        total, k = 0.0, 0
        while (share := math.exp(-(((k + 1) * length_s / self._scale_s) ** self.shape))) > 1e-9 and k < 1_000_000:
            total, k = total + share, k + 1
        return total


@dataclass(frozen=True)
class Drawn:
    """Presence and absence by turns, with lengths of these laws."""

    available: Law
    absent: Law
    anytime: bool = False  # whether time 0 is any moment; else every volunteer joins at 0

    @property
    def random(self) -> bool:
        """True if two draws may differ."""
        return self.anytime or not {self.available.kind, self.absent.kind} <= {"constant"}

    def periods(self, generator: np.random.Generator) -> Iterator[Period]:
        """Yield the periods of a volunteer, without end."""
        now_s = 0.0
        if self.anytime:
            cycle_s = self.available.mean_s + self.absent.mean_s
            now_s = -(_CYCLES_BEFORE + float(generator.random())) * cycle_s
        while True:
            until_s = now_s + self.available.draw(generator)
            if until_s > 0:
                yield max(now_s, 0.0), until_s
            now_s = until_s + self.absent.draw(generator)


def read_law(table: CheckedTable, key: str) -> Law:
    """Return the law under a key.

    Raises:
        UserError: It is missing or wrong.
    """
    value = table.value(key, None)
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or kind not in LAWS:
        remedy = f'Write for example {{ kind = "exponential", mean_s = 7200 }}; kinds: {", ".join(LAWS)}'
        raise UserError(table.of(key), f"no kind of law in {key} = {value!r}", remedy)
    checked = CheckedTable(value, table.at(key), {"": ("kind", *LAWS[kind])})
    numbers = [checked.number(name) for name in LAWS[kind]]
    for name, number, (low, high) in zip(LAWS[kind], numbers, (LENGTH_RANGE_S, _SHAPES), strict=False):
        if not low <= number <= high:
            raise UserError(checked.of(name), f"{name} is {number:g}", f"Give {low:g} to {high:g}")
    return Law(kind, *numbers)


def read_trace(path: Path) -> Mapping[str, tuple[Period, ...]]:
    """Return the periods of each volunteer of a CSV file with the columns volunteer, from_s and until_s.

    Raises:
        UserError: The file cannot be read, a value is wrong, or periods overlap.
    """
    periods: dict[str, list[Period]] = {}
    columns, rows = read_table(path, "Name a CSV file of the periods of volunteers", where=str(path))
    if sorted(columns) != sorted(_COLUMNS):
        problem = f"its columns are {', '.join(columns)}"
        raise UserError(str(path), problem, f"Name the columns {', '.join(_COLUMNS)}, each once, in the first line")
    for number, row in rows:
        where = f"{path}, line {number}"
        if len(row) > len(_COLUMNS):  # DictReader keeps what is too much under None
            raise UserError(where, f"more than {len(_COLUMNS)} values", f"Give {', '.join(_COLUMNS)}")
        if not (row["volunteer"] or "").strip():
            raise UserError(where, "the volunteer has no name", "Give every period the name of its volunteer")
        try:
            from_s, until_s = float(row["from_s"]), float(row["until_s"])
        except (TypeError, ValueError):
            from_s = until_s = math.nan
        if not 0 <= from_s < until_s <= LENGTH_RANGE_S[1]:
            problem = f"from_s = {row['from_s']!r} and until_s = {row['until_s']!r} are no period"
            raise UserError(where, problem, f"Give 0 <= from_s < until_s, up to {LENGTH_RANGE_S[1]:g}")
        known = periods.setdefault(row["volunteer"], [])
        if known and known[-1][1] >= from_s:
            problem = f"a period from {from_s:g} s, before the end of that before it at {known[-1][1]:g} s"
            raise UserError(where, problem, "Give the periods of a volunteer in their order, with gaps")
        known.append((from_s, until_s))
    if not periods:
        raise UserError(str(path), "no periods in it", "Give at least one line after the first")
    return {name: tuple(its) for name, its in periods.items()}
