"""Prices of node hours and core hours: values, lists of them, and the texts and files that give them.

All prices of a list have the same currency, because a sum of several means nothing.  A host without a price has None,
and so has every total that it is a part of: never 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from platforms.errors import UserError, inside, known_names, printable
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.model.platform import Platform

S_PER_HOUR = 3600
NODE_HOUR, CORE_HOUR = "node hour", "core hour"
DEFAULT_CURRENCY = "EUR"
ANY = "*"  # the name of the price of all hosts that have no price of their own

_FORM = "Write an amount from 0, such as 0.4, 0.4USD or 0.02EUR/core-hour"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)"
_PRICE = re.compile(rf"({_NUMBER})\s*([A-Z]{{3}})?(?:/(node|core)-hour)?")
_KEYS = {
    "": ("source", "date", "currency", "unit", "prices"),
    "prices": ("source", "date", "currency", "unit", "price"),
}


@dataclass(frozen=True)
class Price:
    """The price of the use of a node, or of one of its cores, for an hour."""

    amount: float  # >= 0
    currency: str = DEFAULT_CURRENCY  # three capital letters, as in ISO 4217
    unit: str = NODE_HOUR
    day: str | None = None  # on which the price was valid; None: not given
    source: str | None = None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UserError: One of them is impossible.
        """
        if not 0 <= self.amount < math.inf:
            raise UserError(f"price {self.amount:g}", "below zero, or not a number", _FORM)
        if re.fullmatch("[A-Z]{3}", self.currency) is None:
            remedy = "Give its three capital letters, such as EUR"
            raise UserError(f"currency {printable(self.currency)}", "no code of a currency", remedy)
        if self.unit not in (NODE_HOUR, CORE_HOUR):
            remedy = f"Give {NODE_HOUR!r} or {CORE_HOUR!r}"
            raise UserError(f"unit {printable(self.unit)}", "unknown", remedy)

    def of_node_hour(self, cores: int) -> float:
        """Return the price of an hour of a node with this many cores, in its currency.

        >>> Price(0.02, unit="core hour").of_node_hour(64)
        1.28
        """
        return self.amount * cores if self.unit == CORE_HOUR else self.amount

    def __str__(self) -> str:
        return f"{self.amount:.10g} {self.currency} per {self.unit}"


@dataclass(frozen=True)
class Prices:
    """A list of prices in one currency, by the names of hosts, clusters or instances.

    Attributes:
        currency: Of all prices.
        by_name: The prices that have names.
        every: The price of all other hosts; None: they have none.
        by_place: The prices of the platform's clusters in their order; (): not given so.
        strict: The user has named hosts and clusters of this platform, so that an unknown name is an error.
    """

    currency: str
    by_name: Mapping[str, Price] = field(default_factory=dict)
    every: Price | None = None
    by_place: tuple[Price, ...] = ()
    strict: bool = False

    def of_name(self, *names: str) -> Price | None:
        """Return the price of the first of these names that has one, else that of all others; None: there is none."""
        return next((self.by_name[name] for name in names if name in self.by_name), self.every)

    def of_host(self, platform: Platform, host: str) -> Price | None:
        """Return the price of a host: its own, else its cluster's, else that of all others; None: it has none."""
        cluster = platform.cluster_of(host).name
        if self.by_place:
            return self.by_place[[one.name for one in platform.clusters].index(cluster)]
        return self.of_name(host, cluster)

    def of_clusters(self, platform: Platform) -> list[float | None]:
        """Return the price of an hour of a node of each cluster, in its first host's words; None: it has none."""
        prices = (self.of_host(platform, cluster.hosts[0].name) for cluster in platform.clusters)
        pairs = zip(prices, platform.clusters, strict=True)
        return [None if price is None else price.of_node_hour(cluster.cores) for price, cluster in pairs]

    def rate(self, platform: Platform, hosts: Iterable[str]) -> float | None:
        """Return the price of an hour of these hosts together, each once; None: one of them has no price."""
        rates = []
        for host in dict.fromkeys(hosts):
            price = self.of_host(platform, host)
            if price is None:
                return None
            rates.append(price.of_node_hour(platform.host(host).cores))
        return math.fsum(rates)

    def without(self, platform: Platform, hosts: Iterable[str]) -> list[str]:
        """Return those of the hosts, each once, that have no price."""
        return [host for host in dict.fromkeys(hosts) if self.of_host(platform, host) is None]

    def check(self, platform: Platform, where: str) -> None:
        """Check that the prices are for this platform.

        Raises:
            UserError: There is not one for each cluster, or the user has named none of its hosts or clusters.
        """
        if self.by_place and len(self.by_place) != len(platform.clusters):
            clusters = ", ".join(cluster.name for cluster in platform.clusters)
            problem = f"{len(self.by_place)} values for {len(platform.clusters)} clusters: {clusters}"
            raise UserError(where, problem, "Give one for each, in this order, or a single one")
        check_names(self.by_name if self.strict else (), platform, where)

    def dated(self, names: Iterable[str] | None = None) -> list[str]:
        """Return where the prices come from, each place once: source and date, as far as they are known."""
        used = [*self.by_name.values(), *([] if self.every is None else [self.every]), *self.by_place]
        if names is not None:
            used = [price for price in map(self.of_name, names) if price is not None]
        said = (" of ".join(filter(None, (price.source, price.day))) for price in used)
        return list(dict.fromkeys(filter(None, said)))


