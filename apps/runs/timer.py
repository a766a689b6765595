"""The program's own timer: the clock readings that bound the time it prints.

The program runs a few times on a network of almost no cost with invented times: thousands of seconds, drawn by rank and
number, pass between any two clock readings (recorder/timer.c).  The printed time then identifies the two readings whose
difference it is.  Their numbers must grow linearly with the number of iterations, or the timer is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.errors import KernelError, SimulationError
from apps.programs.own_program import UserProgram
from apps.programs.printed_time import OPTION, Printed, Timer, printed_time
from apps.recording.files import Incomplete, by_rank
from apps.results.inputs import Inputs
from apps.results.steady import FIRST_TRY
from apps.runs.engines import engine_named
from apps.runs.fingerprints import silent_platform
from apps.runs.neutral import kept_options, program_identity
from apps.smpi.engine import noted
from apps.smpi.launch import launch
from apps.spec.choices import MACHINE, REPLAY
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.addons import provided
from platforms.files.scratch import scratch_folder
from platforms.terminal.progress import doing

_READING = np.dtype([("told_s", "f8"), ("collectives", "i8"), ("simulated", "i8")])  # of recorder/timer.c
_PROBES = (FIRST_TRY - 2, FIRST_TRY - 1, FIRST_TRY + 1)  # iterations
_MOST_CANDIDATES = 4
_REMEDY = "Mark the timed section with MPI_Pcontrol(1000) and (1003) instead (docs/programs/own-program.md)"
_known: dict[str, tuple[Timer, Inputs | None]] = {}  # of this process


@dataclass(frozen=True)
class _Candidate:
    """Two readings whose difference is printed."""

    rank: int | None  # None: the longest of all ranks
    first: int
    last: int
    begin: int
    end: int
    read_by_all: bool
    simulated: bool


class _Probe:
    """Placeholder for a timer that is not known yet: the program gets invented times."""

    rank = None

    def settings(self, iterations: int) -> dict[str, str]:
        """Return the recorder's setting."""
        return {"RECORDER_TIMER": "probe"}


