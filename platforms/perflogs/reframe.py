"""ReFrame's performance logs and run reports.

A log (perflogs/SYSTEM/PARTITION/TEST.log) has a line for each run, with the values and units of its performance
variables; a report (--report-file) is JSON.  Both have the parameters of tests as fields.  Source: ReFrame's manual,
"Logging" and "Run reports", and files written by version 4.10.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from typing import Any

SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_TOTAL = ("elapsed", "elapsed_time", "time", "total_time", "runtime", "wall_time", "walltime", "run_time")
_OWN = {  # fields of ReFrame itself, of which no run is known by
    "result", "job_completion_time", "descr", "env_vars", "exclusive_access", "extra_resources",
    "job_completion_time_unix", "job_exitcode", "job_nodelist", "job_submit_time", "jobid", "modules", "name",
    "num_cpus_per_task", "num_gpus_per_node", "num_tasks", "num_tasks_per_core", "num_tasks_per_node",
    "num_tasks_per_socket", "short_name", "unique_name", "use_multithreading", "hashcode", "display_name",
}  # fmt: skip


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
