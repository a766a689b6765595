"""The time of a recorded program on a network: evaluates a few iterations and extrapolates the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.results.steady import (
    FIRST_TRY,
    LEAST_ITERATIONS,
    SETTLED_BOUND,
    Period,
    added_s,
    drift_rel,
    find_period,
    next_try,
)
from platforms.errors import UserError
from predictor.dpgraph import fluid
from predictor.dpgraph.busy import BusyTime, watch_computation
from predictor.dpgraph.cores import share_cores, with_flows
from predictor.dpgraph.executed import Execution
from predictor.dpgraph.instructions import COMPUTE, Instructions
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program, Sections
from predictor.dpgraph.under_way import arrivals_drift_rel

_LEAST_ENDS = 3  # of iterations: two that are one period apart, and the last
SETTLED_REL = 1e-3  # relative to the time: the largest accumulated spread of the period


@dataclass(frozen=True)
class Estimate:
    """The time of a whole program."""

    time_s: float
    ends_s: np.ndarray  # by rank: end of its timed section since the start of the first rank's, s
    iterations: int  # evaluated iterations: all, or enough to see that they repeat
    span_s: float  # from the start of the first rank to the end of the last one
    # For each requested host: the time during which at least one of its ranks computes, s.
    busy_s: Mapping[str, float] = field(default_factory=dict)
    others: int = 0  # as in Execution


def execute(
    program: Program,
    network: NetworkModel,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
    *,
    arrivals: bool = False,
    to_the_end: bool = True,
    may_end: int = 0,
) -> Execution:
    """Evaluate a program on a network.

    Args:
        program: The program.
        network: The network between all hosts of the placement that exchange messages.
        placement: The host of each rank.
        s_per_flop: Seconds per flop of each rank's host.
        cores: Number of cores of each rank's host; None: no core is shared.
        arrivals: Also return the arrival date of each message; only for a program without a loop.
        may_end: After as many copies the loop ends as soon as they are known to repeat; 0: all are executed.
        to_the_end: Refuse ranks that never end; otherwise their later dates are NaN.

    Raises:
        UserError: The program cannot end, because a send or a receive is never matched.
    """
    messages, paths = network.carry(program, placement)
    instructions = _on_cores(program, np.asarray(s_per_flop, float))
    loop = program.loop
    if network.own_ways:
        which, flows = network.own_flows(program, paths)
        instructions, messages, loop = with_flows(instructions, messages, loop, which, flows)
    if cores is not None:
        instructions, messages, paths, loop = share_cores(
            instructions, messages, paths, placement=placement, s_per_flop=s_per_flop, cores=cores, loop=loop
        )
    marks = program.marks
    marks_s = np.full(marks.shape, np.nan)
    done_s = np.full(program.nmessages if arrivals else 0, np.nan)
    polls = program.polls._replace(other=np.zeros(1, np.int64))
    choices = program.choices._replace(took=np.full(len(program.choices.role), -1, np.int32))
    copies = np.array([may_end, 0]) if may_end > 0 and loop is not None else None
    end_s = fluid.evaluate(
        instructions,
        messages,
        paths,
        np.asarray(s_per_flop, float),
        marks_s,
        loop,
        (polls, network.polling),
        done_s=done_s,
        choices=choices,
        copies=copies,
    )
    if to_the_end and np.isnan(end_s).any():
        waiting = int(np.flatnonzero(np.isnan(end_s))[0])
        problem = f"rank {waiting} waits forever ({np.isnan(end_s).sum()} ranks in all)"
        raise UserError("recorded program", problem, "Record it with the send modes that the predicted run uses")
    left_out, leader = 0, 0
    if copies is not None and loop is not None and copies[0] < loop.copies:
        left_out, leader = loop.copies - int(copies[0]), int(copies[1])
        marks = program.with_copies(int(copies[0])).marks
        marks_s = marks_s[:, : marks.shape[1]]
    arrived_s = done_s if arrivals else None
    return Execution(marks, marks_s, end_s, arrived_s, int(polls.other[0]), left_out, leader, choices.took)


def _latest(run: Execution) -> Period:
    """Return the iteration that is known to repeat as the period: other ranks may be under the last one's influence."""
    ends_s = run.iteration_s[run.leader]
    return Period(1, float(ends_s[-2] - ends_s[-3]), 0.0, 2)


