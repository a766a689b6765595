"""Figures of results as values: a quantity over a parameter, and the fronts of time and energy."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from platforms.errors import UserError, known_names
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.downloads import harmless
from validation.workbench.pages.point_results import titles_of
from validation.workbench.project.application_suites import read_suite
from validation.workbench.project.measured import measured_times
from validation.workbench.project.numbers import number_text, value_text
from validation.workbench.queue.cases import values_by_platform
from validation.workbench.queue.points import PointsView
from validation.workbench.queue.results import VALUE, ResultsView
from validation.workbench.queue.series import (
    MEASURED,
    MODEL,
    MOST_CASES,
    MOST_KINDS,
    PARAMETERS,
    QUANTITIES,
    TRUTHS,
    Line,
    PlanePoint,
    Point,
    Quantity,
    Row,
    Series,
    case_word,
    choices_of,
    front,
    series,
    telling_keys,
    workloads_of,
)
from validation.workbench.web.axes import AUTO, LOGARITHMIC, SCALES, Axis, count_axis, name_axis, number_axis
from validation.workbench.web.looks import Style
from validation.workbench.web.plot import Curve, Drawing, Mark

MOST_DRAWN = 5000  # results of a figure
MOST_FRONT = 60  # rows of the table of a front
POWER = f"{VALUE}power"  # the power rule of applications, which only energies depend on
NAMES = {"app": "kernel or program", "efficiency": "efficiency of the kernel"}  # of parameters; others are their own
_LOGARITHMIC = ("time", "energy", "speedup")  # quantities whose axis is logarithmic by itself


@dataclass(frozen=True)
class Figure:
    """A figure with its rows, which its files have."""

    place: str  # the page that shows it
    title: str
    query: str  # of its address, without marks
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # one for each point; the last value is the number of its result
    drawing: Drawing | None  # None: there is nothing to draw
    legend: tuple[tuple[Style, str], ...] = ()
    notes: tuple[str, ...] = ()  # what it leaves out, in sentences
    more: Mapping[str, Any] = field(default_factory=dict)  # values for its page

    @property
    def table(self) -> str:
        """The rows as CSV, with a line of titles."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([harmless(title) for title in self.columns])
        writer.writerows([harmless(value) for value in row] for row in self.rows)
        return text.getvalue()

    @property
    def digest(self) -> str:
        """The SHA-256 of the rows as CSV."""
        return hashlib.sha256(self.table.encode()).hexdigest()

    @property
    def link(self) -> str:
        """The address that stays: with it the page says whether its rows are still those of the figure."""
        return f"{self.place}?{self.query}{'&' if self.query else ''}rows={self.digest[:16]}"


def figure_of(desk: Desk, view: ResultsView, rows: Sequence[Row], query: Mapping[str, str]) -> Figure:
    """Return the figure of a quantity over a parameter, both chosen in the address.

    Args:
        desk: The project.
        view: The results that the address asks for.
        rows: Those of them that are drawn, with the names of their suites.
        query: The address.

    Raises:
        UserError: The address asks for something that is not known.
    """
    quantity = QUANTITIES[_known(query.get("show", "time"), "show", tuple(QUANTITIES))]
    scales = {key: _known(query.get(key, AUTO), f"axis {key}", SCALES) for key in ("x", "y")}
    parameters = parameters_of(view)
    parameter = query.get("over") or _best_parameter(rows, parameters)
    _known(parameter, "over", parameters)
    measured, wrong = measured_times(desk.project, lambda: values_by_platform(desk.queue.tables))
    if isinstance(view, PointsView):
        measured = lambda row: None  # noqa: E731 - a measured time does not tell the values of a point
    rows = [row for row in rows if row[parameter] is not None or not parameter.startswith(VALUE)]
    told = [key for key in parameters if key != POWER or quantity.key == "energy" or key == parameter]
    plotted = series(rows, quantity, parameter, measured, told)
    title, suites = title_of(parameter, view), {row["suite"]: row["suite_name"] for row in rows}
    word: Callable[[Any], str | None] = suites.get if parameter == "suite" else _word
    listed = tuple(
        (line.kind, line.case, word(point.at), point.value, point.result)
        for line in plotted.lines for point in line.points
    )  # fmt: skip
    lines, notes = _above_zero(plotted.lines, scales, parameter)
    drawing = _drawing(Series(lines, 0, ""), quantity, (parameter, title), word, scales) if lines else None
    if plotted.left_out:
        notes.append(f"{number_text(plotted.left_out)} more lines are not drawn: a figure shows at most {MOST_CASES} "
                     f"cases and {MOST_KINDS} kinds. Choose filters, or another axis.")  # fmt: skip
    address = urlencode([("show", quantity.key), ("over", parameter), *_chosen(scales)])
    return Figure(
        "/results/figure", f"{quantity.title[0].upper()}{quantity.title[1:]} over {title}",
        "&".join(part for part in (view.address(marks=(), only_marked=False), address) if part),
        ("line", "case", title, quantity.label, "result"), listed, drawing,
        tuple((style_of(line, plotted), line.name) for line in lines), tuple(notes),
        {"quantity": quantity, "parameter": parameter, "over": title, "base": plotted.base, "wrong": wrong,
         "scales": scales},
    )  # fmt: skip


