"""The results: a table that the server filters and sorts, one result, and the table as CSV."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.grids.scenario import is_system_file
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.downloads import has_parquet
from validation.workbench.pages.marking import marked_of
from validation.workbench.pages.point_results import (
    best,
    numbers_of,
    point_commands,
    shown_columns,
    suite_commands,
    titles_of,
)
from validation.workbench.pages.views import views_of
from validation.workbench.project.application_suites import read_suite
from validation.workbench.project.measured import measured_times
from validation.workbench.project.suite_files import is_code
from validation.workbench.queue.cases import values_by_platform
from validation.workbench.queue.points import PointsView, is_of_applications, point_of, view_of
from validation.workbench.queue.results import PAGE, one_result
from validation.workbench.queue.tables import COSTS
from validation.workbench.web.answers import desk_of, page, suites_of

MOST_JUDGED = 10_000  # results among which the best are looked for
TITLES = {
    "platform": "platform", "network": "network", "app": "kernel", "class": "class", "ranks": "ranks",
    "mapping": "mapping", "efficiency": "efficiency", "predictor": "predictor", "predicted_s": "predicted, s",
    "simulated_s": "simulated, s", "error_pct": "error, %", "abs_error_pct": "|error|, %",
    "evidence_share": "cost, % of the run", "evidence_node_s": "cost, node-seconds",
    "evidence_wall_s": "evidence made in, s", "flags": "cautions", "state": "state",
}  # fmt: skip
_NUMBERS = {
    *("ranks", "efficiency", "predicted_s", "simulated_s", "error_pct", "abs_error_pct", "evidence_share", *COSTS)
}
# The keys of a suite that the row of a result tells; with others the result cannot be repeated alone.
_TOLD = {"scenarios", "platforms", "networks", "apps", "classes", "mappings", "ranks", "efficiencies", "predictors"}


def show(request: Request) -> Response:
    """Answer with a page of the table; browsers then show its shortest address."""
    context = _table(request)
    answer = page(request, "results.html", **context)
    if request.headers.get("hx-request") == "true":
        answer.headers["HX-Push-Url"] = f"/results?{context['view'].address(page=context['view'].page)}"
    return answer


def _table(request: Request) -> dict[str, Any]:
    tables = desk_of(request).queue.tables
    view = view_of(request.query_params, tables)
    of_points = isinstance(view, PointsView)
    many = view.count(tables)
    suites = suites_of(request)
    rows = view.rows(tables)
    measured, wrong = measured_times(desk_of(request).project, lambda: values_by_platform(tables))
    for row in rows:
        row["measured_s"] = None if of_points else measured(row)
    has_measured = any(row["measured_s"] is not None for row in rows)
    chosen = next((suite for suite in suites if suite.id == view.suite), None)
    commands: list[str] = []
    if chosen is not None:
        of_blocks = is_of_applications(tables, chosen.id)
        commands = (
            suite_commands(desk_of(request), chosen.id) if of_blocks else [suite_command(desk_of(request), chosen.id)]
        )
    more = view.more_columns(tables)
    return {
        "view": view, "rows": rows, "has_measured": has_measured, "wrong": wrong, "more": more,
        "marked": marked_of(request, view), "pairs": parse_qsl(view.address(marks=(), page=view.page)),
        "elsewhere": [mark for mark in view.marks if mark not in {row["id"] for row in rows}],
        "many": many, "pages": max(1, -(-many // PAGE)), "columns": view.columns,
        "titles": TITLES, "numbers": _NUMBERS | _with_numbers(more, rows), "of_points": of_points, "best": [],
        "facets": view.facets(tables), "suites": suites, "parquet": has_parquet(),
        "suite": chosen, "command": "\n".join(commands), "place": "/results", "views": views_of(request),
        "unchanged": chosen is not None and is_unchanged(desk_of(request), chosen.id),
        **(_of_points(desk_of(request), view, rows) if isinstance(view, PointsView) else {}),
    }  # fmt: skip


def _with_numbers(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the columns in which all values are numbers."""
    return {key for key in keys if rows and all(isinstance(row.get(key), int | float | None) for row in rows)}


