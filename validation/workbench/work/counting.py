"""The size of a suite of applications before it is queued: runs, what the store has, and a rough time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from apps.runs.engines import run_identity
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
from validation.workbench.work.durations import Step, keep, known_steps, run_step
from validation.workbench.work.estimating import LIKE, SAME, Guesses, estimated
from validation.workbench.work.evaluating import evaluation_step
from validation.workbench.work.points import SuitePoint, SuitePoints
from validation.workbench.work.suite_time import time_smallest

MOST_LOOKED_UP = 1000  # evaluations that are looked up in the store
_LOOKED_S = 0.8  # longest time to look up evaluations, and again to look up simulations
_SAMPLED_S = 0.6  # longest time of evaluations that are made for an estimate


def counted(
    folder: Path, text: str, store: str, jobs: int, *, planned: bool, cold: bool = False, far: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield how many runs and evaluations a suite has, its plan in words, and an estimate of its time.

    Args:
        folder: The project folder.
        text: The suite.
        store: Folder of the store.
        jobs: Number of runs at a time.
        planned: Whether the plan and the estimate are wanted; they take most of the time.
        cold: Worker processes have to start before the first run.
        far: Workers of a scheduler make the runs.

    Raises:
        UserError: The suite is wrong, or none of its first points can be placed.
    """
    points = SuitePoints(folder, text)
    looked = points.points[: max(1, MOST_LOOKED_UP // len(points.models))]
    size = {"runs": len(points.points), "predictions": len(points.points) * len(points.models)}
    if not planned:
        with chdir(folder):
            _check_any(looked)
        yield {**size, "plan": [], "estimate": None}
        return
    with ExitStack() as stack:
        kept = None
        if (Path(store) / DATABASE).exists():
            kept = stack.enter_context(Store(Path(store), read_only=True))
        stack.enter_context(chdir(folder))
        lines, steps, sound, many = _evaluations(points, looked, kept, Path(store))
        if points.suite.simulate and sound:
            said, simulated = _simulations(sound, kept, Path(store))
            lines += said
            steps = [[*of_point, *more] for of_point, more in zip(steps, simulated, strict=False)]
    if many < len(points.points):
        lines.insert(0, f"of the first {number_of(many, 'run')}")
    names = ", ".join(points.models) + (", simulated" if points.suite.simulate else "")
    of = round(len(points.points) * len(sound) / many)
    timed = estimated(steps, [], names, known_steps(Path(store)), jobs=jobs, of=of, cold=cold, far=far)
    lines += [str(timed)] if timed else []
    yield {**size, "plan": lines, "estimate": None if timed is None else asdict(timed)}


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
    suite: SuitePoints, looked: Sequence[SuitePoint], store: Store | None, folder: Path
) -> tuple[list[str], list[list[Step]], list[SuitePoint], int]:
    """Return what is known of the evaluations in words, the steps of each sound point, these points, and how many.

    The number is that of the points that were looked at, with those that will fail.

    Args:
        suite: The suite.
        looked: The points that are looked at, unless it takes too long.
        store: The store; None: there is none yet.
        folder: Its folder.
    """
    missing: list[tuple[int, Point]] = []  # with the number of processes
    steps: list[list[Step]] = []
    sound: list[SuitePoint] = []
    kept = 0
    refused: list[UserError] = []
    end_s = time.monotonic() + _LOOKED_S
    for point_run in looked:
        if (sound or refused) and time.monotonic() > end_s:
            break
        of_point: list[Step] = []
        try:
            processes = _processes(point_run)
            for model in suite.models:
                point = point_run.with_model(model)
                if is_kept(point, store):
                    kept += 1
                else:
                    missing.append((processes, point))
                    of_point.append(evaluation_step(point.request, processes))
            sound.append(point_run)
            steps.append(of_point)
        except UserError as err:
            refused.append(err)
    if refused and not sound:
        raise refused[0]
    _sample(missing, folder)
    lines = [f"evaluations: {kept} in the store, {len(missing)} to make"]
    if refused:
        lines.append(f"{number_of(len(refused), 'run')} will fail: {refused[0]}")
    return lines, steps, sound, len(sound) + len(refused)


def _processes(point: SuitePoint) -> int:
    """Return the number of processes of a point.

    Raises:
        UserError: It cannot be placed.
    """
    return sum(setting_from_request(point.request).schedule.counts.values())


def _simulations(sound: Sequence[SuitePoint], store: Store | None, folder: Path) -> tuple[list[str], list[list[Step]]]:
    """Return what is known of the simulations in words, and the steps of each point that is looked at."""
    missing: list[RunSpec] = []
    specs: dict[RunSpec, None] = {}
    steps: list[list[Step]] = []
    end_s = time.monotonic() + _LOOKED_S
    for point in sound:
        of_point: list[Step] = []
        steps.append(of_point)
        with suppress(UserError):  # the run will fail with this reason
            spec = simulation(setting_from_request(point.request))
            if spec not in specs and (store is None or not store.unchanged("record", run_identity(spec))):
                of_point.append(run_step(spec))
                missing.append(spec)
            specs[spec] = None
        if time.monotonic() > end_s:
            break
    if not specs:
        return ["simulations: none of these runs can be simulated"], steps
    time_smallest(missing, folder, generated=True)
    first = "" if len(steps) == len(sound) else f" of the first {len(steps)}"
    said = plan_text(Plan(truths=tuple(specs)), store, 0).replace(f" ({len(specs)} of targets)", "")
    return [f"simulations{first}: {line}" for line in said.splitlines()], steps


def _sample(missing: Sequence[tuple[int, Point]], store: Path) -> None:
    """Make evaluations of the fewest and of the most processes of each model and application that was never timed."""
    guesses = Guesses(known_steps(store))
    groups: dict[tuple[str, str], list[tuple[int, Point]]] = {}
    for processes, point in missing:
        step = evaluation_step(point.request, processes)
        if guesses.of(step).ground not in (SAME, LIKE) or not guesses.has_size(step):
            groups.setdefault((step.name, step.size), []).append((processes, point))
    made: list[tuple[Step, float]] = []
    with _at_most(_SAMPLED_S):
        for group in groups.values():
            _time_s(group[0][1])  # the first evaluation of a process imports and compiles what it needs
            for processes, point in (min(group, key=lambda run: run[0]), max(group, key=lambda run: run[0])):
                made.append((evaluation_step(point.request, processes), _time_s(point)))
    if made:
        store.mkdir(parents=True, exist_ok=True)
        keep(store, made)


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
