"""The steps of a program, one after the other, as recurrences over its ranks (numba).

A step takes the time at which every rank enters it to the time at which it leaves.  A message begins when it is sent
and its receive is posted (an eager one when it is sent), and takes what predictor/structural/sharing.py says.  Nothing
is simulated: there are no events and no clock, and the order of what happens is that of the program.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from predictor.structural.schedule import COMPUTE, EXCHANGE, Schedule
from predictor.structural.sharing import MOST_SHARED, Arrays, Shares
from predictor.structural.survey import EAGER, SYNCHRONOUS

# What is compiled below into the code that numba keeps, until this file changes.
if (
    (COMPUTE, EXCHANGE, MOST_SHARED, EAGER, SYNCHRONOUS) != (0, 1, 4, 1, 2)
    or " ".join(Schedule._fields)
    != "size_bytes segment kind item flops first at_once source destination size shape plane_flops plane_size"
    or " ".join(Shares._fields) != "latency_s flow_s link own_s load_s flows plane_s plane_load_s"
):
    raise ImportError("predictor/structural has changed: change what recurrence.py repeats of it as well")

_compiled = njit(cache=True, error_model="numpy")
_SETTLED = 5e-4  # relative: iterations that differ by less are alike
_LEAST_ITERATIONS, _MOST_ITERATIONS = 2, 12  # evaluated, before the last one


@_compiled
def runs(
    schedule: Schedule, shares: Shares, protocol: np.ndarray, s_per_flop: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """By placement: the time of the whole program, of the slowest rank from its own start; and what that may be off.

    ``s_per_flop``: placements x ranks.  The second is the difference between the last two iterations evaluated, times
    those that are taken to be like them.
    """
    times_s, drifts_s = np.empty(len(s_per_flop)), np.empty(len(s_per_flop))
    for i in range(len(s_per_flop)):
        of_messages = (shares.latency_s[i], shares.flow_s[i], shares.link[i], shares.own_s[i])
        of_links = (shares.load_s[i], shares.flows[i])
        of_planes = (shares.plane_s[i], shares.plane_load_s[i])
        times_s[i], drifts_s[i] = _run(schedule, of_messages, of_links, of_planes, protocol, s_per_flop[i], iterations)
    return times_s, drifts_s


@_compiled
def _run(
    schedule: Schedule,
    of_messages: Arrays,
    of_links: Arrays,
    of_planes: Arrays,
    protocol: np.ndarray,
    s_per_flop: np.ndarray,
    iterations: int,
) -> tuple[float, float]:
    """One placement."""
    ranks, links = len(s_per_flop), of_links[0].shape[1]
    now, scratch = np.zeros(ranks), (np.empty(ranks), np.empty(ranks))
    queues = np.zeros(links), np.empty(links), np.zeros(links, np.int32)
    start = now.copy()
    done, before, period, spread, segment = 0, 0.0, 0.0, np.inf, 0
    while segment < 5:
        for step in range(schedule.segment[segment], schedule.segment[segment + 1]):
            item = schedule.item[step]
            if schedule.kind[step] == COMPUTE:
                for r in range(ranks):
                    now[r] += schedule.flops[item, r] * s_per_flop[r]
            elif schedule.kind[step] == EXCHANGE:
                _exchange(schedule, item, of_messages, of_links, protocol, queues, now, scratch)
            else:
                _sweep(schedule, item, of_planes[0][item], of_planes[1][item], protocol, s_per_flop, now)
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
                queues[0][:] += (iterations - 1 - done) * period
        else:
            segment += 1
    missing = iterations - 1 - done
    return (now - start).max(), missing * spread if missing > 0 else 0.0


@_compiled
def _exchange(
    schedule: Schedule,
    item: int,
    of_messages: Arrays,
    of_links: Arrays,
    protocol: np.ndarray,
    queues: Arrays,
    now: np.ndarray,
    scratch: Arrays,
) -> None:
    """Every rank posts its receives, sends in turn, and waits for what it gets.

    A message begins at max(sent, posted); its sender goes on at once if it is buffered, else when it has arrived.

    Links that clusters share are queues (Lindley's recursion): what an exchange adds to the load of a link begins when
    its first message comes, or when the load before it is through.  A message that comes before that is held up, at
    most for as long as it would take beside as many others of its size as have come since the link was idle.
    """
    latency_s, flow_s, link, own_s = of_messages
    load_s, flows = of_links
    free, comes, others = queues
    posted, arrived = scratch
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
def _sweep(
    schedule: Schedule,
    item: int,
    plane_s: np.ndarray,
    plane_load_s: np.ndarray,
    protocol: np.ndarray,
    s_per_flop: np.ndarray,
    now: np.ndarray,
) -> None:
    """A pipeline of planes through the grid of ranks, in closed form.

    Of K planes, each takes a rank its stage: receive along x, receive along y, compute.  All planes being alike, the
    longest chain of events crosses the grid once and stays K - 1 stages at its slowest rank:

        last plane = max over ways through the grid of (fill along the way + (K - 1) largest stage on the way)

    which one pass over the grid finds: ``first`` is when a rank is done with its first plane, ``last`` with its last.

    A stage is no shorter than what all messages of a plane take of a link that those to the rank cross, and longer by
    what the rank sends where a sender waits for its receiver; which receiver that holds up is not followed.
    """
    width, height, forward, planes = schedule.shape[item]
    ahead = 1 if forward else -1
    first, last = np.empty(len(now)), np.empty(len(now))
    for i in range(width * height):
        r = i if forward else width * height - 1 - i
        x, y = r % width, r // width
        before_x = r - ahead if 0 <= x - ahead < width else -1
        before_y = r - ahead * width if 0 <= y - ahead < height else -1
        work = schedule.plane_flops[item, r] * s_per_flop[r]
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
