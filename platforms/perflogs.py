"""Tables of measured runs from files of other tools: ReFrame, Caliper (and Benchpark's results), Extra-P."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_RANK_METADATA, _NODE_METADATA = ("jobsize", "mpi.world.size", "num_ranks"), ("numhosts", "hostcount", "num_nodes")
_APP = ("application", "application_name", "executable", "program", "executablepath", "cmdline")
_PLATFORM = ("cluster", "system", "systype_build")
_LONGEST = 100  # characters of a global that is a column
_MOST = 0.5  # share of the time from which a region is divided


# A profile is a run: its time is that of all regions, the mean over ranks; the top regions are its parts, or those
# inside a region that takes most of it, such as main.  Adiak's globals give ranks, nodes, cluster and program, and
# whatever else distinguishes runs.  Sources: Caliper's manual, "Output formats" and "Calculation of metrics";
# profiles of the channel spot, which Benchpark records; Adiak's list of implicit names.
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
    yield 1, _caliper_row(records, {**content.get("globals", {}), **globals_})


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
    yield 1, _caliper_row(records, made.globals)


def _caliper_row(
    records: Sequence[tuple[Sequence[str], Mapping[str, Any]]], globals_: Mapping[str, Any]
) -> dict[str, Any]:
    names = {name for _, record in records for name in record}
    metric = next((name for name in _METRICS if name in names), None)
    if metric is None:
        raise ValueError("no times of regions")
    inclusive, of_all = _METRICS[metric]
    ranks = _metadata_count(globals_, _RANK_METADATA) or 1
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
        "nodes": _metadata_count(globals_, _NODE_METADATA) or ranks,
        "time_s": total_s,
        **{f"part_{name}_s": value for name, value in parts.items()},
    }


def _program(globals_: Mapping[str, Any]) -> str:
    """Return the name of the program's file; a command line is a list such as ``[./heat,-n,4]``."""
    said = next((str(globals_[name]) for name in _APP if globals_.get(name)), "")
    first = said.strip("[]").replace(",", " ").split()
    return first[0].strip("\"'").rpartition("/")[2] if first else "program"


def _metadata_count(globals_: Mapping[str, Any], names: Sequence[str]) -> int | None:
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


_RANKS = {"p", "ranks", "processes", "procs", "nprocs", "np", "nranks", "mpi_ranks", "tasks", "jobsize"}
_NODES = {"nodes", "n_nodes", "nnodes", "num_nodes", "numhosts"}
_TIMES = {"", "time", "runtime", "run_time", "walltime", "wall_time", "time_s", "seconds", "default", "metr", "metric"}
_WHOLE = "program"  # the region of a file without regions
_FIRST = ("PARAMETER", "METRIC", "REGION", "POINTS", "EXPERIMENT")


# Each region and repeat is a row, whose ``app`` is the region, or the region of the program where there is none.  A
# parameter named like a number of processes is the column ``ranks``, one named like a number of nodes ``nodes``.
# Source: Extra-P's manual, "File formats", version 4.
def is_text(text: str) -> bool:
    """Return whether this is a text file of Extra-P."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return next(lines, "").split(" ")[0] in _FIRST and "\nDATA " in text


def rows_of_text(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each repeat."""
    parameters: list[str] = []
    points: list[tuple[float, ...]] = []
    region, metric, place = _WHOLE, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        key, values = words[0], words[1:]
        if key == "PARAMETER":
            parameters += values
        elif key == "POINTS":
            points += _points(" ".join(values), len(parameters))
        elif key == "REGION":
            region, place = " ".join(values), 0
        elif key == "METRIC":
            metric, place = " ".join(values), 0
        elif key == "DATA":
            if place >= len(points):
                raise ValueError(f"line {number}: more DATA than POINTS")
            for value in values:
                yield from _extrap_row(number, region, metric, dict(zip(parameters, points[place], strict=True)), value)
            place += 1
        elif key != "EXPERIMENT":
            raise ValueError(f"line {number}: {key:.20}")


def _points(text: str, parameters: int) -> Iterator[tuple[float, ...]]:
    """Yield points such as ``4 8 16``, or ``( 4 10 ) ( 8 10 )`` with several parameters."""
    if "(" in text:
        groups = [group.partition(")")[0].split() for group in text.split("(")[1:]]
    else:
        groups = [[word] for word in text.split()]
    for group in groups:
        if len(group) != parameters:
            raise ValueError(f"a point of {len(group)} values for {parameters} parameters")
        yield tuple(float(word) for word in group)


