"""Output of an answer as text and as JSON, and measured speed-ups beside the model's."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, percent, significant
from platforms.terminal.table import table_lines
from predictor.hierarchical.allocation import Allocation
from predictor.hierarchical.answer import AllocationAnswer, is_counted
from predictor.hierarchical.model import DERIVED
from predictor.hierarchical.surface import Surface

_REMEDY = "Give a CSV file with cores_per_node, nodes, and time_s or speedup"


def text(made: AllocationAnswer) -> str:
    """Return the answer as text, with the lines of the batch script at the end."""
    question, system = made.question, made.question.system
    lines = [
        f"{_named(made)}, on {system.name} ({_counted(system.nodes, 'node')} of "
        f"{_counted(system.cores, 'core')}): {made.equation}",
        _line("expected on", made, made.asked),
    ]
    lines.append(made.parameters.line())
    if made.best != made.asked:
        lines.append(_line("best is", made, made.best))
    lines.append(_line(f"smallest within {100 * question.within:g} % of the best:", made, made.smallest))
    optima = (
        ()
        if is_counted(question) or question.recorded is not None
        else (
            ("best cores per node", "q_E", made.optimum_cores, _counted(made.asked.nodes, "node"), system.cores),
            (
                "best nodes",
                "p_E",
                made.optimum_nodes,
                f"{_counted(made.asked.cores_per_node, 'core')} of each",
                system.nodes,
            ),
        )
    )
    variant = DERIVED if question.own is not None or question.has_classes else question.variant
    for name, symbol, optimum, given, most in optima:
        said = optimum.why if optimum.value is None else f"{symbol} = {optimum.value:.4g}"
        beyond = ", beyond the machine" if optimum.value is not None and optimum.value > most else ""
        formula = f" {optimum.formula}" if optimum.formula else ""
        lines.append(f"{name} for {given}, {variant} formula{formula}: {said}{beyond}")
    lines += [f"caution: {caution}" for caution in made.cautions]
    if made.wall_time_s is None:
        return "\n".join([*folded_lines(lines), "no batch script: no job may run for as long as the smallest takes"])
    lines.append(f"for the smallest, with {100 * question.margin:g} % more time, up to a whole minute:")
    return "\n".join([*folded_lines(lines), *made.batch_script])


def _named(made: AllocationAnswer) -> str:
    question = made.question
    if question.recorded is not None:
        return str(question.recorded.problem)
    if question.own is not None:
        return "formulas" if question.n is None else f"formulas, n = {question.n}"
    size = f"n = {question.n}" if question.n is not None else f"class {question.preset}"
    return f"{question.app}, {size}"


def _line(what: str, made: AllocationAnswer, allocation: Allocation) -> str:
    ratio = _over_one_core(made, allocation)
    told = "" if ratio is None else f" ({ratio:.4g} times one core's)"
    return (
        f"{what} {_counted(allocation.cores_per_node, 'core')} of {_counted(allocation.nodes, 'node')}: "
        f"speed-up {allocation.speedup:.4g}{told}, "
        f"efficiency {allocation.efficiency:.3g}, {duration(made.time_s(allocation))}"
    )


def _over_one_core(made: AllocationAnswer, allocation: Allocation) -> float | None:
    """Return the speed-up over that of one core; None where the program was not recorded there."""
    return allocation.speedup / made.one_core.speedup if made.one_core.speedup else None


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def as_json(made: AllocationAnswer) -> dict[str, Any]:
    """Return the answer as JSON values."""
    asked, top, question = made.asked, made.best, made.question
    counts = made.counts(asked)
    return {
        "system": question.system.name,
        "app": question.app,
        "n": question.n,
        "class": question.preset if question.recorded is None else question.recorded.problem.label,
        "variant": question.variant,
        "equation": made.equation,
        "beta": None if question.beta is None else str(question.beta),
        "scaling": "overlap" if question.overlap else "hockney",
        "cores_per_node": asked.cores_per_node,
        "nodes": asked.nodes,
        "speedup": asked.speedup,
        "efficiency": asked.efficiency,
        "time_s": made.time_s(asked),
        "speedup_over_one_core": _over_one_core(made, asked),
        "counts": None if counts is None else asdict(counts),
        "parameters": made.parameters.to_json(),
        "recorded_ranks": None if question.recorded is None else sorted(question.recorded.recordings),
        "best_cores_per_node": top.cores_per_node,
        "best_nodes": top.nodes,
        "best_speedup": top.speedup,
        "best_efficiency": top.efficiency,
        "best_time_s": made.time_s(top),
        "optimum_cores_per_node": asdict(made.optimum_cores),
        "optimum_nodes": asdict(made.optimum_nodes),
        "within": question.within,
        "smallest": {**asdict(made.smallest), "cores": made.smallest.cores, "time_s": made.time_s(made.smallest)},
        "whole_nodes": question.whole_nodes,
        "margin": question.margin,
        "wall_time_s": made.wall_time_s,
        "batch": question.batch or question.system.batch,
        "batch_script": made.batch_script,
        "cautions": list(made.cautions),
    }


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured speed-up, #op / (t l_c), and the model's."""

    cores_per_node: int
    nodes: int
    measured: float
    modelled: float

    @property
    def error_pct(self) -> float:
        """Error of the model, % of the measured speed-up."""
        return 100 * (self.modelled / self.measured - 1)


def read_points(path: str, surface: Surface, *, operations: float, core_flops: float) -> list[MeasuredPoint]:
    """Return the points of a file.

    Args:
        path: The file; of ``time_s`` and ``speedup`` it has one.
        surface: The model's surface.
        operations: #op, which makes speed-ups of times.
        core_flops: l_c.

    Raises:
        UserError: It cannot be read, or a value is none that a run has; the error names the line.
    """
    rows = checked_rows(path, ("cores_per_node", "nodes"), _REMEDY)
    points = []
    for line, row in rows:
        where = f"{path}:{line}"
        given = [name for name in ("time_s", "speedup") if row.get(name)]
        if len(given) != 1:
            raise UserError(where, "not one of time_s and speedup", _REMEDY)
        value = _positive(where, given[0], row[given[0]])
        measured = operations / (core_flops * value) if given[0] == "time_s" else value
        q, p = (int(_positive(where, name, row[name])) for name in ("cores_per_node", "nodes"))
        if min(q, p) < 1:
            raise UserError(where, f"{q} cores of {p} nodes", "Give whole numbers from 1 on")
        points.append(MeasuredPoint(q, p, measured, float(surface.speedup(q, p))))
    if not points:
        raise UserError(path, "no runs", _REMEDY)
    return points


def _positive(where: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UserError(where, f"{name} is {text!r}", "Give a number above 0")
    return value


def points_lines(points: Sequence[MeasuredPoint]) -> list[str]:
    """Return the points as a table, with their mean absolute error."""
    rows: list[tuple[str, ...]] = [("cores per node", "nodes", "measured", "model", "error %")]
    rows += [
        (
            str(point.cores_per_node), str(point.nodes), significant(point.measured, 4), significant(point.modelled, 4),
            percent(point.error_pct, signed=True),
        )
        for point in points
    ]  # fmt: skip
    mean = percent(fmean(abs(point.error_pct) for point in points))
    return ["Measured speed-ups and the model's", *table_lines(rows), f"mean |error| {mean} %"]


def points_json(points: Sequence[MeasuredPoint]) -> list[dict[str, Any]]:
    """Return the points as JSON values."""
    return [{**asdict(point), "error_pct": point.error_pct} for point in points]
