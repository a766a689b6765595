"""Lines of a figure: a quantity of results over one of their parameters, predicted, simulated and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from predictor.series.front import pareto_front
from validation.workbench.project.numbers import number_text, value_text
from validation.workbench.queue.results import VALUE

PARAMETERS = ("ranks", "app", "class", "platform", "network", "mapping", "efficiency", "suite")
MOST_CASES, MOST_KINDS = 28, 14  # of a figure: as many colours with line styles, and marks, can be distinguished
MODEL = "model"  # parameter of suites of applications: all models share a line then
EVERY_MODEL = "evaluated"
SIMULATED, MEASURED = TRUTHS = ("simulated", "measured")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """A quantity of a run that figures show."""

    key: str
    title: str
    unit: str
    predicted: str = ""  # columns with its values; none where it is worked out of the times
    simulated: str = ""

    @property
    def label(self) -> str:
        """The title with the unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


TIME = Quantity("time", "time", "s", "predicted_s", "simulated_s")
ENERGY = Quantity("energy", "energy of the nodes in use", "J", "energy_predicted_j", "energy_simulated_j")
QUANTITIES = {
    quantity.key: quantity
    for quantity in (
        TIME,
        Quantity("speedup", "speed-up", ""),
        Quantity("efficiency", "parallel efficiency", "%"),
        ENERGY,
        Quantity("error", "error of the prediction", "%", "error_pct"),
        Quantity("success", "probability of success", "", "success"),
    )
}


@dataclass(frozen=True)
class Point:
    """One value of a line."""

    at: Any  # the value of the parameter
    value: float
    result: int  # number of the result that it belongs to


@dataclass
class Line:
    """The values of one kind in one case, over the parameter."""

    kind: str  # a predictor, or SIMULATED, or MEASURED
    case: str  # what tells its case from those of other lines
    points: list[Point] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The kind with the case."""
        return f"{self.kind}, {self.case}" if self.case else self.kind


@dataclass(frozen=True)
class Series:
    """All lines of a figure."""

    lines: tuple[Line, ...]
    left_out: int  # lines beyond MOST_CASES and MOST_KINDS
    base: str  # what speed-ups are relative to; empty: the figure shows none

    @property
    def cases(self) -> list[str]:
        """The cases, in the order of the results."""
        return list(dict.fromkeys(line.case for line in self.lines))

    @property
    def predictors(self) -> list[str]:
        """The predictors, in the order of the results."""
        return list(dict.fromkeys(line.kind for line in self.lines if line.kind not in TRUTHS))


def series(
    rows: Sequence[Row], quantity: Quantity, parameter: str, measured: Callable[[Row], float | None] = lambda row: None,
    parameters: Sequence[str] = PARAMETERS,
) -> Series:  # fmt: skip
    """Return the lines of a quantity over a parameter.

    Rows that differ in anything else than the parameter and the predictor belong to different lines.

    Args:
        rows: The results, as ``ResultsView.drawn`` returns them.
        quantity: What the figure shows.
        parameter: One of the parameters.
        measured: Returns the measured time of a row's run; None: there is none.
        parameters: All parameters.
    """
    if parameter == MODEL:
        rows = [{**row, "predictor": EVERY_MODEL} for row in rows]
    others = [key for key in parameters if key not in (parameter, MODEL)]
    telling = telling_keys(rows, others)
    values = _Values(rows, measured, ["ranks"] if "ranks" in parameters else [parameter, MODEL], parameters)
    lines: dict[tuple[Any, ...], Line] = {}
    for row in rows:
        case = tuple(row[key] for key in others)
        said = ", ".join(case_word(key, row) for key in telling)
        for kind, value in values.of(row, quantity):
            if value is not None:
                line = lines.setdefault((*case, kind), Line(kind, said))
                if not line.points or (line.points[-1].result, line.points[-1].at) != (row["id"], row[parameter]):
                    line.points.append(Point(row[parameter], value, row["id"]))
    series_made = [_once(line) for line in lines.values()]
    series_made.sort(key=lambda line: (line.kind not in TRUTHS, line.kind != SIMULATED))
    kept = Series(tuple(series_made), 0, "")
    cases, kinds = kept.cases[:MOST_CASES], (*TRUTHS, *kept.predictors[:MOST_KINDS])
    lines_kept = tuple(line for line in series_made if line.case in cases and line.kind in kinds)
    relative = values.base_text() if quantity.key in ("speedup", "efficiency") and series_made else ""
    return Series(lines_kept, len(series_made) - len(lines_kept), relative)


def telling_keys(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    """Return the fewest of the keys that tell all cases apart: an efficiency that comes with the kernel tells nothing.

    The later a key stands, the sooner it is left out.
    """
    told = [key for key in keys if len({row[key] for row in rows}) > 1]
    many = len({tuple(row[key] for key in told) for row in rows})
    for key in reversed([key for key in told if key != "suite"]):
        fewer = [other_key for other_key in told if other_key != key]
        if len({tuple(row[other_key] for other_key in fewer) for row in rows}) == many:
            told = fewer
    return told


def case_word(key: str, row: Row) -> str:
    """Return the value of a parameter as a line's name has it."""
    if key == "suite":
        return str(row.get("suite_name") or f"suite {row['suite']}")
    value = row[key]
    if key.startswith(VALUE):
        return f"{key.removeprefix(VALUE)} {value_text(value, 10)}"
    if key == "ranks":
        return f"{number_text(value)} {'rank' if value == 1 else 'ranks'}"
    if value is None:
        return "network of the file" if key == "network" else f"no {key}"
    return f"{key} {value}" if key in ("class", "efficiency") else str(value)


