"""Emissions of electricity by site: grams per kWh over time, power usage effectiveness, embodied emissions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from platforms.errors import UserError, printable
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.model.platform import Platform
from platforms.prices.price import ANY, S_PER_HOUR, check_names, named_tables, text_of
from platforms.prices.profile import Profile, profile_of, read_series

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
