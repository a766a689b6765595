"""Runs of suites of applications: each model evaluates a point, and a simulation of the same description may follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.store import Store
from platforms.errors import UserError
from predictor.blocks.evaluation.evaluate import LabelResult, Result
from predictor.blocks.options import setting_from_request
from predictor.blocks.parts import KINDS, total
from predictor.blocks.series.evaluations import evaluated, made_and_kept
from predictor.blocks.series.points import ApplicationOptions
from predictor.blocks.setting import Setting
from validation.blocks.comparison import simulate, simulated_energy_j
from validation.blocks.series import PointRun
from validation.workbench.work.durations import EVALUATION, Step
from validation.workbench.work.points import OPTIONS, SuitePoint, SuitePoints
from validation.workbench.work.timing import Course, TimedRunner

if TYPE_CHECKING:
    from validation.workbench.work.far import EvaluatingCluster

_FLAT = ("label", "steps")  # fields of a label that are no columns of their own


def outcomes(
    folder: Path, suite: SuitePoints, chosen: Sequence[tuple[int, str]], runner: TimedRunner, store: Store,
    cluster: EvaluatingCluster | None = None, begin: Callable[[int], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the results of points, or the reason why one failed.

    Args:
        folder: The project folder.
        suite: The suite.
        chosen: The number of each point, and the hash of its files when it was queued.
        runner: The runner of the simulations.
        store: Where evaluations are looked up and kept.
        cluster: Evaluates the points; None: this process does.
        begin: Told of the number of each point before it is made.
    """
    suite.forget_contents()
    if suite.suite.simulate and len(chosen) > 1:
        with chdir(folder):
            asked = (PointRun.of(suite.points[number].point) for number, _ in chosen)  # a run says later what is wrong
            runner.start(point_run.spec for point_run in asked if point_run.spec is not None)
    if cluster is not None:
        with chdir(folder):
            points = [suite.points[number] for number, _ in chosen]
            cluster.ask((point.with_model(model) for point in points for model in suite.models), store)
    for number, known in chosen:
        begin(number)
        with chdir(folder):
            try:
                answer = _outcome(suite, suite.points[number], known, runner, store, cluster)
            except (UserError, SimulationError) as err:
                answer = {"results": [], "reason": str(err)}
        yield {"case": number, **answer}


def _outcome(
    suite: SuitePoints, point_run: SuitePoint, known: str, runner: TimedRunner, store: Store,
    cluster: EvaluatingCluster | None,
) -> dict[str, Any]:  # fmt: skip
    if suite.content_of(point_run) != known:
        what = f"{Path(point_run.request.application).name} or {Path(point_run.request.system).name}"
        reason = f"{what}: it, or a model, has changed since the suite was queued. Queue it again."
        return {"results": [], "reason": reason}
    setting = setting_from_request(point_run.request)
    _ = setting.schedule  # raises the error that all models would
    points = [point_run.with_model(model) for model in suite.models]
    make = partial(_timed, runner.course) if cluster is None else cluster.evaluated
    results = made_and_kept(points, make, Result, store, 1)
    record, reasons = None, []
    if suite.suite.simulate:
        try:
            record = simulate(setting, runner)
        except (UserError, SimulationError) as err:
            reasons.append(str(err))
    rows = []
    for point, result in zip(points, results, strict=True):
        if isinstance(result, UserError):
            reasons.append(f"model {point.request.model}: {result}")
        else:
            cautions = [*setting.cautions(point.request.model), *result.cautions]
            rows.append(_row(point_run, point.request.model, result, setting, record, cautions))
    return {"results": rows, "reason": " ".join(reasons)}


def evaluation_step(request: ApplicationOptions, processes: int) -> Step:
    """Return the step that the evaluation of a point is."""
    name, size = Path(request.model).name, Path(request.application).stem
    return Step(EVALUATION, name, size, processes, max(1, processes))


def _timed(course: Course, request: ApplicationOptions) -> Result:
    """Evaluate a point, and tell how long it took."""
    course.say(f"{Path(request.model).name} evaluates {Path(request.application).name}")
    started_s = time.perf_counter()
    result = evaluated(request)
    processes = sum(label.processes for label in result.labels)
    course.took(evaluation_step(request, processes), time.perf_counter() - started_s)
    return result


def _row(
    point: SuitePoint, model: str, result: Result, setting: Setting, record: RunRecord | None, cautions: Sequence[str]
) -> dict[str, Any]:  # fmt: skip
    """Return a result as the columns of the downloads, with a list of the labels besides."""
    simulated_s = None if record is None else record.time_s
    simulated_j = None if record is None else simulated_energy_j(setting, record, point.request.power)
    error_pct = _error_pct(result.time_s, simulated_s)
    labels = [_label(label, result, setting, record) for label in result.labels]
    row: dict[str, Any] = {
        "app": Path(point.request.application).stem,
        "scenario": Path(point.request.system).stem,
        "predictor": Path(model).name,
        "policy": point.request.policy,
        "power": point.request.power,
        "ranks": sum(label.processes for label in result.labels),
        "nodes": result.nodes,
        "predicted_s": result.time_s,
        "simulated_s": simulated_s,
        "error_pct": error_pct,
        "abs_error_pct": None if error_pct is None else abs(error_pct),
        "energy_predicted_j": result.energy_j,
        "energy_simulated_j": simulated_j,
        "energy_error_pct": None if result.energy_j is None else _error_pct(result.energy_j, simulated_j),
        "success": result.success,
        "evaluator": result.evaluator,
        "flags": "; ".join(cautions),
        "unknown": "; ".join(result.unknown),
    }
    values = {name: value for name, value in point.values().items() if name not in OPTIONS}
    row |= {name if name not in row else f"value_{name}": value for name, value in values.items()}
    for label in labels:
        row |= {f"{label['label']}_{key}": value for key, value in label.items() if key not in _FLAT}
    return {**row, "labels": labels, "model": model}


def _label(label: LabelResult, result: Result, setting: Setting, record: RunRecord | None) -> dict[str, Any]:
    """Return when the processes of a label end, what a process does in the mean, and its energy."""
    parts = total(label.steps)
    each = {f"{kind}_s": getattr(parts, f"{kind}_s") / label.processes for kind in KINDS}
    values = {
        "label": label.label,
        "processes": label.processes,
        "units": label.units,
        "first_s": label.first_s,
        "last_s": label.last_s,
        **each,
        "idle_s": label.idle_s / label.processes,
        "energy_j": label.energy_j,
        "power_w": None if label.energy_j is None or not result.time_s else label.energy_j / result.time_s,
    }
    simulated = dict.fromkeys(("simulated_last_s", "simulated_computing_s", "simulated_communicating_s"))
    if record is not None:
        simulated |= _simulated(label.label, setting.application.counts(), record)
    return {**values, **simulated}


def _simulated(label: str, counts: Mapping[str, int], record: RunRecord) -> dict[str, float]:
    """Return when the last process of a label ends in the simulation, and what a process does in the mean, s."""
    names = list(counts)
    first = sum(counts[name] for name in names[: names.index(label)])
    of_label = slice(first, first + counts[label])
    compute_s, comm_s = np.array(record.compute_s[of_label]), np.array(record.comm_s[of_label])
    return {
        "simulated_last_s": float((compute_s + comm_s).max()),
        "simulated_computing_s": float(compute_s.mean()),
        "simulated_communicating_s": float(comm_s.mean()),
    }


def _error_pct(evaluated: float, simulated: float | None) -> float | None:
    return None if not simulated else 100 * (evaluated - simulated) / simulated
