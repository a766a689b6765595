"""Figures of the results: a quantity over a parameter, and the front of time and energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError, known_names
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.point_results import titles_of
from validation.workbench.project.application_suites import read_suite
from validation.workbench.project.measured import measured_times
from validation.workbench.queue.cases import values_by_platform
from validation.workbench.queue.points import PointsView, view_of
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
from validation.workbench.web.answers import desk_of, page, suites_of
from validation.workbench.web.plot import Axis, Curve, Mark, Style, count_axis, name_axis, number_axis, plot, symbol

MOST_DRAWN = 5000  # results of a figure
MOST_FRONT = 60  # rows of the table of a front
POWER = f"{VALUE}power"  # the power rule of applications, which only energies depend on
NAMES = {"app": "kernel or program", "efficiency": "efficiency of the kernel"}  # of parameters; others are their own


def show_figure(request: Request) -> Response:
    """Answer with the figure of a quantity over a parameter, both chosen in the address."""
    query = request.query_params
    quantity = QUANTITIES[_known(query.get("show", "time"), "show", tuple(QUANTITIES))]
    view, rows, context = _drawn(request)
    parameters = parameters_of(view)
    parameter = query.get("over") or _best_parameter(rows, parameters)
    _known(parameter, "over", parameters)
    desk = desk_of(request)
    measured, wrong = measured_times(desk.project, lambda: values_by_platform(desk.queue.tables))
    if isinstance(view, PointsView):
        measured = lambda row: None  # noqa: E731 - a measured time does not tell the values of a point
    rows = [row for row in rows if row[parameter] is not None or not parameter.startswith(VALUE)]
    told = [key for key in parameters if key != POWER or quantity.key == "energy" or key == parameter]
    plotted = series(rows, quantity, parameter, measured, told)
    drawn = None
    if plotted.lines:
        titles = parameter, title_of(parameter, view)
        drawn = _figure(plotted, quantity, titles, {row["suite"]: row["suite_name"] for row in rows})
    address = view.address()
    tabs = [
        ("show",
         [(key, choice.title, _address("figure", address, key, parameter)) for key, choice in QUANTITIES.items()],
         quantity.key),
        ("over", [(key, title_of(key, view), _address("figure", address, quantity.key, key)) for key in parameters],
         parameter),
    ]  # fmt: skip
    legend = [(symbol(_style(line, plotted)), line.name) for line in plotted.lines]
    return page(request, "figure.html", **context, drawn=drawn, legend_entries=legend, tabs=tabs, quantity=quantity,
                over=title_of(parameter, view), titles=_filter_titles(view), plotted=plotted, wrong=wrong,
                kept={"show": quantity.key, "over": parameter},
                most_cases=MOST_CASES)  # fmt: skip


def parameters_of(view: ResultsView) -> tuple[str, ...]:
    """Return the parameters that figures of a view can have along their axis."""
    if not isinstance(view, PointsView):
        return PARAMETERS
    return *(VALUE + name for name in view.names), "platform", MODEL, "app", "suite"


def title_of(parameter: str, view: ResultsView) -> str:
    """Return the title of a parameter."""
    titles = titles_of(view) if isinstance(view, PointsView) else NAMES
    return titles.get(parameter, parameter)


def _filter_titles(view: ResultsView) -> dict[str, str]:
    """Return the titles of filters that are not called like their keys."""
    return titles_of(view) if isinstance(view, PointsView) else {"app": "kernel"}


def show_front(request: Request) -> Response:
    """Answer with the fronts of time and energy: for each workload, the runs that no other run beats in both."""
    view, rows, context = _drawn(request)
    every_work = workloads_of(rows, workload_keys(view, desk_of(request)))
    works = {work: by_kind for work, some in every_work.items() if (by_kind := choices_of(some))}
    shown = dict(list(works.items())[:MOST_CASES])
    kinds = list(dict.fromkeys(kind for by_kind in shown.values() for kind in by_kind))[: MOST_KINDS + 1]
    drawn, legend = None, []
    if shown:
        curves = []
        for at, (work, by_kind) in enumerate(shown.items()):
            for kind, choices in ((kind, by_kind[kind]) for kind in kinds if kind in by_kind):
                style = _front_style(kind, kinds, at if len(shown) > 1 else None)
                marks = [_choice_mark(choice) for choice in front(choices)]
                name = f"{kind}, {work}" if work else kind
                curves.append(Curve(name, style, marks, stairs=True))
                if kind in TRUTHS or len(kinds) == 1:
                    curves.append(Curve(name, style, [_choice_mark(choice) for choice in choices], joined=False))
                legend.append((symbol(style), f"{name}: {len(marks)} of {len(choices)} on the front"))
        every = [choice for by_kind in shown.values() for kind in kinds for choice in by_kind.get(kind, ())]
        x = number_axis("time, s", [choice.time_s for choice in every])
        y = number_axis("energy of the nodes in use, J", [choice.energy_j for choice in every])
        drawn = plot("Energy over time of each run, with the runs that no other one beats", x, y, curves)
    return page(request, "front.html", **context, drawn=drawn, legend_entries=legend, kept={},
                fronts=[_listed_front(work, by_kind, rows, view) for work, by_kind in shown.items()],
                titles=_filter_titles(view), left=len(works) - len(shown))  # fmt: skip


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


def _drawn(request: Request) -> tuple[ResultsView, list[dict[str, Any]], dict[str, Any]]:
    """Return the view of an address, its results, and what all pages of figures need."""
    desk = desk_of(request)
    view = view_of(request.query_params, desk.queue.tables)
    suites = suites_of(request)
    names = {suite.id: f"{suite.name} ({suite.id})" for suite in suites}
    rows = view.drawn(desk.queue.tables, MOST_DRAWN + 1)
    for row in rows:
        row["suite_name"] = names.get(row["suite"], "")
    context = {
        "view": view, "facets": view.facets(desk.queue.tables), "suites": suites,
        "suite": next((suite for suite in suites if suite.id == view.suite), None),
        "other": next((suite for suite in suites if suite.id == view.other), None),
        "cut": len(rows) > MOST_DRAWN, "most": MOST_DRAWN, "of_points": isinstance(view, PointsView),
    }  # fmt: skip
    return view, rows[:MOST_DRAWN], context


def _known(value: str, key: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UserError(f"{key} {value!r}", "no such choice", known_names(value, known))
    return value


def _best_parameter(rows: Sequence[Row], parameters: Sequence[str]) -> str:
    """Return the first parameter that has several values."""
    return next((key for key in parameters if len({row[key] for row in rows}) > 1), parameters[0])


def _address(page_name: str, address: str, show: str, over: str) -> str:
    more = urlencode({"show": show, "over": over})
    return f"/results/{page_name}?{address}{'&' if address else ''}{more}"


def _figure(plotted: Series, quantity: Quantity, over: tuple[str, str], suites: Mapping[Any, str]) -> Markup:
    """Return the plot of lines over a parameter with its title; ``suites`` has the names of suites by number."""
    points = [point for line in plotted.lines for point in line.points]
    parameter, title = over
    word = suites.get if parameter == "suite" else _word
    x, place = _axis(over, list(dict.fromkeys(point.at for point in points)), word)
    logarithmic = quantity.key in ("time", "energy", "speedup")
    zero = quantity.key != "success"  # which is close to 1
    y = number_axis(quantity.label, [point.value for point in points], may_log=logarithmic, zero=zero)

    def mark(line: Line, point: Point) -> Mark:
        said = f"{line.name}, {title} {word(point.at)}: {point.value:.5g} {quantity.unit}"
        return Mark(place(point.at), point.value, said, f"/results/{point.result}")

    curves = [
        Curve(
            line.name,
            _style(line, plotted),
            [mark(line, point) for point in sorted(line.points, key=lambda point: place(point.at))],
        )
        for line in plotted.lines
    ]
    return plot(f"{quantity.title} over {title}, {len(curves)} lines", x, y, curves, line_at=_line_at(quantity))


def _axis(
    over: tuple[str, str], values: list[Any], word: Callable[[Any], str | None]
) -> tuple[Axis, Callable[[Any], float]]:
    """Return the axis of a parameter with its title, and a function that returns where on it a value is."""
    parameter, title = over
    numbers = all(isinstance(value, int | float) for value in values)
    if parameter == "ranks" or (parameter.startswith(VALUE) and numbers):
        return count_axis(title, [float(value) for value in values]), float
    if parameter in ("class", "efficiency"):
        values = sorted(values, key=lambda value: (value is None, value))
    places = {value: float(at) for at, value in enumerate(values)}
    return name_axis(title, [word(value) or "" for value in values]), places.__getitem__


def _line_at(quantity: Quantity) -> float | None:
    return 0.0 if quantity.key == "error" else None


def _style(line: Line, plotted: Series) -> Style:
    """Return the style of a line: of a single case the truth is black, of several each has a colour."""
    mark = None if line.kind in TRUTHS else plotted.predictors.index(line.kind)
    color = mark if len(plotted.cases) == 1 else plotted.cases.index(line.case)
    return Style(color, mark, line.kind == MEASURED)


def _word(value: object) -> str:
    return "none" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _choice_mark(choice: PlanePoint) -> Mark:
    row = choice.row
    unit = "processes" if MODEL in row else "ranks"
    said = f"{choice.kind}, {row['app']} {row['class'] or ''} on {row['ranks']} {unit} of {row['platform']}: "
    return Mark(
        choice.time_s, choice.energy_j, f"{said}{choice.time_s:.5g} s, {choice.energy_j:.5g} J", f"/results/{row['id']}"
    )


def _said_case(row: Row, rows: Sequence[Row], keys: Sequence[str]) -> str:
    """Return what tells the run of a row from the others, of these parameters."""
    telling = telling_keys(rows, keys)
    return ", ".join(case_word(key, row) for key in telling) or f"{row['app']} {row['class'] or ''}".strip()
