"""Grams of CO2-equivalent per kWh over time: piecewise constant, for a day that repeats or over a series of dates."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

from platforms.errors import UserError, printable
from platforms.files.commented_csv import checked_rows

HOUR_S, DAY_S = 3600.0, 86400.0
HOURS = 24  # values of the profile of a day
COLUMNS = ("time", "g_per_kwh")
_REMEDY = f"Give a CSV file with the columns {', '.join(COLUMNS)}"


@dataclass(frozen=True)
class Profile:
    """Grams per kWh that hold from one time to the next.

    Attributes:
        starts_s: Times from which the values hold, s, ascending; of a day from 0, else from ``origin``.
        g_per_kwh: The values, >= 0.
        end_s: Time up to which the last value holds.
        repeats: Whether the profile begins again at ``end_s``.
        origin: Date of time 0; None: it has none.
    """

    starts_s: tuple[float, ...]
    g_per_kwh: tuple[float, ...]
    end_s: float
    repeats: bool = True
    origin: datetime | None = None

    @property
    def constant(self) -> bool:
        """True if all values are the same, at all times."""
        return self.repeats and len(set(self.g_per_kwh)) == 1

    @cached_property
    def _until(self) -> list[float]:
        """Integrals from the first start to each start and to the end, s g/kWh."""
        edges = [*self.starts_s, self.end_s]
        steps = (value * (b - a) for value, (a, b) in zip(self.g_per_kwh, pairwise(edges), strict=True))
        return list(accumulate(steps, initial=0.0))

    def check(self, start_s: float, end_s: float, where: str) -> None:
        """Check that the profile has values from one time to another.

        Raises:
            UserError: It has not.
        """
        if not self.repeats and not self.starts_s[0] <= start_s <= end_s <= self.end_s:
            known = f"{self.text(self.starts_s[0])} to {self.text(self.end_s)}"
            problem = f"no values from {self.text(start_s)} to {self.text(end_s)}: the series is from {known}"
            raise UserError(where, problem, "Give another --start, or a longer series")

    def mean(self, start_s: float, duration_s: float) -> float:
        """Return the mean over a time, g/kWh, integrated exactly; of no time the value at its start.

        >>> Profile((0, 43200), (100, 300), 86400).mean(start_s=36000, duration_s=4 * 3600)
        200.0
        """
        if self.constant:
            return self.g_per_kwh[0]
        if duration_s <= 0:
            at = start_s % self.end_s if self.repeats else start_s
            return self.g_per_kwh[bisect_right(self.starts_s, at) - 1]
        return (self._integral(start_s + duration_s) - self._integral(start_s)) / duration_s

    def _integral(self, time_s: float) -> float:
        """Return the integral from the first start to a time, s g/kWh."""
        rounds, inside_s = divmod(time_s, self.end_s) if self.repeats else (0.0, time_s)
        at = max(0, min(bisect_right(self.starts_s, inside_s) - 1, len(self.starts_s) - 1))
        part = self._until[at] + self.g_per_kwh[at] * (inside_s - self.starts_s[at])
        return rounds * self._until[-1] + part

    def edges(self, start_s: float, end_s: float) -> list[float]:
        """Return the times in an interval at which the value may change, s."""
        if self.constant:
            return []
        if not self.repeats:
            return [edge for edge in (*self.starts_s, self.end_s) if start_s <= edge <= end_s]
        days = range(math.floor(start_s / self.end_s), math.floor(end_s / self.end_s) + 1)
        every = (day * self.end_s + edge for day in days for edge in self.starts_s)
        return [edge for edge in every if start_s <= edge <= end_s]

    def text(self, time_s: float) -> str:
        """Return a time as its date, or as the hour of a day.

        >>> Profile((0.0,), (1.0,), 86400.0).text(26.5 * 3600)
        '02:30 on the next day'
        """
        if self.origin is not None:
            return (self.origin + timedelta(seconds=round(time_s))).isoformat(" ")[:19].removesuffix(":00")
        day, inside_s = divmod(round(time_s), int(DAY_S))
        clock = f"{inside_s // 3600:02d}:{inside_s // 60 % 60:02d}" + (f":{inside_s % 60:02d}" if inside_s % 60 else "")
        after = "" if day == 0 else " on the next day" if day == 1 else f", {day} days later"
        return f"{clock}{after}"


def profile_of(values: Sequence[float], where: str) -> Profile:
    """Return the profile of a constant, or of the 24 hours of a day.

    Raises:
        UserError: There are other numbers of values, or one of them is impossible.
    """
    if len(values) not in (1, HOURS):
        problem = f"{len(values)} values"
        raise UserError(where, problem, f"Give one, or the {HOURS} hours of a day from 0:00")
    for value in values:
        if not 0 <= value < math.inf:
            raise UserError(where, f"{value:g} g/kWh is below zero, or not a number", "Give values from 0")
    step_s = DAY_S / len(values)
    return Profile(tuple(step_s * hour for hour in range(len(values))), tuple(map(float, values)), DAY_S)


def read_series(path: str | Path) -> Profile:
    """Return the series of a CSV file: each value holds until the next time, the last as long as the one before it.

    Times are dates such as 2026-11-28 14:00, without a zone or all in one zone, or hours.

    Raises:
        UserError: It cannot be read, or has fewer than two times, or they do not rise.
    """
    rows = checked_rows(path, COLUMNS, _REMEDY)
    if len(rows) < 2:
        raise UserError(str(path), f"{len(rows)} rows", "Give at least two times with their values")
    first = _date(rows[0][1]["time"])
    origin = None if first is None else datetime.combine(first.date(), time())  # so that days of profiles agree
    times_s, values = [], []
    for number, row in rows:
        where = f"{path}:{number}"
        times_s.append(_time_s(row["time"], origin, where))
        values.append(_value(row["g_per_kwh"], where))
        if len(times_s) > 1 and times_s[-1] <= times_s[-2]:
            raise UserError(
                where, f"time {printable(row['time'])} is not after the one before", "Sort the rows by time"
            )
    end_s = 2 * times_s[-1] - times_s[-2]
    return Profile(tuple(times_s), tuple(values), end_s, repeats=False, origin=origin)


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def _time_s(text: str, origin: datetime | None, where: str) -> float:
    if origin is not None:
        date = _date(text)
        if date is not None:
            return (date - origin).total_seconds()
    else:
        try:
            hours = float(text)
        except ValueError:
            hours = math.nan
        if math.isfinite(hours):
            return HOUR_S * hours
    raise UserError(where, f"time {printable(text)!r}", "Write all times as 2026-11-28 14:00, or all as hours")


def _value(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UserError(where, f"g_per_kwh {printable(text)!r} is not a number from 0", "Correct the value")
    return value
