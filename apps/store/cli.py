"""Command line: list, show, export and remove stored runs."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.results.inputs import from_json
from apps.store.database import DATABASE, StoreError
from apps.store.entries import KINDS, Entry
from apps.store.export import COLUMNS_HELP, SUFFIXES, export
from apps.store.identity import INPUTS, is_users
from apps.store.store import Store
from platforms.command.command import Command
from platforms.command.request import Request, WideOption, argument, option
from platforms.errors import UserError, known_names
from platforms.files.caching import cache_folder
from platforms.terminal.table import table_lines

_DAY_S = 86400.0
_KINDS_HELP = "kinds of entries: " + ", ".join(f"{kind} ({meaning})" for kind, meaning in KINDS.items())
_LIST_HEADER = (
    "key",
    "kind",
    "app",
    "ranks",
    "mode",
    "iterations",
    "platform",
    "result",
    "bytes",
    "created (UTC)",
    "note",
)
_KEY_SHOWN = 10  # characters; `show` takes them for the key


@dataclass(frozen=True, kw_only=True)
class FolderOption(Request):
    """The folder of the store."""

    store: str | None = option(None, "PATH", "the store's folder (default: the one in the user's cache folder)")


@dataclass(frozen=True, kw_only=True)
class FilterOptions(Request):
    """The entries of interest."""

    kind: str | None = option(None, "K", f"only this kind: {', '.join(KINDS)}")
    app: str | None = option(None, "NAME", "only runs of this program")
    problem_class: str | None = option(None, "C", "only runs of this problem class", name="--class")
    platform: str | None = option(None, "HASH", "only the platform whose content hash begins with HASH")
    older_than: str | None = option(None, "DAYS", "only entries written at least DAYS days ago", unit="d")


@dataclass(frozen=True, kw_only=True)
class ListRequest(FilterOptions, WideOption, FolderOption):
    """Entries to list."""


@dataclass(frozen=True, kw_only=True)
class ShowRequest(FolderOption):
    """An entry to show."""

    key: str = argument("KEY", "its key, or an unambiguous beginning of the key")
    kind: str | None = option(None, "K", f"its kind, if several entries have this key: {', '.join(KINDS)}")


@dataclass(frozen=True, kw_only=True)
class ExportRequest(FilterOptions, FolderOption):
    """Runs to write as a table."""

    file: str = argument("FILE", f"file to write, ending in {' or '.join(SUFFIXES)}")


@dataclass(frozen=True, kw_only=True)
class PruneRequest(FilterOptions, WideOption, FolderOption):
    """Entries to remove."""

    all: bool = option(False, help="every entry")
    dry_run: bool = option(False, help="only show what would be removed")


def _filters(request: FilterOptions) -> dict[str, str]:
    names = ("kind", "app", "problem_class", "platform", "older_than")
    return {name: getattr(request, name) for name in names if getattr(request, name) is not None}


def chosen(
    entries: Sequence[Entry],
    *,
    kind: str | None = None,
    app: str | None = None,
    problem_class: str | None = None,
    platform: str = "",
    older_than: str | None = None,
) -> list[Entry]:
    """Return the entries that match all given filters of the command line.

    Raises:
        UserError: ``kind`` is unknown, or ``older_than`` is not a number of days.
    """
    if kind is not None and kind not in KINDS:
        raise UserError(f"--kind {kind}", "no such kind of entry", known_names(kind, KINDS))
    latest_s = math.inf if older_than is None else time.time() - _days(older_than) * _DAY_S
    return [
        entry
        for entry in entries
        if kind in (None, entry.kind)
        and app in (None, entry.identity.get("app"))
        and problem_class in (None, entry.identity.get("class"))
        and str(entry.identity.get("platform_hash", "")).startswith(platform.lower())
        and entry.created_s <= latest_s
    ]


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not 0 <= days < math.inf:
        raise UserError(f"--older-than {text}", "not a number of days", "Write for example --older-than 30")
    return days


def _store(request: FolderOption, *, read_only: bool = True) -> Store | None:
    """Return the store that the arguments name; None for the user's own store if it does not exist yet."""
    folder = cache_folder() / "store" if request.store is None else Path(request.store)
    if not os.path.exists(folder / DATABASE):
        if request.store is None:
            return None
        raise StoreError(folder, "there is no store here", "Name an existing one with --store")
    return Store(folder, read_only=read_only)


def _list(request: ListRequest) -> int:
    store = _store(request)
    entries = chosen(store.entries() if store else [], **_filters(request))
    if entries:
        _print_entries(entries, wide=request.wide)
    print(f"{len(entries)} entries, {sum(entry.size_bytes for entry in entries)} bytes", file=sys.stderr)
    return 0


def _line(entry: Entry) -> tuple[str, ...]:
    known = entry.identity
    problem = ".".join(str(known[name]) for name in ("app", "class") if known.get(name))
    hosts = known.get("host")
    return (
        entry.key,
        entry.kind,
        problem,
        str(len(hosts)) if isinstance(hosts, list) else "",
        str(known.get("mode", "")),
        str(known.get("iterations", "")),
        str(known.get("platform_hash", ""))[:12],
        entry.summary,
        str(entry.size_bytes),
        _date(entry.created_s),
        _note(entry),
    )


