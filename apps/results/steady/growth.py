"""Growth of a record by the iterations that are not simulated, and bounds on its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from apps.results.record import Extrapolation, RunRecord
from apps.results.steady.period import Period, added_s, drift_rel, last_advance, other_half

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
