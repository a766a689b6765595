"""The results: a table that the server filters and sorts, one result, and the table as CSV."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.downloads import has_parquet
from validation.workbench.project.measured import measured_times
from validation.workbench.queue.cases import values_by_platform
from validation.workbench.queue.results import COLUMNS, PAGE, ResultsView, one_result
from validation.workbench.web.answers import desk_of, page

TITLES = {
    "platform": "platform", "network": "network", "app": "kernel", "class": "class", "ranks": "ranks",
    "mapping": "mapping", "efficiency": "efficiency", "predictor": "predictor", "predicted_s": "predicted, s",
    "simulated_s": "simulated, s", "error_pct": "error, %", "abs_error_pct": "|error|, %",
    "evidence_share": "cost, % of the run", "flags": "cautions",
}  # fmt: skip
_NUMBERS = {"ranks", "efficiency", "predicted_s", "simulated_s", "error_pct", "abs_error_pct", "evidence_share"}
# The keys of a suite that the row of a result tells; with others the result cannot be repeated alone.
_TOLD = {"scenarios", "platforms", "networks", "apps", "classes", "mappings", "ranks", "efficiencies", "predictors"}


def show(request: Request) -> Response:
    """Answer with a page of the table."""
    return page(request, "results.html", **_table(request))


def show_table(request: Request) -> Response:
    """Answer with the part of the page that a filter changes."""
    context = _table(request)
    answer = page(request, "results_part.html", **context)
    answer.headers["HX-Replace-Url"] = f"/results?{context['view'].address()}"
    return answer


def _table(request: Request) -> dict[str, Any]:
    tables = desk_of(request).queue.tables
    view = ResultsView.of(request.query_params)
    many = view.count(tables)
    suites = desk_of(request).queue.suites()
    rows = view.rows(tables)
    measured, wrong = measured_times(desk_of(request).project, lambda: values_by_platform(tables))
    for row in rows:
        row["measured_s"] = measured(row)
    has_measured = any(row["measured_s"] is not None for row in rows)
    chosen = next((suite for suite in suites if suite.id == view.suite), None)
    return {
        "view": view, "rows": rows, "has_measured": has_measured, "wrong": wrong,
        "many": many, "pages": max(1, -(-many // PAGE)), "columns": COLUMNS,
        "titles": TITLES, "numbers": _NUMBERS, "choices": view.choices(tables), "chosen": dict(view.filters),
        "suites": suites, "parquet": has_parquet(),
        "suite": chosen, "command": None if chosen is None else suite_command(desk_of(request), chosen.id),
        "unchanged": chosen is not None and is_unchanged(desk_of(request), chosen.id),
    }  # fmt: skip


def show_one(request: Request) -> Response:
    """Answer with all fields of one result and the commands that repeat it."""
    desk = desk_of(request)
    found = one_result(desk.queue.tables, request.path_params["number"])
    suite = desk.queue.suite(found["suite"])
    measured, wrong = measured_times(desk.project, lambda: values_by_platform(desk.queue.tables))
    measured_s = measured(desk.queue.run(found["run"]))
    return page(request, "result.html", result=found, suite=suite, fields=found["fields"],
                measured_s=measured_s, wrong=wrong, command=run_command(desk, found),
                whole=suite_command(desk, suite.id),
                unchanged=is_unchanged(desk, suite.id))  # fmt: skip


def suite_command(desk: Desk, number: int) -> str:
    """Return the command that repeats a suite from its file, in the project folder."""
    suite = desk.queue.suite(number)
    words = ["gridval", "campaign", f"suites/{suite.name}.toml", *_store(desk), "--out", f"results-{number}"]
    return shlex.join(words)


def is_unchanged(desk: Desk, number: int) -> bool:
    """Return whether the file of a suite is as it was when it was queued."""
    try:
        suite = desk.queue.suite(number)
        return (desk.project.suites / f"{suite.name}.toml").read_text("utf-8") == desk.text_of(number)
    except (OSError, UserError, UnicodeDecodeError):
        return False


def run_command(desk: Desk, found: Mapping[str, Any]) -> str | None:
    """Return the command that repeats one result alone, in the project folder; None: only the suite can."""
    table = tomllib.loads(desk.text_of(found["suite"]))
    if set(table) - _TOLD:
        return None
    run = desk.queue.run(found["run"])
    files = {name.rpartition("/")[2].rpartition(".")[0]: name for name in table.get("platforms", [])}
    scenarios = {name.rpartition("/")[2].rpartition(".")[0]: name for name in table.get("scenarios", []) if "/" in name}
    name = run["platform"]
    if name in files:
        place = ["--platform", files[name].removeprefix("../")]
    else:
        place = ["--scenario", scenarios.get(name, name).removeprefix("../")]
        place += ["--network", run["network"]] if run["network"] else []
    words = ["gridval", "run", *place, "--app", run["app"]]
    words += ["--class", run["class"]] if run["class"] else []
    words += ["--ranks", str(run["ranks"]), "--mapping", run["mapping"], "--efficiency", run["efficiency"]]
    return shlex.join([*words, "--predictor", found["fields"]["predictor"], *_store(desk)])


def _store(desk: Desk) -> list[str]:
    return ["--store", str(desk.project.store)]