def with_timer(
    spec: RunSpec,
    *,
    store: Store | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> RunSpec:
    """Return the spec with the readings that bound the time printed by its program; other specs unchanged.

    Raises:
        KernelError: The output has no such time, or it is not the difference of two readings.
        SimulationError: The program does not run.
        Stopped: ``stop`` was set.
    """
    program = spec.target.problem.program
    if program is None or program.time_from is None or program.timer is not None:
        return spec
    identity = program_identity(spec, 0)
    key = json.dumps(identity, sort_keys=True, default=str)
    timer, inputs = _known.get(key, (None, None))
    if timer is None or inputs is None or inputs.changed() is not None:
        timer = _kept(store, identity)
    if timer is None:
        with doing(f"finding the timer of {spec.target.problem}"):
            timer, inputs = _found(spec, program, time_limit_s, stop)
        _known[key] = timer, inputs
        if store is not None and inputs is not None and not inputs.hidden:
            content = json.dumps(asdict(timer)).encode()
            store.put_bytes("timer", identity, content, inputs=replace(inputs, varies=()), summary=program.time_from)
    problem = replace(spec.target.problem, program=replace(program, timer=timer))
    return replace(spec, target=replace(spec.target, problem=problem))


def _kept(store: Store | None, identity: dict[str, Any]) -> Timer | None:
    if store is None or not store.unchanged("timer", identity):
        return None
    content = store.get_bytes("timer", identity)
    try:
        data = {} if content is None else json.loads(content)
        fields: dict[str, Any] = {name: tuple(at) if isinstance(at, list) else at for name, at in data.items()}
        return Timer(**fields)
    except (ValueError, TypeError, AttributeError):
        return None


def _found(
    spec: RunSpec, program: UserProgram, time_limit_s: float | None, stop: threading.Event | None
) -> tuple[Timer, Inputs | None]:
    full = spec.target.iterations
    counts = [count for count in _PROBES if count <= full] or [full]
    if not spec.target.problem.iterative or spec.engine == REPLAY:  # a replay has all iterations
        counts = [full]
    candidates, inputs = [], None
    for count in counts:
        readings, output, inputs = _probe(spec, count, time_limit_s, stop)
        printed = printed_time(program.time_from or "", output)
        if printed is None:
            remedy = "Give the printed text around the number, with {time} in place of the number"
            raise _refused(program, "the program prints no such line", remedy)
        candidates.append(_candidates(readings, printed, program))
    timers = set(_laws(counts, candidates))
    if len(timers) != 1:
        problem = (
            f"{len(timers)} pairs of readings of a clock may bound the printed time: it has too few digits"
            if timers
            else "the printed time lies between other readings of the clock in each iteration"
        )
        raise _refused(program, problem)
    return timers.pop(), inputs


def _refused(program: UserProgram, problem: str, remedy: str = _REMEDY) -> KernelError:
    return KernelError(f"{OPTION} {program.time_from!r}", problem, remedy)


def _probe(
    spec: RunSpec, iterations: int, time_limit_s: float | None, stop: threading.Event | None
) -> tuple[tuple[npt.NDArray[np.void], ...], str, Inputs | None]:
    """Return the readings of each rank in a run with invented times, and its output."""
    problem, nranks = spec.target.problem, spec.target.nranks
    if spec.engine == REPLAY:
        return _probe_here(spec, iterations, time_limit_s, stop)
    plain = RunSpec(Target(problem, silent_platform(nranks), ("h",) * nranks), options=kept_options(spec))
    what = f"{problem.on(nranks)} with other times"
    with scratch_folder("timer") as notes:
        done = noted(
            plain, launch(plain, iterations), notes, "no", what=what, time_limit_s=time_limit_s, stop=stop,
            settings={"RECORDER_TIMER": "probe"},
        )  # fmt: skip
        try:
            return by_rank(notes, nranks, "readings", _READING), f"{done.output}\n{done.log}", done.inputs
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err


def _probe_here(
    spec: RunSpec, iterations: int, time_limit_s: float | None, stop: threading.Event | None
) -> tuple[tuple[npt.NDArray[np.void], ...], str, Inputs | None]:
    """Do the same under this computer's MPI, for a program that SMPI cannot run."""
    program = spec.target.problem.program
    assert program is not None
    probed = replace(spec.target.problem, program=replace(program, timer=_Probe()))
    asked = replace(spec, target=replace(spec.target, problem=probed))
    here = provided("apps.replay.native_recording:on_this_computer")(asked, time_limit_s)
    what = f"{probed.on(spec.target.nranks)} with other times"
    with scratch_folder("timer") as notes:
        done = engine_named(MACHINE).note_events(
            here, iterations, notes, what=what, time_limit_s=time_limit_s, stop=stop
        )
        try:
            return by_rank(notes, spec.target.nranks, "readings", _READING), f"{done.output}\n{done.log}", done.inputs
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err


def _candidates(readings: tuple[npt.NDArray[np.void], ...], printed: Printed, program: UserProgram) -> list[_Candidate]:
    """Return the pairs of readings whose difference is printed.

    Raises:
        KernelError: There are none.
    """
    if not any(map(len, readings)):
        raise _refused(program, "the program reads no clock after MPI_Init")
    candidates = [
        _candidate(readings, rank, first, last)
        for rank in range(len(readings))
        for first, last in _pairs(readings[rank]["told_s"], printed)
    ]
    if not candidates:
        mean = _is_mean(readings, printed)
        problem = "the printed time is the mean of all ranks'" if mean else (
            "the printed time is not the difference of two clock readings: a sum, a mean, or in another unit"
        )  # fmt: skip
        raise _refused(program, problem)
    return candidates


def _pairs(told_s: npt.NDArray[np.float64], printed: Printed) -> Iterator[tuple[int, int]]:
    """Yield the indices of pairs of readings that differ by the printed time; the times ascend."""
    tolerance_s = printed.digit_s * (1 + 1e-6) + 1e-9 * printed.time_s
    low = np.searchsorted(told_s, told_s + printed.time_s - tolerance_s)
    high = np.searchsorted(told_s, told_s + printed.time_s + tolerance_s, side="right")
    for first in np.flatnonzero(high > low).tolist():
        for last in range(int(low[first]), int(high[first])):
            if last > first:
                yield first, last


def _candidate(readings: tuple[npt.NDArray[np.void], ...], rank: int, first: int, last: int) -> _Candidate:
    everywhere = all(len(row) > last for row in readings)
    own = readings[rank]
    longest = everywhere and max(
        range(len(readings)), key=lambda other: readings[other]["told_s"][last] - readings[other]["told_s"][first]
    )
    return _Candidate(
        None if everywhere and longest == rank and len(readings) > 1 else rank,
        first + 1,
        last + 1,
        int(own["collectives"][first]),
        int(own["collectives"][last]),
        everywhere,
        bool(own["simulated"][first] and own["simulated"][last]),
    )


def _is_mean(readings: tuple[npt.NDArray[np.void], ...], printed: Printed) -> bool:
    fewest = min(map(len, readings))
    mean_s = np.mean([row["told_s"][:fewest] for row in readings], axis=0)
    return any(True for _ in _pairs(mean_s, printed))


def _laws(counts: list[int], candidates: list[list[_Candidate]]) -> Iterator[Timer]:
    """Yield the timers that fit all probes with ``counts`` iterations."""
    for one in candidates[0][: _MOST_CANDIDATES + 1]:
        if len(counts) == 1:
            yield _law(one, one, 0, 1)
            continue
        for other in candidates[1][: _MOST_CANDIDATES + 1]:
            if (one.rank, one.read_by_all, one.simulated) != (other.rank, other.read_by_all, other.simulated):
                continue
            law = _law(one, other, counts[0], counts[1])
            if all(
                any(_fits(law, count, last) for last in more) for count, more in zip(counts, candidates, strict=True)
            ):
                yield law


def _law(one: _Candidate, other: _Candidate, count: int, more: int) -> Timer:
    def line(a: int, b: int) -> tuple[int, int]:
        slope = (b - a) // (more - count)
        return a - slope * count, slope

    return Timer(
        line(one.first, other.first),
        line(one.last, other.last),
        one.rank,
        one.read_by_all,
        line(one.begin, other.begin),
        line(one.end, other.end),
        one.simulated,
    )


def _fits(law: Timer, count: int, candidate: _Candidate) -> bool:
    lines = (law.first, law.last, law.begin, law.end)
    numbers = [base + slope * count for base, slope in lines]
    return law.rank == candidate.rank and numbers == [
        candidate.first, candidate.last, candidate.begin, candidate.end
    ]  # fmt: skip
