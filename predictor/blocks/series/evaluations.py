"""Evaluations of many points, pooled and kept in the store by all that decides their result, and their rows."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from apps.errors import SimulationError
from apps.options.runner import PoolOptions, checked_pool, store_from_request
from apps.store import Store
from platforms.errors import UserError, nearest
from platforms.plotting.words import value_text
from platforms.terminal.progress import doing
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import table_lines
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.parts import KINDS, total
from predictor.blocks.series.points import OPTIONS, VARY, ApplicationOptions, Point
from predictor.series.curves import Quantity, lines_of
from predictor.series.front import pareto_front
from predictor.series.pool import Kept, answers, sources_hash

KIND = "evaluation"  # of apps.store.KINDS
_SOURCES = (
    *("platforms", "apps/recording", "apps/results", "predictor/base.py"),
    *("predictor/blocks", "predictor/dpgraph", "predictor/graph", "predictor/network", "predictor/native"),
)
_OPTIONS = ("policy", "failure_rate", "evaluator", "power", "power_law", "shapes", "p_counts", "parts")

Answer = TypeVar("Answer")
TIME = Quantity("time_s", "time, s")
ENERGY = Quantity("energy_j", "energy of the nodes in use, J")
QUANTITIES = (
    TIME,
    Quantity("speed_up", "speed-up"),
    Quantity("efficiency", "efficiency", logarithmic=False, whole=0.0),
    ENERGY,
    Quantity("success", "probability of success", logarithmic=False),
)
FIXED = ("application", "system", "model", "power")  # columns before those of the varied names
FOUND = (
    *("processes", "nodes", "time_s", "speed_up", "efficiency", "energy_j", "success", "on_front"),
    *("evaluator", "evaluated", "refused"),
)


def evaluations(points: Sequence[Point], store: Store | None, jobs: int) -> list[Result | UserError]:
    """Return the result of each point, or the reason why it has none, as ``made_and_kept`` does."""
    return made_and_kept(points, evaluated, Result, store, jobs)


def made_from_request(
    request: PoolOptions,
    points: Sequence[Point],
    make: Callable[[Any], Answer],
    answer_type: type[Answer],
    what: str,
    also: Mapping[str, Any] | None = None,
) -> list[Answer | UserError]:
    """Return what is made of each point as ``made_and_kept`` does, with the jobs and the store that are asked for.

    ``what`` is shown while it is made.
    """
    jobs = checked_pool(request)
    with store_from_request(request) as store, doing(what):
        return made_and_kept(points, make, answer_type, store, jobs, also)


def made_and_kept(
    points: Sequence[Point],
    make: Callable[[Any], Answer],
    answer_type: type[Answer],
    store: Store | None,
    jobs: int,
    also: Mapping[str, Any] | None = None,
) -> list[Answer | UserError]:
    """Return what is made of the options of each point, or the reason why it cannot be made.

    Args:
        points: The points.
        make: A function of a module, whose answer is decided by ``identity`` of the options.
        answer_type: The type of its answers, a dataclass.
        store: Where answers are looked up and kept; None: nowhere.
        jobs: Number of processes.
        also: All that decides the answers beside ``identity``, as JSON values.

    Raises:
        UserError: A process was killed.
        KeyboardInterrupt: With the number of results that are kept.
    """
    made_answers: list[Answer | UserError | None] = [None] * len(points)
    identities = {}
    for at, point in enumerate(points):
        try:
            identities[at] = _identity_of(answer_type, point, also)
        except UserError as err:
            made_answers[at] = err
    made = answers(
        [points[at].request for at in identities], make, list(identities.values()), Kept(KIND, answer_type, store),
        jobs=jobs, names=[str(points[at]) or points[at].request.application for at in identities],
    )  # fmt: skip
    for at, answer in zip(identities, made, strict=True):
        if isinstance(answer, SimulationError):  # evaluations simulate nothing
            raise answer
        made_answers[at] = answer
    return [answer for answer in made_answers if answer is not None]


def model_cautions(point: Point) -> list[str]:
    """Return the cautions about the model of a point; only a calibration file has some."""
    model = point.request.model
    return setting_from_request(point.request).cautions(model) if os.path.isfile(model) else []


def is_kept(point: Point, store: Store | None) -> bool:
    """Return whether the store has the result of a point, which ``evaluations`` would take from it.

    Raises:
        UserError: An option or a file is wrong.
    """
    return Kept(KIND, Result, store).get(_identity_of(Result, point)) is not None


def _identity_of(answer_type: type[Any], point: Point, also: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"answer": answer_type.__name__, **(also or {}), **identity(point.request)}


def evaluated(request: ApplicationOptions) -> Result:
    """Return the result of evaluating the application that the options of a command name.

    Raises:
        UserError: An option or a file is wrong, or the application cannot be evaluated.
    """
    setting = setting_from_request(request)
    machine = machine_from_request(request, setting)
    return evaluate(setting.application, machine, evaluator=request.evaluator, power=request.power, parts=request.parts)


def identity(request: ApplicationOptions) -> dict[str, Any]:
    """Return all that decides the result, as JSON values.

    Raises:
        UserError: An option or a file is wrong.
    """
    setting = setting_from_request(request)
    application = setting.application
    given = (application.name, application.given, application.steps, application.variables, application.functions)
    files = [request.model, *(text.partition("=")[2] for text in request.component)]
    return {
        "application": _digest(repr(given)),
        "system": _digest(repr(replace(setting.system, source=""))),
        "models": [_digest(Path(name).read_bytes()) if os.path.isfile(name) else name for name in files],
        "component": [text.partition("=")[0] for text in request.component],
        **{name: getattr(request, name) for name in _OPTIONS},
        "sources": sources_hash(*_SOURCES),
        "numpy": np.__version__,
    }


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:32]


PARTS = (*(f"{kind}_s" for kind in KINDS), "idle_s")  # columns with --parts, which add up to time_s


def over_from(option: str, over: str | None, points: Sequence[Point]) -> str:
    """Return the name along the axes; None: the first name with several values, or the first.

    Raises:
        UserError: The name is not varied, or is that of a column.
    """
    names = list(points[0].values)
    for name in names:
        if name in (*FIXED, *FOUND, *PARTS) and name not in OPTIONS:
            raise UserError(f"{VARY} {name}=...", "the results have a column of this name", "Rename it in the file")
    if over is None:
        several = [name for name in names if len({point.values[name] for point in points}) > 1]
        return [*several, *names][0]
    if over not in names:
        raise UserError(f"{option} {over}", "this is not varied", nearest(over, names))
    return over


def rows_of(points: Sequence[Point], results: Sequence[Result | UserError], over: str) -> list[dict[str, Any]]:
    """Return a row for each point; what a refused point does not have is None.

    Speed-up and efficiency are relative to the row with the fewest processes among those that differ in ``over`` only.
    """
    rows = []
    for point, result in zip(points, results, strict=True):
        request = point.request
        row: dict[str, Any] = {"application": request.application, "system": request.system, "model": request.model}
        row |= {"power": request.power, **dict.fromkeys(point.values), **dict.fromkeys(FOUND)}
        row |= {name: number(value) for name, value in point.values.items()}
        if isinstance(result, Result):
            row |= {
                "application": result.application,
                "processes": sum(label.processes for label in result.labels),
                "nodes": result.nodes,
                "time_s": result.time_s,
                "energy_j": result.energy_j,
                "success": result.success,
                "evaluator": result.evaluator,
                "evaluated": result.evaluated,
            }
            if request.parts:
                row |= parts_of(result)
        else:
            row["refused"] = str(result)
        rows.append(row)
    compare_rows(rows, over, list(points[0].values))
    set_front(rows)
    return rows


def parts_of(result: Result) -> dict[str, float]:
    """Return the parts of the time by column, s, the mean over all processes; idle is until the overall end."""
    processes = sum(label.processes for label in result.labels)
    parts = total(tuple(step for label in result.labels for step in label.steps))
    values = {f"{kind}_s": getattr(parts, f"{kind}_s") / processes for kind in KINDS}
    return {**values, "idle_s": max(0.0, result.time_s - parts.time_s / processes)}


def compare_rows(rows: Sequence[dict[str, Any]], over: str, names: Sequence[str], kind: str = "") -> None:
    """Set speed-up and efficiency of the rows.

    Args:
        rows: The rows, in which a time may be None.
        over: The name over which speed-ups are taken.
        names: All varied names.
        kind: Prefix of the columns, such as ``simulated_``.
    """
    for places in lines_of(rows, over, names).values():
        known = [rows[at] for at in places if rows[at][f"{kind}time_s"]]
        base = min(known, key=lambda row: row["processes"], default=None)
        for row in known:
            assert base is not None
            speed_up = base[f"{kind}time_s"] / row[f"{kind}time_s"]
            row[f"{kind}speed_up"] = speed_up
            row[f"{kind}efficiency"] = speed_up * base["processes"] / row["processes"]


def set_front(rows: Sequence[dict[str, Any]]) -> None:
    """Set ``on_front`` of the rows that know time and energy, which are equal where they differ by rounding errors."""
    both = [row for row in rows if row["time_s"] is not None and row["energy_j"] is not None]
    front = set(pareto_front([(float(f"{row['time_s']:.9g}"), float(f"{row['energy_j']:.9g}")) for row in both]))
    for at, row in enumerate(both):
        row["on_front"] = at in front


def text_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str], title: str, *, wide: bool = False) -> str:
    """Return the rows as a table of text; ``wide``: with the evaluators."""
    slowest_s = max((row["time_s"] for row in rows if row["time_s"] is not None), default=0.0)
    columns: dict[str, list[str]] = {
        **{name: [value_text(row[name]) for row in rows] for name in names},
        "processes": [_text(row["processes"]) for row in rows],
        "nodes": [_text(row["nodes"]) for row in rows],
        "time": [duration(row["time_s"], like_s=slowest_s) for row in rows],
        "speed-up": [significant(row["speed_up"]) for row in rows],
        "efficiency": [significant(row["efficiency"]) for row in rows],
        "energy, J": [significant(row["energy_j"]) for row in rows],
        "success": [_probability(row["success"]) for row in rows],
        "front": ["*" if row["on_front"] else "" for row in rows],
    }
    for name in ("energy, J", "success"):
        if set(columns[name]) == {"-"}:
            del columns[name]
    if "energy, J" not in columns:
        del columns["front"]
    if wide:
        columns["evaluated as"] = [row["evaluator"] or "-" for row in rows]
    cells = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    left = {number for number, name in enumerate(columns) if name in names or name == "evaluated as"}
    lines = [*prose_lines(title), "", *table_lines(cells, left=left, wide=wide)]
    if "front" in columns:
        lines += ["", *prose_lines("* on the Pareto front of time and energy: no other row is better in both")]
    return "\n".join(lines)


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _probability(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def number(text: str) -> int | float | str:
    """Return the number that a text is, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
