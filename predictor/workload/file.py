"""Workload files: jobs, the policy that places them and events, in TOML.

Logs of batch systems: SWF (Standard Workload Format, version 2.2) and the output of Slurm's ``sacct --parsable2``.

S. J. Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", 1999.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from apps.options.programs import KEYS as PROBLEM_KEYS
from apps.options.programs import problem_of_table
from apps.programs.problem import Problem
from apps.together.run import PlatformEvent, check_events, parse_event
from platforms.errors import PlatformError, UserError, known_names
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.files.reading import input_text
from platforms.options import PlatformOptions, platform_from_request
from predictor.workload.schedule import ORDERS, PLACEMENTS, Job, Policy, Workload

MOST_BYTES = 256 << 20
SACCT = ("JobID", "Submit", "Start", "Elapsed", "Timelimit", "NNodes")
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs)\s*:\s*(\d+)")
_ELAPSED = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)(?:\.\d+)?")
_NO_LIMIT = ("UNLIMITED", "Partition_Limit", "")
_WHERE = ("scenario", "network", "platform", "clusters", "speeds")
_KEYS = {
    "": (*_WHERE, "policy", "placement", "events", "jobs", "log", "programs", "cores_per_node"),
    "jobs": ("job", "ranks", "ranks_per_host", "arrival_s", "walltime_s", "run_s", "nodes", *PROBLEM_KEYS),
    "programs": ("match", "ranks_per_host", *PROBLEM_KEYS),
}
MOST_JOBS = 1_000  # that are programs: they are simulated together
_JOB = re.compile(r"[A-Za-z0-9][\w.+-]{0,39}", re.ASCII)
EXAMPLE = """\
scenario = "grid4x2"      # or platform = "site.xml"
network = "gigabit"       # and clusters, speeds, as options of gridval run
policy = "backfill"       # or "fcfs" (default)
placement = "packed"      # (default) or "spread" over the clusters
events = ["t=0.5 link wan_c1_c2 bandwidth=0.1", "t=2 host c2-0 fails"]
[[jobs]]
job = "solver"            # its name; default: the program's
app = "cg"                # or file = "halo.c", as in a campaign
class = "S"
ranks = 4                 # default 1
ranks_per_host = 1        # default 1
arrival_s = 0.0           # default 0
walltime_s = 10.0         # requested; only backfilling reads it
[[jobs]]                  # without a program: it only holds nodes
job = "other"
nodes = 2
run_s = 0.5
# Or, in place of jobs, those of a log; jobs whose executable number or
# name is 17 run a program:
# log = "trace.swf"
# cores_per_node = 16     # default 1
# [[programs]]
# match = "17"
# app = "lu"
# class = "A"
"""


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


def read_workload(
    path: Path, *, policy: str | None = None, placement: str | None = None, events: Sequence[str] = ()
) -> Workload:
    """Read a workload from a TOML file; EXAMPLE has all keys.  File names are relative to the file.

    Args:
        path: The file.
        policy: In place of the file's.
        placement: In place of the file's.
        events: In addition to the file's.

    Raises:
        UserError: The file cannot be read or a key is wrong; the error names the file and the key.
    """
    table = read_checked(path, _KEYS, "workload file")
    platform = platform_from_request(_platform(table, path.parent))
    if table.has("log") == table.has("jobs"):
        raise PlatformError(table.where, "'jobs' or 'log' is needed, and one of them only", "Write [[jobs]] tables")
    if table.has("programs") and not table.has("log"):
        raise PlatformError(table.at("programs"), "'programs' goes with 'log'", "Write [[jobs]] tables instead")
    jobs = _of_log(table, path.parent) if table.has("log") else _jobs(table, path.parent)
    chosen = Policy(
        _word(table, "policy", ORDERS, "--policy", policy), _word(table, "placement", PLACEMENTS, "--place", placement)
    )
    texts = table.list_of("events", [], str, "events")
    asked = [*(parse_event(text, table.at("events")) for text in texts), *(parse_event(e, "--event") for e in events)]
    workload = Workload(str(path), platform, tuple(jobs), chosen, tuple(asked))
    if sum(job.problem is not None for job in jobs) > MOST_JOBS:
        raise PlatformError(str(path), f"{len(jobs)} jobs", f"Give at most {MOST_JOBS} that are programs")
    checked_links(workload, asked)
    return workload


def checked_links(workload: Workload, events: Sequence[PlatformEvent]) -> None:
    """Check that the hosts and links of events exist on the workload's platform.

    Raises:
        OptionError: One does not.
    """
    if events:
        links = [link.name for route in workload.some_routes() for link in route.links]
        check_events(events, workload.platform, links)


def _platform(table: CheckedTable, folder: Path) -> PlatformOptions:
    named = table.text("platform", "")
    clusters = table.text("clusters", "")
    return PlatformOptions(
        scenario=table.text("scenario", "") or None,
        network=table.text("network", "") or None,
        speeds=table.text("speeds", "") or None,
        platform=(str(folder / named),) if named else (),
        clusters=(clusters,) if clusters else (),
    )


def _word(table: CheckedTable, key: str, known: Sequence[str], option: str, given: str | None) -> str:
    value = table.text(key, known[0]) if given is None else given
    if value not in known:
        where = table.of(key) if given is None else f"{option} {given}"
        raise PlatformError(where, f"no {key} {value!r}", known_names(value, known))
    return value


def _jobs(table: CheckedTable, folder: Path) -> list[Job]:
    jobs: list[Job] = []
    for entry in table.tables("jobs"):
        job = _job(entry, folder, jobs)
        if any(other.name == job.name for other in jobs):
            raise PlatformError(entry.of("job"), f"two jobs {job.name!r}", "Give each a name of its own")
        jobs.append(job)
    if not jobs:
        raise PlatformError(table.where, "no jobs", "Write a [[jobs]] table for each")
    return jobs


def _job(entry: CheckedTable, folder: Path, before: Sequence[Job]) -> Job:
    arrival_s, walltime_s = _date(entry, "arrival_s", 0.0), _date(entry, "walltime_s", math.inf)
    if walltime_s == 0:
        raise PlatformError(entry.of("walltime_s"), "walltime_s is 0", "Give the seconds that the job requests")
    if entry.has("run_s"):
        name, nodes = _name(entry, f"job{len(before) + 1}"), _count(entry, "nodes", 1)
        return Job(name, nodes, arrival_s, walltime_s, run_s=_date(entry, "run_s", 0.0))
    if entry.has("nodes"):
        raise PlatformError(entry.at("nodes"), "'nodes' goes with 'run_s'", "A program's ranks decide its nodes")
    problem = problem_of_table(_only_problem(entry), folder)
    ranks, each = _count(entry, "ranks", 1), _count(entry, "ranks_per_host", 1)
    number = sum(job.problem is not None and job.problem.name == problem.name for job in before) + 1
    name = _name(entry, f"{problem.name}-{number}")
    nodes = -(-ranks // each)
    return Job(name, nodes, arrival_s, walltime_s, problem, ranks, each)


def _only_problem(entry: CheckedTable) -> CheckedTable:
    values = {key: entry.value(key, None) for key in PROBLEM_KEYS if entry.has(key)}
    return CheckedTable(values, entry.where, {"": PROBLEM_KEYS})


def _name(entry: CheckedTable, usual: str) -> str:
    name = entry.text("job", usual)
    if _JOB.fullmatch(name) is None:
        raise PlatformError(entry.of("job"), f"name {name!r}", "Give at most 40 letters, digits, dots, +, - or _")
    return name


def _date(entry: CheckedTable, key: str, usual: float) -> float:
    value = entry.number(key, usual)
    if not (0 <= value < math.inf or (value == usual and not entry.has(key))):
        raise PlatformError(entry.of(key), f"{key} is {value:g}", "Give a time in s that is not negative")
    return value


def _count(entry: CheckedTable, key: str, usual: int) -> int:
    value = entry.integer(key, usual)
    if not 1 <= value <= 1_000_000:
        raise PlatformError(entry.of(key), f"{key} is {value}", "Give at least 1")
    return value


def _of_log(table: CheckedTable, folder: Path) -> list[Job]:
    """Return the jobs of a log, those that match a program as runs of it."""
    log = read_log(folder / table.text("log"), cores_per_node=_count(table, "cores_per_node", 1))
    programs = []
    for entry in table.tables("programs"):
        each = _count(entry, "ranks_per_host", 1)
        programs.append((entry.text("match"), problem_of_table(_only_problem(entry), folder), each))
    return [_logged_job(one, programs) for one in log.jobs]


def _logged_job(one: Logged, programs: Sequence[tuple[str, Problem, int]]) -> Job:
    job = Job(one.name, one.nodes, one.arrival_s, one.walltime_s, run_s=one.run_s)
    for match, problem, each in programs:
        if match == one.kind:
            return replace(job, problem=problem, ranks=one.nodes * each, ranks_per_host=each)
    return job


def log_and_nodes(path: Path, nodes: int | None, cores_per_node: int) -> tuple[list[Logged], int]:
    """Return the jobs of a log, and the number of nodes of its machine.

    Raises:
        UserError: The number is not known, or too small for a job.
    """
    log = read_log(path, cores_per_node=cores_per_node)
    count = nodes if nodes is not None else log.nodes
    if count is None:
        raise UserError(str(path), "it does not say how many nodes the machine has", "Give --nodes N")
    largest = max(log.jobs, key=lambda job: job.nodes)
    if largest.nodes > count:
        problem = f"job {largest.name} has {largest.nodes} nodes, and the machine {count}"
        raise UserError(str(path), problem, "Give a larger --nodes, or --cores-per-node if the log counts cores")
    return log.jobs, count
