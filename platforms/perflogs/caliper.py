"""Caliper's profiles: JSON of the form json-split, and .cali files, read by Caliper's own reader.

A profile is a run: its time is that of all regions, the mean over ranks; the top regions are its parts, or those inside
a region that takes most of it, such as main.  Adiak's globals give ranks, nodes, cluster and program, and whatever else
distinguishes runs.  Sources: Caliper's manual, "Output formats" and "Calculation of metrics"; profiles of the channel
spot, which Benchpark records; Adiak's list of implicit names.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from platforms.errors import UserError

_Path = tuple[str, ...]
# Names of the time of a region, s, or ns; the first that a profile has: whether it includes the regions inside, and
# whether it is the sum over ranks instead of the mean.
_METRICS = {
    "avg#inclusive#sum#time.duration": (True, False),
    "Avg time/rank (inc)": (True, False),
    "Avg time/rank (exc)": (False, False),
    "Avg time/rank": (False, False),
    "avg#sum#sum#time.duration": (False, False),
    "avg#scale#sum#time.duration.ns": (False, False),
    "sum#inclusive#sum#time.duration": (True, True),
    "inclusive#sum#time.duration": (True, True),
    "Total time": (False, True),
    "sum#sum#time.duration": (False, True),
    "sum#scale#sum#time.duration.ns": (False, True),
    "sum#time.duration": (False, True),
}
_RANKS, _NODES = ("jobsize", "mpi.world.size", "num_ranks"), ("numhosts", "hostcount", "num_nodes")
_APP = ("application", "application_name", "executable", "program", "executablepath", "cmdline")
_PLATFORM = ("cluster", "system", "systype_build")
_LONGEST = 100  # characters of a global that is a column
_MOST = 0.5  # share of the time from which a region is divided


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
    names = {name for _, record in records for name in record}
    metric = next((name for name in _METRICS if name in names), None)
    if metric is None:
        raise ValueError("no times of regions")
    inclusive, of_all = _METRICS[metric]
    ranks = _count(globals_, _RANKS) or 1
    scale = (1 / ranks if of_all else 1.0) * (1e-9 if metric.endswith(".ns") else 1.0)
    times_s: dict[_Path, float] = {}
    for path, record in records:
        if path and record.get(metric) is not None:
            for known in [tuple(path)] if inclusive else [tuple(path[:end]) for end in range(1, len(path) + 1)]:
                times_s[known] = times_s.get(known, 0.0) + float(record[metric]) * scale
    tops = {path: time_s for path, time_s in times_s.items() if len(path) == 1}
    total_s = sum(tops.values())
    if not total_s > 0:
        raise ValueError("its regions take no time")
    divided = {path for path, time_s in tops.items() if time_s > _MOST * total_s}
    inner = {path: time_s for path, time_s in times_s.items() if path[:1] in divided and len(path) == 2}
    whole = {path: time_s for path, time_s in tops.items() if path not in divided or not inner}
    parts: dict[str, float] = {}
    for path, time_s in (*whole.items(), *inner.items()):  # MPI is called inside main and outside
        parts[path[-1]] = parts.get(path[-1], 0.0) + time_s
    more = {
        name: value
        for name, value in globals_.items()
        if not name.startswith(("cali.", "spot.")) and 0 < len(str(value)) <= _LONGEST
    }
    return {
        **more,
        "app": _program(globals_),
        "platform": next((str(globals_[name]) for name in _PLATFORM if globals_.get(name)), None),
        "ranks": ranks,
        "nodes": _count(globals_, _NODES) or ranks,
        "time_s": total_s,
        **{f"part_{name}_s": value for name, value in parts.items()},
    }


def _program(globals_: Mapping[str, Any]) -> str:
    """Return the name of the program's file; a command line is a list such as ``[./heat,-n,4]``."""
    said = next((str(globals_[name]) for name in _APP if globals_.get(name)), "")
    first = said.strip("[]").replace(",", " ").split()
    return first[0].strip("\"'").rpartition("/")[2] if first else "program"


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
