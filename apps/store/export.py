"""Export of stored runs as one table in CSV or Parquet, with one row per run."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import typing
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from apps.results.energy import unpacked
from apps.results.record import RunRecord
from apps.store.database import StoreError
from apps.store.entries import Entry
from apps.store.store import Store
from platforms.errors import UserError
from platforms.files.writing import cell, write_whole

SUFFIXES = (".csv", ".parquet")
RUNS = ("record", "measurement")  # the kinds of entries that are runs
_ENERGIES = ("energy_j", "link_energy_j")
COLUMNS_HELP = """\
columns: kind, key and created_s (seconds since 1970), then the fields of the identity and of the record.  A number or
a text is a column of the field's name.  A list with one number per rank becomes NAME_sum and NAME_max, a list with a
list per rank becomes NAME_max.  Hosts become ranks (processes) and nodes (different hosts), and node_s is nodes x
time_s.  An extrapolation becomes extrapolation_NAME, empty if everything was simulated.  energy_j is the sum over all
hosts that have watts, used_energy_j the sum over the hosts with ranks, link_energy_j the sum over all links.  Other
groups of values are JSON in one column.  Units are those of the records: s, byte, flop, J."""


def export(store: Store, entries: Sequence[Entry], path: Path) -> int:
    """Write the runs among the entries to a file and return their number.

    Entries that cannot be read are left out, and the store reports them.

    Raises:
        UserError: The suffix is not in SUFFIXES, there are no runs, or the file cannot be written.
    """
    if path.suffix not in SUFFIXES:
        raise UserError(f"export {path}", "the suffix names no known format", f"End it in {' or '.join(SUFFIXES)}")
    rows = []
    for entry in entries:
        payload = store.get(entry.kind, entry.key) if entry.kind in RUNS else None
        if payload is not None:
            rows.append(flat_row(entry, payload))
    if not rows:
        raise StoreError(store.folder, "there are no runs to export", "Choose others, or see gridval store list")
    columns = table(rows)
    _write(path, _csv(columns) if path.suffix == ".csv" else _parquet(columns))
    return len(rows)


def flat_row(entry: Entry, payload: dict[str, Any]) -> dict[str, Any]:
    """Return one run as scalars, from its stored form, so that records of other versions can be exported too."""
    row: dict[str, Any] = {"kind": entry.kind, "key": entry.key, "created_s": entry.created_s}
    hosts = entry.identity.get("host") or payload.get("host")
    if not (isinstance(hosts, list) and all(isinstance(host, str) for host in hosts)):
        hosts = None
    for name, value in (*entry.identity.items(), *payload.items()):
        if name == "host":
            continue
        if name in _ENERGIES and (joules := _joules(value)) is not None:
            row[name] = math.fsum(joules.values())
            if name == "energy_j" and hosts and joules.keys() >= set(hosts):
                row["used_energy_j"] = math.fsum(joules[host] for host in dict.fromkeys(hosts))
            continue
        for column, scalar in _flat(name, value):
            # If the identity and the record use one name for two different values, both are kept.
            known = row.get(column, scalar)
            row[column if (type(known), known) == (type(scalar), scalar) else f"record_{column}"] = scalar
    if hosts is not None:
        row["ranks"], row["nodes"] = len(hosts), len(set(hosts))
        if _is_number(payload.get("time_s")):
            row["node_s"] = row["nodes"] * payload["time_s"]
    return row


def table(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns in order of appearance, each of one type: bool, int, float or str, None for no value."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {_text(name): _one_type([row.get(name) for row in rows]) for name in names}


def _flat(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    if name in _nested_names():
        inside = value if isinstance(value, dict) else dict.fromkeys(_nested_names()[name])
        return [(f"{name}_{part}", _scalar(inner)) for part, inner in inside.items()]
    if name == "command" and _all(value, str):
        return [(name, shlex.join(value))]
    if value == []:
        return []
    if _all(value, (int, float)):
        return [(f"{name}_sum", sum(value)), (f"{name}_max", max(value))]
    if isinstance(value, list) and all(_all(row, (int, float)) for row in value):
        return [(f"{name}_max", max((number for row in value for number in row), default=None))]
    return [(name, _scalar(value))]


def _joules(value: Any) -> dict[str, float] | None:
    """Return energies by host or link; None if there are none, or if they are stored in another form."""
    try:
        joules = unpacked(value)
    except (ValueError, TypeError):
        return None
    return joules if joules is not None and all(map(_is_number, joules.values())) else None


@cache
def _nested_names() -> dict[str, tuple[str, ...]]:
    """Return the record's fields that are dataclasses, with the names of their fields."""
    nested = {}
    for name, hint in typing.get_type_hints(RunRecord).items():
        for part in (hint, *typing.get_args(hint)):
            if is_dataclass(part):
                nested[name] = tuple(field.name for field in fields(part))
    return nested


def _scalar(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _all(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)


def _one_type(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return values
    if kinds == {bool}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else _text(value) for value in values]


def _text(value: Any) -> str:
    """Return text that UTF-8 can encode; file names may contain bytes that are not text."""
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "backslashreplace").decode()


def _csv(columns: dict[str, list[Any]]) -> bytes:
    """Return the table as CSV, with all digits of floats and empty cells for missing values."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(cell, columns))
    writer.writerows(map(cell, row) for row in zip(*columns.values(), strict=True))
    return file.getvalue().encode()


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    try:
        # Imported here because they are slow to import.
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            "export to Parquet", "pyarrow is not installed", "Run pip install pyarrow, or export to a .csv file"
        ) from None
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as err:
        raise UserError(
            f"export {path}", f"cannot be written: {err.strerror}", "Name a file in a folder that can be written"
        ) from err