def _short(row: tuple[str, ...], *, noted: bool) -> tuple[str, ...]:
    """Return the cells of a line that fit into 80 columns; ``noted``: some line has a note."""
    values = dict(zip(_LIST_HEADER, row, strict=True))
    shown = [values["key"][:_KEY_SHOWN], *(values[name] for name in ("kind", "app", "ranks", "result"))]
    date = values["created (UTC)"]
    seconds = len(":00") if date.count(":") == 2 else 0
    return (*shown, date[: len(date) - seconds], *([values["note"]] * noted))


def _note(entry: Entry) -> str:
    """Return why an entry is not used again, as far as that is known without its payload; empty: it is."""
    if not is_users(entry.identity) or entry.kind not in ("record", "recording"):
        return ""
    inputs = from_json(entry.identity.get(INPUTS))
    if inputs is None:
        return "made before inputs were noted: not used again"
    changed = inputs.changed()
    return "" if changed is None else f"{changed} has changed: not used"


def _print_entries(entries: Sequence[Entry], *, wide: bool) -> None:
    rows = [_LIST_HEADER, *(_line(entry) for entry in entries)]
    if not wide:
        noted = any(row[-1] for row in rows[1:])
        rows = [_short(row, noted=noted) for row in rows]
    cells = [["".join(c if c.isprintable() else "?" for c in cell) or "-" for cell in row] for row in rows]
    left = {number for number, name in enumerate(cells[0]) if name not in ("ranks", "bytes")}
    print("\n".join(table_lines(cells, left=left, wide=wide)))


def _date(created_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(created_s))
    except (OverflowError, ValueError, OSError):  # written when the clock was far off
        return "?"


def _show(request: ShowRequest) -> int:
    store = _store(request)
    entries = chosen(store.entries() if store else [], kind=request.kind)
    matches = [entry for entry in entries if entry.key.startswith(request.key)]
    if store is None or not matches:
        raise UserError(f"key {request.key!r}", "no such entry", "See gridval store list")
    if len(matches) > 1:
        names = ", ".join(f"{entry.key} ({entry.kind})" for entry in matches[:8])
        raise UserError(
            f"key {request.key!r}", f"{len(matches)} entries begin so", f"Give more of it, or --kind: {names}"
        )
    (entry,) = matches
    payload: dict[str, Any] | str | None = store.get(entry.kind, entry.key)
    if payload is None and store.get_bytes(entry.kind, entry.identity) is not None:
        payload = f"{entry.size_bytes} bytes of binary data"
    if payload is None:
        raise StoreError(store.folder, f"{entry.kind} {entry.key} cannot be read", "Repeat the run to replace it")
    whole = {"kind": entry.kind, "key": entry.key, "created_s": entry.created_s, "identity": entry.identity}
    if _note(entry):
        whole["note"] = _note(entry)
    print(json.dumps({**whole, "payload": payload}, indent=2))
    return 0


def _export(request: ExportRequest) -> int:
    store = _store(request)
    if store is None:
        raise StoreError(cache_folder() / "store", "there are no runs to export", "Run something first")
    count = export(store, chosen(store.entries(), **_filters(request)), Path(request.file))
    print(f"{count} runs written to {request.file}", file=sys.stderr)
    return 0


def _prune(request: PruneRequest) -> int:
    filters = _filters(request)
    if request.all and filters:
        raise UserError("prune --all", "given together with a filter", "Leave out one of them")
    store = _store(request, read_only=False)
    if store is None:
        print("nothing to remove", file=sys.stderr)
        return 0
    with store:
        entries = chosen(store.entries(), **filters) if request.all or filters else []
        if request.dry_run and entries:
            _print_entries(entries, wide=request.wide)
        if not request.dry_run:
            store.remove(entries)
        files = store.sweep(dry_run=request.dry_run)
    size = sum(entry.size_bytes for entry in entries)
    left_over = f"{len(files)} files without an entry" if request.dry_run else f"{len(files)} files"
    print(
        f"{'would remove' if request.dry_run else 'removed'} {len(entries)} entries, {size} bytes, and {left_over}",
        file=sys.stderr,
    )
    return 0


COMMAND_LIST = Command("store list", ListRequest, _list, "One line per entry.", epilog=_KINDS_HELP)
COMMAND_SHOW = Command("store show", ShowRequest, _show, "One entry, completely, as JSON.")
COMMAND_EXPORT = Command(
    "store export", ExportRequest, _export, "Writes one row per run, simulated or measured.", epilog=COLUMNS_HELP
)
COMMAND_PRUNE = Command(
    "store prune",
    PruneRequest,
    _prune,
    "Removes the entries that match all of the filters, or all entries with --all; with neither, only files to which "
    "no entry refers any more.  Damaged stores that were set aside are never removed.",
)
