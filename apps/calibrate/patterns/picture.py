"""Draw a calibration from patterns: measured, fitted and replayed times, as multiples of one way alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.calibrate.patterns.rows import Replayed
from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, bar_at, lines_figure
from platforms.plotting.styles import BLUE, GREEN, RED, dots, line

_COLOURS = {"send": BLUE, "sendrecv_same": RED, "sendrecv_diff": GREEN, "alltoall": "#7A4F9A"}


def pattern_figure(title: str, replays: Sequence[Replayed], one_way_s_per_byte: float) -> Figure:
    """Return the figure: times over that of one way, per message of a rank, against the ranks; below, the errors."""
    patterns = list(dict.fromkeys(replay.row.call.pattern for replay in replays))
    times: list[Series] = []
    errors: list[Series] = []
    for pattern in patterns:
        of_pattern = [replay for replay in replays if replay.row.call.pattern == pattern]
        of_pattern.sort(key=lambda replay: replay.row.call.ranks)
        times += _times(of_pattern, _COLOURS[pattern], one_way_s_per_byte)
        ranks, look = [replay.row.call.ranks for replay in of_pattern], dots(_COLOURS[pattern], "x", 6)
        shares = [100 * replay.error for replay in of_pattern]
        errors.append(Series(ranks, shares, look | line(_COLOURS[pattern], width=0.8)))
    largest = max(replay.row.time_s / _alone_s(replay, one_way_s_per_byte) for replay in replays)
    said = "time / time of one way alone,\nper message of a rank"
    above = Panel(y=said, y_ends=(0.8, 1.1 * max(2.0, largest)), drawn=times)
    below = Panel(y="error of the replay in %", x="active ranks, one per node", drawn=errors, across=(0,))
    marks = {
        "measured, fitted": dots("black"), "measured, judged": dots("black", hollow=True),
        "replayed in SMPI": dots("black", "x") | line("black", width=0.8),
    }  # fmt: skip
    keys = {**{pattern: line(_COLOURS[pattern], width=3) for pattern in patterns}, **marks}
    return lines_figure([above, below], 1, 7.2, 6.2, title, below=keys, sharex=True, height_ratios=[2.4, 1])


def _alone_s(replayed: Replayed, one_way_s_per_byte: float) -> float:
    """Return the time of the call's messages one after the other, each alone on the network."""
    call = replayed.row.call
    return one_way_s_per_byte * call.size_bytes * (call.ranks - 1 if call.pattern == "alltoall" else 1)


def _times(replays: Sequence[Replayed], color: str, one_way_s_per_byte: float) -> Iterator[Series]:
    """Yield replayed and measured times over those of one way; of measured ones, their range too."""
    alone_s = [_alone_s(replay, one_way_s_per_byte) for replay in replays]
    ranks = [replay.row.call.ranks for replay in replays]
    shares = [replay.replayed_s / alone for replay, alone in zip(replays, alone_s, strict=True)]
    yield Series(ranks, shares, dots(color, "x", 7) | line(color, width=0.8))
    for replay, alone in zip(replays, alone_s, strict=True):
        row = replay.row
        low_s, high_s = (row.time_s if end_s is None else end_s for end_s in (row.low_s, row.high_s))
        yield bar_at(row.call.ranks, low_s / alone, high_s / alone, color)
        look = dots(color, size=6) | {"markerfacecolor": color if replay.fitted else "white"}
        yield Series([row.call.ranks], [row.time_s / alone], look)
