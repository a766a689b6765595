"""Caliper's profiles: JSON of the form json-split, and .cali files, read by Caliper's own reader.

A profile is a run: its time is the sum of the exclusive times of all regions, the mean over ranks; the top regions
are its parts.  Adiak's globals give ranks, nodes, cluster and program, as Benchpark's results have them.  Sources:
Caliper's manual, "Output formats" and "Calculation of metrics"; Adiak's list of implicit names.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from platforms.errors import UserError

# Mean exclusive time of a rank, s; the first that a profile has.
_MEANS = ("Avg time/rank (exc)", "Avg time/rank", "avg#sum#sum#time.duration", "avg#scale#sum#time.duration.ns")
_TOTALS = (
    "Total time",
    "sum#sum#time.duration",
    "sum#scale#sum#time.duration.ns",
    "sum#time.duration",
    "time (exc)",
    "time",
)
_RANKS, _NODES = ("jobsize", "mpi.world.size", "num_ranks"), ("numhosts", "hostcount", "num_nodes")
_APP = ("application", "application_name", "executable", "program", "cmdline")
_PLATFORM = ("cluster", "system", "systype_build")


def rows_of_split(content: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the run of a file of the form json-split."""
    columns, nodes = content["columns"], content["nodes"]
    place = columns.index("path") if "path" in columns else columns.index("annotation")
    records = []
    for values in content["data"]:
        node = values[place]
        path: list[str] = []
        while node is not None:
            path.insert(0, str(nodes[node]["label"]))
            if len(path) > 1000:
                raise ValueError("a circle of nodes")
            node = nodes[node].get("parent")
        records.append((path, {name: value for name, value in zip(columns, values, strict=True) if value is not None}))
    globals_ = {key: value for key, value in content.items() if isinstance(value, (str, int, float))}
    yield 1, _row(records, {**content.get("globals", {}), **globals_})


def rows_of_cali(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the run of a .cali file.

    Raises:
        UserError: The package caliper-reader is missing.
    """
    try:
        reader = importlib.import_module("caliperreader")
    except ImportError as err:
        remedy = "Install it (pip install caliper-reader), or convert the file: cali-query -q 'format json-split' FILE"
        raise UserError(where, "a .cali file, which the package caliper-reader reads", remedy) from err
    made = reader.CaliperStreamReader()
    records: list[tuple[list[str], dict[str, Any]]] = []

    def keep(record: Mapping[str, Any]) -> None:
        path = record.get("path", record.get("region", record.get("annotation", [])))
        records.append((list(path) if isinstance(path, (list, tuple)) else [str(path)], dict(record)))

    try:
        made.read(io.StringIO(text), keep)
    except Exception as err:  # the package says nothing about its errors
        raise ValueError(f"{type(err).__name__}: {err}") from err
    yield 1, _row(records, made.globals)


def _row(records: Sequence[tuple[Sequence[str], Mapping[str, Any]]], globals_: Mapping[str, Any]) -> dict[str, Any]:
    ranks = _count(globals_, _RANKS) or 1
    names = {name for _, record in records for name in record}
    metric = next((name for name in (*_MEANS, *_TOTALS) if name in names), None)
    if metric is None:
        raise ValueError("no times of regions")
    scale = (1.0 if metric in _MEANS else 1.0 / ranks) * (1e-9 if metric.endswith(".ns") else 1.0)
    parts: dict[str, float] = {}
    for path, record in records:
        value = record.get(metric)
        if value is not None and path:
            parts[path[0]] = parts.get(path[0], 0.0) + float(value) * scale
    total_s = sum(parts.values())
    if not total_s > 0:
        raise ValueError("its regions take no time")
    if len(parts) == 1:  # main alone: its own parts say more
        inner: dict[str, float] = {}
        for path, record in records:
            if len(path) > 1 and record.get(metric) is not None:
                inner[path[1]] = inner.get(path[1], 0.0) + float(record[metric]) * scale
        parts = inner
    app = next((str(globals_[name]) for name in _APP if globals_.get(name)), "program")
    return {
        "app": app.strip("[]\"'").split()[0].rpartition("/")[2].strip("\"',") or "program",
        "platform": next((str(globals_[name]) for name in _PLATFORM if globals_.get(name)), None),
        "ranks": ranks,
        "nodes": _count(globals_, _NODES) or ranks,
        "time_s": total_s,
        **{f"part_{name}_s": value for name, value in parts.items()},
    }


def _count(globals_: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return next((int(float(globals_[name])) for name in names if globals_.get(name)), None)


def profile_text(app: str, nodes: int, ranks: int, time_s: float, parts_s: Mapping[str, float]) -> str:
    """Return a run as a profile of the form json-split, which hatchet and thicket open (``Thicket.from_caliper``).

    Args:
        app: The program, the region of which all others are parts.
        nodes: Number of nodes.
        ranks: Number of ranks.
        time_s: Time of the run, s.
        parts_s: Times of its parts, s; what is left is the program's own.
    """
    own = {app: time_s - sum(parts_s.values()), **parts_s}
    columns = ["Avg time/rank", "time", "Node order", "path"]
    content = {
        "data": [[value, value, place, place] for place, value in enumerate(own.values())],
        "columns": columns,
        "column_metadata": [{"is_value": name != "path"} for name in columns],
        "nodes": [
            {"label": name, "column": "path", **({"parent": 0} if place else {})} for place, name in enumerate(own)
        ],
        "application": app,
        "jobsize": str(ranks),
        "numhosts": str(nodes),
    }
    return json.dumps(content, indent=1) + "\n"
