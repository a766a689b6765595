"""Extra-P's files of experiments: text, JSON (both forms) and JSON Lines; and an experiment as JSON.

Each region and repeat is a row, whose ``app`` is the region, or the region of the program where there is none.  A
parameter named like a number of processes is the column ``ranks``, one named like a number of nodes ``nodes``.
Source: Extra-P's manual, "File formats", version 4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_RANKS = {"p", "ranks", "processes", "procs", "nprocs", "np", "nranks", "mpi_ranks", "tasks", "jobsize"}
_NODES = {"nodes", "n_nodes", "nnodes", "num_nodes", "numhosts"}
_TIMES = {"", "time", "runtime", "run_time", "walltime", "wall_time", "time_s", "seconds", "default", "metr", "metric"}
_WHOLE = "program"  # the region of a file without regions
_FIRST = ("PARAMETER", "METRIC", "REGION", "POINTS", "EXPERIMENT")


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
                yield from _row(number, region, metric, dict(zip(parameters, points[place], strict=True)), value)
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
                    yield from _row(number, region, metric, at, value)


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
        yield from _row(number, region, metric, points[one["coordinate_id"]], one["value"])


def rows_of_lines(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each repeat of a file in JSON Lines."""
    for number, one in enumerate(lines, 1):
        region, metric = str(one.get("callpath", _WHOLE)), str(one.get("metric", ""))
        yield from _row(
            number, region, metric, {key: float(value) for key, value in one["params"].items()}, one["value"]
        )


def _row(
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
