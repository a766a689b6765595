"""The picture of a scaling curve: time and interval, speed-up, efficiency, longest part of the critical path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Band, Columns, Panel, Series, bar_at, lines_figure, through
from platforms.plotting.styles import BLUE, GREEN, RED, STYLES, dots, line
from platforms.wording import number_of
from predictor.scale.curve import Row, best_row, knee_row
from predictor.scale.text import time_name

_IDEAL, _MOST_TICKS = "0.55", 8
_CURVE = dots(BLUE, size=6) | line(BLUE)


def scale_figure(rows: Sequence[Row], grows: str | None, title: str, simulated_s: Mapping[int, float]) -> Figure:
    """Return the figure of a curve that has at least one point with a time.

    Args:
        rows: The rows.
        grows: Name of what grows in weak scaling; None: nothing.
        title: Title above the panels.
        simulated_s: Simulated times by the number of ranks; empty: none.
    """
    timed = [row for row in rows if row.speed_up is not None]
    ranks, small = [row.ranks for row in timed], {"fontsize": 8.5, "frameon": False}
    along: dict[str, Any] = {
        "x": "ranks", "log": "xy", "x_ticks": {float(count): str(count) for count in ranks}, "legend": small,
        "slant": 45 if len(ranks) > _MOST_TICKS else 0,
    }  # fmt: skip
    speed_ups = [
        Series(ranks, [count / ranks[0] for count in ranks], line(_IDEAL, "--", 1), "ideal"),
        Series(ranks, [math.nan if row.speed_up is None else row.speed_up for row in timed], _CURVE),
    ]
    percents = [100 * (row.efficiency or 0.0) for row in timed]
    charts = [
        Panel(y=f"{time_name(timed)}, s", drawn=list(_times(timed, simulated_s)), **along),
        Panel(y="work per time, over the first" if grows else "speed-up over the first", drawn=speed_ups, **along),
        Panel(
            y="efficiency, %", drawn=[Series(ranks, percents, _CURVE)], across=(100,),
            y_ends=(0, 1.08 * max(100.0, *percents)), **along | {"log": "x"},
        ),
    ]  # fmt: skip
    return lines_figure([*charts, _critical_parts(timed)], 2, 9.0, 6.6, title)


def _times(rows: Sequence[Row], simulated_s: Mapping[int, float]) -> Iterator[Series | Band]:
    times = [(row.ranks, row.point) for row in rows if row.point is not None]
    yield Series([ranks for ranks, _ in times], [point.time_s for _, point in times], _CURVE)
    recorded = [(row.ranks, row.point.time_s) for row in rows if row.recorded and row.point is not None]
    if recorded:
        yield through(recorded, dots(GREEN, "s", 7), "recorded; the others are learned from these")
    known = [
        (ranks, point.low_s, point.high_s)
        for ranks, point in times
        if point.low_s is not None and point.high_s is not None
    ]
    if known:
        name = "range of what was learned" if recorded else "90 % interval"
        counts, low_s, high_s = zip(*known, strict=True)
        yield Band(counts, low_s, high_s, BLUE, name)
        if recorded:  # single points have no area
            yield from (bar_at(count, low, high, BLUE) for count, low, high in known)
    for row, marker, size, name in ((best_row(rows), "*", 14, "fastest"), (knee_row(rows), "D", 9, "knee")):
        if row is not None and row.point is not None:
            look = dots(RED, marker, size, hollow=True)
            yield Series([row.ranks], [row.point.time_s], look, f"{name}: {number_of(row.ranks, 'rank')}")
    if simulated_s:
        yield Series(list(simulated_s), list(simulated_s.values()), dots("0.3", "s", 9, hollow=True), "simulated")


def _critical_parts(rows: Sequence[Row]) -> Panel:
    """Return a column for each count, in the colour of its longest part."""
    named = [(row.ranks, row.point.critical_part) for row in rows if row.point is not None and row.point.critical_part]
    drawn = []
    for number, name in enumerate(dict.fromkeys(part.name for _, part in named)):
        places = [place for place, (_, part) in enumerate(named) if part.name == name]
        heights, hatch = [100 * named[place][1].share for place in places], "//" * (number // len(STYLES))
        drawn.append(Columns(places, heights, STYLES[number % len(STYLES)][0], name, hatch))
    return Panel(
        x="ranks", y="% of the critical path", x_ticks={float(at): str(ranks) for at, (ranks, _) in enumerate(named)},
        slant=45 if len(named) > _MOST_TICKS else 0, y_ends=(0, 100), drawn=drawn,
        empty="the predictor does not give it",
        legend={"title": "longest part", "fontsize": 8, "frameon": False, "loc": "lower center",
                "bbox_to_anchor": (0.5, 1.0)},
    )  # fmt: skip
