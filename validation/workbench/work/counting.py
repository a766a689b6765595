"""The size of a suite of applications before it is queued: runs, what the store has, and a rough time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from apps.runs.limits import rough_duration
from apps.runs.plan import Plan, plan_text
from apps.spec.run_spec import RunSpec
from apps.store import Store
from apps.store.database import DATABASE
from platforms.errors import UserError
from platforms.wording import number_of
from predictor.blocks.options import setting_from_request
from predictor.blocks.series.evaluations import evaluated, is_kept
from predictor.blocks.series.points import Point
from validation.blocks.comparison import simulation
from validation.workbench.work.points import SuitePoint, SuitePoints

MOST_LOOKED_UP = 1000  # evaluations that are looked up in the store
_LOOKED_S = 0.8  # longest time to look up evaluations, and again to look up simulations
_SAMPLED_S = 0.6  # longest time of evaluations that are made for an estimate


def counted(folder: Path, text: str, store: str, jobs: int, *, planned: bool) -> Iterator[dict[str, Any]]:
    """Yield how many runs and evaluations a suite has, and its plan in words.

    Args:
        folder: The project folder.
        text: The suite.
        store: Folder of the store.
        jobs: Number of runs at a time.
        planned: Whether the plan is wanted; it takes most of the time.

    Raises:
        UserError: The suite is wrong, or none of its first points can be placed.
    """
    points = SuitePoints(folder, text)
    looked = points.points[: max(1, MOST_LOOKED_UP // len(points.models))]
    size = {"runs": len(points.points), "predictions": len(points.points) * len(points.models)}
    if not planned:
        with chdir(folder):
            _check_any(looked)
        yield {**size, "plan": []}
        return
    with ExitStack() as stack:
        kept = None
        if (Path(store) / DATABASE).exists():
            kept = stack.enter_context(Store(Path(store), read_only=True))
        stack.enter_context(chdir(folder))
        lines, sound, many, time_s = _evaluations(points, looked, kept, jobs)
        if many < len(points.points):
            all_s = time_s * len(points.points) / many
            told = f"; all {len(points.points):,}, if they are alike: about {rough_duration(all_s)}" if time_s else ""
            lines.insert(0, f"of the first {number_of(many, 'run')}{told}")
        if points.suite.simulate and sound:
            lines += _simulations(sound, kept, jobs)
    yield {**size, "plan": lines}


def _check_any(looked: Sequence[SuitePoint]) -> None:
    """Raise what is wrong with the first point, unless another one that is tried can be placed."""
    refused: list[UserError] = []
    end_s = time.monotonic() + _LOOKED_S
    for point in looked:
        try:
            _processes(point)
        except UserError as err:
            refused.append(err)
        else:
            return
        if time.monotonic() > end_s:
            break
    raise refused[0]


def _evaluations(
    suite: SuitePoints, looked: Sequence[SuitePoint], store: Store | None, jobs: int
) -> tuple[list[str], list[SuitePoint], int, float]:
    """Return what is known of evaluations in words, the points that can be placed, how many were tried, and a time.

    The time is the rough wall time, s, of the evaluations that are missing; 0: it is not known, or none is missing.

    Raises:
        UserError: No point can be placed.
    """
    missing: list[tuple[int, Point]] = []  # with the number of processes
    sound: list[SuitePoint] = []
    kept, many = 0, 0
    refused: list[UserError] = []
    end_s = time.monotonic() + _LOOKED_S
    for point_run in looked:
        if many and time.monotonic() > end_s:
            break
        many += 1
        try:
            processes = _processes(point_run)
            for model in suite.models:
                point = point_run.with_model(model)
                if is_kept(point, store):
                    kept += 1
                else:
                    missing.append((processes, point))
            sound.append(point_run)
        except UserError as err:
            refused.append(err)
    if refused and not sound:
        raise refused[0]
    time_s = _wall_s(missing, jobs)
    line = f"evaluations: {kept} in the store, {len(missing)} to make"
    if missing and time_s is None:
        line += f"; the smallest takes longer than {_SAMPLED_S:g} s, so that there is no estimate"
    elif time_s is not None:
        line += f", about {rough_duration(time_s)} with {min(jobs, len(missing))} at a time"
    lines = [line]
    if refused:
        lines.append(f"{number_of(len(refused), 'run')} will fail: {refused[0]}")
    return lines, sound, many, time_s or 0.0


def _processes(point: SuitePoint) -> int:
    """Return the number of processes of a point.

    Raises:
        UserError: It cannot be placed.
    """
    return sum(setting_from_request(point.request).schedule.counts.values())


def _simulations(sound: Sequence[SuitePoint], store: Store | None, jobs: int) -> list[str]:
    """Return what is known of the simulations in words."""
    specs: dict[RunSpec, None] = {}
    many = 0
    end_s = time.monotonic() + _LOOKED_S
    for point in sound:
        many += 1
        with suppress(UserError):  # the run will fail with this reason
            specs[simulation(setting_from_request(point.request))] = None
        if time.monotonic() > end_s:
            break
    if not specs:
        return ["simulations: none of these runs can be simulated"]
    first = "" if many == len(sound) else f" of the first {many}"
    said = plan_text(Plan(truths=tuple(specs)), store, jobs).replace(f" ({len(specs)} of targets)", "")
    return [f"simulations{first}: {line}" for line in said.splitlines()]


def _wall_s(missing: Sequence[tuple[int, Point]], jobs: int) -> float | None:
    """Return the rough wall time of evaluations, s, from two that are made: of the fewest and the most processes.

    None: there are none, or the first of the two takes too long.
    """
    if not missing:
        return None
    samples = _samples(
        min(missing, key=lambda missing_run: missing_run[0]), max(missing, key=lambda missing_run: missing_run[0])
    )
    if not samples:
        return None
    (few, least_s), (many, most_s) = samples[0], samples[-1]
    slope = (most_s - least_s) / (many - few) if many > few else least_s / max(1, few)
    return sum(max(0.0, least_s + slope * (processes - few)) for processes, _ in missing) / min(jobs, len(missing))


def _samples(first: tuple[int, Point], last: tuple[int, Point]) -> list[tuple[int, float]]:
    """Return numbers of processes and wall times, s, of evaluations that do not take too long."""
    samples: list[tuple[int, float]] = []
    with _at_most(_SAMPLED_S):
        _time_s(first[1])  # the first evaluation of a process imports and compiles what it needs
        for processes, point in (first, last):
            samples.append((processes, _time_s(point)))
    return samples


def _time_s(point: Point) -> float:
    started_s = time.perf_counter()
    with suppress(UserError):  # the run will fail with this reason
        evaluated(point.request)
    return time.perf_counter() - started_s


class _TooLong(Exception):
    """An evaluation has taken longer than the limit."""


@contextmanager
def _at_most(limit_s: float) -> Iterator[None]:
    """End what takes longer, silently; only the main thread of a worker can do so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_: int, __: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
