"""The time of rank programs on a network: events, and max-min fair shares of links.

Compiled by numba, on flat arrays; the compiled code is kept beside this file or in numba's cache folder.  It is made
anew when this file changes, and no other: so all that is compiled together stands here, and what it takes from another
file is repeated here, to be compared.

A message begins when it is sent and received for (or when it is sent, if it is eager), pays its latency, and is then a
flow: it crosses links, and progresses at ``factor`` times the rate that the links give it.  Rates are max-min fair,
weighted: a flow of penalty p gets x / p where x is what its tightest link has for each of its flows, and never more
than its bound.  A flow uses ``weight`` times its rate of a link.  This is the fluid model of SimGrid (Velho et al., "On
the validity of flow-level TCP network models", TOMACS 23(4), 2013), with its parameters left open.

Only links whose flows could together want more than their capacity matter: the others are left out of every solution,
which is exact and leaves most flows alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from predictor.dpgraph.instructions import (
    COMPUTE,
    MARK,
    PROBE,
    RECV,
    SEND,
    SLEEP,
    WAIT_RECEIVED,
    WAIT_SENT,
    Instructions,
    Paths,
)

# What is compiled below into the code that numba keeps, until this file changes.
if (
    (COMPUTE, SEND, RECV, WAIT_SENT, WAIT_RECEIVED, PROBE, MARK, SLEEP) != (0, 1, 2, 3, 4, 5, 6, 7)
    or " ".join(Instructions._fields) != "code argument value first"
    or " ".join(Paths._fields) != "bound_Bps penalty first link weight capacity_Bps"
):
    raise ImportError("predictor/dpgraph/instructions.py has changed: change what fluid.py repeats of it as well")

# Events so close together, s, are one: SimGrid's own precision (option precision/timing).  Where many messages of equal
# size end together this saves a solution for each.
PRECISION_S = 1e-9
_SLACK = 1 + 1e-9  # relative: rounding of sums of bounds
_SAME = 1e-12  # relative: rates that differ by less are equal
_NEVER = -1.0
_compiled = njit(cache=True, error_model="numpy")


class _Uses(NamedTuple):
    """What a flow on a path takes of its links, in the order of Paths.link."""

    amount: np.ndarray  # f8, weight * bound
    share: np.ndarray  # f8, weight / penalty


class _Flows(NamedTuple):
    """Active flows, by slot.  Entry slot * width + k is the flow's k-th link in the list of that link's flows."""

    message: np.ndarray  # i4
    path: np.ndarray  # i4
    factor: np.ndarray  # f8, progress per rate
    remaining: np.ndarray  # f8, bytes, at the date `since`
    since: np.ndarray  # f8
    rate: np.ndarray  # f8, -1 while it is being looked for
    end_s: np.ndarray  # f8, date, if the rate stays
    place: np.ndarray  # i4, in `ends`; -1: not there
    seen: np.ndarray  # i8, step in which the flow was last reached
    before: np.ndarray  # i4, entry
    after: np.ndarray  # i4, entry
    ends: np.ndarray  # i4, slots as a heap by end_s


class _Links(NamedTuple):
    head: np.ndarray  # i4, first entry of the list of flows, -1: none
    demand: np.ndarray  # f8, sum over its flows of weight * bound
    tight: np.ndarray  # bool, had a say in the latest solution
    seen: np.ndarray  # i8, step in which the link was last reached
    remaining: np.ndarray  # f8, capacity that is not given away yet
    usage: np.ndarray  # f8, sum over its flows without a rate of weight / penalty


@_compiled
def _push(dates_s: np.ndarray, what: np.ndarray, size: int, date_s: float, item: int) -> int:
    """Adds to a heap of dates."""
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if dates_s[up] <= date_s:
            break
        dates_s[i], what[i] = dates_s[up], what[up]
        i = up
    dates_s[i], what[i] = date_s, item
    return size + 1


@_compiled
def _pop(dates_s: np.ndarray, what: np.ndarray, size: int) -> int:
    """Takes the first from a heap of dates."""
    size -= 1
    date_s, item = dates_s[size], what[size]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and dates_s[down + 1] < dates_s[down]:
            down += 1
        if dates_s[down] >= date_s:
            break
        dates_s[i], what[i] = dates_s[down], what[down]
        i = down
    dates_s[i], what[i] = date_s, item
    return size


@_compiled
def _settle(flows: _Flows, size: int, i: int) -> None:
    """Puts the flow at place ``i`` of the heap of ends where its date belongs."""
    ends, end_s, place = flows.ends, flows.end_s, flows.place
    slot = ends[i]
    date_s = end_s[slot]
    while i > 0 and end_s[ends[(i - 1) >> 1]] > date_s:
        up = (i - 1) >> 1
        ends[i] = ends[up]
        place[ends[i]] = i
        i = up
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and end_s[ends[down + 1]] < end_s[ends[down]]:
            down += 1
        if end_s[ends[down]] >= date_s:
            break
        ends[i] = ends[down]
        place[ends[i]] = i
        i = down
    ends[i] = slot
    place[slot] = i


@_compiled
def _schedule(flows: _Flows, size: int, slot: int, date_s: float) -> int:
    """The flow ends at this date; returns how many flows have such a date."""
    flows.end_s[slot] = date_s
    if flows.place[slot] < 0:
        flows.ends[size] = slot
        flows.place[slot] = size
        size += 1
    _settle(flows, size, flows.place[slot])
    return size


@_compiled
def _first_end(flows: _Flows, size: int) -> int:
    """Takes the flow that ends first from the heap; returns how many are left."""
    size -= 1
    flows.place[flows.ends[0]] = -1
    if size > 0:
        flows.ends[0] = flows.ends[size]
        flows.place[flows.ends[0]] = 0
        _settle(flows, size, 0)
    return size


@_compiled
def _join(flows: _Flows, links: _Links, paths: Paths, uses: _Uses, slot: int, path: int, width: int) -> None:
    """The flow in ``slot`` begins to use the links of its path."""
    first = paths.first[path]
    for k in range(first, paths.first[path + 1]):
        link, entry = paths.link[k], slot * width + (k - first)
        links.demand[link] += uses.amount[k]
        head = links.head[link]
        flows.before[entry], flows.after[entry] = -1, head
        if head >= 0:
            flows.before[head] = entry
        links.head[link] = entry


@_compiled
def _leave(flows: _Flows, links: _Links, paths: Paths, uses: _Uses, slot: int, path: int, width: int) -> None:
    """The flow in ``slot`` is no longer on the links of its path."""
    first = paths.first[path]
    for k in range(first, paths.first[path + 1]):
        link, entry = paths.link[k], slot * width + (k - first)
        before, after = flows.before[entry], flows.after[entry]
        if after >= 0:
            flows.before[after] = before
        if before >= 0:
            flows.after[before] = after
        else:
            links.head[link] = after
        links.demand[link] = links.demand[link] - uses.amount[k] if links.head[link] >= 0 else 0.0


@_compiled
def _reach(links: _Links, paths: Paths, path: int, step: int, reached: np.ndarray, count: int) -> int:
    """Notes the links of a path that have a say, or had one; returns how many are noted."""
    for k in range(paths.first[path], paths.first[path + 1]):
        link = paths.link[k]
        if links.seen[link] != step:
            over = links.demand[link] > paths.capacity_Bps[link] * _SLACK
            if over or links.tight[link]:
                links.seen[link] = step
                links.tight[link] = over
                reached[count] = link
                count += 1
    return count


@_compiled
def _fix(flows: _Flows, links: _Links, paths: Paths, uses: _Uses, slot: int, rate: float) -> None:
    """Gives a flow its rate, and takes that from its links."""
    flows.rate[slot] = rate
    path = flows.path[slot]
    for k in range(paths.first[path], paths.first[path + 1]):
        link, share = paths.link[k], uses.share[k]
        links.remaining[link] = max(0.0, links.remaining[link] - paths.weight[k] * rate)
        links.usage[link] -= share
        if links.usage[link] < _SAME * share:
            links.usage[link] = 0.0


@_compiled
def _share(
    component: np.ndarray,
    count: int,
    reached: np.ndarray,
    reached_count: int,
    flows: _Flows,
    links: _Links,
    paths: Paths,
    uses: _Uses,
    width: int,
) -> None:
    """Max-min fair rates of the flows of a component.

    Again and again: who may not get what the tightest link has for everybody gets its bound; when there is no such flow
    left, the flows of that link get their shares.
    """
    for i in range(reached_count):
        links.remaining[reached[i]] = paths.capacity_Bps[reached[i]]
        links.usage[reached[i]] = 0.0
    least_wish = np.inf  # smallest bound, as a share, of a flow without a rate
    for i in range(count):
        flows.rate[component[i]] = -1.0
        path = flows.path[component[i]]
        least_wish = min(least_wish, paths.bound_Bps[path] * paths.penalty[path])
        for k in range(paths.first[path], paths.first[path + 1]):
            links.usage[paths.link[k]] += uses.share[k]
    left = count
    while left > 0:
        least = np.inf  # what the tightest link has for a flow of penalty 1
        tightest = -1
        for i in range(reached_count):
            link = reached[i]
            if links.tight[link] and links.usage[link] > 0.0:
                fair = links.remaining[link] / links.usage[link]
                if fair < least:
                    least, tightest = fair, link
        if least_wish <= least * _SLACK:
            limit, least_wish = least * _SLACK, np.inf
            for i in range(count):
                slot = component[i]
                if flows.rate[slot] < 0.0:
                    path = flows.path[slot]
                    wish = paths.bound_Bps[path] * paths.penalty[path]
                    if wish <= limit:
                        _fix(flows, links, paths, uses, slot, paths.bound_Bps[path])
                        left -= 1
                    else:
                        least_wish = min(least_wish, wish)
        else:
            entry = links.head[tightest]
            while entry >= 0:
                slot = entry // width
                if flows.rate[slot] < 0.0:
                    path = flows.path[slot]
                    _fix(flows, links, paths, uses, slot, least / paths.penalty[path])
                    left -= 1
                entry = flows.after[entry]
            links.usage[tightest] = 0.0


@_compiled
def evaluate(
    instructions: Instructions, messages: np.ndarray, paths: Paths, s_per_flop: np.ndarray, marks_s: np.ndarray
) -> np.ndarray:
    """Executes the instructions and fills ``marks_s`` (ranks x marks) with the dates of each rank's marks, s.

    ``s_per_flop``: of each rank.  Returns the date at which each rank ends, s; NaN for ranks that wait for ever.
    """
    nranks = len(instructions.first) - 1
    nmessages = len(messages)
    nlinks = len(paths.capacity_Bps)
    width = 1
    for path in range(len(paths.first) - 1):
        width = max(width, paths.first[path + 1] - paths.first[path])

    uses = _Uses(np.empty(len(paths.link)), np.empty(len(paths.link)))
    for path in range(len(paths.first) - 1):
        for k in range(paths.first[path], paths.first[path + 1]):
            uses.amount[k] = paths.weight[k] * paths.bound_Bps[path]
            uses.share[k] = paths.weight[k] / paths.penalty[path]

    clock = np.zeros(nranks)
    at = instructions.first[:-1].copy()
    marked = np.zeros(nranks, np.int64)
    end_s = np.full(nranks, np.nan)
    for m in range(nmessages):
        messages[m].sent_s = messages[m].received_s = messages[m].done_s = _NEVER
        messages[m].sender = messages[m].receiver = -1

    slots = max(1, nmessages)
    flows = _Flows(
        np.empty(slots, np.int32),
        np.empty(slots, np.int32),
        np.empty(slots),
        np.empty(slots),
        np.empty(slots),
        np.empty(slots),
        np.empty(slots),
        np.empty(slots, np.int32),
        np.zeros(slots, np.int64),
        np.empty(slots * width, np.int32),
        np.empty(slots * width, np.int32),
        np.empty(slots, np.int32),
    )
    free = np.empty(slots, np.int32)
    free_count, used, ending = 0, 0, 0
    links = _Links(
        np.full(nlinks, -1, np.int32),
        np.zeros(nlinks),
        np.zeros(nlinks, np.bool_),
        np.zeros(nlinks, np.int64),
        np.zeros(nlinks),
        np.zeros(nlinks),
    )
    component = np.empty(slots, np.int32)
    before_Bps = np.empty(slots)
    reached = np.empty(nlinks + 1, np.int32)
    woken = np.empty(nranks, np.int32)
    start_s, starting, nstarts = np.empty(slots), np.empty(slots, np.int32), 0  # messages that pay their latency
    step = 0

    woken_count = nranks
    for rank in range(nranks):
        woken[rank] = rank

    while True:
        # Ranks go on until they wait; they may run ahead of the network's date.
        while woken_count > 0:
            woken_count -= 1
            rank = woken[woken_count]
            i, last, now = at[rank], instructions.first[rank + 1], clock[rank]
            while i < last:
                code, m = instructions.code[i], instructions.argument[i]
                if code == COMPUTE:
                    now += instructions.value[i] * s_per_flop[rank]
                elif code == SLEEP:
                    now += instructions.value[i]
                elif code == MARK:
                    marks_s[rank, marked[rank]] = now
                    marked[rank] += 1
                elif code == SEND:
                    messages[m].sent_s = now
                    if messages[m].eager or messages[m].received_s != _NEVER:
                        start = now if messages[m].eager else max(now, messages[m].received_s)
                        nstarts = _push(start_s, starting, nstarts, start + messages[m].latency_s, m)
                    if messages[m].receiver < -1:  # a probe waits: -2 - rank
                        prober = -2 - messages[m].receiver
                        messages[m].receiver = -1
                        clock[prober] = max(clock[prober], now)
                        woken[woken_count] = prober
                        woken_count += 1
                elif code == RECV:
                    messages[m].received_s = now
                    if messages[m].sent_s != _NEVER and not messages[m].eager:
                        start = max(messages[m].sent_s, now)
                        nstarts = _push(start_s, starting, nstarts, start + messages[m].latency_s, m)
                elif code == WAIT_SENT:
                    if not messages[m].detached:
                        if messages[m].done_s == _NEVER:
                            messages[m].sender = rank
                            break
                        now = max(now, messages[m].done_s)
                elif code == WAIT_RECEIVED:
                    if messages[m].done_s == _NEVER:
                        messages[m].receiver = rank
                        break
                    now = max(now, messages[m].done_s)
                elif code == PROBE:
                    if messages[m].sent_s == _NEVER:
                        messages[m].receiver = -2 - rank
                        break
                    now = max(now, messages[m].sent_s)
                i += 1
            at[rank], clock[rank] = i, now
            if i == last:
                end_s[rank] = now

        now = np.inf
        if nstarts > 0:
            now = start_s[0]
        if ending > 0:
            now = min(now, flows.end_s[flows.ends[0]])
        if now == np.inf:
            return end_s

        # Everything that happens at the next date.
        nflows, nreached = 0, 0
        step += 1
        while ending > 0 and flows.end_s[flows.ends[0]] <= now + PRECISION_S:
            slot = flows.ends[0]
            ending = _first_end(flows, ending)
            m = flows.message[slot]
            path = messages[m].path
            free[free_count] = slot
            free_count += 1
            messages[m].done_s = now
            for rank in (messages[m].sender, messages[m].receiver):
                if rank >= 0:
                    clock[rank] = max(clock[rank], now)
                    woken[woken_count] = rank
                    woken_count += 1
            _leave(flows, links, paths, uses, slot, path, width)
            nreached = _reach(links, paths, path, step, reached, nreached)
        while nstarts > 0 and start_s[0] <= now + PRECISION_S:
            m = starting[0]
            nstarts = _pop(start_s, starting, nstarts)
            path = messages[m].path
            if free_count > 0:
                free_count -= 1
                slot = free[free_count]
            else:
                slot = used
                used += 1
            flows.message[slot], flows.path[slot], flows.factor[slot] = m, path, messages[m].factor
            flows.place[slot], flows.seen[slot] = -1, step
            flows.remaining[slot], flows.since[slot], flows.rate[slot] = messages[m].amount_bytes, now, 0.0
            component[nflows] = slot
            nflows += 1
            _join(flows, links, paths, uses, slot, path, width)
        for i in range(nreached):  # what left may have made room since
            links.tight[reached[i]] = links.demand[reached[i]] > paths.capacity_Bps[reached[i]] * _SLACK

        # Flows whose rates may change: those that share a tight link with what came or went, and so on.
        done_flows, done_links = 0, 0
        while done_flows < nflows or done_links < nreached:
            if done_links < nreached:
                entry = links.head[reached[done_links]]
                done_links += 1
                while entry >= 0:
                    slot = entry // width
                    if flows.seen[slot] != step:
                        flows.seen[slot] = step
                        component[nflows] = slot
                        nflows += 1
                    entry = flows.after[entry]
            else:
                path = flows.path[component[done_flows]]
                done_flows += 1
                nreached = _reach(links, paths, path, step, reached, nreached)

        for i in range(nflows):
            before_Bps[i] = flows.rate[component[i]]
        if nreached > 0:
            _share(component, nflows, reached, nreached, flows, links, paths, uses, width)
        for i in range(nflows):
            slot = component[i]
            rate = flows.rate[slot] if nreached > 0 else paths.bound_Bps[flows.path[slot]]
            before = before_Bps[i]
            if abs(rate - before) <= _SAME * rate:
                flows.rate[slot] = before
                continue
            flows.remaining[slot] -= before * flows.factor[slot] * (now - flows.since[slot])
            flows.rate[slot], flows.since[slot] = rate, now
            left_s = max(0.0, flows.remaining[slot]) / (rate * flows.factor[slot])
            ending = _schedule(flows, ending, slot, now + left_s)