def _chosen(scales: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(key, scale) for key, scale in scales.items() if scale != AUTO]


def _above_zero(
    lines: Iterable[Line], scales: Mapping[str, str], parameter: str
) -> tuple[tuple[Line, ...], list[str]]:  # fmt: skip
    """Return the lines with what logarithmic axes can show, and sentences about what they cannot."""
    lines = tuple(lines)
    numbers = all(isinstance(point.at, int | float) for line in lines for point in line.points) and parameter != "suite"
    notes = []
    if scales["x"] != AUTO and not numbers:
        notes.append("Names along the axis have no scale; it is left as it is.")
    across, up = scales["x"] == LOGARITHMIC and numbers, scales["y"] == LOGARITHMIC
    if not across and not up:
        return lines, notes

    def shown(point: Point) -> bool:
        return (not up or point.value > 0) and (not across or point.at > 0)

    kept = tuple(Line(line.kind, line.case, [point for point in line.points if shown(point)]) for line in lines)
    hidden = sum(len(line.points) for line in lines) - sum(len(line.points) for line in kept)
    if hidden:
        points = "1 point is" if hidden == 1 else f"{number_text(hidden)} points are"
        notes.append(f"{points} at 0 or below, which a logarithmic axis does not show.")
    return tuple(line for line in kept if line.points), notes


def parameters_of(view: ResultsView) -> tuple[str, ...]:
    """Return the parameters that figures of a view can have along their axis."""
    if not isinstance(view, PointsView):
        return PARAMETERS
    return *(VALUE + name for name in view.names), "platform", MODEL, "app", "suite"


def title_of(parameter: str, view: ResultsView) -> str:
    """Return the title of a parameter."""
    titles = titles_of(view) if isinstance(view, PointsView) else NAMES
    return titles.get(parameter, parameter)


def filter_titles(view: ResultsView) -> dict[str, str]:
    """Return the titles of filters that are not called like their keys."""
    return titles_of(view) if isinstance(view, PointsView) else {"app": "kernel"}


def front_of(desk: Desk, view: ResultsView, rows: Sequence[Row], query: Mapping[str, str]) -> Figure:
    """Return the fronts of time and energy: for each workload, the runs that no other run beats in both.

    Args:
        desk: The project.
        view: The results that the address asks for.
        rows: Those of them that are drawn.
        query: The address.

    Raises:
        UserError: The address asks for something that is not known.
    """
    scales = {key: _known(query.get(key, AUTO), f"axis {key}", SCALES) for key in ("x", "y")}
    every_work = workloads_of(rows, workload_keys(view, desk))
    works = {work: by_kind for work, some in every_work.items() if (by_kind := choices_of(some))}
    shown = dict(list(works.items())[:MOST_CASES])
    kinds = list(dict.fromkeys(kind for by_kind in shown.values() for kind in by_kind))[: MOST_KINDS + 1]
    curves, legend, listed = [], [], []
    for at, (work, by_kind) in enumerate(shown.items()):
        for kind, choices in ((kind, by_kind[kind]) for kind in kinds if kind in by_kind):
            style = _front_style(kind, kinds, at if len(shown) > 1 else None)
            best = front(choices)
            marks = [_choice_mark(choice) for choice in best]
            name = f"{kind}, {work}" if work else kind
            curves.append(Curve(name, style, marks, stairs=True))
            if kind in TRUTHS or len(kinds) == 1:
                curves.append(Curve(name, style, [_choice_mark(choice) for choice in choices], joined=False))
            legend.append((style, f"{name}: {len(marks)} of {len(choices)} on the front"))
            listed += [
                (kind, work, choice.row["ranks"], choice.time_s, choice.energy_j,
                 "yes" if choice in best else "no", choice.row["id"])
                for choice in choices
            ]  # fmt: skip
    drawing = None
    if shown:
        every = [choice for by_kind in shown.values() for kind in kinds for choice in by_kind.get(kind, ())]
        x = number_axis("time, s", [choice.time_s for choice in every], scale=scales["x"])
        y = number_axis("energy of the nodes in use, J", [choice.energy_j for choice in every], scale=scales["y"])
        drawing = Drawing("Energy over time of each run, with the runs that no other one beats", x, y, curves)
    left = len(works) - len(shown)
    notes = (f"{left} more workloads are left out. Choose filters.",) * bool(left)
    address = urlencode(_chosen(scales))
    columns = ("kind", "workload", "processes" if isinstance(view, PointsView) else "ranks", "time, s", "energy, J",
               "on the front", "result")  # fmt: skip
    return Figure(
        "/results/front", "Time and energy",
        "&".join(part for part in (view.address(marks=(), only_marked=False), address) if part),
        columns, tuple(listed), drawing, tuple(legend), notes,
        {"fronts": [_listed_front(work, by_kind, rows, view) for work, by_kind in shown.items()], "scales": scales},
    )  # fmt: skip


