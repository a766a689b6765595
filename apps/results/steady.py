"""Iterations of a run that repeat: when they do, and the times of those that are not simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from apps.results.record import Extrapolation, RunRecord

LEAST_ITERATIONS = 4  # least number that shows a period: two differences are compared, and the last is ignored
PERIODS = (1, 2)  # multiples of the pattern's period that are tried
FIRST_TRY = 5  # iterations
_DRAW = 1e-9  # spreads below this, relative to the period, are rounding errors: the shorter period is chosen


@dataclass(frozen=True)
class Pattern:
    """A repetition: from iteration ``start`` on, each iteration is like the one ``period`` before, except the last."""

    start: int = 0
    period: int = 1

    @property
    def first_try(self) -> int:
        """Number of iterations to simulate first."""
        return max(FIRST_TRY, self.least)

    @property
    def least(self) -> int:
        """Fewest iterations that show the advance of every iteration of a period twice, the last left out."""
        return self.start + 3 * self.period + 1


@dataclass(frozen=True)
class Period:
    """A period: every rank advances by ``time_s`` in ``iterations`` iterations, to within ``spread_s``."""

    iterations: int
    time_s: float
    spread_s: float
    window: int  # number of iterations that were compared


def find_period(ends_s: Sequence[Sequence[float]], pattern: Pattern = Pattern()) -> Period:
    """Return the period of iteration end times, s, given as one row per rank with at least ``pattern.least`` each.

    The last iteration is left out, because it may do more than the others (LU computes norms in it).  The window is the
    last half of the remaining iterations, rounded to an even number.  Of the periods of one and two iterations the one
    with the smaller spread is chosen, or the shorter one if both are regular up to rounding errors.  If the iterations
    are known to repeat with a longer period, once and twice this period take the place of one and two iterations.
    """
    usable = [row[pattern.start : -1] for row in ends_s]
    count = len(usable[0])
    window = max(2 * pattern.period, count // 4 * 2)
    candidates = []
    for lag in (times * pattern.period for times in PERIODS):
        if count < lag + window and lag > pattern.period:
            continue
        advances = [row[i] - row[i - lag] for row in usable for i in range(count - window, count)]
        latest = [row[-1] - row[-1 - lag] for row in usable]
        candidates.append(Period(lag, sum(latest) / len(latest), max(advances) - min(advances), window))

    def irregularity(period: Period) -> tuple[float, int]:
        return (period.spread_s if period.spread_s > _DRAW * period.time_s else 0.0), period.iterations

    return min(candidates, key=irregularity)


def added_s(ends_s: Sequence[float], missing: int, *, period: int, period_s: float) -> float:
    """Return the time that ``missing`` more iterations add to a row of end times, s, of at least ``period`` + 1.

    Whole periods of ``period`` iterations take ``period_s`` each.  A remaining part of a period lasts as long as the
    same part of the last simulated period, counted before the very last iteration, which may do more than the others.

    >>> added_s([1.0, 3.0, 5.0, 7.0], missing=4, period=1, period_s=2.0)
    8.0
    """
    periods, rest = divmod(missing, period)
    return periods * period_s + (ends_s[rest - period - 1] - ends_s[-period - 1] if rest else 0.0)


def next_try(tried: int, missing: int, period: int, unit: int = 1) -> int:
    """Return how many iterations to simulate after ``tried``, which left ``missing`` to extrapolate by ``period``.

    It is ``unit`` more, the period with which the iterations repeat, if a part of a period is left over, because the
    time after the iterations depends on where in the period they end; otherwise twice as many.
    """
    if missing % period:
        return tried + unit
    return 2 * tried + (missing - tried) % unit


def drift_rel(period: Period, missing: int, time_s: float) -> float:
    """Return the relative error of ``time_s`` after ``missing`` more iterations if the observed spread were a drift.

    After m more iterations a period is off by spread m / window; the sum over the iterations is spread m^2 / (2 window)
    per iteration of the period.
    """
    drift_s = missing / period.iterations * max(1.0, missing / (2 * period.window)) * period.spread_s
    return drift_s / time_s if time_s else 0.0


def other_half(row: Sequence[float]) -> float:
    """Return by how much the last two of a row's iterations differ, the very last left out."""
    return abs((row[-2] - row[-3]) - (row[-3] - row[-4]))


