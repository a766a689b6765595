"""How long a recorded program takes on a network: a few of its iterations, evaluated, then extrapolated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.recording import Mark
from apps.steady import FIRST_TRY, LEAST_ITERATIONS, added_s, drift_rel, find_period, next_try
from platforms.errors import UserError
from predictor.dpgraph import fluid
from predictor.dpgraph.busy import BusyTime, watch_computation
from predictor.dpgraph.cores import share_cores
from predictor.dpgraph.instructions import Instructions
from predictor.dpgraph.network import Network
from predictor.dpgraph.program import Program, Sections

SETTLED_REL = 1e-3  # of the time: what the spread of the period may add up to


@dataclass(frozen=True)
class Run:
    """An evaluated program.  Times in s, one entry per rank."""

    marks: tuple[np.ndarray, ...]  # apps.recording.Mark, by rank
    marks_s: np.ndarray  # ranks x marks: their dates
    end_s: np.ndarray

    def date_s(self, mark: Mark, otherwise: np.ndarray) -> np.ndarray:
        """The date of a mark that each rank has once; ``otherwise`` where the program does not mark it."""
        if mark not in self.marks[0]:
            return otherwise
        return np.array([row[np.flatnonzero(m == mark)[0]] for m, row in zip(self.marks, self.marks_s, strict=True)])

    @property
    def start_s(self) -> np.ndarray:
        return self.date_s(Mark.START, np.zeros_like(self.end_s))

    @property
    def stop_s(self) -> np.ndarray:
        return self.date_s(Mark.STOP, self.end_s)

    @property
    def iteration_s(self) -> np.ndarray:
        """Ranks x iterations: the end of each, from the start of the timed section."""
        rows = [row[: len(m)][m == Mark.ITERATION] for m, row in zip(self.marks, self.marks_s, strict=True)]
        since_start_s: np.ndarray = np.array(rows) - self.start_s[:, None]
        return since_start_s


@dataclass(frozen=True)
class Estimate:
    """The time of a whole program."""

    time_s: float
    iterations: int  # evaluated: as many as it took to see that they repeat, or all
    span_s: float  # from the start of the first rank to the end of the last one
    # By host, of those that it was asked for: the time during which at least one of its ranks computes, s.
    busy_s: Mapping[str, float] = field(default_factory=dict)


def execute(
    program: Program,
    network: Network,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
) -> Run:
    """Evaluates a program on a network.  ``s_per_flop``, ``cores``: of each rank's host; None: no core is shared.

    Raises UserError for a program that cannot end: a receive or a send that waits for ever.
    """
    messages, paths = network.carry(program, placement)
    instructions = Instructions(program.code, program.argument, program.value, program.first)
    if cores is not None:
        instructions, messages, paths = share_cores(
            instructions, messages, paths, placement=placement, s_per_flop=s_per_flop, cores=cores
        )
    marks = tuple(program.marks)
    marks_s = np.full((program.nranks, max(1, *map(len, marks))), np.nan)
    end_s = fluid.evaluate(instructions, messages, paths, np.asarray(s_per_flop, float), marks_s)
    if np.isnan(end_s).any():
        waiting = int(np.flatnonzero(np.isnan(end_s))[0])
        problem = f"rank {waiting} waits for ever ({np.isnan(end_s).sum()} ranks do)"
        raise UserError("recorded program", problem, "Record it with the send modes that it is to be run with")
    return Run(marks, marks_s, end_s)


def estimate(
    sections: Sections,
    iterations: int,
    network: Network,
    placement: tuple[str, ...],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int] | None = None,
    *,
    busy_hosts: Collection[str] = (),
) -> Estimate:
    """The time of so many iterations: as many evaluated as it takes to see that they repeat, the rest extrapolated.

    As in simulation (apps.steady), only by whole periods.  ``busy_hosts``: whose busy time is to be told, which is
    extrapolated likewise.  The other arguments are those of ``execute``.
    """
    watched = {host: [rank for rank, at in enumerate(placement) if at == host] for host in busy_hosts}
    tried = FIRST_TRY
    while True:
        tried = iterations if iterations < LEAST_ITERATIONS else min(tried, iterations)
        program = sections.program(tried if sections.iterations else None)
        if watched:
            program = watch_computation(program, [rank for ranks in watched.values() for rank in ranks])
        run = execute(program, network, placement, s_per_flop, cores)
        busy = {host: BusyTime.of(run, ranks) for host, ranks in watched.items()}
        elapsed_s = run.stop_s - run.start_s
        if not sections.iterations or tried == iterations:
            busy_s = {host: one.total_s() for host, one in busy.items()}
            return Estimate(float(elapsed_s.max()), tried, float(run.stop_s.max() - run.start_s.min()), busy_s)
        ends_s, missing = run.iteration_s.tolist(), iterations - tried
        period = find_period(ends_s)
        more_s = [added_s(row, missing, period=period.iterations, period_s=period.time_s) for row in ends_s]
        time_s = float((elapsed_s + more_s).max())
        if missing % period.iterations == 0 and drift_rel(period, missing, time_s) <= SETTLED_REL:
            periods = missing // period.iterations
            span_s = float((run.stop_s + more_s).max() - run.start_s.min())
            busy_s = {host: one.total_s() + periods * one.period_s(period.iterations) for host, one in busy.items()}
            return Estimate(time_s, tried, span_s, busy_s)
        tried = next_try(tried, missing, period.iterations)