def workload_keys(view: ResultsView, desk: Desk) -> list[str]:
    """Return the parameters that make the work of a run another one: kernel and class, or application and variables."""
    if not isinstance(view, PointsView):
        return ["app", "class"]
    suites = [number for number in (view.suite, view.other) if number is not None]
    known = suites or [suite.id for suite in desk.queue.suites()]
    variables = {VALUE + name for number in known for name in read_suite(desk.text_of(number)).variables}
    return ["app", *(key for key in parameters_of(view) if key in variables)]


def _front_style(kind: str, kinds: Sequence[str], work: int | None) -> Style:
    """Return the style of a front: of a single workload the truth is black, of several each has a colour."""
    mark = None if kind in TRUTHS else [other for other in kinds if other not in TRUTHS].index(kind)
    return Style(mark if work is None else work, mark, kind == MEASURED)


def _listed_front(
    work: str, by_kind: Mapping[str, Sequence[PlanePoint]], rows: Sequence[Row], view: ResultsView
) -> dict[str, Any]:
    """Return the rows of the table of a workload's front: of the truth, or else of the first kind."""
    kind = next(kind for kind in (*TRUTHS, *by_kind) if kind in by_kind)
    chosen = front(by_kind[kind])
    keys = [key for key in parameters_of(view) if key not in ("ranks", MODEL)]
    listed = [(choice, _said_case(choice.row, rows, keys)) for choice in chosen[:MOST_FRONT]]
    return {"work": work, "kind": kind, "listed": listed, "more": max(0, len(chosen) - MOST_FRONT)}


def _known(value: str, key: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UserError(f"{key} {value!r}", "no such choice", known_names(value, known))
    return value


def _best_parameter(rows: Sequence[Row], parameters: Sequence[str]) -> str:
    """Return the first parameter that has several values."""
    return next((key for key in parameters if len({row[key] for row in rows}) > 1), parameters[0])


def _drawing(
    plotted: Series, quantity: Quantity, over: tuple[str, str], word: Callable[[Any], str | None],
    scales: Mapping[str, str],
) -> Drawing:  # fmt: skip
    """Return the plot of lines over a parameter with its title; ``word`` returns the text of one of its values."""
    points = [point for line in plotted.lines for point in line.points]
    x, place = _axis(over, list(dict.fromkeys(point.at for point in points)), word, scales["x"])
    y = number_axis(
        quantity.label, [point.value for point in points], scale=scales["y"],
        may_log=quantity.key in _LOGARITHMIC, zero=quantity.key != "success",  # which is close to 1
    )  # fmt: skip

    def mark(line: Line, point: Point) -> Mark:
        said = f"{line.name}, {over[1]} {word(point.at)}: {number_text(point.value)} {quantity.unit}"
        return Mark(place(point.at), point.value, said, point.result)

    curves = [
        Curve(
            line.name,
            style_of(line, plotted),
            [mark(line, point) for point in sorted(line.points, key=lambda point: place(point.at))],
        )
        for line in plotted.lines
    ]
    title = f"{quantity.title} over {over[1]}, {len(curves)} lines"
    return Drawing(title, x, y, curves, 0.0 if quantity.key == "error" else None)


def _axis(
    over: tuple[str, str], values: list[Any], word: Callable[[Any], str | None], scale: str
) -> tuple[Axis, Callable[[Any], float]]:
    """Return the axis of a parameter with its title, and a function that returns where on it a value is."""
    parameter, title = over
    numbers = all(isinstance(value, int | float) for value in values)
    if parameter == "ranks" or (parameter.startswith(VALUE) and numbers):
        return count_axis(title, [float(value) for value in values], scale), float
    if parameter in ("class", "efficiency"):
        values = sorted(values, key=lambda value: (value is None, value))
    places = {value: float(at) for at, value in enumerate(values)}
    return name_axis(title, [word(value) or "" for value in values]), places.__getitem__


def style_of(line: Line, plotted: Series) -> Style:
    """Return the style of a line: of a single case the truth is black, of several each has a colour and a line style.

    Marks are those of predictors, or with a single one those of cases.
    """
    several = len(plotted.cases) > 1
    case = plotted.cases.index(line.case)
    mark = None
    if line.kind not in TRUTHS:
        mark = case if several and len(plotted.predictors) == 1 else plotted.predictors.index(line.kind)
    return Style(case if several else mark, mark, line.kind == MEASURED)


def _word(value: object) -> str:
    return "none" if value is None else value_text(value, 10)


def _choice_mark(choice: PlanePoint) -> Mark:
    row = choice.row
    unit = "processes" if MODEL in row else "ranks"
    said = f"{choice.kind}, {row['app']} {row['class'] or ''} on {row['ranks']} {unit} of {row['platform']}: "
    values = f"{number_text(choice.time_s)} s, {number_text(choice.energy_j)} J"
    return Mark(choice.time_s, choice.energy_j, said + values, row["id"])


def _said_case(row: Row, rows: Sequence[Row], keys: Sequence[str]) -> str:
    """Return what tells the run of a row from the others, of these parameters."""
    telling = telling_keys(rows, keys)
    return ", ".join(case_word(key, row) for key in telling) or f"{row['app']} {row['class'] or ''}".strip()
