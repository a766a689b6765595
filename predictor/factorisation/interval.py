"""The 90 % interval of a predicted time of HPL."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from predictor.factorisation.evaluate import Problem
from predictor.factorisation.machine import Machine, Segment

# Half width in log(measured / predicted): 90 % of the runs of examples/real/dahu/hpl.csv lie within.  Two studies of
# the same settings differ by 0.13.
SPREAD = 0.085
# Messages of pivots pass between busy cores but were measured between idle ones.  They take up to 50 % longer and more,
# as the thesis behind docs/validation/clusters.md reports for calibrations of idle nodes.
LONGER = 0.5


def interval(problem: Problem, machine: Machine, time_s: float) -> tuple[float, float]:
    """Return the ends of the interval of a predicted time, s."""
    return time_s * math.exp(-SPREAD), time_s * math.exp(SPREAD) + LONGER * pivots_s(problem, machine)


def pivots_s(problem: Problem, machine: Machine) -> float:
    """Return the total seconds of the messages of pivots, sent one after the other.

    For every column the places of a process column exchange two rows of the panel and four numbers in pairs, at
    distances 1, 2, 4, ...
    """
    curves, size = machine.curves, 8.0 * (4 + 2 * problem.nb)
    calls_s = _at(curves.sender, size) + _at(curves.receiver, size)
    places = np.arange(problem.rows)
    total_s, distance = 0.0, 1
    while distance < problem.rows:
        partners = places ^ distance
        pairs = places[partners < problem.rows], partners[partners < problem.rows]
        nodes = [machine.node[some * problem.columns] for some in pairs]
        wire = curves.between if np.any(nodes[0] != nodes[1]) else curves.within
        total_s += _at(wire, size) + calls_s
        distance *= 2
    return problem.n * total_s


def _at(segments: Sequence[Segment], size: float) -> float:
    """Return the time of a message of a size, s; 0 without segments."""
    known = [segment for segment in segments if segment[0] <= size]
    return known[-1][1] + size * known[-1][2] if known else 0.0
