"""A scaling curve as text: a table, and sentences about where more ranks stop helping."""

from collections.abc import Iterator, Sequence

from platforms.prices.bill import UNKNOWN, Bill, amount_text
from platforms.terminal.quantities import duration, percent, range_text, significant
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.answers.answers import cores_note
from predictor.scale.curve import Row, best_row, knee_row

_KNOWN = {"recorded": "recorded", "exact": "learned", "range": "learned, in doubt"}


def time_name(rows: Sequence[Row]) -> str:
    """Return what the times of a curve are: communication times where no computation takes time."""
    points = [row.point for row in rows if row.point is not None]
    return "communication time" if points and all(point.communication_only for point in points) else "time"


def table(rows: Sequence[Row], grows: str | None, bills: Sequence[Bill | None] = (), *, wide: bool) -> list[str]:
    """Return the lines of the table; ``grows``: name of what grows in weak scaling."""
    costs = _cost_columns(bills)
    has_interval = any(row.point is not None and row.point.low_s is not None for row in rows)
    learned = any(row.recorded or row.source for row in rows)
    interval = "range" if learned else "90 % interval"
    head = ["ranks", "nodes", *([grows] if grows else []), *(["program"] if learned else [])]
    head += [time_name(rows), *([interval] if has_interval else [])]
    head += ["speed-up", "efficiency", *costs, "on path", "longest part", *(["on path", "call"] if wide else [])]
    lines = [head]
    for number, row in enumerate(rows):
        cells = [str(row.ranks), str(row.target.nodes), *([str(row.value)] if grows else [])]
        cells += [_KNOWN.get(row.source or "", "learned")] if learned else []
        point = row.point
        if point is None:
            lines.append([*cells, "-", *[""] * (len(head) - len(cells) - 1)])
            continue
        cells.append(duration(point.time_s))
        if has_interval:
            known = point.low_s is not None and point.high_s is not None
            ends = [duration(end_s, like_s=point.time_s) for end_s in (point.low_s, point.high_s)]
            cells.append(range_text(*ends) if known else "-")
        cells += [significant(row.speed_up), "-" if row.efficiency is None else f"{percent(100 * row.efficiency)} %"]
        cells += [values[number] for values in costs.values()]
        held_by = point.critical_part
        if held_by is None:
            cells += ["-", "-", *(["-", "-"] if wide else [])]
        else:
            cells += [f"{percent(100 * held_by.share)} %", held_by.name]
            called = held_by.call is not None
            more = [f"{percent(100 * held_by.call_share)} %" if called else "-", held_by.call or "-"]
            cells += more if wide else []
        lines.append(cells)
    left = {number for number, name in enumerate(head) if name in ("program", "longest part", "call")}
    return table_lines(lines, left=left, wide=wide)


def _cost_columns(bills: Sequence[Bill | None]) -> dict[str, list[str]]:
    """Return the columns of the costs and emissions that are asked for."""
    made = next((one for one in bills if one is not None), None)
    columns = {}
    if made is not None and made.currency is not None:
        columns[made.currency] = [amount_text(None if one is None else one.cost) for one in bills]
    if made is not None and made.emits:
        columns["g CO2e"] = [amount_text(None if one is None else one.carbon_g) for one in bills]
    return columns


def cost_notes(bills: Sequence[Bill | None]) -> Iterator[str]:
    """Yield what is unknown about costs and emissions, the start with the least emissions, and the sources."""
    made = [one for one in bills if one is not None]
    yield from dict.fromkeys(f"cost {UNKNOWN}: {one.no_cost}" for one in made if one.no_cost is not None)
    yield from dict.fromkeys(f"emissions {UNKNOWN}: {one.no_carbon}" for one in made if one.no_carbon is not None)
    starts = dict.fromkeys(one.least_start for one in made if one.least_start is not None)
    if starts:
        yield f"start with the least emissions: {', '.join(starts)}, in the order of the rows"
    sources = dict.fromkeys(source for one in made for source in one.sources)
    if sources:
        yield f"prices and emissions by {'; '.join(sources)}"


def sentences(rows: Sequence[Row], grows: str | None) -> Iterator[str]:
    """Yield sentences about the fastest count, the knee, and what holds the run up there."""
    best, knee = best_row(rows), knee_row(rows)
    if best is None or knee is None or best.point is None or knee.point is None:
        return
    timed = [row for row in rows if row.speed_up is not None]
    what = "" if time_name(rows) == "time" else f"{time_name(rows)} "
    last, gain = timed[-1], "work per time" if grows else "speed-up"
    if len(timed) > 1:
        if best is last:
            yield (
                f"more ranks help up to {last.ranks}, the largest number in the question: {what}"
                f"{duration(best.point.time_s)}, {gain} {significant(best.speed_up)}"
            )
        else:
            yield (
                f"more ranks stop helping at {best.ranks}: {what}{duration(best.point.time_s)}, {gain} "
                f"{significant(best.speed_up)}; on {last.ranks} it is {significant(last.speed_up)}"
            )
        yield (
            f"the knee, with the largest speed-up times efficiency, is at {number_of(knee.ranks, 'rank')}: "
            f"{what}{duration(knee.point.time_s)}, efficiency {percent(100 * (knee.efficiency or 0.0))} %"
        )
    held_by = best.point.critical_part
    if held_by is not None:
        call = f"; of its calls, {held_by.call} takes {percent(100 * held_by.call_share)} %" if held_by.call else ""
        yield (
            f"on {number_of(best.ranks, 'rank')}, {held_by.name} takes {percent(100 * held_by.share)} % of the "
            f"critical path{call}"
        )
    note = cores_note(best.target)
    if note is not None:
        yield f"on {number_of(best.ranks, 'rank')}, {note}"
    speeds = {row.target.platform.host(host).speed_flops for row in timed for host in set(row.target.placement)}
    if len(speeds) > 1:
        yield "nodes differ in speed: efficiency counts ranks, not speed, and may exceed 100 % where faster nodes join"


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield why rows have no time or no interval, equal reasons once."""
    said: dict[str, list[int]] = {}
    for row in rows:
        if row.failure is not None:
            said.setdefault(f"no answer: {row.failure}", []).append(row.ranks)
        elif row.point is not None and row.point.no_interval is not None:
            said.setdefault(f"no 90 % interval: {row.point.no_interval}", []).append(row.ranks)
    for text, ranks in said.items():
        yield text if len(ranks) == len(rows) else f"on {', '.join(map(str, ranks))} ranks, {text}"
