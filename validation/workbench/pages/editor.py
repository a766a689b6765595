"""Operations on drafts that the editors of systems and applications have in common, and their answers."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from platforms.errors import UserError
from platforms.files.checked_toml import TomlError, toml_values
from validation.workbench.dispatch.desk import Desk
from validation.workbench.editing.changes import PageState, PageStates
from validation.workbench.editing.drafts import Draft
from validation.workbench.editing.reading import read_values
from validation.workbench.web.answers import blocks_of, desk_of, moved, page, record
from validation.workbench.web.forms import posted, texts
from validation.workbench.web.lanes import in_lane
from validation.workbench.work.all_errors import MOST_ERRORS

BY_SCRIPT = "x-editor"  # header of requests of editor.js, with the name of what it shows; it gets what changed
_LONG = 20_000  # characters of a text whose check a script asks for apart
_MOST_CHECKS = 32
_STAYING = ("save", "save-over", "text", "place", "positions")  # operations after which the same parts are chosen
# By draft: a change reads the draft and writes it.
_locks: WeakValueDictionary[tuple[str, str, str], threading.Lock] = WeakValueDictionary()
_choosing = threading.Lock()
_states = PageStates()
# By draft: its text, what else the check depended on, and what it said.
_checks: OrderedDict[tuple[str, str, str], tuple[str, Hashable, dict[str, Any]]] = OrderedDict()

Show = Callable[[Request, Draft, Mapping[str, str], str, int], Response]
Change = Callable[[Draft, Mapping[str, str], int], str]  # changes the draft, and returns what is chosen then
Check = Callable[[Desk, Draft], Mapping[str, Any]]


async def change(
    request: Request, kind: str, *, check: Check, apply: Change, show: Show, place: Callable[..., str]
) -> Response:
    """Carry out the operation of a form on a draft.

    Args:
        request: The form; its field ``op`` names the operation, ``seen`` has the stamp of the draft.
        kind: The folder of the file.
        check: Checks a draft before it is saved; its answer has the errors under ``wrong``.
        apply: Carries out the operations of this editor alone.
        show: Answers with the page of a draft; its arguments are the request, the draft, the fields, an error and the
            status.
        place: Returns the address of a draft's page from its name and the fields.
    """
    fields = texts(await posted(request))
    name = request.path_params["name"]

    def done() -> Response:
        project = desk_of(request).project
        with _lock_of(str(project.folder), kind, name):
            draft = Draft(project, kind, name)
            before = dict(fields)
            try:
                chosen = _common(desk_of(request), draft, fields, check) or apply(draft, fields, seen_of(fields))
            except UserError as err:
                return show(request, Draft(project, kind, name), before, str(err), 400)
        if fields.get("op") in ("save", "save-over"):
            record(request, f"saved {kind}/{name}")
        if fields.get("op") == "discard":
            return _gone(request, kind, draft) or moved(place(name, fields))
        first, _, others = (fields.get("part", "") if chosen in ("", "-") else chosen).partition(" ")
        now = {**fields, "part": first, "also": fields.get("also", "") if fields.get("op") in _STAYING else others}
        if BY_SCRIPT in request.headers:
            return show(request, draft, now, "", 200)
        return moved(place(name, now))

    return await in_lane(request, done)


def _lock_of(*draft: str) -> threading.Lock:
    with _choosing:
        return _locks.setdefault((draft[0], draft[1], draft[2]), threading.Lock())


def seen_of(fields: Mapping[str, str]) -> int:
    """Return the stamp of the draft that a form was made for."""
    text = fields.get("seen", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else -1


def new_text(draft: Draft, text: str) -> str:
    """Return a text that a browser sent, with the line ends of the draft; its own text if nothing else differs."""
    old = draft.version.text
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if plain == old.replace("\r\n", "\n"):
        return old
    return plain.replace("\n", "\r\n") if "\r\n" in old else plain


def _common(desk: Desk, draft: Draft, fields: Mapping[str, str], check: Check) -> str:
    """Carry out an operation that every editor has; return "-" if it was one, else nothing."""
    op, seen = fields.get("op", ""), seen_of(fields)
    if op in ("undo", "redo"):
        (draft.undo if op == "undo" else draft.redo)(seen)
    elif op == "text":
        draft.change(replace(draft.version, text=new_text(draft, fields.get("text", ""))), seen)
    elif op == "discard":
        draft.discard(seen)
    elif op in ("save", "save-over"):
        wrong = check(desk, draft)["wrong"]
        if wrong:
            where, problem, remedy, _ = wrong[0]
            more = f" ({len(wrong)} errors in all)" if len(wrong) > 1 else ""
            raise UserError(where, problem + more, f"{remedy.rstrip('.')}; the draft is kept meanwhile")
        draft.save(seen, over=op == "save-over")
    elif op != "place":  # which changes nothing: the address of the answer has the numbers of processes
        return ""
    return fields.get("part", "") or "-"


def _gone(request: Request, kind: str, draft: Draft) -> Response | None:
    """Return the way to the list of files if a draft was discarded whose file never was."""
    if draft.file_text() is not None:
        return None
    return RedirectResponse(f"/{kind}", 303)


def sound_values(draft: Draft) -> tuple[Mapping[str, Any] | None, TomlError | None]:
    """Return the values of a draft's text, which are not to be changed, or None and why it is no TOML."""
    try:
        return read_values(draft.version.text), None
    except TomlError:
        pass
    try:
        toml_values(draft.version.text, draft.name)  # its error names the file
    except TomlError as err:
        return None, err
    raise AssertionError("a text is sound or not")


