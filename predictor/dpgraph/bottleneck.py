"""Bottleneck of a predicted run: the computation of some nodes, a link, or waiting for messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.spec.target import Target
from platforms.terminal.quantities import percent
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program

DOMINATES = 0.5  # least share of the time for a bottleneck


def bottleneck(target: Target, time_s: float, compute_s: Sequence[float], loads_s: dict[str, float]) -> str:
    """Return what takes most of the time, in words.

    Args:
        target: The target.
        time_s: Its predicted time.
        compute_s: Computing time of each rank.
        loads_s: Time for which each link would be full if it carried its messages one at a time.
    """
    busiest = max(range(target.nranks), key=compute_s.__getitem__)
    computing = compute_s[busiest] / time_s
    if computing >= DOMINATES:
        cluster = target.platform.cluster_of(target.placement[busiest]).name
        return f"computation on the nodes of {cluster}, {percent(100 * computing)} % of the time"
    waiting = f"communication, {percent(100 * (1 - computing))} % of the time"
    if not loads_s:
        return waiting
    link = max(loads_s, key=loads_s.__getitem__)
    busy = min(1.0, loads_s[link] / time_s)
    used = f"in use for {percent(100 * busy)} % of it"
    if busy >= DOMINATES:
        return f"link {link!r}, {used}; {waiting}"
    return f"{waiting}: latency and waiting for other ranks, since no link is full (the busiest, {link!r}, is {used})"


def link_loads_s(
    program: Program, network: NetworkModel, placement: Sequence[str], iterations: int, evaluated: int
) -> dict[str, float]:
    """Return how long each link would be full if it carried the messages of all iterations one at a time, s.

    Args:
        program: The evaluated program.
        network: Its network.
        placement: The host of each rank.
        iterations: Number of iterations of the whole program.
        evaluated: Number of iterations of ``program``, loops included.
    """
    times, scale = np.ones(program.nmessages), 1.0
    if program.loop is not None:
        times[program.loop.fixed :] = program.loop.copies + iterations - evaluated
    elif evaluated:
        scale = iterations / evaluated
    messages, paths = network.carry(program, tuple(placement))
    amounts = messages.kinds["amount_bytes"] * np.bincount(messages.kind, times, minlength=len(messages.kinds))
    of_path = scale * np.bincount(messages.kinds["path"], amounts, minlength=len(paths.bound_Bps))
    carried = np.repeat(of_path, np.diff(paths.first)) * paths.weight
    loads_s = np.bincount(paths.link, carried, minlength=len(paths.capacity_Bps)) / paths.capacity_Bps
    return dict(zip(network.capacity_Bps, loads_s.tolist(), strict=True))