def _of_points(desk: Desk, view: PointsView, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the table of a suite of applications has instead of columns of kernels."""
    columns: dict[str, Any] = {
        "titles": titles_of(view),
        "numbers": numbers_of(view, rows) | _with_numbers(view.shown, rows),
        "columns": view.shown or shown_columns(view, rows),
        "unchanged": True,
    }
    if view.suite is not None and view.other is None:
        objectives = read_suite(desk.text_of(view.suite)).objectives
        columns["best"] = best(view, view.drawn(desk.queue.tables, MOST_JUDGED), objectives)
    return columns


def show_one(request: Request) -> Response:
    """Answer with all fields of one result and the commands that repeat it."""
    desk = desk_of(request)
    result = one_result(desk.queue.tables, request.path_params["number"])
    suite = desk.queue.suite(result["suite"])
    if "labels" in result["fields"]:
        values = json.loads(point_of(desk.queue.tables, result["run"]))
        return page(request, "point.html", result=result, suite=suite, fields=result["fields"], values=values,
                    commands="\n".join(point_commands(desk, result)),
                    whole="\n".join(suite_commands(desk, suite.id)))  # fmt: skip
    measured, wrong = measured_times(desk.project, lambda: values_by_platform(desk.queue.tables))
    measured_s = measured(desk.queue.run(result["run"]))
    return page(request, "result.html", result=result, suite=suite, fields=result["fields"],
                measured_s=measured_s, wrong=wrong, command=run_command(desk, result),
                whole=suite_command(desk, suite.id),
                unchanged=is_unchanged(desk, suite.id))  # fmt: skip


def suite_command(desk: Desk, number: int) -> str:
    """Return the command that repeats a suite from its file, in the project folder."""
    suite = desk.queue.suite(number)
    words = ["gridval", "series", "campaign", f"suites/{suite.name}.toml", *_store(desk), "--out", f"results-{number}"]
    return shlex.join(words)


def is_unchanged(desk: Desk, number: int) -> bool:
    """Return whether the file of a suite is as it was when it was queued."""
    try:
        suite = desk.queue.suite(number)
        return (desk.project.suites / f"{suite.name}.toml").read_text("utf-8") == desk.text_of(number)
    except (OSError, UserError, UnicodeDecodeError):
        return False


def run_command(desk: Desk, result: Mapping[str, Any]) -> str | None:
    """Return the command that repeats one result alone, in the project folder; None: only the suite can."""
    table = tomllib.loads(desk.text_of(result["suite"]))
    if set(table) - _TOLD or any(map(is_code, table.get("predictors", []))):
        return None
    run = desk.queue.run(result["run"])
    files = {name.rpartition("/")[2].rpartition(".")[0]: name for name in table.get("platforms", [])}
    scenarios = {name.rpartition("/")[2].rpartition(".")[0]: name for name in table.get("scenarios", []) if "/" in name}
    name = run["platform"]
    if name in files:
        place = ["--platform", files[name].removeprefix("../")]
    else:
        scenario = scenarios.get(name, name).removeprefix("../")
        place = ["--scenario", scenario]
        of_levels = scenario.endswith(".toml") and is_system_file(desk.project.folder / scenario)
        place += ["--network", run["network"]] if run["network"] and not of_levels else []
    words = ["gridval", "run", *place, "--app", run["app"]]
    words += ["--class", run["class"]] if run["class"] else []
    words += ["--ranks", str(run["ranks"]), "--mapping", run["mapping"], "--efficiency", run["efficiency"]]
    return shlex.join([*words, "--predictor", result["fields"]["predictor"], *_store(desk)])


def _store(desk: Desk) -> list[str]:
    return ["--store", str(desk.project.store)]
