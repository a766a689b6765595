"""Requests of a batch script: the header lines of Slurm, PBS and LSF, and their time limits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from platforms.errors import UserError

# Time limits of jobs as schedulers write them.
#
# Slurm (manual page sbatch, ``--time``): minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S; seconds are rounded up to the next
# minute.  PBS (manual page pbs_resources, ``walltime``): seconds, M:S, H:M:S.  LSF (manual page bsub, ``-W``): minutes
# or H:M, then perhaps a slash and a host.

SLURM, PBS, LSF = "slurm", "pbs", "lsf"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_SLURM = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9})(?:\.\d{1,9})?", re.ASCII)
_LSF = re.compile(r"(?:(\d{1,6}):)?(\d{1,9})(?:/[^\s/]{1,200})?", re.ASCII)
UNLIMITED = math.inf


def time_limit_s(scheduler: str, text: str) -> float | None:
    """Return a time limit in s, ``UNLIMITED`` for none, or None where the text is no time of this scheduler.

    >>> [time_limit_s("slurm", text) for text in ("90", "1:30", "1:30:00", "1-2", "1-2:30", "1-2:30:15")]
    [5400, 90, 5400, 93600, 95400, 95415]
    >>> time_limit_s("pbs", "90"), time_limit_s("pbs", "1:30:00"), time_limit_s("lsf", "1:30"), time_limit_s("lsf", "x")
    (90, 5400, 5400, None)
    """
    if scheduler == SLURM:
        return _slurm_s(text)
    match = (_CLOCK if scheduler == PBS else _LSF).fullmatch(text)
    if match is None:
        return None
    numbers = [int(part or 0) for part in match.groups()]
    return numbers[0] * _HOUR + numbers[1] * _MINUTE + (numbers[2] if scheduler == PBS else 0)


def _slurm_s(text: str) -> float | None:
    if text.upper() in ("UNLIMITED", "INFINITE", "-1", "0"):
        return UNLIMITED
    match = _SLURM.fullmatch(text)
    if match is None:
        return None
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    assert first is not None
    if days is not None:
        return days * _DAY + first * _HOUR + (second or 0) * _MINUTE + (third or 0)
    if third is not None:
        return first * _HOUR + (second or 0) * _MINUTE + third
    return first * _MINUTE + (second or 0)


def rounded_up_s(time_s: float) -> int:
    """Return a time rounded up to whole minutes, at least one, in s: Slurm and LSF count minutes.

    >>> rounded_up_s(61), rounded_up_s(120), rounded_up_s(0.1)
    (120, 120, 60)
    """
    return max(math.ceil(time_s / _MINUTE), 1) * _MINUTE


def limit_text(scheduler: str, time_s: int) -> str:
    """Return a time limit as the scheduler reads it; of LSF in whole minutes.

    >>> limit_text("slurm", 95400), limit_text("slurm", 120), limit_text("pbs", 95400), limit_text("lsf", 5400)
    ('1-02:30:00', '00:02:00', '26:30:00', '1:30')
    """
    if scheduler == LSF:
        return f"{time_s // _HOUR}:{time_s // _MINUTE % 60:02d}"
    days, rest = divmod(time_s, _DAY) if scheduler == SLURM else (0, time_s)
    clock = f"{rest // _HOUR:02d}:{rest // _MINUTE % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


MARKS = {"#SBATCH": SLURM, "#PBS": PBS, "#BSUB": LSF}
NAMES = {SLURM: "Slurm", PBS: "PBS", LSF: "LSF"}
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_SHORT = {
    SLURM: {"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "t": "time", "J": "job-name", "a": "array",
            "d": "dependency", "G": "gpus", "L": "licenses", "D": "chdir"},
    PBS: {"l": "l", "N": "job-name", "J": "array", "t": "array", "W": "W"},
    LSF: {"n": "n", "R": "R", "W": "time", "J": "job-name", "w": "dependency", "gpu": "gpus", "nnodes": "nodes"},
}  # fmt: skip
# Options without a value.
_FLAGS = {
    SLURM: frozenset("exclusive requeue no-requeue hold overcommit oversubscribe no-kill parsable wait spread-job "
                     "use-min-nodes contiguous ignore-pbs quiet verbose test-only reboot get-user-env nice H O s k Q v "
                     "propagate immediate I".split()),
    PBS: frozenset("V h z X I x f".split()),
    LSF: frozenset("x r rn H B N K I Is Ip u-flag XF ptl".split()),
}  # fmt: skip
_LISTED = {
    "array": "the array: {value}; each of its tasks is one such job, and waiting for each other is not predicted",
    "gpus": "GPUs ({value}): what runs on them is not predicted",
    "licenses": "licences ({value}) and the wait for them",
    "dependency": "the jobs on which this one depends ({value}), and the wait for them",
}
_MOST_NUMBER = 10_000_000


@dataclass(frozen=True)
class Header:
    """An option of a header."""

    line: int  # its number, from 0
    begin: int  # of the value in the line
    end: int
    name: str  # its long name
    value: str


@dataclass(frozen=True)
class Allocation:
    """The request of a script's headers; None: not requested."""

    scheduler: str
    headers: tuple[Header, ...] = ()
    nodes: int | None = None
    tasks: int | None = None
    per_node: int | None = None  # tasks
    cpus_per_task: int | None = None
    threads: int | None = None  # OMP_NUM_THREADS that PBS sets
    time_s: float | None = None
    job_name: str | None = None
    folder: str | None = None
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Tasks of the job: as many as are requested, else one for each node or what fills each node."""
        return self.tasks if self.tasks is not None else (self.nodes or 1) * (self.per_node or 1)

    @property
    def least_nodes(self) -> int | None:
        """Nodes of the job, where its headers decide them."""
        if self.nodes is None and self.per_node is not None:
            return -(-self.total // self.per_node)
        return 1 if self.nodes is None and self.total == 1 else self.nodes


def headers_of(lines: Sequence[str], where: str) -> tuple[str | None, list[Header], list[str]]:
    """Return the scheduler, its options, and remarks about lines that it does not read.

    Slurm and PBS read headers up to the first command; LSF reads them everywhere.

    Raises:
        UserError: A header has no value, or a job of several parts is requested.
    """
    scheduler: str | None = None
    found: list[Header] = []
    remarks: list[str] = []
    begun = False
    for number, line in enumerate(lines):
        mark = next((mark for mark in MARKS if line.startswith(mark) and not line[len(mark) :][:1].strip()), None)
        if mark is None:
            begun = begun or bool(line.strip() and not line.lstrip().startswith("#"))
        elif scheduler is not None and MARKS[mark] != scheduler:
            remarks.append(f"line {number + 1}: a header of {NAMES[MARKS[mark]]} in a script of {NAMES[scheduler]}")
        elif begun and mark != "#BSUB":
            remarks.append(f"line {number + 1}: the header stands behind a command, where it is not read")
        else:
            scheduler = MARKS[mark]
            found += _options(scheduler, line, number, f"{where}:{number + 1}")
    return scheduler, found, remarks


def _options(scheduler: str, line: str, number: int, where: str) -> Iterator[Header]:
    words = list(_WORD.finditer(line))[1:]
    at = 0
    while at < len(words):
        word, begin = words[at][0], words[at].start()
        at += 1
        if word.startswith("#"):
            return
        if word in ("hetjob", "packjob"):
            remedy = "Split it into one script for each part, or plan it with gridval plan nodes"
            raise UserError(where, "a heterogeneous job has several parts of unlike nodes", remedy)
        if not word.startswith("-") or word in ("-", "--"):
            raise UserError(where, f"{word!r} is no option", f"Write it as {NAMES[scheduler]} reads it")
        name, equals, value = _cut(scheduler, word)
        if equals:
            begin += len(word) - len(value)
        elif name not in _FLAGS[scheduler]:
            if at == len(words):
                raise UserError(where, f"{word} has no value", f"Write it as {NAMES[scheduler]} reads it")
            value, begin = words[at][0], words[at].start()
            at += 1
        name = _SHORT[scheduler].get(name, name)
        if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
            value, begin = value[1:-1], begin + 1
        yield Header(number, begin, begin + len(value), name, value)


def _cut(scheduler: str, word: str) -> tuple[str, bool, str]:
    """Return the name of an option, whether its value is in the same word, and the value."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return name, bool(equals), value
    if scheduler == LSF or len(word) == 2:  # options of bsub have names of several letters behind one hyphen
        return word[1:], False, ""
    return word[1], True, word[2:].removeprefix("=")