def last_advance(row: Sequence[float]) -> float:
    """Return what the last iteration of a row adds, or the one before it, because the very last may do more."""
    if len(row) > 2:
        return row[-2] - row[-3]
    return row[-1] - row[-2] if len(row) > 1 else row[-1]


# Weights of the parts of the bound.  They were chosen so that the bound holds for 99 % of the full runs of CG, MG and
# LU B on 43 of the 100 random platforms of benchmarks/steady_state.py.  Then the weight of rounding was lowered until
# the median bound over all 100 platforms was below 20 times the median error (20.4 before, 19.4 after).
_DRIFT_WEIGHT = 3.0
_ROUNDING = 2.0**-53  # relative rounding error of the clock
_ROUNDING_WEIGHT, _ROUNDING_GROWTH = 0.05, 1 / 155  # per message; growth per iteration that is not simulated
# A user's program may repeat very few messages, so that no statistics of them apply: each event of the simulation
# rounds the clock by half a unit in the last place at most.  A message has some: its start, its arrival, what follows.
_EVENTS = 4
# Allowance for odd iterations among those that are not simulated.  Of the 74 runs on random platforms that extrapolate
# more messages of a rank than this, three had odd iterations, of 3e-9, 5e-8 and 5e-8 of their time.  Of the other 226
# runs one had them (2e-6), and it had shown some among its simulated iterations.
_ODD_FROM_MESSAGES, _ODD_REL = 65_000, 1e-7
REPETITION_RULE = 2  # the same for the rules by which iterations may be extrapolated at all
RULE = 4  # version of these rules in a record's identity: increase it whenever extrapolation or bounds change


Row = Sequence[float]  # time or energy up to the end of each simulated iteration


