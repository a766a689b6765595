"""Iterations that differ but repeat in groups: for example with an extra step every tenth iteration, or alternating.

Such iterations have unequal numbers of calls, so the calls are searched for a repetition.  The program is then treated
as one with fewer iterations, each of which is a whole period.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.errors import KernelError, SimulationError
from apps.recording.files import Incomplete
from apps.recording.fingerprints import calls_without_clocks, read_calls
from apps.results.record import RunRecord
from apps.results.steady import FIRST_TRY
from apps.runs.computation import with_timer, with_work
from apps.runs.fingerprints import silent_platform
from apps.runs.neutral import kept_options
from apps.smpi.engine import note_fingerprints
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.files.scratch import scratch_folder
from platforms.terminal.progress import doing

_TRIED = (24, 96)  # iterations that are searched for a period
_LEAST_REPEATS = 3
_LEAST_SHARE = 0.5  # of the calls of a rank that must repeat
_SYMBOLS_TRIED = 8
_MOST_PERIODS_TRIED = 5
_SPAN = 3  # growth of the number of iterations searched for the period
_CHECKED = 8  # periods
_CALLS_PER_MESSAGE = 3  # to send, to receive, to wait
Calls = Sequence[npt.NDArray[np.uint64]]  # hashes of calls by rank


def in_periods(
    spec: RunSpec,
    *,
    full_below_messages: int = 0,
    store: Store | None = None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
    **_: Any,
) -> RunSpec | None:
    """Return the spec with a program whose iterations are periods of the spec's program, or None.

    None: no period of at least two was found within a tenth of the iterations, or all iterations send fewer messages
        than ``full_below_messages``, so that simulating all of them is as cheap.

    Raises:
        Stopped: ``stop`` was set.
    """
    program, iterations = spec.target.problem.program, spec.target.iterations
    if program is None or program.period > 1 or spec.engine != "smpi":
        return None

    def calls(count: int) -> Calls:
        rows = _calls(spec, count, time_limit_s, stop)
        if sum(map(len, rows)) * iterations < _CALLS_PER_MESSAGE * full_below_messages * count:
            raise KernelError(str(spec.target), "few messages", "Simulate it in full")
        return rows

    with doing(f"searching the calls of {spec.target.problem} for a period"):
        for count in _TRIED:
            if (_SPAN + 1) * count > iterations:
                return None
            try:
                period = found_period(calls, count)
            except (SimulationError, KernelError):
                return None
            if period is not None:
                break
        else:
            return None
    if 2 * FIRST_TRY * period > iterations:
        return None
    problem = replace(spec.target.problem, program=replace(program.in_periods(period), timer=None))
    longer = replace(spec, target=replace(spec.target, problem=problem), work=None)
    limits: dict[str, Any] = {"store": store, "time_limit_s": time_limit_s, "stop": stop}
    return with_work(with_timer(longer, **limits), **limits)


def of_iterations(record: RunRecord, spec: RunSpec) -> RunRecord:
    """Return the record of periods as a record of the iterations of the original program."""
    program, how = spec.target.problem.program, record.extrapolation
    assert program is not None
    if how is None:
        return record

    def ones(periods: int) -> int:
        return periods * program.period + program.rest

    basis = f"all {ones(how.iterations)} were found to repeat, every {how.period * program.period}"
    how = replace(
        how, iterations=ones(how.iterations), simulated=ones(how.simulated), period=how.period * program.period
    )
    return replace(record, extrapolation=how, iterations_basis=basis)


def found_period(calls: Callable[[int], Calls], count: int) -> int | None:
    """Return the number of iterations, at least two, after which the calls of all ranks repeat; None: none found.

    Args:
        calls: Returns the calls of a run of a number of iterations.
        count: Number of iterations to search.
    """
    rows = calls(count)
    lags = [lag for row in rows if (lag := _lag(row)) is not None]
    if len(lags) < len(rows):
        return None

    def periods(more: int) -> list[float]:
        """Return how often each rank's calls repeat in a number of additional iterations."""
        return [
            (len(longer) - len(row)) / lag for longer, row, lag in zip(calls(count + more), rows, lags, strict=True)
        ]

    many = periods(_SPAN * count)
    if min(many) <= 0:
        return None
    about = _SPAN * count / min(many)  # a rank may repeat several times in the period of another one
    for period in sorted(range(2, count // _LEAST_REPEATS + 1), key=lambda one: abs(one - about))[:_MOST_PERIODS_TRIED]:
        # A program may round the number of iterations up to whole periods: one more shows little.
        once, often = periods(period), periods(_CHECKED * period)
        if all(a > 0 and a == int(a) and b == _CHECKED * a for a, b in zip(once, often, strict=True)):
            return period
    return None


def _lag(row: npt.NDArray[np.uint64]) -> int | None:
    """Return the least distance at which at least half of a rank's calls repeat three times; None: there is none."""
    for lag in _distances(row):
        same = np.concatenate([[False], row[:-lag] == row[lag:], [False]])
        edges = np.flatnonzero(np.diff(same.view(np.int8)))
        longest = int((edges[1::2] - edges[::2]).max(initial=0)) + lag
        if longest >= max(_LEAST_REPEATS * lag, _LEAST_SHARE * len(row)):
            return lag
    return None


def _distances(row: npt.NDArray[np.uint64]) -> Iterator[int]:
    """Yield distances between equal calls of the rarest kinds, ascending."""
    values, counts = np.unique(row, return_counts=True)
    often = np.flatnonzero(counts >= _LEAST_REPEATS)
    lags: set[int] = set()
    for symbol in values[often[np.argsort(counts[often], kind="stable")]][:_SYMBOLS_TRIED]:
        places = np.flatnonzero(row == symbol)
        middle = len(places) // 2
        lags.update(abs(int(other - places[middle])) for other in places if other != places[middle])
    yield from sorted(lags)


def _calls(spec: RunSpec, count: int, time_limit_s: float | None, stop: threading.Event | None) -> Calls:
    problem, nranks = spec.target.problem, spec.target.nranks
    plain = RunSpec(Target(problem, silent_platform(nranks), ("h",) * nranks), options=kept_options(spec))
    what = f"{count} iterations of {problem.on(nranks)}"
    with scratch_folder("periods") as notes:
        done = note_fingerprints(plain, count, notes, calls=True, what=what, time_limit_s=time_limit_s, stop=stop)
        try:
            return [calls_without_clocks(row) for row in read_calls(notes, nranks)]
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err
