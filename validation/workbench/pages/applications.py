"""The pages of applications of blocks: the list, the editor with text and steps, and their evaluation on a system."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.system.scheduler import POLICIES
from predictor.blocks.names import HARDWARE, POWER_RULES, SIMGRID
from validation.workbench.dispatch.desk import Desk
from validation.workbench.editing import drafts
from validation.workbench.editing.applications import EXAMPLE_FILES, ApplicationEdit, example, path_of, step_of
from validation.workbench.editing.drafts import Draft
from validation.workbench.editing.reading import read_places
from validation.workbench.editing.step_fields import fields_of_step, names_for, offered, with_values
from validation.workbench.editing.steps import EXAMPLES, Program, mark_error, programs_of
from validation.workbench.pages import editor
from validation.workbench.pages.editor import answer, checked_soon, draft_fields, sentence, sound_values
from validation.workbench.pages.files import shown_items
from validation.workbench.pages.step_costs import NONE, add_costs, costs_of, known_costs, systems_for
from validation.workbench.project.folder import Project
from validation.workbench.project.platform_files import listed, located
from validation.workbench.web.answers import desk_of, moved, page, saved_as
from validation.workbench.web.forms import posted, texts

KIND = "applications"
_BLOCKS = ("bar", "message", "properties", "placing", "parts", "next")
_FIELD = "field:"  # before a key, in the names of fields of a step
MODELS = (SIMGRID, HARDWARE, "galera+", "galera", "kask")
_COUNT, _SET = "n:", "v:"  # before labels and variables, in the names of fields


def show_list(request: Request) -> Response:
    """Answer with the list of applications."""
    return _list(request)


async def begin(request: Request) -> Response:
    """Begin the draft of a new application, from an example or empty."""
    fields = texts(await posted(request))

    def done() -> Response:
        try:
            text = example(fields.get("example", ""))
            name = drafts.begin(desk_of(request).project, KIND, fields.get("file_name", ""), text)
        except UserError as err:
            return _list(request, fields, str(err), 400)
        return moved(f"/applications/{name}")

    return await run_in_threadpool(done)


def _list(request: Request, given: Mapping[str, str] | None = None, error: str = "", status: int = 200) -> Response:
    project = desk_of(request).project
    unsaved = drafts.unsaved(project, KIND)
    shown = shown_items(request, KIND)
    by_name = {item.name: item for item in shown["items"]}
    new = {name for name in unsaved if not (project.applications / name).is_file()}
    names = sorted({*by_name, *(() if shown["archived"] or shown["tag"] else new)})
    return page(request, "applications.html", status=status, names=names, by_name=by_name, unsaved=unsaved,
                examples=EXAMPLE_FILES, given=given or {}, error=error, **shown)  # fmt: skip


def show(request: Request) -> Response:
    """Answer with the editor of an application."""
    draft = Draft(desk_of(request).project, KIND, request.path_params["name"])
    return _page(request, draft, request.query_params)


async def change(request: Request) -> Response:
    """Carry out one operation on the draft of an application."""
    return await editor.change(request, KIND, check=_checked, apply=_changed, show=_page, place=_place)


def download(request: Request) -> Response:
    """Answer with the draft as a file."""
    draft = Draft(desk_of(request).project, KIND, request.path_params["name"])
    headers = saved_as(draft.name)
    return Response(draft.version.text, media_type="application/toml", headers=headers)


def _changed(draft: Draft, fields: Mapping[str, str], seen: int) -> str:
    op, version = fields.get("op", ""), draft.version
    _, wrong = sound_values(draft)
    if wrong is not None:
        raise UserError(wrong.where, wrong.problem, "Correct the text first")
    edit, path = ApplicationEdit(version.text), path_of(fields.get("part", ""))
    if op == "add":
        path = edit.add(path, fields.get("example", ""))
    elif op == "set":
        old, named = edit.step_text(path), _named_steps(edit)
        text = fields.get("step", old)
        if text.strip() == old:
            given = {key.removeprefix(_FIELD): value for key, value in fields.items() if key.startswith(_FIELD)}
            text = with_values(old, given, named)
        if text.strip() != old:
            path = edit.replace(path, text)
    elif op == "copy":
        path = edit.copy(path)
    elif op == "delete":
        path = edit.remove(path)
    elif op in ("up", "down"):
        path = edit.shift(path, up=op == "up")
    else:
        raise UserError(f"operation {op!r}", "there is none of this name", "Use the buttons of the page")
    draft.change(replace(version, text=edit.result()), seen)
    return ".".join(map(str, path))


def _named_steps(edit: ApplicationEdit) -> Mapping[str, Any]:
    """Return the named steps of an application that is edited."""
    named = edit.values.get("steps")
    return named if isinstance(named, Mapping) else {}


def _checked(desk: Desk, draft: Draft) -> dict[str, Any]:
    return desk.check("check_application", name=draft.name, text=draft.version.text)


def _page(
    request: Request, draft: Draft, given: Mapping[str, str], error: str = "", status: int = 200
) -> Response:  # fmt: skip
    values, syntax = sound_values(draft)
    wrong, programs, is_checked = [str(syntax)] if syntax else [], list[Program](), True
    lines: list[int | None] = [syntax.line] if syntax else []
    if values is not None:
        places = read_places(draft.version.text)
        programs = programs_of(values, places)
        checked, is_checked = checked_soon(request, draft, "", lambda: _checked(desk_of(request), draft))
        wrong = [sentence(error) for error in (checked["wrong"] if checked else ())]
        paths = [tuple(error[3]) for error in (checked["wrong"] if checked else ())]
        lines = [
            mark_error(programs, path, said) or places.line_of(path) for path, said in zip(paths, wrong, strict=True)
        ]
    part = given.get("part", "")
    chosen = {program.id for program in programs} | {step.id for program in programs for step in program.all_steps()}
    while part and part not in chosen:
        part = part.rpartition(".")[0]
    part = part or (programs[0].id if programs else "")
    system, costs_wrong, is_costed = _costed(request, draft, given, programs, is_sound=values is not None and not wrong)
    step = _step_text(draft, part)
    return answer(
        request, "application.html", _BLOCKS, status=status, **draft_fields(draft, KIND, wrong, lines),
        sound=values is not None, programs=programs, part=part, part_id=part, step=step,
        **_step_fields(values or {}, part, step), examples=list(EXAMPLES), error=error, is_checked=is_checked,
        is_complete=is_checked and is_costed, systems=systems_for(desk_of(request)), cost_on=system,
        costs_wrong=costs_wrong, field_prefix=_FIELD, no_system=NONE,
    )  # fmt: skip


def _costed(
    request: Request, draft: Draft, given: Mapping[str, str], programs: list[Program], *, is_sound: bool
) -> tuple[str, str, bool]:  # fmt: skip
    """Write the times of steps; return the system, why there are none, and whether they are known for this text.

    A script asks for those that are not known after it has shown the change.
    """
    desk = desk_of(request)
    systems = systems_for(desk)
    system = given.get("cost", "") or (systems[0] if systems else NONE)
    if system == NONE or system not in systems or not is_sound:
        return system, "", True
    costs = known_costs(desk, draft, system)
    if costs is None and editor.BY_SCRIPT in request.headers and "check" not in request.query_params:
        return system, "", False
    times, wrong = costs or costs_of(desk, draft, system)
    add_costs(programs, times)
    return system, wrong, True


def _step_fields(values: Mapping[str, Any], part: str, text: str | None) -> dict[str, Any]:
    """Return the fields of the chosen step, and the names that are offered while one types."""
    if text is None:
        return {"fields": [], "known_names": [], "offered": {}}
    named = values.get("steps")
    try:
        fields = fields_of_step(step_of(text), named if isinstance(named, Mapping) else {})
    except UserError:
        fields = []
    steps: list[object] = []
    waiting: list[object] = [values]
    while waiting:
        inner = waiting.pop()
        steps.append(inner)
        if isinstance(inner, Mapping | list):
            waiting += inner.values() if isinstance(inner, Mapping) else inner
    return {"fields": fields, "known_names": names_for(values, path_of(part)), "offered": offered(values, steps)}


def _step_text(draft: Draft, part: str) -> str | None:
    """Return the text of the chosen step; None: a whole program is chosen, or the step has tables of its own."""
    if not part or not part.rpartition(".")[2].isdecimal():
        return None
    try:
        return ApplicationEdit(draft.version.text).step_text(path_of(part))
    except UserError:
        return None


def _place(name: str, fields: Mapping[str, str]) -> str:
    kept = {key: value for key in ("part", "cost") if (value := fields.get(key, ""))}
    return f"/applications/{name}" + (f"?{urlencode(kept)}" if kept else "")


def show_run(request: Request) -> Response:
    """Answer with the form that evaluates an application, and with the result if it was sent."""
    desk = desk_of(request)
    given = {"system": "", "model": "", "policy": "", "power": "", **request.query_params}
    draft = Draft(desk.project, KIND, request.path_params["name"])
    checked = _checked(desk, draft)
    result, error, status, command = None, "", 200, ""
    if checked["wrong"]:
        error = " ".join(map(sentence, checked["wrong"]))
    elif given.get("system"):
        try:
            words = _words(desk.project, given, checked)
            result = desk.evaluate(name=draft.name, text=draft.version.text, words=words[1])
            command = shlex.join(["gridval", "blocks", "run", f"{KIND}/{draft.name}", *words[0]])
        except UserError as err:
            error, status = str(err), 400
    systems = _systems(desk.project)
    return page(
        request, "application_run.html", status=status, draft=draft, saved=draft.is_saved, checked=checked,
        given=given, result=result, command=command, error=error, systems=systems, models=MODELS,
        policies=list(POLICIES), powers=POWER_RULES, count_prefix=_COUNT, set_prefix=_SET,
    )  # fmt: skip


def _systems(project: Project) -> tuple[list[str], list[str]]:
    """Return the systems that can be named: files of the project, and scenarios."""
    entries = listed(project)
    files = [entry.name for entry in entries if entry.is_file and entry.name.endswith(".toml")]
    return files, [entry.name for entry in entries if not entry.is_file]


def _words(
    project: Project, given: Mapping[str, str], checked: Mapping[str, Any]
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Return the options of the command that evaluates, as a user types them and as the worker takes them.

    Raises:
        UserError: A value is not among the choices, or is no expression of one line.
    """
    name = given["system"]
    place = located(project, name)
    if place.endswith(".xml"):
        raise UserError(f"system {name!r}", "not a system file or a scenario", "Choose one from the list")
    words = []
    for key, known in (("model", MODELS), ("policy", tuple(POLICIES)), ("power", POWER_RULES)):
        value = given.get(key, known[0]) or known[0]
        if value not in known:
            raise UserError(key, f"{value!r} is not known", f"Choose one of {', '.join(known)}")
        if value != known[0]:
            words.append(f"--{key}={value}")
    for prefix, option, defaults in ((_COUNT, "--count", checked["labels"]), (_SET, "--set", checked["variables"])):
        for key, text in given.items():
            variable, value = key.removeprefix(prefix), text.strip()
            if key.startswith(prefix) and value and value != str(defaults.get(variable)):
                words.append(f"{option}={variable}={value}")
    shown = name if place == name else f"{project.platforms.name}/{name}"
    return [f"--system={shown}", *words], [f"--system={place}", *words]
