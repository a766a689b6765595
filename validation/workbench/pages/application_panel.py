"""The panel of applications: a suite of counts, variables, systems and models is put together, counted and queued."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.system.scheduler import POLICIES
from predictor.blocks.names import POWER_RULES
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.files import hidden
from validation.workbench.pages.saving import save_and_queue
from validation.workbench.project.application_suites import (
    FAILURE_RATE,
    MODELS,
    OBJECTIVES,
    SIMULATE,
    ApplicationForm,
    counts_of,
    rate_of,
    read_form,
    text_of_form,
    variables_of,
)
from validation.workbench.project.folder import Project
from validation.workbench.project.platform_files import listed, located
from validation.workbench.project.suite_files import is_suite_of_applications, names, stamp_of
from validation.workbench.web.answers import desk_of, page

HERE = "/panel/applications"
COUNT, SET = "n:", "v:"  # before labels and variables, in the names of fields
LISTS = {  # key: title, known values
    "models": ("Models of the costs", MODELS),
    "powers": ("Power rules", POWER_RULES),
    "policies": ("Order in which units get processes", tuple(POLICIES)),
    "objectives": ("Objectives: the best points by each are listed first", OBJECTIVES),
}


def show(request: Request) -> Response:
    """Answer with the panel; the address has its values, so that reloading loses nothing."""
    query = request.query_params
    if query.get("suite"):
        return _panel(request, read_form(desk_of(request).project, query["suite"]))
    return _panel(request, _form_of(query))


def look(request: Request) -> Response:
    """Answer with the size of the suite as it is now, and what is wrong with each field."""
    query = request.query_params
    form = _form_of(query)
    described = _described(desk_of(request), form)
    present = [key for key in query if key.startswith((COUNT, SET)) or key == FAILURE_RATE]  # fields of the page
    answer = page(request, "application_panel_part.html", **_counted(request, form, described), present=present)
    answer.headers["HX-Replace-Url"] = f"{HERE}?{urlencode(_pairs(query))}"
    return answer


def fields(request: Request) -> Response:
    """Answer with the fields of the labels and variables of the chosen applications."""
    form = _form_of(request.query_params)
    described = _described(desk_of(request), form)
    wrong = _wrong(form, described)
    return page(request, "application_panel_fields.html", form=form, described=described, wrong_fields=wrong)


async def queue(request: Request) -> Response:
    """Save the suite, and queue it unless it was to be saved only."""
    return await save_and_queue(
        request, HERE, _form_of, text_of_form,
        lambda form, error, user, more: _panel(request, form, error=error, given={"user": user, **more}, status=400),
    )  # fmt: skip


def _pairs(query: QueryParams) -> list[tuple[str, str]]:
    return [(key, value) for key, value in query.multi_items() if value and not key.startswith(("form_", "user"))]


def _form_of(given: QueryParams | FormData) -> ApplicationForm:
    texts = {key: str(given[key]) for key in given}
    return ApplicationForm(
        name=texts.get("suite_name", "").strip(),
        applications=tuple(str(name) for name in given.getlist("applications") if name),
        systems=tuple(str(name) for name in given.getlist("systems") if name),
        lists={key: tuple(map(str, given.getlist(key))) for key in LISTS},
        counts={key.removeprefix(COUNT): text for key, text in texts.items() if key.startswith(COUNT) and text.strip()},
        variables={key.removeprefix(SET): text for key, text in texts.items() if key.startswith(SET) and text.strip()},
        simulate=bool(texts.get(SIMULATE)),
        failure_rate=texts.get(FAILURE_RATE, ""),
    )


def _described(desk: Desk, form: ApplicationForm) -> dict[str, Any]:
    """Return the labels and variables of the chosen applications, and what the chosen systems take of each label."""
    known = set(_applications(desk.project))
    applications = [name for name in form.applications if name in known]
    if not applications:
        return {"labels": {}, "variables": {}, "most": {}, "wrong": []}
    systems, wrong = [], []
    for name in form.systems:
        try:
            systems.append(name if located(desk.project, name) == name else f"platforms/{name}")
        except UserError as err:
            wrong.append(str(err))
    described = desk.describe(applications, systems)
    return {**described, "wrong": [*wrong, *described["wrong"]]}


def _wrong(form: ApplicationForm, described: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with each field, by its name; nothing is said of a field that is right."""
    wrong = {}
    checks: tuple[tuple[str, Mapping[str, str], Callable[[str, str], tuple[str, ...]]], ...] = (
        (COUNT, form.counts, counts_of), (SET, form.variables, variables_of)
    )  # fmt: skip
    for prefix, texts, check in checks:
        for name, text in texts.items():
            try:
                values = check(text, name)
                if prefix == COUNT:
                    _check_most(name, values, described["most"].get(name, {}))
            except UserError as err:
                wrong[prefix + name] = f"{err.problem}. {err.remedy}."
    try:
        rate_of(form.failure_rate)
    except UserError as err:
        wrong[FAILURE_RATE] = f"{err.problem}. {err.remedy}."
    return wrong


