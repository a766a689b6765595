"""Timelines as data for the page's script, which draws, zooms and explains them (timelines/timeline.js).

A row has intervals one after the other; an interval has the shares of its time that the activities take.  Where there
are more activities than MOST_INTERVALS, short neighbours share an interval.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.timelines.timeline import Activity, Timeline
from platforms.plotting.gantt import MOST_ROWS, Kind
from platforms.plotting.styles import BLUE, ORANGE, PINK

if TYPE_CHECKING:
    import numpy.typing as npt

    Row = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

KINDS = {
    Activity.COMPUTATION: Kind("computation", BLUE),
    Activity.MESSAGES: Kind("messages and waiting for them", ORANGE),
    Activity.COLLECTIVES: Kind("collectives", PINK),
}
MOST_INTERVALS = 10_000  # of a timeline; they take about 90 kB
_TICKS_OF_SPAN = 8  # decimal digits of the number of ticks in the whole time span


def timeline_json(timeline: Timeline, hosts: Sequence[str], clusters: Sequence[str]) -> str:
    """Return a timeline as JSON that can stand in a page.

    Its keys: ``tick_s``, the unit of all times; ``span``, the end of the time axis, which begins at 0; ``activities``,
    their names and colours; ``mixes``, distinct shares of the activities in %; ``rows``, each with ``name``,
    ``cluster``, ``own`` (begin and end of the shown iteration), ``begin`` of the first interval, ``lasts`` and ``mix``
    (index into ``mixes``) of each interval.
    """
    begin_s, end_s = timeline.span_s
    span_s = end_s - begin_s
    tick_s = 10.0 ** (math.floor(math.log10(span_s)) + 1 - _TICKS_OF_SPAN) if span_s > 0 else 1.0
    per_row = -(-timeline.nranks // MOST_ROWS)
    ranks = [range(first, min(first + per_row, timeline.nranks)) for first in range(0, timeline.nranks, per_row)]
    drawn = _whole(timeline, tick_s) if per_row == 1 else _means(timeline, [members.start for members in ranks], tick_s)
    mixes, mix = np.unique(np.concatenate([shares for _, shares in drawn]), axis=0, return_inverse=True)
    rows, at = [], 0
    for members, (edges, shares) in zip(ranks, drawn, strict=True):
        own_s = timeline.begin_s[members.start : members.stop].min(), timeline.end_s[members.start : members.stop].max()
        rows.append({
            "name": _name(members, hosts),
            "cluster": clusters[members.start],
            "own": [round((time_s - begin_s) / tick_s) for time_s in own_s],
            "begin": int(edges[0]),
            "lasts": np.diff(edges).tolist(),
            "mix": mix.reshape(-1)[at : at + len(shares)].tolist(),
        })  # fmt: skip
        at += len(shares)
    data: dict[str, Any] = {
        "tick_s": tick_s,
        "span": round(span_s / tick_s),
        "activities": [{"name": kind.label, "color": kind.color.lower()} for kind in map(KINDS.__getitem__, Activity)],
        "mixes": mixes.tolist(),
        "rows": rows,
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _name(members: range, hosts: Sequence[str]) -> str:
    if len(members) == 1:
        return f"rank {members.start} on {hosts[members.start]}"
    return f"ranks {members.start} to {members.stop - 1}"


def _whole(timeline: Timeline, tick_s: float) -> list[Row]:
    """Return the intervals of each rank, as fine as MOST_INTERVALS allows."""
    begin_s, end_s = timeline.span_s
    exact: list[Row] = []
    for clock_s, activity in zip(timeline.clock_s, timeline.activity, strict=True):
        edges = np.rint((clock_s.clip(begin_s, end_s) - begin_s) / tick_s).astype(np.int64)
        lasting = np.flatnonzero(np.diff(edges) > 0)
        shares = 100 * (activity[lasting][:, None] == np.array(list(Activity)))
        changes = np.flatnonzero(np.append(True, (np.diff(shares, axis=0) != 0).any(axis=1)))
        exact.append((np.append(edges[lasting][changes], edges[lasting[-1:] + 1]), shares[changes]))
    least, drawn = 1, exact
    while sum(len(shares) for _, shares in drawn) > MOST_INTERVALS:
        least *= 2
        drawn = [_merged(edges, shares, least) for edges, shares in exact]
    return drawn


def _merged(edges: npt.NDArray[np.int64], shares: npt.NDArray[np.int64], least: int) -> Row:
    """Return the intervals with neighbours shorter than ``least`` ticks merged within multiples of ``least``."""
    lasts = np.diff(edges)
    cell = np.where(lasts >= least, -1 - np.arange(len(lasts)), edges[:-1] // least)
    starts = np.flatnonzero(np.append(True, np.diff(cell) != 0)) if len(lasts) else np.array([], np.int64)
    summed = np.add.reduceat(shares * lasts[:, None], starts, axis=0) if len(lasts) else shares
    merged = np.append(edges[:-1][starts], edges[-1:])
    return merged, np.rint(summed / np.diff(merged)[:, None]).astype(np.int64)


def _means(timeline: Timeline, starts: Sequence[int], tick_s: float) -> list[Row]:
    """Return equal intervals of rows that ranks share, with the mean of the ranks; ``starts``: first rank of a row."""
    bins = MOST_INTERVALS // len(starts)
    counts = np.diff([*starts, timeline.nranks])
    means = np.add.reduceat(timeline.shares(bins), starts, axis=0) / counts[:, None, None]
    begin_s, end_s = timeline.span_s
    edges = np.rint(np.linspace(0, (end_s - begin_s) / tick_s, bins + 1)).astype(np.int64)
    return [(edges, np.rint(100 * row.T).astype(np.int64)) for row in means]
