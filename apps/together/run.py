"""Run several jobs in one simulation under SMPI, each an instance with its own MPI_COMM_WORLD; their events.

A job is a kernel or a recording of a program that is replayed (apps/replay).  The ranks of all jobs are those of one
smpirun, whose program (dispatcher.cpp) starts each job at its date.  A job that runs alone from date 0 on takes exactly
the time of its own run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from apps.child.process import run_bounded
from apps.child.run_folder import environment, smpirun_command, write_host_file
from apps.child.verdict import check_success
from apps.errors import KernelError, OptionError, SimulationError
from apps.recording.events import Recording
from apps.runs.engines import run_identity
from apps.smpi.launch import launch, thread_clock_library
from apps.spec.run_spec import RunSpec
from platforms.errors import known_names
from platforms.files.scratch import is_plain, scratch_folder
from platforms.model.platform import Link, Platform
from platforms.read.content import loadable
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import check_simgrid, compiler_flags
from platforms.simgrid.repairs import loaded_first

_FORM = re.compile(
    r"t=(?P<date>\S+)\s+(?P<kind>link|host)\s+(?P<name>\S+)\s+(?:(?P<key>bandwidth|speed)=(?P<factor>\S+)|(?P<fails>fails))"
)
_KEYS = {"link": "bandwidth", "host": "speed"}
EXAMPLES = '"t=100 link wan bandwidth=0.1", "t=50 host h1 speed=0.5" or "t=50 host h1 fails"'
_DIRECTIONS = ("", "_UP", "_DOWN")  # SimGrid's names of the directions of a split-duplex link


@dataclass(frozen=True)
class PlatformEvent:
    """A change at a date, which holds until the next event of the same link or host."""

    date_s: float
    kind: str  # "link" or "host"
    name: str
    factor: float  # of the bandwidth or speed in the platform file, > 0; 0: the host fails

    @property
    def fails(self) -> bool:
        """True if a host fails."""
        return self.factor == 0

    def __str__(self) -> str:
        change = "fails" if self.fails else f"{_KEYS[self.kind]}={self.factor:g}"
        return f"t={self.date_s:g} {self.kind} {self.name} {change}"


def parse_event(text: str, where: str) -> PlatformEvent:
    """Parse an event such as ``t=100 link wan bandwidth=0.1``; the number is a factor of the platform's own value.

    Raises:
        OptionError: It has another form, or a number is out of its range.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or (match["key"] is not None and match["key"] != _KEYS[match["kind"]]):
        raise OptionError(f"{where} {text!r}", "not an event", f"Write for example {EXAMPLES}")
    if match["fails"] and match["kind"] == "link":
        raise OptionError(f"{where} {text!r}", "links do not fail", "Give a small bandwidth, such as bandwidth=0.01")
    date_s = _number(match["date"])
    factor = 0.0 if match["fails"] else _number(match["factor"])
    if not 0 <= date_s < math.inf:
        raise OptionError(f"{where} {text!r}", f"the date {match['date']} is not a time in s", "Give 0 or more")
    if not match["fails"] and not 1e-4 <= factor <= 1e4:
        problem = f"{match['key']}={match['factor']} is not a factor of the platform's {match['key']}"
        raise OptionError(f"{where} {text!r}", problem, "Give for example 0.5 for half of it")
    return PlatformEvent(date_s, match["kind"], match["name"], factor)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def check_events(events: Sequence[PlatformEvent], platform: Platform, links: Iterable[str]) -> None:
    """Check that the hosts and links of events exist.

    Args:
        events: The events.
        platform: The platform.
        links: SimGrid's names of the links between the hosts in use, by direction.

    Raises:
        OptionError: One does not.
    """
    hosts, known = {host.name for host in platform.hosts}, set(links)
    for event in events:
        names = hosts if event.kind == "host" else {_undirected(name) for name in known}
        if event.kind == "host" and event.name not in hosts:
            raise OptionError(f"event {str(event)!r}", "no such host", known_names(event.name, sorted(names)))
        if event.kind == "link" and not directions(event.name, known):
            problem = "no such link between the hosts in use"
            raise OptionError(f"event {str(event)!r}", problem, known_names(event.name, sorted(names)))


