"""Comparisons as text: a table of times and errors, and one of the parts of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import NONE, duration, significant
from platforms.terminal.table import Cell, table_lines
from validation.blocks.parts import PARTS, LabelParts
from validation.presentation.tables import error_cell, table_of

if TYPE_CHECKING:
    from validation.blocks.comparison import Comparison

_ROUNDING = 1e-9  # share of a label's time below which a part of it is a rounding error


def table(rows: Sequence[Comparison], title: str, *, wide: bool = False) -> str:
    """Return the comparisons as a table of text; ``wide``: with energies, messages and costs."""
    columns: dict[str, Sequence[str | Cell]] = {
        **{name: [str(row.varied[name]) for row in rows] for name in rows[0].varied},
        "processes": [_known(row.processes, "d") for row in rows],
        "evaluated": [duration(row.evaluated_s, like_s=row.simulated_s) for row in rows],
        "simulated": [duration(row.simulated_s) for row in rows],
        "error %": [error_cell(row.error_pct) for row in rows],
    }
    if wide:
        columns["evaluated J"] = [significant(row.evaluated_j) for row in rows]
        columns["simulated J"] = [significant(row.simulated_j) for row in rows]
        columns["evaluated as"] = [row.evaluator or NONE for row in rows]
    columns["energy error %"] = [error_cell(row.energy_error_pct) for row in rows]
    if wide:
        columns["point-to-point messages"] = [_known(row.messages, "d") for row in rows]
    if any(row.success is not None for row in rows):
        columns["success"] = [significant(row.success) for row in rows]
    if wide:
        columns["evaluation wall s"] = [_known(row.evaluation_wall_s, ".4f") for row in rows]
        columns["simulation wall s"] = [_known(row.simulation_wall_s, ".3f") for row in rows]
    return "\n".join([*prose_lines(title), "", *table_of(columns, left=tuple(rows[0].varied), wide=wide)])


def _known(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def parts_lines(rows: Sequence[Comparison], *, wide: bool = False) -> list[str]:
    """Return the parts of all comparisons as the lines of a table."""
    varied = list(rows[0].varied)
    cells = [(*varied, "label", "part", "evaluated", "simulated")]
    for row in rows:
        for label in dict.fromkeys((*row.evaluated_parts, *row.simulated_parts)):
            sides = row.evaluated_parts.get(label), row.simulated_parts.get(label)
            for name, part in PARTS.items():
                here = (str(row.varied[key]) for key in varied)
                cells.append((*here, label, part, *(_seconds(side, name) for side in sides)))
    said = (
        "seconds of a process, the mean over its label; idle: from its end to that of the label's last process; the "
        "simulation tells computing and disks from messages, and not more"
    )
    return [*prose_lines(said), "", *table_lines(cells, left=set(range(len(varied) + 2)), wide=wide)]


def _seconds(parts: LabelParts | None, name: str) -> str:
    if parts is None:
        return "-"
    value = getattr(parts, name)
    least = _ROUNDING * sum(getattr(parts, part) for part in PARTS)
    return significant(value, 4) if value > least else "0"
