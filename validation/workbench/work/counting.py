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

from apps.runs.plan import Plan, plan_text, rough_duration
from apps.spec.run_spec import RunSpec
from apps.store import Store
from apps.store.database import DATABASE
from platforms.errors import UserError
from platforms.wording import number_of
from predictor.blocks.evaluation.evaluate import Result
from predictor.blocks.options import setting_from_arguments
from predictor.blocks.series.evaluations import KIND, evaluated, identity
from predictor.blocks.series.points import Point
from predictor.series.pool import Kept
from validation.blocks.comparison import simulation
from validation.workbench.work.points import SuitePoint, SuitePoints

MOST_LOOKED_UP = 1000  # evaluations that are looked up in the store
_LOOKED_S = 0.8  # longest time to look up evaluations, and again to look up simulations
_SAMPLED_S = 0.6  # longest time of evaluations that are made for an estimate
_MOST_SAMPLES = 4


def counted(folder: Path, text: str, store: str, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield how many runs and evaluations a suite has, and its plan in words.

    Args:
        folder: The project folder.
        text: The suite.
        store: Folder of the store.
        jobs: Number of runs at a time.

    Raises:
        UserError: The suite is wrong, or none of its first points can be placed.
    """
    found = SuitePoints(folder, text)
    looked = found.points[: max(1, MOST_LOOKED_UP // len(found.models))]
    with ExitStack() as stack:
        kept = None
        if (Path(store) / DATABASE).exists():
            kept = stack.enter_context(Store(Path(store), read_only=True))
        stack.enter_context(chdir(folder))
        lines, sound, many = _evaluations(found, looked, kept, jobs)
        if many < len(found.points):
            lines.insert(0, f"of the first {number_of(many, 'run')}:")
        if found.suite.simulate and sound:
            lines += _simulations(sound, kept, jobs)
    yield {"runs": len(found.points), "predictions": len(found.points) * len(found.models), "plan": lines}


def _evaluations(
    suite: SuitePoints, looked: Sequence[SuitePoint], store: Store | None, jobs: int
) -> tuple[list[str], list[SuitePoint], int]:
    """Return what is known of evaluations, in words, the points that can be placed, and how many were looked up.

    Raises:
        UserError: No point can be placed.
    """
    results = Kept(KIND, Result, store)
    missing: list[tuple[int, Point]] = []  # with the number of processes
    sound: list[SuitePoint] = []
    kept, many = 0, 0
    refused: list[UserError] = []
    end_s = time.monotonic() + _LOOKED_S
    for one in looked:
        if many and time.monotonic() > end_s:
            break
        many += 1
        try:
            processes = sum(setting_from_arguments(one.args).schedule.counts.values())
            for model in suite.models:
                point = one.with_model(model)
                if results.get(identity(point.args)) is None:
                    missing.append((processes, point))
                else:
                    kept += 1
            sound.append(one)
        except UserError as err:
            refused.append(err)
    if refused and not sound:
        raise refused[0]
    line = f"evaluations: {kept} in the store, {len(missing)} to make"
    lines = [line + _estimate(missing, jobs)]
    if refused:
        lines.append(f"{number_of(len(refused), 'run')} will fail: {refused[0]}")
    return lines, sound, many


def _simulations(sound: Sequence[SuitePoint], store: Store | None, jobs: int) -> list[str]:
    """Return what is known of the simulations in words."""
    specs: dict[RunSpec, None] = {}
    many = 0
    end_s = time.monotonic() + _LOOKED_S
    for one in sound:
        many += 1
        specs[simulation(setting_from_arguments(one.args))] = None
        if time.monotonic() > end_s:
            break
    first = "" if many == len(sound) else f" of the first {many}"
    said = plan_text(Plan(truths=tuple(specs)), store, jobs).replace(f" ({len(specs)} of targets)", "")
    return [f"simulations{first}: {line}" for line in said.splitlines()]


def _estimate(missing: Sequence[tuple[int, Point]], jobs: int) -> str:
    """Return the rough time of evaluations in words, from a few that are made."""
    if not missing:
        return ""
    samples = _samples(sorted(missing, key=lambda one: one[0]))
    if not samples:
        return f"; one on {missing[0][0]:,} processes takes longer than {_SAMPLED_S:g} s, so that there is no estimate"

    def estimated_s(processes: int) -> float:
        near = min(samples, key=lambda known: abs(known - processes))
        return samples[near] * max(1.0, processes / near)

    total_s = sum(estimated_s(processes) for processes, _ in missing) / min(jobs, len(missing))
    return f", about {rough_duration(total_s)} with {min(jobs, len(missing))} at a time"


def _samples(missing: Sequence[tuple[int, Point]]) -> dict[int, float]:
    """Return wall times, s, by number of processes: of the smallest point, and of larger ones while there is time."""
    found: dict[int, float] = {}
    left_s = _SAMPLED_S
    with _at_most(_SAMPLED_S):
        processes, point = missing[0]
        _time_s(point)  # the first evaluation of a process imports and compiles what it needs
        while True:
            found[processes] = time_s = _time_s(point)
            left_s -= time_s
            larger = [
                one
                for one in missing
                if one[0] > processes and time_s * (one[0] / max(1, processes)) ** 2 <= left_s
            ]  # fmt: skip
            if not larger or len(found) == _MOST_SAMPLES:
                break
            processes, point = larger[-1]
    return found


def _time_s(point: Point) -> float:
    started_s = time.perf_counter()
    with suppress(UserError):  # the run will fail with this reason
        evaluated(point.args)
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
