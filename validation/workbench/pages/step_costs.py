"""The time of each step of an application on a system, as its editor shows it beside the steps."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.editing.drafts import Draft
from validation.workbench.editing.steps import Program
from validation.workbench.project.numbers import number_text
from validation.workbench.project.platform_files import listed, located

NONE = "-"  # instead of a system: show no times
_LIMIT_S = 5.0  # of an evaluation for an editor
_KEPT = 32
_NEGLIGIBLE = 1e-6  # part of the time of a step
_KINDS = {"computing_s": "computing", "sending_s": "sending", "waiting_s": "waiting", "disk_s": "disk"}
Costs = Mapping[
    tuple[str, str], Mapping[str, float]
]  # by label and place of a step: s of a process in the mean, by kind
_kept: OrderedDict[tuple[str, str, float], tuple[Costs, str]] = OrderedDict()
_keeping = threading.Lock()


def systems_for(desk: Desk) -> list[str]:
    """Return the systems and grids of the project on which steps may be evaluated."""
    return [entry.name for entry in listed(desk.project) if entry.is_file and entry.name.endswith(".toml")]


def known_costs(desk: Desk, draft: Draft, system: str) -> tuple[Costs, str] | None:
    """Return the times if they are known already, or why there are none."""
    return _kept.get(_key(desk, draft, system))


def costs_of(desk: Desk, draft: Draft, system: str) -> tuple[Costs, str]:
    """Return the time of each step, s, and why there is none if there is none."""
    key = _key(desk, draft, system)
    costs: dict[tuple[str, str], dict[str, float]] = {}
    wrong = ""
    try:
        words = [f"--system={located(desk.project, system)}", "--parts"]
        result = desk.evaluate(name=draft.name, text=draft.version.text, words=words, limit_s=_LIMIT_S)["result"]
        for label in result["labels"]:
            for step in label["steps"]:
                place = step["step"].removeprefix("step ")
                costs[label["label"], place] = {kind: step[kind] / label["processes"] for kind in _KINDS}
    except UserError as err:
        wrong = str(err)
    with _keeping:
        _kept[key] = (costs, wrong)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return costs, wrong


def _key(desk: Desk, draft: Draft, system: str) -> tuple[str, str, float]:
    place = desk.project.platforms / system
    changed_s = place.stat().st_mtime if "/" not in system and place.is_file() else 0.0
    return f"{draft.name}\0{draft.version.text}", str(place), changed_s


def add_costs(programs: Iterable[Program], costs: Costs) -> None:
    """Write the time of each step of the labels' programs, that of the steps in it included, as words."""
    for program in programs:
        if program.kind != "label":
            continue
        own = {place: parts for (label, place), parts in costs.items() if label == program.name}
        for step in program.all_steps():
            inside = [
                parts for place, parts in own.items() if place == step.place or place.startswith(f"{step.place}.")
            ]
            sums = {word: sum(parts[kind] for parts in inside) for kind, word in _KINDS.items()}
            least_s = _NEGLIGIBLE * sum(sums.values())
            step.cost = ", ".join(
                f"{number_text(time_s, 3)} s {word}" for word, time_s in sums.items() if time_s > least_s
            )