def directions(name: str, links: Iterable[str]) -> list[str]:
    """Return SimGrid's names of a link's directions; a link without directions has one.

    >>> directions("wan", ["wan_UP", "wan_DOWN", "other"])
    ['wan_UP', 'wan_DOWN']
    """
    known = set(links)
    return [f"{name}{ending}" for ending in _DIRECTIONS if f"{name}{ending}" in known]


def _undirected(name: str) -> str:
    return re.sub("_(UP|DOWN)$", "", name)


_SOURCE = Path(__file__).with_name("dispatcher.cpp")
_INSTANCES = Path(__file__).with_name("instances.c")
_FLAGS = ("-O2", "-std=gnu++17", "-DSMPI_NO_OVERRIDE_MALLOC")
RecordingOf = Callable[[RunSpec], Recording]


@dataclass(frozen=True)
class Attempt:
    """A job on its hosts, from a date on."""

    name: str  # of the job
    spec: RunSpec
    start_s: float
    stop_s: float | None = None  # date at which it is killed; None: it runs to its end

    def identity(self) -> dict[str, Any]:
        """Return all that decides its course, as JSON values."""
        return {"run": run_identity(self.spec), "start_s": self.start_s, "stop_s": self.stop_s}


@dataclass(frozen=True)
class Ran:
    """Dates of an attempt."""

    start_s: float
    end_s: float  # of the timed section of its slowest rank, or of its whole program where it is replayed
    time_s: float  # of the timed section


def run_together(
    attempts: Sequence[Attempt],
    recording_of: RecordingOf,
    *,
    events: Sequence[PlatformEvent] = (),
    links: Mapping[str, Link] | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> list[Ran | None]:
    """Run all attempts in one simulation, and return their dates; None for those that are killed.

    Args:
        attempts: The attempts, on one platform and under equal SimGrid options.
        recording_of: Returns the recording of a user's program with all iterations, its computation scaled as in runs.
        events: Changes of links and speeds; hosts that fail do so by the ``stop_s`` of the attempts on them.
        links: The links of the events, by SimGrid's name of a direction.
        time_limit_s: Limit of the wall time, s; None: none.
        stop: Stops the run when it is set.

    Raises:
        KernelError: A kernel refuses its problem.
        SimulationError: The run does not succeed.
        Stopped: ``stop`` was set.
    """
    check_simgrid()
    first = attempts[0].spec
    if any((a.spec.target.platform, a.spec.options) != (first.target.platform, first.options) for a in attempts):
        raise OptionError("jobs", "they differ in their platform or SimGrid's options", "Give all jobs the same")
    what = f"{len(attempts)} jobs on {first.target.platform.name}"
    with scratch_folder("together") as folder:
        if not is_plain(str(folder)):
            raise KernelError(f"folder {folder}", "smpirun cannot use such a name", "Set TMPDIR to another folder")
        placement = [host for attempt in attempts for host in attempt.spec.target.placement]
        write_host_file(folder / "hosts", placement)
        words = [str(len(attempts))]
        for number, attempt in enumerate(attempts):
            words += _words(attempt, f"job{number}", recording_of, folder)
        words += _event_words(events, links or {})
        (folder / "jobs").write_text("".join(f"{word}\n" for word in words))
        (folder / "program").symlink_to(compile_once("dispatcher", [_SOURCE], compiler=["smpicxx"], flags=_FLAGS))
        libraries = (thread_clock_library(), _instances_library())
        command = smpirun_command(
            f"{folder}/program",
            [f"{folder}/jobs"],
            nranks=len(placement),
            host_file=f"{folder}/hosts",
            platform=loadable(first.target.platform),
            options={**first.engine_options, **dict(first.options)},
            wrapper=" ".join([*die_with_parent(), *loaded_first(folder, *libraries, called=str(folder))]),
        )
        done = run_bounded(
            command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder), stop=stop
        )
        check_success(replace(done, log=_without_expected(done.log, attempts)), what)
        return [_ran(attempt, folder / f"job{number}", done.log) for number, attempt in enumerate(attempts)]


