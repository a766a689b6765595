"""The page of a system: what a user sees of its draft, on the canvas, in the list and beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.system.database import KINDS, read_hardware
from platforms.system.scheduler import POLICIES
from validation.workbench.dispatch.desk import Desk
from validation.workbench.editing.drafts import Draft
from validation.workbench.editing.fields import Field, fields_of
from validation.workbench.editing.folding import Folds, shown
from validation.workbench.editing.layout import Notes, elements_of
from validation.workbench.editing.parts import Part, mark_error, tree_of
from validation.workbench.editing.reading import read_places
from validation.workbench.editing.systems import ADDED, ADDED_TITLES, targets_of
from validation.workbench.pages.editor import answer, checked_soon, draft_fields, sentence, sound_values
from validation.workbench.pages.system_results import Overlay, overlay_of, results_of
from validation.workbench.web.answers import desk_of

KIND = "platforms"
COUNT = "n:"  # before a label, in the names of fields with its number of processes
SET = "set:"  # before a key, in the names of fields of a part
KEPT = ("part", "also", "policy", "folded", "unfolded", "result")  # fields that the address of the page has
_BLOCKS = ("bar", "heading", "message", "properties", "parts", "placing", "placed", "next")
_ANY = "*"


def system_page(
    request: Request, draft: Draft, given: Mapping[str, str], error: str = "", status: int = 200
) -> Response:  # fmt: skip
    """Answer with the page of a draft, or to a script with what changed of it."""
    desk = desk_of(request)
    counts, policy, wrong_count = _counts(given)
    overlay = None
    try:
        overlay = overlay_of(desk, draft.name, given.get("result", ""))
    except UserError as err:
        wrong_count = str(err)
    if overlay is not None:
        counts, policy = dict(overlay.counts), overlay.policy if overlay.policy in POLICIES else policy
    values, syntax = sound_values(draft)
    wrong, lines = ([str(syntax)], [syntax.line]) if syntax else ([], [])
    tree, checked, is_checked = Part("system", (), ""), None, True
    errors: Sequence[Sequence[Any]] = ()
    if values is not None:
        tree = tree_of(values)
        known = (tuple(counts.items()), policy)
        checked, is_checked = checked_soon(
            request, draft, known, lambda: check_draft(desk, draft, counts, policy)
        )  # fmt: skip
        errors = checked["wrong"] if checked else ()
        wrong = [sentence(problem) for problem in errors]
        lines = _lines(draft, tree, errors, wrong)
        checked = None if wrong else checked
    part = _chosen(tree, given.get("part", ""))
    also = [other for name in given.get("also", "").split() if (other := _named(tree, name)) and other is not part]
    folds = Folds(part.id, given.get("unfolded", "").split(), given.get("folded", "").split())
    view = shown(tree, folds)
    notes = Notes(
        _placed_words(checked, overlay), _figures(checked, overlay), {g["name"]: g["units"] for g in _groups(checked)}
    )
    elements = elements_of(view, draft.version.positions, notes=notes)
    return answer(
        request, "system.html", _BLOCKS, status=status, elements=elements,
        **draft_fields(draft, KIND, wrong, lines), sound=values is not None, checked=checked, is_checked=is_checked,
        **_placing(tree, checked, counts, policy), top=view, part=part, also=also, part_id=part.id,
        fields=_common_fields(part, also, errors), folds=folds,
        adds=[(kind, ADDED_TITLES[kind]) for kind, above in ADDED.items() if part.kind in above],
        palette=list(ADDED_TITLES.items()), targets=targets_of(tree, part) if values is not None else [],
        within=_line_within(draft, part), error=error or wrong_count, hardware=_names_of_hardware(),
        overlay=overlay, results=results_of(desk, draft.name),
    )  # fmt: skip


def _lines(draft: Draft, tree: Part, errors: Sequence[Sequence[Any]], wrong: Sequence[str]) -> list[int | None]:
    """Mark the parts with errors, and return the lines of these."""
    if not errors:
        return []
    places = read_places(draft.version.text)
    paths = [tuple(problem[3]) for problem in errors]
    return [places.line_of(mark_error(tree, path, said).path) for path, said in zip(paths, wrong, strict=True)]


def _common_fields(
    part: Part, also: Sequence[Part], errors: Sequence[Sequence[Any]]
) -> list[tuple[Field, str, bool]]:  # fmt: skip
    """Return the fields of the chosen parts, what all of them have in each, and whether it is wrong."""
    others = [{field.key: shown_text for field, shown_text in fields_of(other)} for other in also]
    rows = []
    for field, shown_text in fields_of(part):
        if all(field.key in other for other in others):
            same = all(other[field.key] == shown_text for other in others)
            is_wrong = any(_is_about(problem, part, field.key, shown_text) for problem in errors)
            rows.append((field, shown_text if same else "", is_wrong))
    return rows


def _is_about(problem: Sequence[Any], part: Part, key: str, shown_text: str) -> bool:
    """Return whether an error is about a field: it has its key, or is at the part and quotes the value."""
    path, keys = tuple(problem[3]), (*part.path, *key.split(".")[:1])
    return path[: len(keys)] == keys or (path == part.path and shown_text != "" and repr(shown_text) in problem[1])


def _line_within(draft: Draft, part: Part) -> int | None:
    """Return the line of the value that a part is written in; None: it has lines of its own, as operations need it."""
    if part.kind in ("disk", "system"):
        return None
    places = read_places(draft.version.text)
    return None if places.section(part.path) is not None else places.line_of(part.path)


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
        label, text = key.removeprefix(COUNT), text.strip()
        if key.startswith(COUNT) and label and text:
            if text.isascii() and text.isdecimal() and len(text) <= 15:
                counts[label] = int(text)
            else:
                wrong = str(UserError(f"processes of {label}", f"{text!r} is not a number", "Give 0 or more"))
    policy = given.get("policy", "")
    return counts, policy if policy in POLICIES else next(iter(POLICIES)), wrong


def _named(tree: Part, name: str) -> Part | None:
    return next((part for part in tree.all_parts() if part.id == name), None)


def check_draft(
    desk: Desk, draft: Draft, counts: Mapping[str, int] = MappingProxyType({}), policy: str = "fastest"
) -> dict[str, Any]:
    """Return what a system has and where processes are placed on it, or all that is wrong."""
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
            "count_prefix": COUNT, "set_prefix": SET}  # fmt: skip


def _placed_words(checked: Mapping[str, Any] | None, overlay: Overlay | None) -> dict[str, str]:
    """Return what is placed on each group of units, in words, with what a result says of it."""
    found_rows: dict[str, dict[str, int]] = {}
    for row in checked["placed"] if checked else ():
        labels = found_rows.setdefault(row["group"], {})
        labels[row["label"]] = labels.get(row["label"], 0) + row["processes"]
    return {
        group: "; ".join(
            f"{number:,} {label} placed" if overlay is None else overlay.words(label, number)
            for label, number in labels.items()
        )
        for group, labels in found_rows.items()
    }


def _names_of_hardware() -> dict[str, list[tuple[str, str]]]:
    hardware = read_hardware()
    return {kind: [(entry.name, entry.title) for entry in getattr(hardware, kind).values()] for kind in KINDS}


def _groups(checked: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    groups: Sequence[Mapping[str, Any]] = checked["groups"] if checked else ()
    return groups


def _figures(checked: Mapping[str, Any] | None, overlay: Overlay | None) -> dict[str, dict[str, float]]:
    """Return what the colours of the canvas can show of each group of units."""
    figures: dict[str, dict[str, float]] = {}
    used: dict[str, int] = {}
    computing: dict[str, float] = {}
    for row in checked["placed"] if checked else ():
        used[row["group"]] = used.get(row["group"], 0) + row["processes"]
        if overlay is not None and row["label"] in overlay.computing:
            part = row["processes"] * overlay.computing[row["label"]]
            computing[row["group"]] = computing.get(row["group"], 0.0) + part
    for group in _groups(checked):
        found = {"power": group["full_w"], "failures": group["failures_per_year"]}
        slots = sum(group["slots"].values()) * group["units"]
        if used and slots:
            found["load"] = used.get(group["name"], 0) / slots
        if group["name"] in computing:
            found["computing"] = 100 * computing[group["name"]] / used[group["name"]]
        figures[group["name"]] = {key: value for key, value in found.items() if value is not None}
    return figures
