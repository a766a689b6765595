"""Results of suites of applications that are laid over the drawing of the system that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.project.numbers import number_text
from validation.workbench.queue.points import point_of
from validation.workbench.queue.results import one_result

_MOST = 50  # results that are offered, the newest ones


@dataclass(frozen=True)
class Overlay:
    """A result on a system: its processes, and how much of the overall time those of each label compute."""

    number: int
    time_s: float
    counts: Mapping[str, int]
    policy: str
    computing: Mapping[str, float]  # share of the overall time, of a process in the mean, by label

    def words(self, label: str, processes: int) -> str:
        """Return what is written at units that have processes of a label."""
        share = self.computing.get(label)
        busy = "" if share is None else f", {number_text(100 * share, 3)} % computing"
        return f"{processes:,} {label} placed{busy}"


def results_of(desk: Desk, file_name: str) -> list[tuple[int, str]]:
    """Return the numbers of the newest results on a system, each with what it is of."""
    query = (
        "SELECT results.id, results.app, results.ranks, results.predictor, results.predicted_s AS time_s FROM results"
        " JOIN points ON points.run = results.run WHERE results.platform = ? AND results.predicted_s IS NOT NULL"
        " ORDER BY results.id DESC LIMIT ?"
    )
    rows = desk.queue.tables.rows(query, (PurePath(file_name).stem, _MOST))
    return [(row["id"], f"{row['id']}: {row['app']}, {_words(dict(row))}") for row in rows]


def _words(row: Mapping[str, Any]) -> str:
    return f"{number_text(row['ranks'])} processes, {row['predictor']}, {number_text(row['time_s'])} s"


def overlay_of(desk: Desk, file_name: str, text: str) -> Overlay | None:
    """Return the result that a page asks for; None: it asks for none.

    Raises:
        UserError: There is no such result of an application on this system.
    """
    if not text:
        return None
    known = {number for number, _ in results_of(desk, file_name)}
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else -1
    result = one_result(desk.queue.tables, number) if number in known else None
    if result is None or "labels" not in result["fields"]:
        raise UserError(f"result {text!r}", "not one of an application on this system", "Choose one from the list")
    fields: Mapping[str, Any] = result["fields"]
    labels: Sequence[Mapping[str, Any]] = fields["labels"]
    point = json.loads(point_of(desk.queue.tables, result["run"]))
    time_s = float(fields["predicted_s"])
    return Overlay(
        number, time_s, {label["label"]: int(label["processes"]) for label in labels},
        str(fields.get("policy") or point.get("policy", "")),
        {label["label"]: label["computing_s"] / time_s for label in labels if time_s > 0},
    )  # fmt: skip