def _on_cores(program: Program, s_per_flop: np.ndarray) -> Instructions:
    """Return the instructions with each SLEEP on a core as a computation as long, because ranks may share the core."""
    code, value, timed = program.code, program.value, program.timed
    if len(timed):
        code, value = code.copy(), value.copy()
        code[timed] = COMPUTE
        value[timed] /= s_per_flop[np.searchsorted(program.first, timed, side="right") - 1]
    return Instructions(code, program.argument, value, program.first)


def estimate(
    sections: Sections,
    iterations: int,
    network: NetworkModel,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
    *,
    busy_hosts: Collection[str] = (),
) -> Estimate:
    """Return the time of a number of iterations: evaluate until they repeat, then extrapolate.

    As in simulation (apps.results.steady), only whole periods are extrapolated.

    Args:
        sections: The recorded iterations.
        iterations: Number of iterations of the whole program.
        network: As for ``execute``.
        placement: As for ``execute``.
        s_per_flop: As for ``execute``.
        cores: As for ``execute``.
        busy_hosts: Hosts whose busy time is returned, extrapolated likewise.

    Raises:
        UserError: As ``execute``.
    """
    watched = {host: [rank for rank, at in enumerate(placement) if at == host] for host in busy_hosts}
    tried = FIRST_TRY
    while True:
        tried = iterations if iterations < LEAST_ITERATIONS else min(tried, iterations)
        program = sections.looped(tried) if sections.iterations else sections.program()
        if watched:
            program = watch_computation(program, [rank for ranks in watched.values() for rank in ranks])
        partial = sections.iterations > 0 and tried < iterations
        loop = program.loop if partial else None
        may_end = 0 if loop is None else _LEAST_ENDS - tried + loop.copies
        arrivals = partial and loop is None
        run = execute(program, network, placement, s_per_flop, cores, arrivals=arrivals, may_end=may_end)
        tried -= run.left_out
        busy = {host: BusyTime.of(run, ranks) for host, ranks in watched.items()}
        elapsed_s = run.stop_s - run.start_s
        if not sections.iterations or tried == iterations:
            busy_s = {host: times.total_s() for host, times in busy.items()}
            ends_s = run.stop_s - run.start_s.min()
            return Estimate(sections.time_s(elapsed_s), ends_s, tried, float(ends_s.max()), busy_s, run.others)
        turns_s, missing = run.iteration_s.tolist(), iterations - tried
        period = find_period(turns_s) if run.left_out == 0 else _latest(run)
        more_s = [added_s(row, missing, period=period.iterations, period_s=period.time_s) for row in turns_s]
        time_s = sections.time_s(elapsed_s + more_s)
        settled = missing % period.iterations == 0 and drift_rel(period, missing, time_s) <= SETTLED_REL
        if settled and program.loop is None:
            settled = arrivals_drift_rel(program, run, period) <= SETTLED_BOUND
        elif settled and not run.left_out:  # a rank that waits for nobody may flood the network, the longer it sends
            ends_s = run.iteration_s + run.start_s[:, None]
            settled = bool(ends_s[:, -1].min() >= ends_s[:, 0].max())
        if settled:
            periods = missing // period.iterations
            ends_s = run.stop_s + more_s - run.start_s.min()
            busy_s = {
                host: times.total_s() + periods * times.period_s(period.iterations) for host, times in busy.items()
            }
            return Estimate(time_s, ends_s, tried, float(ends_s.max()), busy_s)
        tried = next_try(tried, missing, period.iterations)
