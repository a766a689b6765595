"""Columns of the result tables that measure this computer.  All other columns repeat to the last bit.

docs/validation/faults.md lists what the other columns are independent of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_WALL = "wall_s"
MACHINE_TIMES = frozenset({
    # results.csv (validation/comparison/compare.py)
    "simulation_wall_s", "evidence_wall_s", "prediction_wall_s",
    # league.csv and decisions.csv (validation/league)
    _WALL, "wall_rank",
    # choices.csv and choices-summary.csv (validation/nodes)
    "gather_s", "fit_s", "search_s",
    # the store's export (apps/store/export.py)
    "timed_wall_s", "peak_memory_bytes",
})  # fmt: skip


def without_machine_times(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without MACHINE_TIMES and without the rows of pareto.csv that compare errors to wall seconds."""
    if {"cost", "value"} <= set(table.columns):
        table = table[table["cost"] != _WALL]
    return table[[name for name in table.columns if name not in MACHINE_TIMES]].reset_index(drop=True)
