"""The hardware database: processors, networks and disks by name, from TOML files with the source of every entry.

An entry lists in ``assumed`` the keys whose values are not published.  Users' own files have the same form: top-level
tables ``cpus``, ``gpus``, ``networks`` and ``disks``, each with a table per name.  Only processors have a price;
processors and networks have watts; a system file gives the power of the rest of a node (``base_w``).  Rates of
failures, watts of networks and effects of hardware threads are left out where nobody has published them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from platforms.errors import PlatformError, inside, nearest
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.grids.network import DEFAULT_NETWORK, network_names

T = TypeVar("T")
_OWN = ("cpus.toml", "gpus.toml", "networks.toml", "disks.toml")
KINDS = {"cpus": "cpu", "gpus": "gpu", "networks": "network", "disks": "disk"}
_COMMON = ("title", "source", "assumed", "failures_per_year")
_OF_PROCESSORS = (*_COMMON, "price_usd", "double_per_cycle", "single_per_cycle", "idle_w", "full_w")
_KEYS = {
    "": tuple(KINDS),
    "cpu": (*_OF_PROCESSORS, "cores", "threads", "clock_ghz", "thread_slowdown"),
    "gpu": (*_OF_PROCESSORS, "cores", "clock_ghz"),
    "network": (*_COMMON, "bandwidth_gbit_s", "latency_us", "options_of", "adapter_w", "switch_w", "switch_ports"),
    "disk": (*_COMMON, "read_mbyte_s", "write_mbyte_s", "read_latency_us", "write_latency_us"),
}


@dataclass(frozen=True)
class Processor:
    """A CPU, or a GPU; the cores of a GPU are its multiprocessors."""

    name: str
    kind: str  # "cpu" or "gpu"
    title: str  # full name, for readers
    cores: int
    threads: int
    clock_hz: float  # nominal; for a GPU, the clock of its published peak
    double_per_cycle: float  # flop of a core per cycle, double precision
    single_per_cycle: float
    idle_w: float
    full_w: float  # thermal design power
    price_usd: float | None  # at launch; None: not known
    source: str
    assumed: tuple[str, ...] = ()  # keys of the values that are not published
    thread_slowdown: float | None = None  # time of a thread's work while all hardware threads are busy, >= 1
    failures_per_year: float | None = None  # None: no published rate

    @property
    def core_double_flops(self) -> float:
        """Peak speed of one core in double precision, flop/s."""
        return self.clock_hz * self.double_per_cycle

    @property
    def core_single_flops(self) -> float:
        """Peak speed of one core in single precision, flop/s."""
        return self.clock_hz * self.single_per_cycle

    @property
    def double_flops(self) -> float:
        """Peak speed of all cores in double precision, flop/s."""
        return self.cores * self.core_double_flops

    @property
    def single_flops(self) -> float:
        """Peak speed of all cores in single precision, flop/s."""
        return self.cores * self.core_single_flops


@dataclass(frozen=True)
class NetworkHardware:
    """A kind of network: a LAN or WAN between two members, switches included; or a bus to one device on it."""

    name: str
    title: str
    bandwidth_Bps: float  # byte/s of data, each direction
    latency_s: float  # from end to end
    options_of: str  # the network of platforms/grids/networks.toml whose SimGrid options apply
    source: str
    assumed: tuple[str, ...] = ()
    adapter_w: float | None = None  # of one node's adapter; None: not known
    switch_w: float | None = None  # of one switch, all its ports together
    switch_ports: int | None = None
    failures_per_year: float | None = None  # of one switch

    def watts(self, nodes: int) -> float | None:
        """Return the power of the adapters of some nodes and of their ports on switches, W; None: one is not known."""
        if self.adapter_w is None or self.switch_w is None or self.switch_ports is None:
            return None
        return nodes * (self.adapter_w + self.switch_w / self.switch_ports)


@dataclass(frozen=True)
class DiskArray:
    """A disk, or an array of disks, as seen by its node."""

    name: str
    title: str
    read_Bps: float  # byte/s, > 0
    write_Bps: float
    read_latency_s: float  # before the first byte, >= 0; a property of <disk>, since SimGrid's disks have no latency
    write_latency_s: float
    source: str
    assumed: tuple[str, ...] = ()
    failures_per_year: float | None = None  # None: no published rate


@dataclass(frozen=True)
class Hardware:
    """All known hardware, by name.

    The methods raise PlatformError, with ``where`` as its place, for an unknown name.
    """

    cpus: Mapping[str, Processor]
    gpus: Mapping[str, Processor]
    networks: Mapping[str, NetworkHardware]
    disks: Mapping[str, DiskArray]

    def processor(self, kind: str, name: str, where: str) -> Processor:
        """Return a processor of a kind, "cpu" or "gpu"."""
        return _found(self.cpus if kind == "cpu" else self.gpus, kind, name, where)

    def network(self, name: str, where: str) -> NetworkHardware:
        """Return a network."""
        return _found(self.networks, "network", name, where)

    def disk(self, name: str, where: str) -> DiskArray:
        """Return a disk or an array of disks."""
        return _found(self.disks, "disk", name, where)


def read_hardware(files: Iterable[str | Path] = ()) -> Hardware:
    """Return the database, with the entries that these files add or replace.

    Raises:
        PlatformError: A file is wrong; the message names file and entry.
    """
    tables = {plural: dict(entries) for plural, entries in _own().items()}
    for file in files:
        for plural, entries in _read(Path(file)).items():
            tables[plural] |= entries
    return Hardware(**tables)


@functools.cache
def _own() -> dict[str, dict[str, Any]]:
    folder = Path(__file__).with_name("hardware")
    tables: dict[str, dict[str, Any]] = {plural: {} for plural in KINDS}
    for name in _OWN:
        for plural, entries in _read(folder / name).items():
            tables[plural] |= entries
    return tables


def _read(path: Path) -> dict[str, dict[str, Any]]:
    top = read_checked(path, _KEYS, "hardware file")
    tables: dict[str, dict[str, Any]] = {}
    for plural, kind in KINDS.items():
        tables[plural] = {}
        entries = top.value(plural, {})
        if not isinstance(entries, dict):
            raise PlatformError(top.at(plural), "not a table", f"Write [{plural}.NAME]")
        for name, values in entries.items():
            where = inside(top.where, f", {plural} {name}", plural, name)
            if not isinstance(values, dict):
                raise PlatformError(where, "not a table", f"Write [{plural}.{name}]")
            tables[plural][name] = _READERS[kind](name, CheckedTable(values, where, _KEYS, kind))
    return tables


def _processor(name: str, entry: CheckedTable, kind: str) -> Processor:
    cores = entry.integer("cores")
    if cores < 1:
        raise PlatformError(entry.of("cores"), f"cores = {cores}", "Give a positive number")
    full_w, idle_w = entry.number("full_w"), entry.number("idle_w")
    if not 0 <= idle_w <= full_w:
        raise PlatformError(entry.where, f"{idle_w} W idle and {full_w} W at full load", "Give 0 <= idle <= full")
    threads = cores if kind == "gpu" else entry.integer("threads", cores)
    if threads < cores:
        raise PlatformError(entry.where, f"{threads} threads on {cores} cores", "Give at least one for each")
    return Processor(
        name, kind, entry.text("title", name), cores, threads,
        _positive(entry, "clock_ghz") * 1e9, _positive(entry, "double_per_cycle"), _positive(entry, "single_per_cycle"),
        idle_w, full_w, _optional(entry, "price_usd"), *_told(entry), _slowdown(entry),
        _optional(entry, "failures_per_year"),
    )  # fmt: skip


def _network(name: str, entry: CheckedTable) -> NetworkHardware:
    options_of = entry.text("options_of", DEFAULT_NETWORK)
    if options_of not in network_names():
        remedy = nearest(options_of, network_names())
        raise PlatformError(entry.at("options_of"), f"no network {options_of!r}", remedy)
    return NetworkHardware(
        name, entry.text("title", name), _positive(entry, "bandwidth_gbit_s") * 1e9 / 8,
        _not_negative(entry, "latency_us") / 1e6, options_of, *_told(entry),
        _optional(entry, "adapter_w"), _optional(entry, "switch_w"), _ports(entry),
        _optional(entry, "failures_per_year"),
    )  # fmt: skip


def _disk(name: str, entry: CheckedTable) -> DiskArray:
    return DiskArray(
        name, entry.text("title", name),
        _positive(entry, "read_mbyte_s") * 1e6, _positive(entry, "write_mbyte_s") * 1e6,
        _not_negative(entry, "read_latency_us", 0.0) / 1e6, _not_negative(entry, "write_latency_us", 0.0) / 1e6,
        *_told(entry), _optional(entry, "failures_per_year"),
    )  # fmt: skip


_READERS: Mapping[str, Callable[[str, CheckedTable], Processor | NetworkHardware | DiskArray]] = {
    "cpu": functools.partial(_processor, kind="cpu"),
    "gpu": functools.partial(_processor, kind="gpu"),
    "network": _network,
    "disk": _disk,
}


def _told(entry: CheckedTable) -> tuple[str, tuple[str, ...]]:
    """Return the source of an entry and the keys of its assumed values."""
    assumed = tuple(entry.list_of("assumed", [], str, "keys"))
    for key in assumed:
        if not entry.has(key):
            raise PlatformError(entry.at("assumed"), f"{key!r} is not given", "Name keys of this entry")
    return entry.text("source"), assumed


def _slowdown(entry: CheckedTable) -> float | None:
    if not entry.has("thread_slowdown"):
        return None
    value = entry.number("thread_slowdown")
    if not 1 <= value < float("inf"):
        raise PlatformError(entry.of("thread_slowdown"), f"thread_slowdown = {value:g}", "Give 1 or more")
    return value


def _ports(entry: CheckedTable) -> int | None:
    if not entry.has("switch_ports"):
        return None
    value = entry.integer("switch_ports")
    if value < 1:
        raise PlatformError(entry.of("switch_ports"), f"switch_ports = {value}", "Give a positive number")
    return value


def _optional(entry: CheckedTable, key: str) -> float | None:
    return _not_negative(entry, key) if entry.has(key) else None


def _positive(entry: CheckedTable, key: str) -> float:
    value = entry.number(key)
    if not 0 < value < float("inf"):
        raise PlatformError(entry.of(key), f"{key} = {value:g}", "Give a positive number")
    return value


def _not_negative(entry: CheckedTable, key: str, *default: float) -> float:
    value = entry.number(key, *default)
    if not 0 <= value < float("inf"):
        raise PlatformError(entry.of(key), f"{key} = {value:g}", "Give 0 or more")
    return value


class UnknownHardware(PlatformError):
    """A name that the hardware database does not have."""

    def __init__(self, where: str, problem: str, remedy: str, name: str):
        super().__init__(where, problem, remedy)
        self.name = name


def _found(table: Mapping[str, T], kind: str, name: str, where: str) -> T:
    if name not in table:
        raise UnknownHardware(where, f"no {kind} {name!r} in the hardware database", nearest(name, table), name)
    return table[name]
