"""The pages of systems of levels: a new one, the canvas with its list of parts, and the hardware database."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.files.toml_places import places_of
from platforms.system.catalogue import found
from platforms.system.database import KINDS, DiskArray, NetworkHardware, read_hardware
from platforms.system.scheduler import POLICIES
from validation.workbench.dispatch.desk import Desk
from validation.workbench.editing import drafts
from validation.workbench.editing.drafts import Draft
from validation.workbench.editing.fields import field_of, fields_of, typed
from validation.workbench.editing.layout import elements_of
from validation.workbench.editing.parts import Part, mark_error, tree_of
from validation.workbench.editing.systems import ADDED, ADDED_TITLES, NEW, SystemEdit
from validation.workbench.pages import editor
from validation.workbench.pages.editor import draft_fields, sentence, sound_values
from validation.workbench.web.answers import desk_of, moved, page, saved_as
from validation.workbench.web.forms import posted, texts

KIND = "platforms"
_COUNT = "n:"  # before a label, in the names of fields with its number of processes
_SET = "set:"  # before a key, in the names of fields of a part
_MOST_MOVED = 4000
_FAR = 1e6  # of a position on the canvas
_ANY = "*"


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
    return _page(request, draft, request.query_params)


async def change(request: Request) -> Response:
    """Carry out one operation on the draft of a system."""
    return await editor.change(request, KIND, check=_checked, apply=_changed, show=_page, place=_place)


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
        values = f"{entry.bandwidth_Bps * 8e-9:.5g} Gbit/s, {entry.latency_s * 1e6:.4g} us"
    elif isinstance(entry, DiskArray):
        values = f"reads {entry.read_Bps / 1e6:.5g} MB/s, writes {entry.write_Bps / 1e6:.5g} MB/s"
    else:
        price = "" if entry.price_usd is None else f", {entry.price_usd:.5g} USD"
        values = f"{entry.cores:,} cores, {entry.double_flops / 1e9:.5g} Gflop/s, {entry.full_w:.4g} W{price}"
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
    if op == "set":
        path = part.path
        for name, text in fields.items():
            field = field_of(part, name.removeprefix(_SET)) if name.startswith(_SET) else None
            if field is not None and text.strip() != dict((f.key, shown) for f, shown in fields_of(part))[field.key]:
                path = edit.set_value(part, field.key, typed(field, text))
                part = next((inner for inner in tree_of(edit.values).all_parts() if inner.path == path), part)
    elif op.startswith("add-"):
        path = edit.add(part, op.removeprefix("add-"))
    elif op == "copy":
        path = edit.copy(part)
    elif op == "delete":
        path = edit.remove(part)
    elif op in ("up", "down"):
        path = edit.shift(part, up=op == "up")
    elif op == "connect":
        path = edit.connect(part, edit.part(fields.get("target", "")))
    else:
        raise UserError(f"operation {op!r}", "there is none of this name", "Use the buttons of the page")
    draft.change(replace(version, text=edit.result()), seen)
    return ".".join(map(str, path)) or "system"


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


def _page(
    request: Request, draft: Draft, given: Mapping[str, str], error: str = "", status: int = 200
) -> Response:  # fmt: skip
    desk = desk_of(request)
    counts, policy, wrong_count = _counts(given)
    values, syntax = sound_values(draft)
    wrong, lines = ([str(syntax)], [syntax.line]) if syntax else ([], [])
    shown: dict[str, Any] = {"sound": values is not None, "checked": None, "top": Part("system", (), "")}
    if values is not None:
        tree, places = tree_of(values), places_of(draft.version.text)
        checked = _checked(desk, draft, counts, policy)
        wrong = [sentence(problem) for problem in checked["wrong"]]
        paths = [tuple(problem[3]) for problem in checked["wrong"]]
        lines = [places.line_of(mark_error(tree, path, said).path) for path, said in zip(paths, wrong, strict=True)]
        shown |= {"top": tree, "checked": None if wrong else checked}
    part = _chosen(shown["top"], given.get("part", ""))
    placed = _placed_words(shown["checked"])
    elements = elements_of(shown["top"], draft.version.positions, placed=placed, selected=part.id)
    return page(
        request, "system.html", status=status, **draft_fields(draft, KIND, wrong, lines), **shown,
        **_placing(shown["top"], shown["checked"], counts, policy), part=part, fields=fields_of(part),
        adds=[(kind, ADDED_TITLES[kind]) for kind, above in ADDED.items() if part.kind in above],
        targets=_targets(draft, part) if values is not None else [], within=_line_within(draft, part),
        elements=json.dumps(elements),
        error=error or wrong_count, hardware=_names_of_hardware(),
    )  # fmt: skip


def _line_within(draft: Draft, part: Part) -> int | None:
    """Return the line of the value that a part is written in; None: it has lines of its own, as operations need it."""
    if part.kind in ("disk", "system"):
        return None
    places = places_of(draft.version.text)
    return None if places.section(part.path) is not None else places.line_of(part.path)


def _targets(draft: Draft, part: Part) -> list[Part]:
    edit = SystemEdit(draft.version.text)
    return edit.targets(edit.part(part.id))


def _chosen(tree: Part, name: str) -> Part:
    """Return the part of an id, or the nearest one that contains it."""
    by_id = {inner.id: inner for inner in tree.all_parts()}
    while name and name not in by_id:
        name = name.rpartition(".")[0]
    return by_id.get(name, tree.parts[0] if tree.parts else tree)


def _counts(given: Mapping[str, str]) -> tuple[dict[str, int], str, str]:
    """Return the numbers of processes to place by label, the policy, and what is wrong with them."""
    counts, wrong = {}, ""
    for key, text in given.items():
        label, text = key.removeprefix(_COUNT), text.strip()
        if key.startswith(_COUNT) and label and text:
            if text.isascii() and text.isdecimal() and len(text) <= 15:
                counts[label] = int(text)
            else:
                wrong = str(UserError(f"processes of {label}", f"{text!r} is not a number", "Give 0 or more"))
    policy = given.get("policy", "")
    return counts, policy if policy in POLICIES else next(iter(POLICIES)), wrong


def _checked(
    desk: Desk, draft: Draft, counts: Mapping[str, int] = MappingProxyType({}), policy: str = "fastest"
) -> dict[str, Any]:
    return desk.check("check_system", name=draft.name, text=draft.version.text, counts=dict(counts), policy=policy)


def _placing(tree: Part, checked: Mapping[str, Any] | None, counts: Mapping[str, int], policy: str) -> dict[str, Any]:
    """Return the labels with their slots and processes, and the rows of the placement."""
    labels: dict[str, int] = {}
    for group in checked["groups"] if checked else ():
        for label, number in group["slots"].items():
            labels[label] = labels.get(label, 0) + number * group["units"]
    for part in tree.all_parts():
        slots = part.values.get("slots")
        for label in slots if isinstance(slots, Mapping) else ():
            labels.setdefault(str(label), 0)
    rows = [(label, slots) for label, slots in labels.items() if label != _ANY]
    rows += [(label, labels.get(_ANY, 0)) for label in counts if label not in labels]
    anywhere = labels.get(_ANY, 0)
    return {"labels": rows, "anywhere": anywhere, "counts": counts, "policy": policy, "policies": list(POLICIES),
            "count_prefix": _COUNT, "set_prefix": _SET}  # fmt: skip


def _placed_words(checked: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what is placed on each group of units, in words."""
    found_rows: dict[str, dict[str, int]] = {}
    for row in checked["placed"] if checked else ():
        labels = found_rows.setdefault(row["group"], {})
        labels[row["label"]] = labels.get(row["label"], 0) + row["processes"]
    return {
        group: "; ".join(f"{number:,} {label} placed" for label, number in labels.items())
        for group, labels in found_rows.items()
    }


def _names_of_hardware() -> dict[str, list[tuple[str, str]]]:
    hardware = read_hardware()
    return {kind: [(entry.name, entry.title) for entry in getattr(hardware, kind).values()] for kind in KINDS}


def _place(name: str, fields: Mapping[str, str]) -> str:
    kept = {k: v for k, v in fields.items() if v and (k in ("part", "policy") or k.startswith(_COUNT))}
    return f"/systems/{name}" + (f"?{urlencode(kept)}" if kept else "")