def _instances_library() -> Path:
    return compile_once(
        "instances", [_INSTANCES], compiler=["gcc"], flags=["-O2", "-shared", "-fPIC", *compiler_flags()]
    )


@cache
def together_hash() -> str:
    """Return the identity of the program that starts the jobs."""
    return hashlib.sha256(_SOURCE.read_bytes() + _INSTANCES.read_bytes()).hexdigest()


def _without_expected(log: str, attempts: Sequence[Attempt]) -> str:
    """Return a log without lines on instances that do not end: smpirun's own, which is not used, and killed ones."""
    killed = ["smpirun", *(f"job{number}" for number, attempt in enumerate(attempts) if attempt.stop_s is not None)]
    expected = tuple(f"Stalling SMPI instance: {name}." for name in killed)
    return "\n".join(line for line in log.splitlines() if not any(text in line for text in expected))


def _words(attempt: Attempt, name: str, recording_of: RecordingOf, folder: Path) -> list[str]:
    """Return the lines of the file of jobs about an attempt (dispatcher.cpp)."""
    spec = attempt.spec
    if spec.target.problem.program is None:
        started = launch(spec, spec.target.iterations)
        program, arguments = started.program, started.arguments
    else:
        # Imported here because they are slow to import.
        from apps.replay.engine import replayer_program, write_files

        files = folder / f"{name}.recording"
        files.mkdir()
        program, arguments = replayer_program(), (str(files), str(write_files(recording_of(spec), files)))
    stop_s = -1.0 if attempt.stop_s is None else attempt.stop_s
    about = [name, str(spec.target.nranks), f"{attempt.start_s:.17g}", f"{stop_s:.17g}", str(program)]
    return [*about, str(len(arguments)), *arguments]


def _event_words(events: Sequence[PlatformEvent], links: Mapping[str, Link]) -> list[str]:
    words = []
    count = 0
    for event in sorted((event for event in events if not event.fails), key=lambda event: event.date_s):
        names = [event.name] if event.kind == "host" else directions(event.name, links)
        for name in names:
            value = event.factor if event.kind == "host" else event.factor * links[name].bandwidth_Bps
            words += [f"{event.date_s:.17g}", event.kind, name, f"{value:.17g}"]
            count += 1
    return [str(count), *words]


def _ran(attempt: Attempt, files: Path, log: str) -> Ran | None:
    """Return the dates of an attempt from what its ranks have written."""
    rows = [line.split() for line in files.with_suffix(".ends").read_text().splitlines()]
    if len(rows) < attempt.spec.target.nranks:
        if attempt.stop_s is not None:
            return None
        raise SimulationError(f"job {attempt.name}: {attempt.spec.target.nranks - len(rows)} ranks do not end", log)
    if attempt.spec.target.problem.program is not None:
        end_s = max(float(row[1]) for row in rows)
        return Ran(attempt.start_s, end_s, end_s - attempt.start_s)
    record = json.loads(files.with_suffix(".out").read_text().rstrip().rpartition("\n")[2])
    if "refused" in record:
        raise KernelError(attempt.name, record["refused"], "Choose other ranks, or another class or size")
    elapsed_s = [stop_s - start_s for start_s, stop_s in zip(record["start_s"], record["stop_s"], strict=True)]
    end_s = max(record["stop_s"])
    if attempt.stop_s is not None and end_s > attempt.stop_s:
        return None
    return Ran(attempt.start_s, end_s, max(elapsed_s))