def check_names(names: Iterable[str], platform: Platform, where: str) -> None:
    """Check that these are hosts or clusters of a platform.

    Raises:
        UserError: One of them is not.
    """
    clusters = [cluster.name for cluster in platform.clusters]
    hosts = {host.name for cluster in platform.clusters for host in cluster.hosts}
    for name in names:
        if name not in clusters and name not in hosts and name != ANY:
            problem = f"{platform.name} has no cluster or host {printable(name)}"
            raise UserError(where, problem, known_names(name, clusters))


def read_prices(text: str, where: str = "--price") -> Prices:
    """Return the prices that a text gives: an amount, amounts by name or by cluster, or a TOML file of them.

    >>> read_prices("0.4").every
    Price(amount=0.4, currency='EUR', unit='node hour', day=None, source=None)
    >>> read_prices("fast=0.05USD/core-hour,slow=1USD").by_name["fast"].of_node_hour(16)
    0.8

    Raises:
        UserError: It gives none, or prices in several currencies.
    """
    if text.endswith(".toml"):
        return _of_file(Path(text))
    place = f"{where} {printable(text)}"
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        if not all("=" in part for part in parts):
            raise UserError(place, "some prices have a name and others have none", "Write NAME=PRICE for each")
        pairs = [(name.strip(), _price(price, place)) for name, _, price in (part.partition("=") for part in parts)]
        by_name = dict(pairs)
        if len(by_name) < len(pairs):
            raise UserError(place, "a name occurs twice", "Give one price for each")
        every = by_name.pop(ANY, None)
        return Prices(_currency([price for _, price in pairs], place), by_name, every, strict=True)
    prices = [_price(part, place) for part in parts]
    currency = _currency(prices, place)
    return Prices(currency, every=prices[0]) if len(prices) == 1 else Prices(currency, by_place=tuple(prices))


def _price(text: str, where: str) -> Price:
    match = _PRICE.fullmatch(text.strip())
    if match is None:
        raise UserError(where, f"{printable(text)!r} is no price", f"{_FORM}, or name a FILE.toml of prices")
    amount, currency, unit = float(match[1]), match[2] or DEFAULT_CURRENCY, f"{match[3] or 'node'} hour"
    if not 0 <= amount < math.inf:
        raise UserError(where, "below zero, or not a number", _FORM)
    return Price(amount, currency, unit)


def _currency(prices: Sequence[Price], where: str) -> str:
    """Return the currency that all prices have."""
    currencies = sorted({price.currency for price in prices})
    if len(currencies) > 1:
        problem = f"prices in {' and '.join(currencies)}, which cannot be added"
        raise UserError(where, problem, "Give all of them in one currency")
    return currencies[0]


def _of_file(path: Path) -> Prices:
    file = read_checked(path, _KEYS, "file of prices")
    entries = named_tables(file, _KEYS, "prices")
    if not entries:
        remedy = f'Add a table for each host, cluster or instance, such as [prices."{ANY}"] with price = 0.4'
        raise UserError(str(path), "no prices", remedy)
    by_name = {name: _entry(entry, file) for name, entry in entries.items()}
    currency = _currency(list(by_name.values()), str(path))
    every = by_name.pop(ANY, None)
    return Prices(currency, by_name, every)


def named_tables(file: CheckedTable, keys: Mapping[str, Sequence[str]], key: str) -> dict[str, CheckedTable]:
    """Return the tables below ``key``, whose names are those of hosts, clusters, instances or sites.

    Raises:
        UserError: One of them is not a table, or has an unknown key.
    """
    tables = file.value(key, {})
    if not isinstance(tables, dict):
        raise UserError(file.at(key), "not a table", f"Write [{key}.NAME]")
    checked = {}
    for name, values in tables.items():
        where = inside(file.at(key), f".{printable(name)}", name)
        if not isinstance(values, dict):
            raise UserError(where, "not a table", f"Write [{key}.{printable(name)}]")
        checked[name] = CheckedTable(values, where, keys, key)
    return checked


def text_of(key: str, *tables: CheckedTable) -> str | None:
    """Return the text of a key in the first table that has it, or a date, which TOML writes without quotes."""
    for table in tables:
        if table.has(key):
            value = table.value(key, None)
            return value.isoformat() if isinstance(value, date | datetime) else printable(table.text(key))
    return None


def _entry(entry: CheckedTable, file: CheckedTable) -> Price:
    amount = entry.number("price")
    currency, unit, day, source = (text_of(key, entry, file) for key in ("currency", "unit", "date", "source"))
    try:
        return Price(amount, currency or DEFAULT_CURRENCY, unit or NODE_HOUR, day, source)
    except UserError as err:
        raise UserError(inside(entry.where, f", {err.where}"), err.problem, err.remedy) from None