def rows_of_json(content: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the fields of each repeat."""
    if "callpaths" in content:
        yield from _rows_of_legacy(content)
        return
    number = 0
    for region, metrics in content["measurements"].items():
        for metric, measured in metrics.items():
            for one in measured:
                point = one["point"] if isinstance(one["point"], list) else [one["point"]]
                values = one["values"] if isinstance(one["values"], list) else [one["values"]]
                for value in values:
                    number += 1
                    at = dict(zip(content["parameters"], map(float, point), strict=True))
                    yield from _extrap_row(number, region, metric, at, value)


def _rows_of_legacy(content: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    names = {one["id"]: one["name"] for one in content["parameters"]}
    regions = {one["id"]: one["name"] for one in content["callpaths"]}
    metrics = {one["id"]: one["name"] for one in content["metrics"]}
    points = {
        one["id"]: {
            names[pair["parameter_id"]]: float(pair["parameter_value"]) for pair in one["parameter_value_pairs"]
        }
        for one in content["coordinates"]
    }
    for number, one in enumerate(content["measurements"], 1):
        region, metric = regions[one["callpath_id"]], metrics[one["metric_id"]]
        yield from _extrap_row(number, region, metric, points[one["coordinate_id"]], one["value"])


def rows_of_lines(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each repeat of a file in JSON Lines."""
    for number, one in enumerate(lines, 1):
        region, metric = str(one.get("callpath", _WHOLE)), str(one.get("metric", ""))
        yield from _extrap_row(
            number, region, metric, {key: float(value) for key, value in one["params"].items()}, one["value"]
        )


def _extrap_row(
    number: int, region: str, metric: str, point: Mapping[str, float], value: Any
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the row of one repeat, if the metric is a time."""
    if metric.strip().lower() not in _TIMES:
        return
    fields: dict[str, Any] = {"app": region}
    for name, at in point.items():
        key = name.strip().lower()
        column = "ranks" if key in _RANKS else "nodes" if key in _NODES else name
        fields[column] = int(at) if at == int(at) else at
    fields.setdefault("nodes", fields.get("ranks"))
    fields.setdefault("ranks", fields.get("nodes"))
    yield number, {**fields, "time_s": float(value)}


def experiment_text(runs: Iterable[tuple[str, Mapping[str, float], Sequence[float]]]) -> str:
    """Return measured or predicted times as an experiment of Extra-P, JSON.

    Args:
        runs: Region, the values of the parameters, and the times, s; parameters are the same for all.
    """
    parameters: list[str] = []
    measured: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for region, point, times_s in runs:
        parameters = parameters or list(point)
        of_region = measured.setdefault(region, {"time": []})
        of_region["time"].append({"point": [point[name] for name in parameters], "values": list(times_s)})
    return json.dumps({"parameters": parameters, "measurements": measured}, indent=1) + "\n"


SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_TOTAL = ("elapsed", "elapsed_time", "time", "total_time", "runtime", "wall_time", "walltime", "run_time")
_OWN = {  # fields of ReFrame itself, of which no run is known by
    "result", "job_completion_time", "descr", "env_vars", "exclusive_access", "extra_resources",
    "job_completion_time_unix", "job_exitcode", "job_nodelist", "job_submit_time", "jobid", "modules", "name",
    "num_cpus_per_task", "num_gpus_per_node", "num_tasks", "num_tasks_per_core", "num_tasks_per_node",
    "num_tasks_per_socket", "short_name", "unique_name", "use_multithreading", "hashcode", "display_name",
}  # fmt: skip


# A log (perflogs/SYSTEM/PARTITION/TEST.log) has a line for each run, with the values and units of its performance
# variables; a report (--report-file) is JSON.  Both have the parameters of tests as fields.  Source: ReFrame's manual,
# "Logging" and "Run reports", and files written by version 4.10.
def is_log(first: str) -> bool:
    """Return whether this is the first line of a performance log."""
    names = first.strip().split("|")
    return len(names) > 3 and "name" in names and any(name.endswith("_value") for name in names)


def rows_of_log(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each run that passed."""
    names: list[str] = []
    for line, values in enumerate(csv.reader(text.lstrip("\ufeff").splitlines(), delimiter="|"), 1):
        if not values:
            continue
        if not names or is_log("|".join(values)):  # a log goes on with new fields where a test has changed
            names = values
            continue
        if len(values) != len(names):
            raise ValueError(f"line {line} has {len(values)} fields instead of {len(names)}")
        fields = dict(zip(names, values, strict=True))
        if fields.get("result", "pass") not in ("pass", ""):
            continue
        variables = {
            name.removesuffix("_value"): (fields[name], fields.get(f"{name.removesuffix('_value')}_unit", ""))
            for name in names
            if name.endswith("_value")
        }
        endings = ("_value", "_unit", "_ref", "_lower_thres", "_upper_thres")
        known = {f"{variable}{ending}" for variable in variables for ending in endings}
        rest = {name: value for name, value in fields.items() if name not in known}
        yield line, _row(rest, variables)


def rows_of_report(content: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the fields of each run that passed."""
    number = 0
    for session in content["runs"]:
        for case in session["testcases"]:
            number += 1
            if case.get("result") != "pass":
                continue
            if "perfvalues" in case:  # "system:partition:variable": [value, reference, lower, upper, unit, ...]
                found = case["perfvalues"].items()
                variables = {name.split(":")[-1]: (value[0], value[4]) for name, value in found}
            else:  # of versions before 4.7
                found = case.get("perfvars") or ()
                variables = {variable["name"]: (variable["value"], variable["unit"]) for variable in found}
            nodes = case.get("job_nodelist", case.get("nodelist"))
            # Parameters of the test stand among its own fields, and in its displayed name: "heat %n=4".
            shown = str(case.get("display_name", case.get("name", "")))
            given = {word.partition("=")[0]: word.partition("=")[2] for word in shown.split(" %")[1:]}
            plain = {
                key: case.get(key)
                for key in ("name", "system", "partition", "environ", "num_tasks", "num_tasks_per_node")
            }
            yield number, _row({**plain, **given, "job_nodelist": ",".join(nodes or ())}, variables)


def _row(fields: Mapping[str, Any], variables: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    times = {}
    for name, (value, unit) in variables.items():
        scale = SECONDS.get(str(unit).strip().lower())
        if scale is not None and value not in (None, "", "null", "None"):
            times[name] = float(value) * scale
    total = list(times) if len(times) == 1 else [name for name in _TOTAL if name in times]
    ranks, each = _count(fields.get("num_tasks")), _count(fields.get("num_tasks_per_node"))
    hosts = [host for host in str(fields.get("job_nodelist") or "").split(",") if host]
    whole = ranks is not None and each is not None
    nodes = math.ceil(ranks / each) if ranks is not None and each is not None else None
    if not whole and hosts and not any("[" in host for host in hosts):
        nodes = len(hosts)
    return {
        "app": str(fields.get("name", "")).partition(" ")[0],
        "platform": fields.get("system"),
        "ranks": ranks,
        "nodes": ranks if nodes is None else nodes,
        "time_s": times[total[0]] if total else None,
        **{f"{name}_s": value for name, value in times.items() if name != "time"},
        **{name: value for name, value in fields.items() if name not in _OWN and name not in ("system",)},
    }


def _count(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 8 and int(text) > 0 else None


Row = Mapping[str, Any]
_HEAD = 65536  # characters, by which a file is known: tables may be large
_REMEDY = "Give a CSV file, or one of ReFrame, Caliper or Extra-P"


def table_of(text: str, where: str) -> tuple[tuple[str, ...], list[tuple[int, dict[str, str]]]] | None:
    """Return the columns and numbered rows of a file of another tool; None: it is none, so a CSV file.

    Args:
        text: The content of the file.
        where: Its name, for errors.

    Raises:
        UserError: It is such a file, but it is damaged, or has no times.
    """
    head = text[:_HEAD].lstrip("\ufeff")
    start, first = head.lstrip()[:1], head.partition("\n")[0]
    try:
        if start in ("{", "["):
            rows = _from_json(text, where)
        elif first.startswith("__rec="):
            rows = rows_of_cali(text, where)
        elif is_log(first):
            rows = rows_of_log(text)
        elif is_text(head):
            rows = rows_of_text(text)
        else:
            return None
        made = [(line, {name: _shown(value) for name, value in row.items() if value is not None}) for line, row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as err:
        raise UserError(where, f"not a file that can be read ({err!r:.100})", _REMEDY) from err
    if not made:
        raise UserError(where, "no runs with a time", _REMEDY)
    columns = tuple(dict.fromkeys(name for _, row in made for name in row))
    return columns, [(line, {name: row.get(name, "") for name in columns}) for line, row in made]


def _from_json(text: str, where: str) -> Iterable[tuple[int, Row]]:
    try:
        content = json.loads(text)
    except ValueError:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        return rows_of_lines(lines)
    if isinstance(content, dict):
        if "session_info" in content:
            return rows_of_report(content)
        if "measurements" in content and "parameters" in content:
            return rows_of_json(content)
        if {"data", "columns", "nodes"} <= content.keys():
            return rows_of_split(content)
        if {"params", "value"} <= content.keys():  # JSON Lines with one line
            return rows_of_lines([content])
    raise UserError(where, "JSON of an unknown form", _REMEDY)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
