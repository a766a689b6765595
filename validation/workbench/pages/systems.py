"""The pages of systems of levels: a new one, the canvas with its list of parts, and the hardware database."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.files.toml_places import Path
from platforms.system.catalogue import found
from platforms.system.database import KINDS, DiskArray, NetworkHardware, read_hardware
from validation.workbench.editing import drafts
from validation.workbench.editing.drafts import Draft
from validation.workbench.editing.fields import field_of, fields_of, typed
from validation.workbench.editing.parts import Part, tree_of
from validation.workbench.editing.systems import NEW, SystemEdit
from validation.workbench.pages import editor
from validation.workbench.pages.editor import sound_values
from validation.workbench.pages.system_page import COUNT, KEPT, SET, check_draft, system_page
from validation.workbench.project.numbers import number_text
from validation.workbench.web.answers import desk_of, moved, page, saved_as
from validation.workbench.web.forms import posted, texts

KIND = "platforms"
_MOST_MOVED = 4000
_MOST_CHOSEN = 500  # parts at a time
_FAR = 1e6  # of a position on the canvas


def show_new(request: Request) -> Response:
    """Answer with the form of a new system."""
    return page(request, "system_new.html", given="", error="")


async def begin(request: Request) -> Response:
    """Begin the draft of a new system."""
    fields = texts(await posted(request))

    def done() -> Response:
        try:
            name = drafts.begin(desk_of(request).project, KIND, fields.get("file_name", ""), NEW)
        except UserError as err:
            given = fields.get("file_name", "")
            return page(request, "system_new.html", status=400, given=given, error=str(err))
        return moved(f"/systems/{name}")

    return await run_in_threadpool(done)


def show(request: Request) -> Response:
    """Answer with the editor of a system."""
    draft = Draft(desk_of(request).project, KIND, request.path_params["name"])
    return system_page(request, draft, request.query_params)


async def change(request: Request) -> Response:
    """Carry out one operation on the draft of a system."""
    return await editor.change(request, KIND, check=check_draft, apply=_changed, show=system_page, place=_place)


def download(request: Request) -> Response:
    """Answer with the draft as a file, as TOML or as XML."""
    desk = desk_of(request)
    draft, kind = Draft(desk.project, KIND, request.path_params["name"]), request.path_params["kind"]
    headers = saved_as(f"{draft.name.rpartition('.')[0]}.{kind}")
    if kind == "toml":
        return Response(draft.version.text, media_type="application/toml", headers=headers)
    if kind == "xml":
        made = desk.check("write_xml", name=draft.name, text=draft.version.text)
        return Response(made["xml"], media_type="application/xml", headers=headers)
    raise UserError(f"system {draft.name}", f"there is no {kind} file of it", "Download the XML file")


def search(request: Request) -> Response:
    """Answer with the entries of the hardware database that have all words."""
    kind = request.query_params.get("kind", "")
    words = request.query_params.get("words", "")[:200]
    tables, wrong = {}, ""
    try:
        tables = found(read_hardware(), words.split(), kind or None)
    except UserError as err:
        wrong = str(err)
    rows = {kind: [_hardware_row(entry) for entry in entries] for kind, entries in tables.items()}
    return page(request, "hardware.html", tables=rows, kinds=list(KINDS), kind=kind, words=words, wrong=wrong)


def _hardware_row(entry: Any) -> tuple[str, str, str]:
    if isinstance(entry, NetworkHardware):
        values = f"{number_text(entry.bandwidth_Bps * 8e-9)} Gbit/s, {number_text(entry.latency_s * 1e6)} us"
    elif isinstance(entry, DiskArray):
        values = f"reads {number_text(entry.read_Bps / 1e6)} MB/s, writes {number_text(entry.write_Bps / 1e6)} MB/s"
    else:
        price = "" if entry.price_usd is None else f", {number_text(entry.price_usd)} USD"
        speed = f"{number_text(entry.double_flops / 1e9)} Gflop/s"
        values = f"{number_text(entry.cores)} cores, {speed}, {number_text(entry.full_w)} W{price}"
    return entry.name, entry.title, values


def _changed(draft: Draft, fields: Mapping[str, str], seen: int) -> str:
    op, version = fields.get("op", ""), draft.version
    if op == "positions":
        moved_parts = {**version.positions, **_positions(fields.get("positions", ""))}
        draft.change(replace(version, positions=moved_parts), seen)
        return fields.get("part", "")
    _, wrong = sound_values(draft)
    if wrong is not None:
        raise UserError(wrong.where, wrong.problem, "Correct the text first")
    edit = SystemEdit(version.text)
    part = edit.part(fields.get("part") or edit.tree.id)
    parts = [part, *(edit.part(name) for name in fields.get("also", "").split()[:_MOST_CHOSEN])]
    if op == "set":
        path = _set(edit, parts, fields)
    elif op.startswith("add-"):
        kind = op.removeprefix("add-")
        path = edit.add(edit.place_for(part, kind), kind)
    elif op == "copy":
        path, *others = edit.copy(parts)
        return _kept(draft, edit, seen, path, others)
    elif op == "delete":
        path = edit.remove(parts)
    elif op in ("up", "down"):
        path = edit.shift(part, up=op == "up")
    elif op == "connect":
        path = edit.connect(parts, edit.part(fields.get("target", "")))
    else:
        raise UserError(f"operation {op!r}", "there is none of this name", "Use the buttons of the page")
    if op == "set":
        return _kept(draft, edit, seen, path, [other.path for other in parts[1:]])
    return _kept(draft, edit, seen, path)


def _kept(draft: Draft, edit: SystemEdit, seen: int, path: Path, others: Sequence[Path] = ()) -> str:
    """Keep the changed text, and return the ids of the parts that are chosen then."""
    draft.change(replace(draft.version, text=edit.result()), seen)
    return " ".join(".".join(map(str, chosen)) or "system" for chosen in (path, *others))


def _set(edit: SystemEdit, parts: Sequence[Part], fields: Mapping[str, str]) -> Path:
    """Give the parts the values that a form has and that differ from theirs; return the path of the first part."""
    path = parts[0].path
    for name, text in fields.items():
        key = name.removeprefix(SET)
        field = field_of(parts[0], key) if name.startswith(SET) else None
        if field is None:
            continue
        if len(parts) > 1:
            edit.set_values([part for part in parts if field_of(part, key) is not None], key, typed(field, text))
        elif text.strip() != dict((f.key, shown) for f, shown in fields_of(parts[0]))[field.key]:
            path = edit.set_value(parts[0], key, typed(field, text))
            part = next((inner for inner in tree_of(edit.values).all_parts() if inner.path == path), parts[0])
            parts = [part]
    return path


def _positions(text: str) -> dict[str, tuple[float, float]]:
    """Return the positions that a canvas sends as JSON."""
    try:
        given = json.loads(text)
        moved_parts = {str(name)[:300]: (float(x), float(y)) for name, (x, y) in given.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise UserError("positions", "not positions of parts", "Reload the page and move them again") from None
    if len(moved_parts) > _MOST_MOVED or not all(
        math.isfinite(c) and abs(c) < _FAR for at in moved_parts.values() for c in at
    ):
        raise UserError("positions", "too many, or too far away", "Move fewer parts")
    return moved_parts


def _place(name: str, fields: Mapping[str, str]) -> str:
    kept = {k: v for k, v in fields.items() if v and (k in KEPT or k.startswith(COUNT))}
    return f"/systems/{name}" + (f"?{urlencode(kept)}" if kept else "")
