"""Tests whether messages between iterations arrive as regularly as the iterations end.

Equal iteration times prove nothing while messages pile up in the network, for example if receives are posted long
before the program waits for them.  If all messages arrive within their iteration (``Sections.looped``), none pile up.
"""

from __future__ import annotations

import numpy as np

from apps.recording.events import Mark
from apps.results.steady import Period
from predictor.dpgraph.executed import Execution
from predictor.dpgraph.fluid import PRECISION_S
from predictor.dpgraph.instructions import MARK, SEND
from predictor.dpgraph.program import Program

_ROUNDING_S = 4 * PRECISION_S  # the order of events this close is arbitrary, in each of two periods


def arrivals_drift_rel(program: Program, run: Execution, period: Period) -> float:
    """Return how much the period grows if messages keep arriving later and later.

    Relative to the period; infinity if too few messages have arrived to show it.

    Args:
        program: The program, without a loop; its iterations between the first and the last send the same messages.
        run: Its evaluation, with arrivals.
        period: Period of the iterations.
    """
    assert run.arrived_s is not None
    sent = _sent_in(program)
    if not sent.size:
        return 0.0
    arrived_s, lag = run.arrived_s[sent], period.iterations
    if len(sent) <= lag:
        return float("inf")
    ends_s = run.marks_s[run.marks == Mark.ITERATION].reshape(len(run.marks), -1)
    # Messages that arrive after the last but one iteration are not representative.
    known = arrived_s[lag:] <= ends_s[:, -2].min()
    if not known.any(axis=0).all():
        return float("inf")
    later_s = np.abs(arrived_s[lag:] - arrived_s[:-lag] - period.time_s)
    newest = known & (np.cumsum(known[::-1], axis=0)[::-1] <= max(1, period.window // lag))
    worst_s = float(later_s[newest].max())
    return worst_s / period.time_s if worst_s > _ROUNDING_S else 0.0


def _sent_in(program: Program) -> np.ndarray:
    """Return the messages that are sent in each iteration between the first and the last: iterations x messages."""
    rows = []
    for begin, end in zip(program.first[:-1], program.first[1:], strict=True):
        code, argument = program.code[begin:end], program.argument[begin:end]
        iteration = np.cumsum((code == MARK) & (argument == Mark.ITERATION))
        sends = code == SEND
        inside = sends & (iteration >= 1) & (iteration < iteration.max(initial=0) - 1)
        between = int(iteration.max(initial=0)) - 2
        rows.append(argument[inside].reshape(between, -1))
    return np.concatenate(rows, axis=1)