@dataclass(frozen=True)
class Growth:
    """Growth of a record to ``iterations`` iterations.

    Without a ``period``, which fewer than LEAST_ITERATIONS iterations do not show, the missing iterations are like the
    last simulated one, and no error is bounded.
    """

    record: RunRecord
    iterations: int
    period: Period | None
    unit: int = 1  # period with which the iterations repeat
    advance: Mapping[str, Any] | None = None  # counts of ``unit`` iterations by field; None: those of one iteration
    under_way_rel: float = 0.0  # what the period may get longer by, from what does not repeat in the network

    @property
    def missing(self) -> int:
        """Number of iterations that are not simulated."""
        return self.iterations - len(self.record.iteration_s[0])

    def added(self, row: Row) -> float:
        """Return what the missing iterations add to a row of computing times or energies."""
        if self.period is None:
            return self.missing * last_advance(row)
        lag = self.period.iterations
        return added_s(row, self.missing, period=lag, period_s=row[-2] - row[-2 - lag])

    @cached_property
    def elapsed_s(self) -> list[float]:
        """Time of each rank after all iterations, s."""
        record, period = self.record, self.period
        so_far_s = [compute_s + comm_s for compute_s, comm_s in zip(record.compute_s, record.comm_s, strict=True)]
        if period is None:
            return [elapsed_s + self.missing * self._last_s for elapsed_s in so_far_s]
        return [
            elapsed_s + added_s(ends, self.missing, period=period.iterations, period_s=period.time_s)
            for elapsed_s, ends in zip(so_far_s, record.iteration_s, strict=True)
        ]

    @cached_property
    def _last_s(self) -> float:
        """Time of the last iteration, s: the mean over the ranks, but at least what the busiest one computes."""
        lasts_s = [last_advance(row) for row in self.record.iteration_s]
        busiest_s = max(last_advance(row) for row in self.record.iteration_compute_s)
        return max(sum(lasts_s) / len(lasts_s), busiest_s)

    @property
    def time_s(self) -> float:
        """Time of the rank that counts, usually the slowest one, after all iterations, s."""
        rank = self.record.timed_rank
        return max(self.elapsed_s) if rank is None else self.elapsed_s[rank]

    @property
    def compute_s(self) -> list[float]:
        """Time that each rank computes, s."""
        record = self.record
        return [
            so_far_s + self.added(row)
            for so_far_s, row in zip(record.compute_s, record.iteration_compute_s, strict=True)
        ]

    @cached_property
    def energy(self) -> dict[str, Any]:
        """The record's energy fields; empty where energy is not counted.

        A host without a row, on which nothing computes, continues at its mean power.
        """
        record = self.record
        if record.energy_span_s is None:
            return {}
        time_added_s = self.time_s - record.time_s
        longer = 1 + time_added_s / record.energy_span_s if record.energy_span_s else 1.0

        def grown(energy_j: Mapping[str, float] | None, rows: Mapping[str, Row]) -> dict[str, float] | None:
            if energy_j is None:
                return None
            return {
                name: joules + self.added(rows[name]) if name in rows else joules * longer
                for name, joules in energy_j.items()
            }

        return {
            "energy_span_s": record.energy_span_s + time_added_s,
            "energy_j": grown(record.energy_j, self._host_rows),
            "link_energy_j": grown(record.link_energy_j, record.energy_by_iteration.link_j),
        }

    @cached_property
    def _host_rows(self) -> dict[str, Row]:
        """Energy rows, J, of the hosts that have watts, each from the host's first rank that has a row."""
        record, first = self.record, dict[str, Row]()
        if record.energy_j is not None:
            for host, row in zip(record.host, record.energy_by_iteration.host_j, strict=True):
                if host in record.energy_j and row:
                    first.setdefault(host, row)
        return first

    def grown_record(self) -> RunRecord:
        """Return the record with times and energy grown, and every count increased by the missing iterations."""
        record, compute_s, each = self.record, self.compute_s, self._each
        rank_flops = self._counted(record.rank_flops, each["flops"])
        return replace(
            record,
            time_s=self.time_s,
            compute_s=tuple(compute_s),
            comm_s=tuple(elapsed - compute for elapsed, compute in zip(self.elapsed_s, compute_s, strict=True)),
            flops=sum(rank_flops),
            rank_flops=rank_flops,
            messages=self._counted(record.messages, each["messages"]),
            bytes=self._counted(record.bytes, each["bytes"]),
            self_messages=self._counted(record.self_messages, each["self_messages"]),
            self_bytes=self._counted(record.self_bytes, each["self_bytes"]),
            collectives={name: self._collective(name) for name in record.collectives},
            **self.energy,
            extrapolation=self._how(),
        )

    def _counted(self, so_far: Sequence[Any], each: Sequence[Any]) -> tuple[Any, ...]:
        times = self.missing // self.unit
        return tuple(total + times * increase for total, increase in zip(so_far, each, strict=True))

    @cached_property
    def _each(self) -> Mapping[str, Any]:
        """Counts of ``unit`` iterations."""
        if self.advance is not None:
            return self.advance
        counted = ("messages", "bytes", "self_messages", "self_bytes", "flops", "collectives")
        return {name: getattr(self.record, f"iteration_{name}") for name in counted}

    def _collective(self, name: str) -> dict[str, Any]:
        none = {"calls": 0, "bytes": [0] * self.record.ranks}
        used, each = self.record.collectives[name], self._each["collectives"].get(name, none)
        return {
            "calls": used["calls"] + self.missing // self.unit * each["calls"],
            "bytes": list(self._counted(used["bytes"], each["bytes"])),
        }

    def _how(self) -> Extrapolation:
        done, period = self.iterations - self.missing, self.period
        if period is None:
            return Extrapolation(self.iterations, done, 1, self._last_s, None)
        bound_rel = self._bound_rel(period)
        energy_bound_rel = self._energy_bound_rel(period, bound_rel) if self.energy else None
        return Extrapolation(self.iterations, done, period.iterations, period.time_s, bound_rel, energy_bound_rel)

    def _bound_rel(self, period: Period) -> float:
        """Return a bound on the relative error of the extrapolated time.

        It is the sum of the drift, of the rounding error of the simulator's clock in every message of a rank, which
        grows as the clock advances, and of an allowance for odd iterations.  Odd iterations occur when rounding changes
        the order of events; they are expected only if many messages are extrapolated.  If half a period is left over,
        the work after the iterations begins in the other half, and its time may differ by as much as the halves do.
        """
        record, missing, time_s = self.record, self.missing, self.time_s
        if time_s == 0:
            return 0.0
        # A rank has about one message per other rank in a collective.
        messages: float = max(self._each["messages"]) + record.ranks * sum(
            used["calls"] for used in self._each["collectives"].values()
        )
        if self.unit > 1:
            messages /= self.unit
        rounding = missing * messages * _ROUNDING
        if self.advance is not None:  # seen to repeat, not uniform by construction
            rounding_rel = _EVENTS * missing * record.ranks * (messages + 1) * _ROUNDING
        else:
            rounding_rel = (_ROUNDING_WEIGHT + _ROUNDING_GROWTH * missing) * rounding
        other_half_s = max(map(other_half, record.iteration_s)) if missing % period.iterations else 0.0
        return (
            other_half_s / time_s
            + _DRIFT_WEIGHT * drift_rel(period, missing, time_s)
            + rounding_rel
            + self.under_way_rel
            + (_ODD_REL if missing * messages > _ODD_FROM_MESSAGES else 0.0)
        )

    def _energy_bound_rel(self, period: Period, bound_rel: float) -> float:
        """Return a bound on the relative error of any host's or link's energy; ``bound_rel`` is that of the time.

        Time that is added or missing counts with the host's full power, for a link with its mean power.  Differences
        between the energies of periods count like differences between their lengths in ``_bound_rel``.
        """
        by_iteration, energy = self.record.energy_by_iteration, self.energy
        rows = {**self._host_rows, **by_iteration.link_j}
        span_s, lag, worst = energy["energy_span_s"], period.iterations, bound_rel
        for name, joules in {**(energy["energy_j"] or {}), **(energy["link_energy_j"] or {})}.items():
            if not joules:
                continue
            bound = bound_rel * max(1.0, by_iteration.full_w.get(name, 0.0) * span_s / joules)
            if name in rows:
                row = rows[name]
                last = len(row) - 1  # the last iteration is ignored
                advances_j = [row[i] - row[i - lag] for i in range(last - period.window, last)]
                spread = replace(period, spread_s=max(advances_j) - min(advances_j))
                other_half_j = other_half(row) if self.missing % lag else 0.0
                bound += _DRIFT_WEIGHT * drift_rel(spread, self.missing, joules) + other_half_j / joules
            worst = max(worst, bound)
        return worst


