"""The steps of a program, one after the other, as recurrences over its ranks (compiled by numba).

A step maps the times at which the ranks enter it to the times at which they leave it.  A message begins when its send
and its receive are posted (an eager message when its send is posted), and takes the time that
predictor/structural/sharing.py computes.  Nothing is simulated: there are no events and no clock, and the steps are
evaluated in the order of the program.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from predictor.structural.schedule import COMPUTE, EXCHANGE, Schedule
from predictor.structural.sharing import MOST_SHARED, Shares
from predictor.structural.sharing_survey import EAGER, SYNCHRONOUS

# The numbers and fields that the compiled code depends on; numba does not notice when they change in another file.
if (
    (COMPUTE, EXCHANGE, MOST_SHARED, EAGER, SYNCHRONOUS) != (0, 1, 4, 1, 2)
    or " ".join(Schedule._fields)
    != "size_bytes segment kind item flops first at_once source destination size shape plane_flops plane_size"
    or " ".join(Shares._fields) != "latency_s flow_s link own_s load_s flows plane_s plane_load_s"
):
    raise ImportError("predictor/structural has changed: change what recurrence.py repeats of it as well")

_compiled = njit(cache=True, error_model="numpy")
_SETTLED = 5e-4  # relative: iterations that differ by at most this are alike
_LEAST_ITERATIONS, _MOST_ITERATIONS = 2, 12  # number of iterations that are evaluated before the last one


class _Ranks(NamedTuple):
    """State of the ranks of a placement."""

    now: np.ndarray  # f8, time that the rank has reached
    posted: np.ndarray  # f8, time at which its receives of an exchange are posted
    arrived: np.ndarray  # f8, time at which the last message for which it waits has arrived
    s_per_flop: np.ndarray  # f8


class _Queues(NamedTuple):
    """State of the links that clusters share."""

    free: np.ndarray  # f8, time at which the load so far is through
    comes: np.ndarray  # f8, time at which the first message of an exchange comes
    others: np.ndarray  # i4, number of messages since the link was idle


@_compiled
def runs(
    schedule: Schedule, shares: Shares, protocol: np.ndarray, s_per_flop: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the time of the whole program for each placement, and its possible error.

    Args:
        schedule: The steps of the program.
        shares: The messages of each placement.
        protocol: BUFFERED, EAGER or SYNCHRONOUS, by size.
        s_per_flop: Seconds per flop, placements x ranks.
        iterations: Number of iterations of the program, >= 1.

    Returns:
        By placement, the time of the slowest rank from its own start, s; and the difference between the last two
        iterations evaluated times the number of iterations that were not evaluated, s.
    """
    times_s, drifts_s = np.empty(len(s_per_flop)), np.empty(len(s_per_flop))
    for i in range(len(s_per_flop)):
        times_s[i], drifts_s[i] = _run(schedule, _one(shares, i), protocol, s_per_flop[i], iterations)
    return times_s, drifts_s


@_compiled
def _one(shares: Shares, i: int) -> Shares:
    """Return the Shares of one placement, whose arrays lack the first axis."""
    return Shares(
        shares.latency_s[i],
        shares.flow_s[i],
        shares.link[i],
        shares.own_s[i],
        shares.load_s[i],
        shares.flows[i],
        shares.plane_s[i],
        shares.plane_load_s[i],
    )


@_compiled
def _run(
    schedule: Schedule, shares: Shares, protocol: np.ndarray, s_per_flop: np.ndarray, iterations: int
) -> tuple[float, float]:
    """Return time and possible error of one placement from its Shares."""
    nranks, links = len(s_per_flop), shares.load_s.shape[1]
    ranks = _Ranks(np.zeros(nranks), np.empty(nranks), np.empty(nranks), s_per_flop)
    queues = _Queues(np.zeros(links), np.empty(links), np.zeros(links, np.int32))
    now = ranks.now
    start = now.copy()
    done, before, period, spread, segment = 0, 0.0, 0.0, np.inf, 0
    while segment < 5:
        for step in range(schedule.segment[segment], schedule.segment[segment + 1]):
            item = schedule.item[step]
            if schedule.kind[step] == COMPUTE:
                for r in range(nranks):
                    now[r] += schedule.flops[item, r] * s_per_flop[r]
            elif schedule.kind[step] == EXCHANGE:
                _exchange(schedule, item, shares, protocol, ranks, queues)
            else:
                _sweep(schedule, item, shares, protocol, ranks)
        if segment == 0:
            start[:] = now
        elif segment == 2:
            done += 1
            spread, period = abs(now.max() - before - period), now.max() - before
        before = now.max()
        if segment in (1, 2):  # once more, until iterations are alike
            settled = done >= _LEAST_ITERATIONS and spread <= _SETTLED * period
            again = done < min(iterations - 1, _MOST_ITERATIONS) and not settled
            segment = 2 if again else 3
            if not again:
                now += (iterations - 1 - done) * period
                queues.free[:] += (iterations - 1 - done) * period
        else:
            segment += 1
    missing = iterations - 1 - done
    return (now - start).max(), missing * spread if missing > 0 else 0.0