def _check_most(label: str, values: tuple[str, ...], most: Mapping[str, int]) -> None:
    """Refuse a count that a system does not take."""
    largest = max(map(int, values))
    for system, slots in most.items():
        if largest > slots:
            raise UserError(label, f"{largest:,} is more than {system} takes: up to {slots:,}", "Those runs would fail")


def _counted(request: Request, form: ApplicationForm, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the size of a suite for the page, or what is wrong with it."""
    context: dict[str, Any] = {"counted": None, "wrong": "", "described": described, "form": form}
    context["wrong_fields"] = _wrong(form, described)
    if not form.applications or not form.systems:
        return context
    desk = desk_of(request)
    try:
        return {**context, "counted": desk.count(text_of_form(desk.project, form))}
    except UserError as err:
        field = FAILURE_RATE if FAILURE_RATE in context["wrong_fields"] else _field_of(err, described)
        if field:
            context["wrong_fields"].setdefault(field, f"{err.problem}. {err.remedy}.")
        return {**context, "wrong": "" if field else str(err)}


def _field_of(err: UserError, described: Mapping[str, Any]) -> str:
    """Return the field of the label or variable that an error is about; empty: it is about something else."""
    table, name = (*err.keys, "", "")[:2]
    for prefix, key, tables in ((SET, "variables", ("variables",)), (COUNT, "labels", ("counts", "labels"))):
        if table in tables and name in described[key]:
            return f"{prefix}{name}"
    return ""


def _applications(project: Project) -> list[str]:
    return [path.name for path in sorted(project.applications.glob("*.toml")) if path.is_file()]


def _panel(
    request: Request, form: ApplicationForm, *, error: str = "", given: Mapping[str, Any] | None = None,
    status: int = 200,
) -> Response:  # fmt: skip
    desk = desk_of(request)
    project = desk.project
    described = _described(desk, form)
    archived = hidden(request, "platforms") - set(form.systems)
    systems = [e for e in listed(project) if not e.name.endswith(".xml") and e.name not in archived]
    known = [name for name in _applications(project)
             if name not in hidden(request, "applications") or name in form.applications]  # fmt: skip
    shown = {"seen": stamp_of(project, form.name), "taken": False, **(given or {})}
    left_out = hidden(request, "suites") - {f"{form.name}.toml"}
    suites = [n for n in names(project) if f"{n}.toml" not in left_out and is_suite_of_applications(project, n)]
    return page(
        request, "application_panel.html", status=status, applications=known, systems=systems, lists=LISTS,
        missing=[name for name in form.applications if name not in known],
        absent=[name for name in form.systems if name not in {entry.name for entry in systems}],
        saved=suites, error=error, given=shown, present=(), **_counted(request, form, described),
    )  # fmt: skip
