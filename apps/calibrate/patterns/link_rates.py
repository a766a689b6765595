"""The sharing of links, fitted to a few patterns.

One flow alone reaches the rate R of a link.  Two flows between the same two nodes, one each way, share the capacity of
the pair; the two flows of a node that sends to one node and receives from another share the capacity of the node.  A
capacity of 2 R limits nothing: the link is full duplex.  Rows of more ranks that are slower than those of few show the
capacity of the switch, which all flows share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.calibrate.patterns.rows import FITTED, PatternTime

NOTABLE = 0.05  # relative: differences below this need no further link
_FLOWS = {"send": 0.5, "sendrecv_same": 1.0, "sendrecv_diff": 1.0}  # by rank


@dataclass(frozen=True)
class Sharing:
    """The fitted capacities, byte/s; None: limits nothing, or was not measured."""

    rate_Bps: float  # R, each way
    pair_Bps: float | None  # of two nodes, both ways together
    node_Bps: float | None  # of a node, both ways together
    switch_Bps: float | None  # of all flows together
    ratios: dict[str, float]  # time relative to send, by fitted pattern
    cautions: tuple[str, ...]


def fitted_rows(rows: Sequence[PatternTime], most_ranks: int) -> list[PatternTime]:
    """Return the fitted rows: the patterns of FITTED on up to a number of ranks."""
    return [row for row in rows if row.call.pattern in FITTED and row.call.ranks <= most_ranks]


def sharing_of(fit: Sequence[PatternTime], latency_s: float) -> Sharing:
    """Fit the capacities to rows of FITTED; at least one of them is a send.

    Args:
        fit: The rows.
        latency_s: Of a route; it is not part of a message's transfer.
    """
    base = {}  # s per byte, of the rows of fewest ranks and those that are as fast
    slower: list[float] = []  # byte/s of all flows, where more ranks made the call slower
    for pattern in FITTED:
        rows = sorted((row for row in fit if row.call.pattern == pattern), key=lambda row: row.call.ranks)
        if not rows:
            continue
        costs = np.array([max(row.time_s - latency_s, 0.01 * row.time_s) / row.call.size_bytes for row in rows])
        alike = costs <= (1 + NOTABLE) * costs[0]
        base[pattern] = float(np.exp(np.mean(np.log(costs[alike]))))
        flows = np.array([_FLOWS[pattern] * row.call.ranks for row in rows])
        slower += list((flows / costs)[~alike])
    rate = 1 / base["send"]
    ratios = {pattern: cost * rate for pattern, cost in base.items()}
    same, diff = ratios.get("sendrecv_same"), ratios.get("sendrecv_diff")
    node = _node_ratio(same, diff)
    pair = same if same is not None and (node is None or same > (1 + NOTABLE) * node) else None
    return Sharing(
        rate_Bps=rate,
        pair_Bps=_capacity(rate, pair),
        node_Bps=_capacity(rate, node),
        switch_Bps=float(np.median(slower)) if slower else None,
        ratios=ratios,
        cautions=_cautions(same, diff),
    )


def _node_ratio(same: float | None, diff: float | None) -> float | None:
    """Return the ratio to be explained by the capacity of the nodes, from those of both patterns."""
    if same is None or diff is None:
        return diff
    if diff > (1 + NOTABLE) * same:
        return float(np.sqrt(same * diff))  # no sharing fits both: the error is split
    return min(diff, same)


def _capacity(rate_Bps: float, ratio: float | None) -> float | None:
    """Return the capacity with which two flows take ``ratio`` times as long as one alone, which still gets its rate."""
    return None if ratio is None or ratio <= 1 + NOTABLE else max(2 / ratio, 1.0) * rate_Bps


def _cautions(same: float | None, diff: float | None) -> tuple[str, ...]:
    cautions = []
    if same is None:
        cautions.append("sendrecv_same was not fitted: two flows between the same nodes are assumed to be full duplex")
    if diff is None:
        cautions.append("sendrecv_diff was not fitted: nodes are assumed to be full duplex towards different nodes")
    if same is not None and diff is not None and diff > (1 + NOTABLE) * same:
        cautions.append(
            "sendrecv_diff takes longer than sendrecv_same, which no capacity of pairs and nodes explains: "
            "the difference is split"
        )
    slow = [f"{name} {value:.2f}" for name, value in (("sendrecv_same", same), ("sendrecv_diff", diff)) if value]
    if max(same or 0, diff or 0) > 2 * (1 + NOTABLE):
        cautions.append(f"both ways take more than twice one way ({', '.join(slow)}); sharing explains at most twice")
    return tuple(cautions)
