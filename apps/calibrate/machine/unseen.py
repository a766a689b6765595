"""Flows that were not measured for lack of nodes or time."""

from __future__ import annotations

from apps.calibrate.machine import contention
from apps.calibrate.machine.contention import FLOWS, label, rows_of_flows
from apps.calibrate.machine.rows import Rows


def unseen(rows: Rows) -> list[str]:
    """Return a sentence about values not measured because the budget ended in the first pass, if it did."""
    if rows.passes > 0:
        return []
    seen = {label(rows, flows) for flows, _ in rows_of_flows(rows)}
    left = [what for what in FLOWS if what not in seen and possible(what, rows)]
    left += ["MPI_Alltoall"] if not rows.of("alltoall") and len(rows.nodes) > 2 else []
    if not left:
        return ["the budget ended in the first pass: some values were measured at fewer sizes or nodes"]
    return [f"the budget ended in the first pass: not measured, and assumed to slow nothing: {', '.join(left)}"]


def possible(what: str, rows: Rows) -> bool:
    """Return whether the nodes suffice for a kind of flows."""
    sizes = sorted((len(rows.members(c)) for c in range(rows.clusters)), reverse=True)
    needed: dict[str, bool] = {
        contention.LONE: len(rows.nodes) > 1,
        contention.BOTH_WAYS: sizes[0] > 1,
        contention.THROUGH: sizes[0] > 2,
        contention.APART: sizes[0] > 3,
        contention.RING: sizes[0] > 2,
        contention.LEFT_RING: sizes[0] > 2 and len(sizes) > 1 and sizes[1] > 1,
        contention.TOGETHER: len(sizes) > 1 and sizes[1] > 1,
        contention.OPPOSED: len(sizes) > 1 and sizes[1] > 1,
        contention.COMMON: len(sizes) > 2,
        contention.DISJOINT: len(sizes) > 3,
        contention.LOCAL: any(node.ranks > 1 for node in rows.nodes),
    }
    return needed[what]
