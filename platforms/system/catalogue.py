"""List and search the hardware database, with the source of every entry: ``gridval platform hardware``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, WideOption, argument, option
from platforms.errors import UserError, nearest
from platforms.system.database import (
    KINDS,
    DiskArray,
    Hardware,
    NetworkHardware,
    Processor,
    read_hardware,
)
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines

Entry: TypeAlias = Processor | NetworkHardware | DiskArray
_Columns: TypeAlias = Mapping[str, tuple[str, float, str]]

_MARK = "*"  # after values that are not published
# Heading -> attribute of the entry, its unit in SI units, and the key in the file, which `assumed` names.
_RATE = ("failures_per_year", 1.0, "failures_per_year")
_OF_PROCESSORS: _Columns = {
    "cores": ("cores", 1.0, "cores"),
    "GHz": ("clock_hz", 1e9, "clock_ghz"),
    "Gflop/s": ("double_flops", 1e9, ""),
    "idle W": ("idle_w", 1.0, "idle_w"),
    "full W": ("full_w", 1.0, "full_w"),
    "USD": ("price_usd", 1.0, "price_usd"),
    "failures/year": _RATE,
}
_COLUMNS: Mapping[str, _Columns] = {
    "cpus": _OF_PROCESSORS,
    "gpus": _OF_PROCESSORS,
    "networks": {
        "Gbit/s": ("bandwidth_Bps", 1e9 / 8, "bandwidth_gbit_s"),
        "us": ("latency_s", 1e-6, "latency_us"),
        "adapter W": ("adapter_w", 1.0, "adapter_w"),
        "switch W": ("switch_w", 1.0, "switch_w"),
        "ports": ("switch_ports", 1.0, "switch_ports"),
        "failures/year": _RATE,
    },
    "disks": {
        "read MB/s": ("read_Bps", 1e6, "read_mbyte_s"),
        "write MB/s": ("write_Bps", 1e6, "write_mbyte_s"),
        "read us": ("read_latency_s", 1e-6, "read_latency_us"),
        "write us": ("write_latency_s", 1e-6, "write_latency_us"),
        "failures/year": _RATE,
    },
}


@dataclass(frozen=True, kw_only=True)
class HardwareRequest(WideOption, JsonOption):
    """Request of ``gridval platform hardware``."""

    words: tuple[str, ...] = argument(
        "WORD", "show only entries whose name, title or source contain every word", default=()
    )
    kind: str | None = option(None, "KIND", f"show only {', '.join(KINDS)}")
    hardware: tuple[str, ...] = option((), "FILE", "hardware of your own")
    sources: bool = option(False, help="show the source of every entry")


def found(hardware: Hardware, words: Sequence[str], kind: str | None = None) -> dict[str, list[Entry]]:
    """Return the entries that match, by kind (a key of database.KINDS); kinds without a match are left out.

    A single word that is the name of an entry selects this entry alone.

    Raises:
        UserError: The kind is unknown, or nothing matches.
    """
    if kind is not None and kind not in KINDS:
        raise UserError(f"--kind {kind}", "no such kind of hardware", nearest(kind, list(KINDS)))
    tables: dict[str, Mapping[str, Entry]] = {
        name: getattr(hardware, name) for name in KINDS if kind is None or name == kind
    }
    if len(words) == 1:
        exact = {name: [table[words[0]]] for name, table in tables.items() if words[0] in table}
        if exact:
            return exact
    matches = {name: [entry for entry in table.values() if _matches(entry, words)] for name, table in tables.items()}
    matches = {name: entries for name, entries in matches.items() if entries}
    if not matches:
        names = [name for table in tables.values() for name in table]
        remedy = nearest(words[0], names) if len(words) == 1 else "Give fewer words, or none to see all"
        raise UserError(f"hardware {' '.join(words)!r}", "no entry contains it", remedy)
    return matches


def _matches(entry: Entry, words: Sequence[str]) -> bool:
    text = f"{entry.name} {entry.title} {entry.source}".lower()
    return all(word.lower() in text for word in words)


def answer(request: HardwareRequest) -> Reply:
    """Return the entries that match."""
    entries = found(read_hardware(request.hardware), request.words, request.kind)
    return Reply(
        entries,
        lambda: _text(entries, wide=request.wide, sources=request.sources),
        lambda: {kind: [asdict(entry) for entry in those] for kind, those in entries.items()},
    )


def _text(entries: Mapping[str, Sequence[Entry]], *, wide: bool, sources: bool) -> str:
    """Return a table for each kind; the sources are shown on demand, and that of a single entry."""
    alone = sum(map(len, entries.values())) == 1
    parts = ["\n".join([kind, *_table(kind, those, wide=wide)]) for kind, those in entries.items()]
    if any(entry.assumed for those in entries.values() for entry in those):
        parts.append(f"{_MARK} not published: assumed, or common knowledge without a readable source")
    if sources or alone:
        parts += ["\n".join(_source_lines(entry)) for those in entries.values() for entry in those]
    return "\n\n".join(parts)


def _table(kind: str, entries: Sequence[Entry], *, wide: bool) -> list[str]:
    columns = _COLUMNS[kind]
    rows = [("name", *columns)]
    rows += [(entry.name, *(_cell(entry, *how) for how in columns.values())) for entry in entries]
    return table_lines(rows, left={0}, wide=wide)


def _cell(entry: Entry, attribute: str, unit: float, key: str) -> str:
    value = getattr(entry, attribute)
    return "-" if value is None else f"{value / unit:.6g}{_MARK if key in entry.assumed else ''}"


def _source_lines(entry: Entry) -> list[str]:
    """Return the title of an entry, what the table does not have, and its source."""
    title = entry.title if entry.title == entry.name else f"{entry.name}: {entry.title}"
    more = ""
    if isinstance(entry, Processor) and entry.thread_slowdown is not None:
        more = f" A thread takes {entry.thread_slowdown:.4g} times as long while all {entry.threads} threads are busy."
    return prose_lines(f"{title}.{more} {' '.join(entry.source.split())}")


COMMAND = Command(
    "platform hardware",
    HardwareRequest,
    answer,
    "List the hardware database: processors, networks and disks, their watts and failure rates. With "
    "one entry left, its source is shown too (docs/platforms/platform-files.md).",
)
main = COMMAND.main
