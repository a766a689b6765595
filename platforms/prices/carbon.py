"""Emissions of electricity by site: grams of CO2-equivalent per kWh over time, and the start with the least."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

from platforms.errors import UserError, printable
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.files.commented_csv import checked_rows
from platforms.model.platform import Platform
from platforms.prices.price import ANY, S_PER_HOUR, check_names, named_tables, text_of

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


J_PER_KWH = 3.6e6

_OF_SITE = ("source", "date", "g_per_kwh", "series", "pue", "embodied_g_per_node_hour")
_KEYS = {"": (*_OF_SITE, "sites"), "sites": _OF_SITE}
_FORM = (
    "Write grams per kWh, 24 of them for the hours of a day, NAME=GRAMS for each cluster, or a FILE.csv or FILE.toml"
)


@dataclass(frozen=True)
class Site:
    """A place with its electricity."""

    profile: Profile
    pue: float = 1.0  # power usage effectiveness: energy of the whole site over that of its computers, >= 1
    embodied_g_per_node_hour: float = 0.0  # emissions of making the nodes, spread over their life
    day: str | None = None  # date of the figures; None: not given
    source: str | None = None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UserError: One of them is impossible.
        """
        if not 1 <= self.pue < math.inf:
            raise UserError(f"PUE {self.pue:g}", "below 1, or not a number", "Give 1 or more")
        if not 0 <= self.embodied_g_per_node_hour < math.inf:
            where = f"embodied carbon {self.embodied_g_per_node_hour:g}"
            raise UserError(where, "below zero, or not a number", "Give grams per node hour, from 0")

    def operational_g(self, energy_j: float, *, start_s: float, time_s: float) -> float:
        """Return the grams emitted for an energy that is spread evenly over a run.

        >>> Site(profile_of([300], ""), pue=1.2).operational_g(7.2e6, start_s=0, time_s=60)
        720.0
        """
        return energy_j / J_PER_KWH * self.pue * self.profile.mean(start_s, time_s)

    def embodied_g(self, nodes: int, time_s: float) -> float:
        """Return the share of the emissions of making the nodes that a run takes, g."""
        return self.embodied_g_per_node_hour * nodes * time_s / S_PER_HOUR


@dataclass(frozen=True)
class Carbon:
    """The sites of hosts and clusters by their names; ``every`` is that of all others, or None."""

    by_name: Mapping[str, Site] = field(default_factory=dict)
    every: Site | None = None
    strict: bool = False  # the user has named hosts and clusters of this platform: an unknown name is an error

    @property
    def sites(self) -> list[Site]:
        """Return all sites."""
        return [*self.by_name.values(), *([] if self.every is None else [self.every])]

    def of_name(self, *names: str) -> Site | None:
        """Return the site of the first of these names that has one, else that of all others; None: there is none."""
        return next((self.by_name[name] for name in names if name in self.by_name), self.every)

    def of_host(self, platform: Platform, host: str) -> Site | None:
        """Return the site of a host: its own, else its cluster's, else that of all others; None: it has none."""
        return self.of_name(host, platform.cluster_of(host).name)

    def check(self, platform: Platform, where: str) -> None:
        """Check that the names are those of this platform, where the user has written them for it.

        Raises:
            UserError: One is not.
        """
        check_names(self.by_name if self.strict else (), platform, where)

    def dated(self) -> list[str]:
        """Return where the figures come from, each place once."""
        said = (" of ".join(filter(None, (site.source, site.day))) for site in self.sites)
        return list(dict.fromkeys(filter(None, said)))

    def changed(self, *, pue: float | None, embodied: float | None) -> Carbon:
        """Return the sites with another power usage effectiveness or embodied carbon; None: as they are.

        Raises:
            UserError: A value is impossible.
        """

        def with_values(site: Site) -> Site:
            made = site.embodied_g_per_node_hour if embodied is None else embodied
            return replace(site, pue=site.pue if pue is None else pue, embodied_g_per_node_hour=made)

        by_name = {name: with_values(site) for name, site in self.by_name.items()}
        return replace(self, by_name=by_name, every=None if self.every is None else with_values(self.every))


def read_carbon(text: str, where: str = "--carbon") -> Carbon:
    """Return the sites that a text gives: a constant, a day's 24 values, constants by name, or a file.

    >>> read_carbon("c1=50,c2=400").by_name["c2"].profile.g_per_kwh
    (400.0,)

    Raises:
        UserError: It gives none, or impossible values.
    """
    if text.endswith(".toml"):
        return _of_file(Path(text))
    if text.endswith(".csv"):
        return Carbon(every=Site(read_series(text)))
    place = f"{where} {printable(text)}"
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        pairs = [part.partition("=") for part in parts]
        if not all(equals for _, equals, _ in pairs):
            raise UserError(place, "some values have a name and others have none", "Write NAME=GRAMS for each")
        by_name = {name.strip(): Site(profile_of([_number(value, place)], place)) for name, _, value in pairs}
        if len(by_name) < len(pairs):
            raise UserError(place, "a name occurs twice", "Give one value for each")
        every = by_name.pop(ANY, None)
        return Carbon(by_name, every, strict=True)
    return Carbon(every=Site(profile_of([_number(part, place) for part in parts], place)))


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(where, f"{printable(text)!r} is not a number", _FORM) from None


