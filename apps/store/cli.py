"""Command line: list, show, export and remove stored runs."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apps.results.inputs import from_json
from apps.store.database import DATABASE, StoreError
from apps.store.entries import KINDS, Entry
from apps.store.export import COLUMNS_HELP, SUFFIXES, export
from apps.store.identity import INPUTS, is_users
from apps.store.store import Store
from platforms.command.parser import CommandParser
from platforms.command.status import exit_status
from platforms.errors import UserError, known_names
from platforms.files.caching import cache_folder
from platforms.terminal.table import table_lines
from platforms.terminal.width import add_wide_argument

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


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m apps.store``."""
    parser = CommandParser(
        prog="python -m apps.store", description="List, show, export and remove stored runs.", epilog=_KINDS_HELP
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="one line per entry", epilog=_KINDS_HELP)
    _add_filters(listing)
    add_wide_argument(listing)
    listing.set_defaults(run=_list)

    show = commands.add_parser("show", help="one entry, completely, as JSON")
    show.add_argument("key", metavar="KEY", help="its key, or an unambiguous beginning of the key")
    show.add_argument("--kind", metavar="K", help=f"its kind, if several entries have this key: {', '.join(KINDS)}")
    show.set_defaults(run=_show)

    exporting = commands.add_parser(
        "export",
        help="the runs as a table",
        description="Writes one row per run, simulated or measured.",
        epilog=COLUMNS_HELP,
    )
    exporting.add_argument("file", type=Path, metavar="FILE", help=f"file to write, ending in {' or '.join(SUFFIXES)}")
    _add_filters(exporting)
    exporting.set_defaults(run=_export)

    prune = commands.add_parser(
        "prune",
        help="remove entries, and files without an entry",
        description="Removes the entries that match all of the filters, or all entries with --all; with neither, only "
        "files to which no entry refers any more.  Damaged stores that were set aside are never removed.",
    )
    _add_filters(prune)
    add_wide_argument(prune)
    prune.add_argument("--all", action="store_true", help="every entry")
    prune.add_argument("--dry-run", action="store_true", help="only show what would be removed")
    prune.set_defaults(run=_prune)

    for command in (listing, show, exporting, prune):
        command.add_argument(
            "--store",
            type=Path,
            metavar="PATH",
            help="the store's folder (default: the one in the user's cache folder)",
        )
    return parser


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", metavar="K", help=f"only this kind: {', '.join(KINDS)}")
    parser.add_argument("--app", metavar="NAME", help="only runs of this program")
    parser.add_argument("--class", dest="preset", metavar="C", help="only runs of this problem class")
    parser.add_argument("--platform", metavar="HASH", help="only the platform whose content hash begins with HASH")
    parser.add_argument("--older-than", metavar="DAYS", help="only entries written at least DAYS days ago")


def _filters(args: argparse.Namespace) -> dict[str, str]:
    names = ("kind", "app", "preset", "platform", "older_than")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def chosen(
    entries: Sequence[Entry],
    *,
    kind: str | None = None,
    app: str | None = None,
    preset: str | None = None,
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
        and preset in (None, entry.identity.get("class"))
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


def _store(args: argparse.Namespace, *, read_only: bool = True) -> Store | None:
    """Return the store that the arguments name; None for the user's own store if it does not exist yet."""
    folder = cache_folder() / "store" if args.store is None else args.store
    if not os.path.exists(folder / DATABASE):
        if args.store is None:
            return None
        raise StoreError(folder, "there is no store here", "Name an existing one with --store")
    return Store(folder, read_only=read_only)


def _list(args: argparse.Namespace) -> int:
    store = _store(args)
    entries = chosen(store.entries() if store else [], **_filters(args))
    if entries:
        _print_entries(entries, wide=args.wide)
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


def _show(args: argparse.Namespace) -> int:
    store = _store(args)
    entries = chosen(store.entries() if store else [], kind=args.kind)
    found = [entry for entry in entries if entry.key.startswith(args.key)]
    if store is None or not found:
        raise UserError(f"key {args.key!r}", "no such entry", "See python -m apps.store list")
    if len(found) > 1:
        names = ", ".join(f"{entry.key} ({entry.kind})" for entry in found[:8])
        raise UserError(f"key {args.key!r}", f"{len(found)} entries begin so", f"Give more of it, or --kind: {names}")
    (entry,) = found
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


def _export(args: argparse.Namespace) -> int:
    store = _store(args)
    if store is None:
        raise StoreError(cache_folder() / "store", "there are no runs to export", "Run something first")
    count = export(store, chosen(store.entries(), **_filters(args)), args.file)
    print(f"{count} runs written to {args.file}", file=sys.stderr)
    return 0


def _prune(args: argparse.Namespace) -> int:
    filters = _filters(args)
    if args.all and filters:
        raise UserError("prune --all", "given together with a filter", "Leave out one of them")
    store = _store(args, read_only=False)
    if store is None:
        print("nothing to remove", file=sys.stderr)
        return 0
    with store:
        entries = chosen(store.entries(), **filters) if args.all or filters else []
        if args.dry_run and entries:
            _print_entries(entries, wide=args.wide)
        if not args.dry_run:
            store.remove(entries)
        files = store.sweep(dry_run=args.dry_run)
    size = sum(entry.size_bytes for entry in entries)
    left_over = f"{len(files)} files without an entry" if args.dry_run else f"{len(files)} files"
    print(
        f"{'would remove' if args.dry_run else 'removed'} {len(entries)} entries, {size} bytes, and {left_over}",
        file=sys.stderr,
    )
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""

    def chosen() -> int:
        args = build_parser().parse_args(argv)
        status: int = args.run(args)
        return status

    return exit_status(chosen)