def checked_soon(
    request: Request, draft: Draft, known: Hashable, check: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any] | None, bool]:  # fmt: skip
    """Return what a check of a draft says, and whether that is known for its text as it is now.

    The check of a large text takes longer than a user waits for a change: a script gets what was known before, and asks
    for the check then.

    Args:
        request: The request; its field or parameter ``check`` asks for the check.
        draft: The draft.
        known: What the check depends on besides the text.
        check: Checks the draft.
    """
    key = (str(desk_of(request).project.folder), draft.kind, draft.name)
    text = draft.version.text
    kept = _checks.get(key)
    if kept is not None and kept[:2] == (text, known) and "hardware" not in text:
        return kept[2], True
    if len(text) > _LONG and BY_SCRIPT in request.headers and "check" not in request.query_params:
        return (None if kept is None else kept[2]), False
    checked = check()
    with _choosing:
        _checks[key] = (text, known, checked)
        _checks.move_to_end(key)
        while len(_checks) > _MOST_CHECKS:
            _checks.popitem(last=False)
    return checked, True


def answer(
    request: Request, template: str, places: Sequence[str], *, status: int = 200,
    elements: Sequence[Mapping[str, Any]] = (), **context: Any,
) -> Response:  # fmt: skip
    """Answer with the page of a draft, or to a script with what changed of it.

    Args:
        request: The request.
        template: The template of the page.
        places: Its blocks that change, each an element with the block's name as its id.
        status: The status.
        elements: What is on the canvas.
        context: What the template needs; its ``text`` is that of the draft.
    """
    text = context["text"].replace("\r\n", "\n")  # as a text field has it
    on_canvas = {element["data"]["id"]: element for element in elements}
    if BY_SCRIPT not in request.headers:
        view = _states.begin(PageState({"text": text}, on_canvas))
        return page(request, template, status=status, view=view, elements=json.dumps(elements), **context)
    state = PageState({**blocks_of(request, template, places, **context), "text": text}, on_canvas)
    name, changed = _states.step(request.headers[BY_SCRIPT], state)
    sound, stamp = context["sound"], context["draft"].stamp
    return JSONResponse({"view": name, "sound": sound, "stamp": stamp, "part": context["part_id"],
                         "checked": context.get("is_complete", context["is_checked"]), **changed}, status)  # fmt: skip


def draft_fields(
    draft: Draft, folder: str, wrong: Sequence[str], lines: Iterable[int | None]
) -> dict[str, Any]:  # fmt: skip
    """Return what the templates of both editors need.

    Args:
        draft: The draft.
        folder: The folder of its file.
        wrong: The errors, each as one line.
        lines: The lines of the errors; None: the line is not known.
    """
    return {
        "draft": draft, "text": draft.version.text, "stale": draft.is_stale, "saved": draft.is_saved, "folder": folder,
        "wrong": wrong, "lines": sorted({line for line in lines if line}),
        "most_errors": MOST_ERRORS,
    }  # fmt: skip


def sentence(wrong: Sequence[Any]) -> str:
    """Return the place, the problem and the remedy of an error as one line; its keys come last."""
    return str(UserError(*wrong[:3]))