@_compiled
def _exchange(
    schedule: Schedule, item: int, shares: Shares, protocol: np.ndarray, ranks: _Ranks, queues: _Queues
) -> None:
    """Evaluate an exchange: every rank posts its receives, sends in turn, and waits for its messages.

    A message begins at max(sent, posted).  Its sender goes on at once if the message is buffered, else when the message
    has arrived.

    Links that clusters share are queues (Lindley's recursion): the load that an exchange adds to a link begins when the
    exchange's first message comes, or when the link's earlier load is through.  A message that comes before that is
    delayed, but at most for as long as it would take beside as many other messages of its size as have come since the
    link was idle.
    """
    now, posted, arrived = ranks.now, ranks.posted, ranks.arrived
    free, comes, others = queues
    latency_s, flow_s, link, own_s = shares.latency_s, shares.flow_s, shares.link, shares.own_s
    load_s, flows = shares.load_s, shares.flows
    posted[:] = now
    arrived[:] = now
    comes[:] = np.inf
    at_once = schedule.at_once[item]
    for m in range(schedule.first[item], schedule.first[item + 1]):
        s, d, mode = schedule.source[m], schedule.destination[m], protocol[schedule.size[m]]
        begin = (now[s] if mode == EAGER else max(now[s], posted[d])) + latency_s[m]
        held_s = 0.0
        for k in range(MOST_SHARED):
            name = link[m, k]
            if name < 0:
                break
            comes[name] = min(comes[name], begin)
            held_s = max(held_s, min(free[name] - begin, others[name] * own_s[m, k]))
        end = begin + held_s + flow_s[m]
        if mode == SYNCHRONOUS:
            if at_once:
                arrived[s] = max(arrived[s], end)
            else:
                now[s] = end
        arrived[d] = max(arrived[d], end)
    for r in range(len(now)):
        now[r] = max(now[r], arrived[r])
    for name in range(len(free)):
        if flows[item, name] > 0:
            if comes[name] >= free[name]:
                free[name], others[name] = comes[name], 0
            free[name] += load_s[item, name]
            others[name] += flows[item, name]


@_compiled
def _sweep(schedule: Schedule, item: int, shares: Shares, protocol: np.ndarray, ranks: _Ranks) -> None:
    """Evaluate a pipeline of planes through the grid of ranks, in closed form.

    Each of the K planes takes a rank one stage: receive along x, receive along y, compute.  Because all planes are
    alike, the longest chain of events crosses the grid once and stays for K - 1 stages at its slowest rank:

        last plane = max over ways through the grid of (fill along the way + (K - 1) largest stage on the way)

    One pass over the grid finds this maximum: ``first`` is the time at which a rank ends its first plane, ``last`` the
    time at which it ends its last plane.

    A stage is at least as long as the time that all messages of a plane take of a link that the messages to the rank
    cross.  It is longer by the time of the rank's own messages if their senders wait for their receivers; the delay of
    other ranks that this causes is not modelled.
    """
    width, height, forward, planes = schedule.shape[item]
    plane_s, plane_load_s, now = shares.plane_s[item], shares.plane_load_s[item], ranks.now
    ahead = 1 if forward else -1
    first, last = np.empty(len(now)), np.empty(len(now))
    for i in range(width * height):
        r = i if forward else width * height - 1 - i
        x, y = r % width, r // width
        before_x = r - ahead if 0 <= x - ahead < width else -1
        before_y = r - ahead * width if 0 <= y - ahead < height else -1
        work = schedule.plane_flops[item, r] * ranks.s_per_flop[r]
        stage, load = work, 0.0
        begin, begin_last = now[r], -np.inf
        for axis, source in ((0, before_x), (1, before_y)):
            if source < 0:
                continue
            size = schedule.plane_size[item, axis, source]
            took = plane_s[axis, source]
            load = max(load, plane_load_s[axis, source])
            mode = protocol[size]
            if mode == EAGER:
                begin = max(begin, first[source] + took)
                begin_last = max(begin_last, last[source] + took)
            else:
                begin = max(begin, first[source]) + took
                begin_last = max(begin_last, last[source]) + took
                stage += took
        for axis, sends in ((0, 0 <= x + ahead < width), (1, 0 <= y + ahead < height)):
            if sends and protocol[schedule.plane_size[item, axis, r]] == SYNCHRONOUS:
                stage += plane_s[axis, r]
        first[r] = begin + work
        last[r] = max(begin_last + work, first[r] + (planes - 1) * max(stage, load))
    now[:] = last
