"""Steady state: simulate a few iterations, see that they have settled, extrapolate the rest, and say with what bound.

The simulation of an iterative program is periodic after its first iterations: all ranks advance by the same time per
period of one or two iterations.  Exceptions exist (isolated odd iterations, slow settling), so this is looked for in
every run and never assumed; a run that does not settle is simulated in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.record import Extrapolation, RunRecord
from apps.steady_energy import grown_energy, host_rows

FIRST_TRY = 5  # iterations
LEAST_ITERATIONS = 4  # that show a period: the last is not looked at, and two differences are compared
PERIODS = (1, 2)
# A run has settled when its own bound on the error of the extrapolated time is below this, relative.
SETTLED_BOUND = 1e-6
_DRAW = 1e-9  # spreads below this, relative to the period, are rounding: the shorter period is taken
# Weights of the parts of the bound: chosen on full runs of CG, MG and LU B on 43 of the 100 random platforms of
# benchmarks/steady_state.py so that it holds for 99 % of them; then that of rounding was lowered until the median bound
# over all 100 was below 20 times the median error (20.4 before, 19.4 after).
_DRIFT_WEIGHT = 3.0
_ROUNDING = 2.0**-53  # relative, of the clock
_ROUNDING_WEIGHT, _ROUNDING_GROWTH = 0.05, 1 / 155  # per message; more with every iteration that is not simulated
# Odd iterations among those that are not simulated: three of the 74 runs on random platforms that extrapolate more
# messages of a rank than this had them, by 3e-9, 5e-8 and 5e-8 of their time; of the other 226 one (2e-6), which had
# shown some before.
_ODD_FROM_MESSAGES, _ODD_REL = 65_000, 1e-7
RULE = 3  # which of these rules made a record: to be counted up with every change of what is extrapolated or bounded


@dataclass(frozen=True)
class Period:
    """What repeats: every rank advances by ``time_s`` in ``iterations`` iterations, to within ``spread_s``."""

    iterations: int
    time_s: float
    spread_s: float
    window: int  # iterations that were looked at


def find_period(ends_s: Sequence[Sequence[float]]) -> Period:
    """The period of iteration end times, in s; one row per rank, at least LEAST_ITERATIONS in each.

    The last iteration is left out, because it may do more than the others (LU takes norms in it).  The window is the
    last half of what is left, and an even number of iterations.  Of the periods of one and two iterations the one with
    the smaller spread is taken; the shorter one, where both are regular to rounding.
    """
    usable = [row[:-1] for row in ends_s]
    count = len(usable[0])
    window = max(2, count // 4 * 2)
    candidates = []
    for lag in PERIODS:
        if count < lag + window and lag > 1:
            continue
        advances = [row[i] - row[i - lag] for row in usable for i in range(count - window, count)]
        latest = [row[-1] - row[-1 - lag] for row in usable]
        candidates.append(Period(lag, sum(latest) / len(latest), max(advances) - min(advances), window))

    def irregularity(period: Period) -> tuple[float, int]:
        return (period.spread_s if period.spread_s > _DRAW * period.time_s else 0.0), period.iterations

    return min(candidates, key=irregularity)


def added_s(ends_s: Sequence[float], missing: int, *, period: int, period_s: float) -> float:
    """What ``missing`` more iterations add to a row of end times, s, at least ``period`` + 1 of them.

    Whole periods of ``period`` iterations take ``period_s`` each.  What is left over of a period lasts as long as the
    same part of the last one, which is not its end: the very last iteration may do more than the others.

    >>> added_s([1.0, 3.0, 5.0, 7.0], missing=4, period=1, period_s=2.0)
    8.0
    """
    periods, rest = divmod(missing, period)
    return periods * period_s + (ends_s[rest - period - 1] - ends_s[-period - 1] if rest else 0.0)


def next_try(tried: int, missing: int, period: int) -> int:
    """How many iterations to do after ``tried``, which left ``missing`` ones to be extrapolated by such periods.

    One more where a part of a period was left over: what follows the iterations depends on where in it they end.  Else
    twice as many.
    """
    return tried + 1 if missing % period else 2 * tried


def extrapolate(record: RunRecord, iterations: int) -> RunRecord:
    """The record of ``iterations`` iterations, from that of fewer.

    What is not simulated is taken to be a whole number of periods; where one iteration of a period of two is left
    over, it lasts as long as the corresponding one before the last.  Every extensive field grows alike.  Fewer than
    LEAST_ITERATIONS show no period: the others are taken to be like the last, and there is no bound.
    """
    done = len(record.iteration_s[0])
    if done in (0, iterations):  # 0: a program without iterations, simulated whole
        return record
    missing = iterations - done
    if done < LEAST_ITERATIONS:
        return _like_the_last(record, iterations, missing)
    period = find_period(record.iteration_s)
    lag = period.iterations
    elapsed_s = [
        compute_s + comm_s + added_s(ends, missing, period=lag, period_s=period.time_s)
        for compute_s, comm_s, ends in zip(record.compute_s, record.comm_s, record.iteration_s, strict=True)
    ]

    def more(row: Sequence[float]) -> float:
        return added_s(row, missing, period=lag, period_s=row[-2] - row[-2 - lag])

    compute_s = [
        so_far_s + more(row) for so_far_s, row in zip(record.compute_s, record.iteration_compute_s, strict=True)
    ]
    energy = grown_energy(record, time_added_s=max(elapsed_s) - record.time_s, more=more)
    bound_rel = _bound_rel(record, period, missing, max(elapsed_s))
    energy_bound_rel = _energy_bound_rel(record, energy, period, missing, bound_rel) if energy else None
    how = Extrapolation(iterations, done, lag, period.time_s, bound_rel, energy_bound_rel)
    return _grown(record, missing, elapsed_s, compute_s, energy, how)


def _like_the_last(record: RunRecord, iterations: int, missing: int) -> RunRecord:
    def last(row: Sequence[float]) -> float:
        if len(row) > 2:  # the last itself may do more than the others
            return row[-2] - row[-3]
        return row[-1] - row[-2] if len(row) > 1 else row[-1]

    lasts_s = [last(row) for row in record.iteration_s]
    period_s = sum(lasts_s) / len(lasts_s)
    elapsed_s = [c + m + missing * period_s for c, m in zip(record.compute_s, record.comm_s, strict=True)]
    more_s = [missing * last(row) for row in record.iteration_compute_s]
    compute_s = [c + more for c, more in zip(record.compute_s, more_s, strict=True)]
    energy = grown_energy(record, time_added_s=max(elapsed_s) - record.time_s, more=lambda row: missing * last(row))
    how = Extrapolation(iterations, iterations - missing, 1, period_s, None)
    return _grown(record, missing, elapsed_s, compute_s, energy, how)


def _grown(
    record: RunRecord,
    missing: int,
    elapsed_s: Sequence[float],
    compute_s: Sequence[float],
    energy: dict[str, Any],
    how: Extrapolation,
) -> RunRecord:
    """The record with these times per rank, and energy, and so many iterations more of everything that is counted."""
    rank_flops = _grow(record.rank_flops, record.iteration_flops, missing)
    return replace(
        record,
        time_s=max(elapsed_s),
        compute_s=tuple(compute_s),
        comm_s=tuple(elapsed - compute for elapsed, compute in zip(elapsed_s, compute_s, strict=True)),
        flops=sum(rank_flops),
        rank_flops=rank_flops,
        messages=_grow(record.messages, record.iteration_messages, missing),
        bytes=_grow(record.bytes, record.iteration_bytes, missing),
        self_messages=_grow(record.self_messages, record.iteration_self_messages, missing),
        self_bytes=_grow(record.self_bytes, record.iteration_self_bytes, missing),
        collectives={
            name: {
                "calls": used["calls"] + missing * each["calls"],
                "bytes": list(_grow(used["bytes"], each["bytes"], missing)),
            }
            for name, used in record.collectives.items()
            for each in [record.iteration_collectives.get(name, {"calls": 0, "bytes": [0] * record.ranks})]
        },
        **energy,
        extrapolation=how,
    )


def _grow(so_far: Sequence[Any], each: Sequence[Any], iterations: int) -> tuple[Any, ...]:
    return tuple(total + iterations * one for total, one in zip(so_far, each, strict=True))


def drift_rel(period: Period, missing: int, time_s: float) -> float:
    """What ``missing`` more iterations would add to ``time_s``, relative, if the observed spread were a drift.

    After m more iterations a period is then off by spread m / window; the sum of that is spread m^2 / (2 window) per
    iteration of the period.
    """
    drift_s = missing / period.iterations * max(1.0, missing / (2 * period.window)) * period.spread_s
    return drift_s / time_s if time_s else 0.0


def _bound_rel(record: RunRecord, period: Period, missing: int, time_s: float) -> float:
    """Error of the extrapolated time, relative: the drift; the rounding of the simulator's clock by every message of a
    rank, the more so the further it has advanced; and an allowance for odd iterations, which come from events that the
    rounding puts in another order, where so many messages are extrapolated that some are to be expected.  Where half a
    period is left over, what follows the iterations begins in the other half, and may take another time: by as much as
    the halves differ.
    """
    if time_s == 0:
        return 0.0
    # A rank has about one message per other rank in a collective.
    messages: int = max(record.iteration_messages) + record.ranks * sum(
        used["calls"] for used in record.iteration_collectives.values()
    )
    rounding = missing * messages * _ROUNDING
    other_half_s = 0.0
    if missing % period.iterations:
        other_half_s = max(abs((row[-2] - row[-3]) - (row[-3] - row[-4])) for row in record.iteration_s)
    return (
        other_half_s / time_s
        + _DRIFT_WEIGHT * drift_rel(period, missing, time_s)
        + (_ROUNDING_WEIGHT + _ROUNDING_GROWTH * missing) * rounding
        + (_ODD_REL if missing * messages > _ODD_FROM_MESSAGES else 0.0)
    )


def _energy_bound_rel(
    record: RunRecord, energy: dict[str, Any], period: Period, missing: int, bound_rel: float
) -> float:
    """Error of any host's energy, or of any link's, relative, where the time is off by ``bound_rel`` at most.

    Time that is added or taken away passes at full power at most (of a link: at its mean power).  Periods of different
    energy count as those of different length do in ``_bound_rel``.
    """
    rows = {**host_rows(record), **record.energy_by_iteration.link_j}
    span_s, lag, worst = energy["energy_span_s"], period.iterations, bound_rel
    for name, joules in {**(energy["energy_j"] or {}), **(energy["link_energy_j"] or {})}.items():
        if not joules:
            continue
        bound = bound_rel * max(1.0, record.energy_by_iteration.full_w.get(name, 0.0) * span_s / joules)
        if name in rows:
            row = rows[name]
            last = len(row) - 1  # which is not looked at
            advances_j = [row[i] - row[i - lag] for i in range(last - period.window, last)]
            spread = replace(period, spread_s=max(advances_j) - min(advances_j))
            other_half_j = abs((row[-2] - row[-3]) - (row[-3] - row[-4])) if missing % lag else 0.0
            bound += _DRIFT_WEIGHT * drift_rel(spread, missing, joules) + other_half_j / joules
        worst = max(worst, bound)
    return worst


def settle(run: Callable[[int], RunRecord], iterations: int, *, bound_rel: float = SETTLED_BOUND) -> RunRecord:
    """The record of all ``iterations`` from as few as it takes; ``run`` simulates so many of them.

    Doubles their number until the run has settled or all are simulated.  With a period of two there is one more where
    the run would else end in the other half of it, since what follows the iterations depends on that.  Wall time and
    peak memory are those of all tries together.
    """
    tried, wall_s, peak_memory_bytes = FIRST_TRY, 0.0, 0
    while True:
        tried = iterations if iterations < LEAST_ITERATIONS else min(tried, iterations)
        record = extrapolate(run(tried), iterations)
        wall_s += record.wall_s
        peak_memory_bytes = max(peak_memory_bytes, record.peak_memory_bytes)
        how, missing = record.extrapolation, iterations - tried
        if how is None or (how.bound_rel is not None and how.bound_rel <= bound_rel and missing % how.period == 0):
            return replace(record, wall_s=wall_s, peak_memory_bytes=peak_memory_bytes)
        tried = next_try(tried, missing, how.period)