__all__ = ["FIRST_TRY", "SETTLED_BOUND", "extrapolate", "settle"]
# A run has settled when its bound on the relative error of the extrapolated time is at most this.
SETTLED_BOUND = 1e-6


def extrapolate(record: RunRecord, iterations: int, pattern: Pattern | None = None) -> RunRecord:
    """Return the record of ``iterations`` iterations, extrapolated from a record of fewer.

    The missing iterations are treated as whole periods; if one iteration of a period of two is left over, it lasts as
    long as the corresponding one before the last.  Every extensive field grows in the same way.  Fewer than
    LEAST_ITERATIONS show no period: the missing iterations are then treated like the last one, without a bound.

    ``pattern`` is how the iterations of a user's program were seen to repeat; the counts of a whole period are then
    those of the last one simulated.  None: all iterations are alike, or nothing is known.
    """
    done = len(record.iteration_s[0])
    if done in (0, iterations):  # 0: a program without iterations, simulated in full
        return record
    known = Pattern() if pattern is None else pattern
    period = find_period(record.iteration_s, known) if done >= known.least else None
    advance = None if pattern is None else record.seen.advance(pattern.period)
    drift = 0.0 if pattern is None or period is None else record.seen.drift_rel(period, pattern.start)
    return Growth(record, iterations, period, known.period, advance, drift).grown_record()


def settle(
    run: Callable[[int], RunRecord],
    iterations: int,
    *,
    bound_rel: float = SETTLED_BOUND,
    pattern: Pattern | None = None,
) -> RunRecord:
    """Return the record of all ``iterations`` from as few simulated ones as possible.

    ``run`` simulates the number of iterations that it is given.  The number is doubled until the run has settled or all
    iterations are simulated.  With a period of two, one more iteration is simulated if the run would otherwise end in
    the other half of a period, because the time after the iterations depends on it.  Wall time is the sum and peak
    memory the maximum over all tries.  ``pattern`` is as in ``extrapolate``: only whole periods of it are extrapolated.
    """
    known = Pattern() if pattern is None else pattern
    tried, wall_s, peak_memory_bytes = known.first_try, 0.0, 0
    tried += (iterations - tried) % known.period
    while True:
        tried = iterations if iterations < known.least else min(tried, iterations)
        record = extrapolate(run(tried), iterations, pattern)
        wall_s += record.wall_s
        peak_memory_bytes = max(peak_memory_bytes, record.peak_memory_bytes)
        how, missing = record.extrapolation, iterations - tried
        if how is None or (how.bound_rel is not None and how.bound_rel <= bound_rel and missing % how.period == 0):
            return replace(record, wall_s=wall_s, peak_memory_bytes=peak_memory_bytes)
        tried = next_try(tried, missing, how.period, known.period)