def allocation(scheduler: str, headers: Sequence[Header], where: str) -> Allocation:
    """Return the request of the headers.

    Raises:
        UserError: A number or a time cannot be read, or the job has unlike parts.
    """
    known: dict[str, int | float | str | None] = {}
    unknown: list[str] = []
    for header in headers:
        at = f"{where}:{header.line + 1}"
        if header.name in _LISTED or header.name.startswith(("gpus-", "gres")):
            text = _LISTED.get(header.name, _LISTED["gpus"]).format(value=header.value[:200])
            unknown.append(f"line {header.line + 1}: {text}")
        if scheduler == PBS and header.name in ("l", "W"):
            _pbs(header, known, unknown, at)
        elif scheduler == LSF:
            _lsf(header, known, unknown, at)
        elif header.name == "time":
            known["time_s"] = _time_s(scheduler, header.value, at)
        elif header.name in ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task"):
            key = {"ntasks": "tasks", "ntasks-per-node": "per_node", "cpus-per-task": "cpus_per_task"}
            first = header.value.partition("-")[0] if header.name == "nodes" else header.value
            known[key.get(header.name, "nodes")] = _number(first, header.name, at)
        if header.name == "job-name":
            known["job_name"] = header.value
        if header.name == "chdir":
            known["folder"] = header.value
    if scheduler == LSF and known.get("nodes") is None and known.get("per_node") and known.get("tasks"):
        known["nodes"] = -(-int(known["tasks"] or 1) // int(known["per_node"] or 1))
    made = Allocation(scheduler, tuple(headers), unknown=tuple(unknown), **known)  # type: ignore[arg-type]
    if made.total > _MOST_NUMBER:
        raise UserError(where, f"{made.total} tasks", f"Request at most {_MOST_NUMBER}")
    return made


def _number(text: str, name: str, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= _MOST_NUMBER:
        raise UserError(where, f"{name} is {text[:100]!r}, not a whole number from 1", "Write the number itself")
    return int(text)


def _time_s(scheduler: str, text: str, where: str) -> float:
    limit_s = time_limit_s(scheduler, text)
    if limit_s is None:
        forms = {SLURM: "30, 1:30:00 or 1-12:00:00", PBS: "1:30:00", LSF: "90 or 1:30"}[scheduler]
        raise UserError(where, f"{text[:100]!r} is no time of {NAMES[scheduler]}", f"Write for example {forms}")
    return limit_s


def _pbs(header: Header, known: dict[str, int | float | str | None], unknown: list[str], where: str) -> None:
    """Read ``-l select=2:ncpus=16:mpiprocs=16,walltime=1:00:00``, ``-l nodes=2:ppn=8`` and ``-W depend=...``."""
    for part in header.value.split(","):
        name, _, value = part.partition("=")
        line = f"line {header.line + 1}"
        if name == "walltime":
            known["time_s"] = _time_s(PBS, value, where)
        elif name in ("select", "nodes"):
            _chunk(value, known, unknown, where, line)
        elif name in ("procs", "mppwidth", "size"):
            known["tasks"] = _number(value, name, where)
        elif name == "mppnppn":
            known["per_node"] = _number(value, name, where)
        elif name == "depend":
            unknown.append(f"{line}: {_LISTED['dependency'].format(value=value[:200])}")
        elif name in ("ngpus", "gpus"):
            unknown.append(f"{line}: {_LISTED['gpus'].format(value=value[:200])}")


def _chunk(value: str, known: dict[str, int | float | str | None], unknown: list[str], where: str, line: str) -> None:
    if "+" in value:
        raise UserError(where, "several chunks of unlike nodes", "Request one kind of nodes, or use gridval plan nodes")
    count, *rest = value.split(":")
    if not re.fullmatch(r"[0-9]+", count):
        unknown.append(f"{line}: nodes by name ({value[:100]}): one of them is counted")
        count = "1"
    known["nodes"] = _number(count, "the number of nodes", where)
    for name, _, text in (word.partition("=") for word in rest):
        if name in ("mpiprocs", "ppn"):
            known["per_node"] = _number(text, name, where)
        elif name == "ompthreads":
            known["threads"] = _number(text, name, where)
        elif name == "ncpus":
            known.setdefault("per_node", 1)  # mpiprocs is 1 where it is not given
        elif name == "ngpus" and text != "0":
            unknown.append(f"{line}: {_LISTED['gpus'].format(value=text[:200])}")


def _lsf(header: Header, known: dict[str, int | float | str | None], unknown: list[str], where: str) -> None:
    """Read ``-n 32``, ``-n 16,32``, ``-R "span[ptile=16]"``, ``-W 1:30``, ``-nnodes 4`` and ``-J "name[1-10]"``."""
    if header.name == "n":
        known["tasks"] = _number(header.value.partition(",")[0], "-n", where)
    elif header.name == "time":
        known["time_s"] = _time_s(LSF, header.value, where)
    elif header.name == "nodes":
        known["nodes"] = _number(header.value, "-nnodes", where)
    elif header.name == "R":
        match = re.search(r"span\[[^\]]*ptile=([0-9]{1,6})", header.value)
        if match is not None:
            known["per_node"] = _number(match[1], "ptile", where)
        elif re.search(r"span\[\s*hosts=1\s*\]", header.value):
            known["nodes"] = 1
        if re.search(r"[0-9]\s*\*\s*\{", header.value):
            remedy = "Request one kind of nodes, or use gridval plan nodes"
            raise UserError(where, "several parts of unlike nodes", remedy)
    elif header.name == "job-name" and "[" in header.value:
        unknown.append(f"line {header.line + 1}: {_LISTED['array'].format(value=header.value[:200])}")
