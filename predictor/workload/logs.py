"""Logs of batch systems: SWF (Standard Workload Format, version 2.2) and the output of Slurm's ``sacct --parsable2``.

S. J. Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", 1999.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from platforms.errors import UserError
from platforms.files.reading import input_text

MOST_BYTES = 256 << 20
SACCT = ("JobID", "Submit", "Start", "Elapsed", "Timelimit", "NNodes")
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs)\s*:\s*(\d+)")
_ELAPSED = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)(?:\.\d+)?")
_NO_LIMIT = ("UNLIMITED", "Partition_Limit", "")


@dataclass(frozen=True)
class Logged:
    """A job of a log."""

    name: str
    arrival_s: float  # since the first arrival
    nodes: int
    run_s: float
    wait_s: float  # in the log; NaN: not known
    walltime_s: float = math.inf  # requested
    kind: str = ""  # number of the executable (SWF), or name of the job (sacct)


@dataclass(frozen=True)
class Log:
    """The jobs of a log that ran, in the order of their arrival."""

    jobs: list[Logged]
    nodes: int | None  # of the machine; None: the log does not say
    left_out: int  # jobs that did not run, such as cancelled ones


def read_log(path: Path, *, cores_per_node: int = 1) -> Log:
    """Read a log.

    Args:
        path: A file in SWF, or the output of ``sacct --parsable2`` with at least the columns SACCT.
        cores_per_node: Processors of SWF that are one node.

    Raises:
        UserError: The file cannot be read, or a line is wrong.
    """
    try:
        text = input_text(path, most_bytes=MOST_BYTES)
    except OSError as err:
        raise UserError(str(path), f"cannot be read: {err.strerror}", "Give a log in SWF or of sacct") from err
    except ValueError as err:
        raise UserError(str(path), f"not text: {err}", "Give a log in SWF or of sacct") from err
    lines = text.splitlines()
    head = next((line for line in lines if line.strip()), "")
    log = _sacct(path, lines) if "|" in head else _swf(path, lines, cores_per_node)
    if not log.jobs:
        raise UserError(str(path), "no job that ran", "Give a log with jobs that ended")
    first_s = min(job.arrival_s for job in log.jobs)
    jobs = [
        Logged(j.name, j.arrival_s - first_s, j.nodes, j.run_s, j.wait_s, j.walltime_s, j.kind)
        for j in sorted(log.jobs, key=lambda job: job.arrival_s)
    ]
    return Log(jobs, log.nodes, log.left_out)


def _swf(path: Path, lines: Sequence[str], cores_per_node: int) -> Log:
    jobs, left_out = [], 0
    said: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        header = _HEADER.match(line.strip())
        if header:
            said[header[1]] = int(header[2])
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            values = []
        if len(values) < 11 or not all(map(math.isfinite, values)):
            problem = "not a line of SWF: 18 numbers, of which the first 11 are read"
            raise UserError(f"{path}:{number}", problem, "Correct the line, or give the output of sacct --parsable2")
        processors, run_s = (values[4] if values[4] > 0 else values[7]), values[3]
        if processors <= 0 or run_s < 0:
            left_out += 1
            continue
        nodes = -(-int(processors) // cores_per_node)
        kind = f"{values[13]:g}" if len(values) > 13 else ""
        wait_s = values[2] if values[2] >= 0 else math.nan
        walltime_s = values[8] if values[8] > 0 else math.inf
        jobs.append(Logged(f"{values[0]:g}", values[1], nodes, run_s, wait_s, walltime_s, kind))
    nodes_said = said.get("MaxNodes")
    if "MaxProcs" in said and (cores_per_node > 1 or nodes_said is None or nodes_said < said["MaxProcs"]):
        nodes_said = said["MaxProcs"] // cores_per_node
    return Log(jobs, nodes_said, left_out)


def _sacct(path: Path, lines: Sequence[str]) -> Log:
    rows = [(number, line.split("|")) for number, line in enumerate(lines, 1) if line.strip()]
    columns = rows[0][1]
    missing = [name for name in SACCT if name not in columns]
    if missing:
        remedy = f"Run sacct --parsable2 --allocations --format={','.join([*SACCT, 'JobName'])}"
        raise UserError(f"{path}:{rows[0][0]}", f"no column {', '.join(missing)}", remedy)
    jobs, left_out = [], 0
    for number, row in rows[1:]:
        if len(row) != len(columns):
            problem = f"{len(row)} fields, and the first line names {len(columns)}"
            raise UserError(f"{path}:{number}", problem, "Give the output of sacct --parsable2")
        entry = dict(zip(columns, row, strict=True))
        if "." in entry["JobID"]:  # a step of a job
            continue
        if entry["Start"] in ("Unknown", "None", ""):
            left_out += 1
            continue
        arrival_s, start_s = (_date_s(entry[name], f"{path}:{number}, {name}") for name in ("Submit", "Start"))
        run_s = _elapsed_s(entry["Elapsed"], f"{path}:{number}, Elapsed")
        limit = entry["Timelimit"]
        walltime_s = math.inf if limit in _NO_LIMIT else _elapsed_s(limit, f"{path}:{number}, Timelimit")
        if not entry["NNodes"].isdecimal():
            raise UserError(f"{path}:{number}, NNodes", f"{entry['NNodes']!r}", "Give a whole number")
        if int(entry["NNodes"]) == 0 or run_s == 0:
            left_out += 1
            continue
        kind = entry.get("JobName", "")
        jobs.append(
            Logged(entry["JobID"], arrival_s, int(entry["NNodes"]), run_s, start_s - arrival_s, walltime_s, kind)
        )
    return Log(jobs, None, left_out)


def _date_s(text: str, where: str) -> float:
    try:
        return (datetime.fromisoformat(text).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
    except ValueError:
        raise UserError(where, f"{text!r} is not a date", "Write it as 2026-01-31T12:00:00") from None


def _elapsed_s(text: str, where: str) -> float:
    match = _ELAPSED.fullmatch(text)
    if match is None:
        raise UserError(where, f"{text!r} is not a duration", "Write it as [DAYS-]HOURS:MINUTES:SECONDS")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
