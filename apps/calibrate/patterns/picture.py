"""Draw a calibration from patterns: measured, fitted and replayed times, as multiples of one way alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apps.calibrate.patterns.rows import Replayed
from platforms.plotting.charts import legend_below, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS: dict[str, dict[str, Any]] = {
    "measured, fitted": {"marker": "o", "ls": "none"},
    "measured, judged": {"marker": "o", "ls": "none", "mfc": "white"},
    "replayed in SMPI": {"marker": "x", "lw": 0.8},
}
_COLOURS = {"send": "#0072B2", "sendrecv_same": "#D55E00", "sendrecv_diff": "#009E73", "alltoall": "#7A4F9A"}


def pattern_figure(title: str, replays: Sequence[Replayed], one_way_s_per_byte: float) -> Figure:
    """Return the figure: times over that of one way, per message of a rank, against the ranks; below, the errors."""
    figure, (above, below) = panels(2, 1, 7.2, 6.2, title, sharex=True, height_ratios=[2.4, 1])
    for pattern in dict.fromkeys(replay.row.call.pattern for replay in replays):
        of_pattern = sorted(
            (replay for replay in replays if replay.row.call.pattern == pattern),
            key=lambda replay: replay.row.call.ranks,
        )
        _draw(above, below, of_pattern, _COLOURS[pattern], one_way_s_per_byte)
    above.set_ylabel("time / time of one way alone,\nper message of a rank")
    largest = max(replay.row.time_s / _alone_s(replay, one_way_s_per_byte) for replay in replays)
    above.set_ylim(0.8, 1.1 * max(2.0, largest))
    keys: dict[str, dict[str, Any]] = {
        pattern: {"color": _COLOURS[pattern], "lw": 3}
        for pattern in dict.fromkeys(replay.row.call.pattern for replay in replays)
    }
    for label, look in _MARKS.items():
        keys[label] = {"color": "black", **look}
    legend_below(figure, keys)
    below.axhline(0, color="#666666", lw=0.8)
    below.set_ylabel("error of the replay in %")
    below.set_xlabel("active ranks, one per node")
    return figure


def _alone_s(replayed: Replayed, one_way_s_per_byte: float) -> float:
    """Return the time of the call's messages one after the other, each alone on the network."""
    call = replayed.row.call
    return one_way_s_per_byte * call.size_bytes * (call.ranks - 1 if call.pattern == "alltoall" else 1)


def _draw(above: Any, below: Any, replays: Sequence[Replayed], colour: str, one_way_s_per_byte: float) -> None:
    ranks = [replay.row.call.ranks for replay in replays]
    alone_s = [_alone_s(replay, one_way_s_per_byte) for replay in replays]
    above.plot(
        ranks, [replay.replayed_s / alone for replay, alone in zip(replays, alone_s, strict=True)],
        "x-", color=colour, ms=7, lw=0.8,
    )  # fmt: skip
    for fitted, fill in ((True, colour), (False, "white")):
        chosen = [(replay, alone) for replay, alone in zip(replays, alone_s, strict=True) if replay.fitted is fitted]
        if not chosen:
            continue
        middle = [replay.row.time_s / alone for replay, alone in chosen]
        spread = [
            [abs((replay.row.time_s if end is None else end) / alone - mid) for (replay, alone), mid, end in
             zip(chosen, middle, ends, strict=True)]
            for ends in ([replay.row.low_s for replay, _ in chosen], [replay.row.high_s for replay, _ in chosen])
        ]  # fmt: skip
        at = [replay.row.call.ranks for replay, _ in chosen]
        above.errorbar(at, middle, spread, fmt="o", color=colour, mfc=fill, ms=6, lw=1, capsize=2)
    below.plot(ranks, [100 * replay.error for replay in replays], "x-", color=colour, ms=6, lw=0.8)