def _of_file(path: Path) -> Carbon:
    file = read_checked(path, _KEYS, "file of emissions")
    entries = named_tables(file, _KEYS, "sites")
    by_name = {name: _site(path, entry, file) for name, entry in entries.items()}
    every = by_name.pop(ANY, None)
    if every is None and (file.has("g_per_kwh") or file.has("series")):
        every = _site(path, file)
    if not by_name and every is None:
        raise UserError(str(path), "no emissions", "Give g_per_kwh, or a table [sites.NAME] for each cluster")
    return Carbon(by_name, every)


def _site(path: Path, *tables: CheckedTable) -> Site:
    """Return the site of a table; the ones behind it give what it leaves out."""
    place, first = tables[0].where, tables[0]
    if first.has("g_per_kwh") == first.has("series"):
        raise UserError(place, "neither g_per_kwh nor series, or both", "Give one: a number or 24, or a FILE.csv")
    if first.has("series"):
        profile = read_series(path.parent / first.text("series"))
    else:
        value = first.value("g_per_kwh", None)
        one = isinstance(value, int | float) and not isinstance(value, bool)
        values = [first.number("g_per_kwh")] if one else first.list_of("g_per_kwh", [], (int, float), "24 numbers")
        profile = profile_of(values, first.at("g_per_kwh"))
    given = {
        key: next(table.number(key) for table in tables if table.has(key))
        for key in ("pue", "embodied_g_per_node_hour")
        if any(table.has(key) for table in tables)
    }
    try:
        return Site(profile, **given, day=text_of("date", *tables), source=text_of("source", *tables))
    except UserError as err:
        raise UserError(f"{place}, {err.where}", err.problem, err.remedy) from None


_UNITS_S = {"min": 60.0, "h": HOUR_S, "d": DAY_S}
_SAME = 1e-12  # relative; a later start has to emit less by more than rounding


# The emissions of a run of a fixed length are an integral of piecewise constant profiles over a window, so that they
# are piecewise linear in its start: a least value lies where the start or the end of the run meets a step of a
# profile, or at an end of the times allowed.
@dataclass(frozen=True)
class Start:
    """A start of a run and what is emitted for its energy."""

    start_s: float  # in the time of the profiles
    operational_g: float


def best_start(
    energies: Sequence[tuple[Site, float]], *, earliest_s: float, within_s: float, time_s: float, where: str
) -> Start:
    """Return the earliest start with the least emissions.

    Args:
        energies: Sites with the energies that the run takes there, J.
        earliest_s: The earliest start.
        within_s: How much later it may start.
        time_s: Length of the run.
        where: Place of errors.

    Raises:
        UserError: A series of values ends before a run that starts at the earliest time.
    """
    latest_s = earliest_s + within_s
    starts = {earliest_s, latest_s}
    for site, _ in energies:
        site.profile.check(earliest_s, earliest_s + time_s, where)
        starts |= set(site.profile.edges(earliest_s, latest_s))
        starts |= {edge - time_s for edge in site.profile.edges(earliest_s + time_s, latest_s + time_s)}
    lasting = [site.profile.end_s for site, _ in energies if not site.profile.repeats]
    ends_s = min(lasting, default=latest_s + time_s)
    allowed = sorted(start for start in starts if earliest_s <= start <= latest_s and start + time_s <= ends_s)
    best: Start | None = None
    for start_s in allowed or [earliest_s]:
        made = Start(start_s, emitted_g(energies, start_s=start_s, time_s=time_s))
        if best is None or made.operational_g < best.operational_g * (1 - _SAME):
            best = made
    assert best is not None
    return best


def emitted_g(energies: Sequence[tuple[Site, float]], *, start_s: float, time_s: float) -> float:
    """Return what is emitted for the energies of a run at sites, g."""
    return sum(site.operational_g(energy_j, start_s=start_s, time_s=time_s) for site, energy_j in energies)


def parse_start(text: str | None, profile: Profile) -> float:
    """Return a start in the time of a profile, s; without a text its first time.

    >>> parse_start("14:30", Profile((0.0,), (1.0,), DAY_S)) / HOUR_S
    14.5

    Raises:
        UserError: The text is no date and no hour, or an hour where the profile has dates.
    """
    if text is None:
        return profile.starts_s[0]
    where = f"--start {printable(text)}"
    clock = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?", text.strip())
    if clock is not None:
        hours, minutes = int(clock[1]), int(clock[2] or 0)
        if profile.origin is not None:
            raise UserError(where, "an hour without a date, but the series has dates", "Write 2026-11-28 14:00")
        if hours < 24 and minutes < 60:
            return HOUR_S * hours + 60.0 * minutes
    try:
        date = datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        raise UserError(where, "no date and no hour", 'Write "2026-11-28 14:00", or 14:00') from None
    if profile.origin is not None:
        return (date - profile.origin).total_seconds()
    if not profile.repeats:
        raise UserError(where, "a date, but the series counts hours", "Write an hour, such as 14")
    return (date - date.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()


def parse_within(text: str) -> float:
    """Return a length of time such as 24h, 90min or 2d, s.

    Raises:
        UserError: It is none, or longer than a year.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(h|min|d)", text.strip())
    length_s = float(match[1]) * _UNITS_S[match[2]] if match else -1.0
    if not 0 <= length_s <= 366 * DAY_S:
        raise UserError(f"--start-within {printable(text)}", "no length of time up to a year", "Write 24h, 90min or 2d")
    return length_s
