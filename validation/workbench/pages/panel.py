"""The panel: a suite is put together, counted, saved and queued."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import Response

from apps.programs.kernel import kernel_names, named_kernel
from platforms.errors import UserError
from platforms.grids.network import network_names
from platforms.model.placement import MAPPINGS
from predictor.registry import PREDICTORS
from validation.workbench.pages.files import hidden
from validation.workbench.pages.saving import save_and_queue
from validation.workbench.project.own_programs import KEYS, program_files
from validation.workbench.project.platform_files import listed
from validation.workbench.project.suite_files import (
    COUNTS,
    LISTS,
    SuiteForm,
    is_suite_of_applications,
    names,
    read_form,
    stamp_of,
    text_of_form,
)
from validation.workbench.web.answers import desk_of, moved, page

CLASSES = ("S", "W", "A", "B", "C", "D")


@dataclass(frozen=True)
class NameList:
    """One list of the panel: names of which any number can be chosen."""

    key: str  # of the campaign file
    title: str
    default: str  # what happens if nothing is chosen
    known: Sequence[str]


def _choices() -> list[NameList]:
    return [
        NameList("apps", "Kernels", "none chosen: cg, mg, lu", _with_classes()),
        NameList("classes", "Classes", "none chosen: B", CLASSES),
        NameList("predictors", "Predictors", "none chosen: as gridval run", tuple(PREDICTORS)),
        NameList("networks", "Networks of the scenarios", "none chosen: that of each scenario, or gigabit",
               network_names()),
        NameList("mappings", "Mappings", "none chosen: block", tuple(MAPPINGS)),
    ]  # fmt: skip


@functools.cache
def _with_classes() -> tuple[str, ...]:
    """Return the kernels that have classes, as a campaign file needs them."""
    return tuple(name for name in kernel_names() if named_kernel(name).size_parameter is None)


def show(request: Request) -> Response:
    """Answer with the panel; the address has its values, so that reloading loses nothing."""
    query = request.query_params
    if query.get("suite"):
        if is_suite_of_applications(desk_of(request).project, query["suite"]):
            return moved(f"/panel/applications?{urlencode({'suite': query['suite']})}")
        return _panel(request, read_form(desk_of(request).project, query["suite"]))
    return _panel(request, _form_of(request, query), counted=bool(query))


def look(request: Request) -> Response:
    """Answer with the size of the suite as it is now."""
    query = request.query_params
    form = _form_of(request, query)
    answer = page(request, "panel_part.html", **_counted(request, form))
    pairs = [(key, value) for key, value in query.multi_items() if value and not key.startswith(("form_", "user"))]
    answer.headers["HX-Replace-Url"] = f"/panel?{urlencode(pairs)}"
    return answer


async def queue(request: Request) -> Response:
    """Save the suite, and queue it unless it was to be saved only."""
    return await save_and_queue(
        request, "/panel", lambda given: _form_of(request, given), text_of_form,
        lambda form, error, user, more: _panel(request, form, error=error, given={"user": user, **more}, status=400),
    )  # fmt: skip


def _form_of(request: Request, given: QueryParams | FormData) -> SuiteForm:
    name = str(given.get("suite_name", "")).strip()
    others: tuple[str, ...] = ()
    project = desk_of(request).project
    if name in names(project) and not is_suite_of_applications(project, name):
        others = read_form(desk_of(request).project, name).others
    return SuiteForm(
        name=name,
        platforms=tuple(map(str, given.getlist("platforms"))),
        lists={key: tuple(map(str, given.getlist(key))) for key in LISTS},
        counts={key: str(given.get(key, "")) for key in COUNTS},
        program={key: str(given[f"program_{key}"]) for key in KEYS if given.get(f"program_{key}")},
        others=others,
    )


def _counted(request: Request, form: SuiteForm) -> dict[str, Any]:
    """Return the size of a suite for the page, or what is wrong with it."""
    if not form.platforms and "random" not in form.others:
        return {"counted": None, "wrong": ""}
    desk = desk_of(request)
    try:
        return {"counted": desk.count(text_of_form(desk.project, form)), "wrong": ""}
    except UserError as err:
        return {"counted": None, "wrong": str(err)}


def _panel(
    request: Request, form: SuiteForm, *, counted: bool = True, error: str = "",
    given: Mapping[str, Any] | None = None, status: int = 200,
) -> Response:  # fmt: skip
    project = desk_of(request).project
    context = _counted(request, form) if counted and not error else {"counted": None, "wrong": ""}
    named = [entry.name for entry in listed(project)]
    entries = [entry for entry in listed(project)
               if entry.name not in hidden(request, "platforms") or entry.name in form.platforms]  # fmt: skip
    known = {choice.key: set(choice.known) for choice in _choices()}
    unlisted = {key: [name for name in form.lists.get(key, ()) if name not in known[key]] for key in LISTS}
    shown = {"seen": stamp_of(project, form.name), "taken": False, **(given or {})}
    return page(request, "panel.html", status=status, form=form, entries=entries, choices=_choices(),
                unlisted=unlisted, missing=[name for name in form.platforms if name not in named],
                saved=_saved(request, form), programs=program_files(project), error=error, given=shown,
                **context)  # fmt: skip


def _saved(request: Request, form: SuiteForm) -> list[str]:
    """Return the names of the suites that may be opened: those in the archive are left out."""
    archived = hidden(request, "suites")
    return [name for name in names(desk_of(request).project) if f"{name}.toml" not in archived or name == form.name]