def _once(line: Line) -> Line:
    """Return a line with one point for each value of the parameter: the truth is in the rows of all predictors."""
    return Line(line.kind, line.case, list({point.at: point for point in reversed(line.points)}.values())[::-1])


class _Values:
    """Values of rows, and the runs on the fewest ranks to which speed-ups are relative.

    Args:
        rows: The rows.
        measured: Returns the measured time of a row's run.
        free: The parameters in which a run and the one that its speed-up is relative to may differ.
        parameters: All parameters.
    """

    def __init__(
        self, rows: Sequence[Row], measured: Callable[[Row], float | None], free: Sequence[str],
        parameters: Sequence[str],
    ):  # fmt: skip
        self._measured = measured
        self._kept = [key for key in parameters if key not in free]
        self._unit = ("rank", "ranks", "run") if "ranks" in parameters else ("process", "processes", "point")
        self._bases: dict[tuple[Any, ...], tuple[int, float]] = {}  # ranks and time by case and kind
        for row in rows:
            for kind, time_s in self._times(row):
                key = self._case(row, kind)
                if time_s and (key not in self._bases or row["ranks"] < self._bases[key][0]):
                    self._bases[key] = row["ranks"], time_s

    def of(self, row: Row, quantity: Quantity) -> list[tuple[str, float | None]]:
        """Return the values of a row by kind: of its predictor, simulated, measured."""
        if quantity is TIME:
            return self._times(row)
        if quantity.key in ("speedup", "efficiency"):
            return [(kind, self._relative(row, kind, time_s, quantity.key)) for kind, time_s in self._times(row)]
        values = [(row["predictor"], row[quantity.predicted])]
        return [*values, (_truth(row), row[quantity.simulated])] if quantity.simulated else values

    def base_text(self) -> str:
        """Return what speed-ups are relative to, in words."""
        ranks = {ranks for ranks, _ in self._bases.values()}
        single, many, what = self._unit
        if len(ranks) != 1:
            return f"the {what} on the fewest {many} of each case"
        (only,) = ranks
        return f"the {what} on {only} {single if only == 1 else many}"

    def _times(self, row: Row) -> list[tuple[str, float | None]]:
        return [(row["predictor"], row["predicted_s"]), (_truth(row), row["simulated_s"]),
                (MEASURED, self._measured(row))]  # fmt: skip

    def _case(self, row: Row, kind: str) -> tuple[Any, ...]:
        return (kind, *(row[key] for key in self._kept))

    def _relative(self, row: Row, kind: str, time_s: float | None, key: str) -> float | None:
        if not time_s or self._case(row, kind) not in self._bases:
            return None
        ranks, base_s = self._bases[self._case(row, kind)]
        speedup = base_s / time_s
        return speedup if key == "speedup" else 100 * speedup * ranks / row["ranks"]


def _truth(row: Row) -> str:
    return MEASURED if row.get("truth") == "measurement" else SIMULATED


@dataclass(frozen=True)
class PlanePoint:
    """A run in the plane of time and energy."""

    kind: str  # a predictor, or SIMULATED, or MEASURED
    row: Row
    time_s: float
    energy_j: float


def workloads_of(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows by their workload in words: runs of other work are no choices for each other.

    Args:
        rows: The results, as ``ResultsView.drawn`` returns them.
        keys: The parameters that make the work another one, such as the kernel and its class.
    """
    told = [key for key in keys if len({row[key] for row in rows}) > 1]
    by_work: dict[str, list[Row]] = {}
    for row in rows:
        by_work.setdefault(", ".join(case_word(key, row) for key in told), []).append(row)
    return by_work


def choices_of(rows: Sequence[Row]) -> dict[str, list[PlanePoint]]:
    """Return the runs with their time and energy, by kind: the truth first, once for each run."""
    by_kind: dict[str, list[PlanePoint]] = {}
    seen: set[int] = set()
    for row in rows:
        time_s, energy_j = row["simulated_s"], row["energy_simulated_j"]
        if time_s and energy_j and row["run"] not in seen:
            seen.add(row["run"])
            by_kind.setdefault(_truth(row), []).append(PlanePoint(_truth(row), row, time_s, energy_j))
    for row in rows:
        time_s, energy_j = row["predicted_s"], row["energy_predicted_j"]
        if time_s and energy_j:
            by_kind.setdefault(row["predictor"], []).append(PlanePoint(row["predictor"], row, time_s, energy_j))
    return by_kind


def front(choices: Sequence[PlanePoint]) -> list[PlanePoint]:
    """Return the choices that no other one beats in time and energy, the fastest first; of equals, the first one.

    >>> one = lambda time_s, energy_j: PlanePoint("simulated", {}, time_s, energy_j)
    >>> [(c.time_s, c.energy_j) for c in front([one(3, 1), one(1, 9), one(2, 9), one(2, 4), one(4, 4)])]
    [(1, 9), (2, 4), (3, 1)]
    """
    return [choices[at] for at in pareto_front([(choice.time_s, choice.energy_j) for choice in choices], equals=False)]
