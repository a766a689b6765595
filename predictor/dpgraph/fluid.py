"""The time of rank programs on a network: events, and max-min fair shares of links.

Compiled by numba, on flat arrays; the compiled code is kept beside this file or in numba's cache folder.

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

# Instructions of a rank program.
COMPUTE = 0  # value: flops
SEND = 1  # argument: message
RECV = 2  # argument: message
WAIT_SENT = 3  # argument: message
WAIT_RECEIVED = 4  # argument: message
PROBE = 5  # argument: message
MARK = 6
SLEEP = 7  # value: seconds

_SLACK = 1 + 1e-9  # relative: rounding of sums of bounds
_NEVER = -1.0


class Instructions(NamedTuple):
    """What the ranks do: rank r executes ``first[r]`` to ``first[r + 1]``."""

    code: np.ndarray  # u1
    argument: np.ndarray  # i4
    value: np.ndarray  # f8
    first: np.ndarray  # i8, ranks + 1


class Messages(NamedTuple):
    """One row per message."""

    source: np.ndarray  # i4, rank
    destination: np.ndarray  # i4, rank
    amount_bytes: np.ndarray  # f8, > 0: what crosses the links
    latency_s: np.ndarray  # f8, paid before the flow begins
    factor: np.ndarray  # f8, progress per rate
    path: np.ndarray  # i4
    detached: np.ndarray  # bool: the sender does not wait for it
    eager: np.ndarray  # bool: begins without waiting for the receiver


class Paths(NamedTuple):
    """Ways through the network, and the links: path p crosses ``first[p]`` to ``first[p + 1]`` of ``link``."""

    bound_Bps: np.ndarray  # f8, of a flow's rate
    penalty: np.ndarray  # f8, > 0
    first: np.ndarray  # i8, paths + 1
    link: np.ndarray  # i4
    weight: np.ndarray  # f8, > 0
    capacity_Bps: np.ndarray  # f8, one per link


class _Flows(NamedTuple):
    """Active flows, by slot; entry slot * width + k is the flow's k-th link in the list of that link."""

    message: np.ndarray
    remaining: np.ndarray
    rate: np.ndarray
    since: np.ndarray
    version: np.ndarray
    seen: np.ndarray
    before: np.ndarray
    after: np.ndarray


class _Links(NamedTuple):
    head: np.ndarray  # first entry of the list of flows, -1: none
    demand: np.ndarray  # sum over its flows of weight * bound
    tight: np.ndarray  # had a say in the latest solution
    seen: np.ndarray
    remaining: np.ndarray
    usage: np.ndarray


@njit(cache=True, error_model="numpy")
def _push(dates, what, version, size, date, item, item_version):
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if dates[up] <= date:
            break
        dates[i], what[i], version[i] = dates[up], what[up], version[up]
        i = up
    dates[i], what[i], version[i] = date, item, item_version
    return size + 1


@njit(cache=True, error_model="numpy")
def _pop(dates, what, version, size):
    size -= 1
    date, item, item_version = dates[size], what[size], version[size]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and dates[down + 1] < dates[down]:
            down += 1
        if dates[down] >= date:
            break
        dates[i], what[i], version[i] = dates[down], what[down], version[down]
        i = down
    dates[i], what[i], version[i] = date, item, item_version
    return size


@njit(cache=True, error_model="numpy")
def _share(component, count, tight, tight_count, flows, links, messages, paths, rates, open_flows):
    """Max-min fair rates of the flows of a component, into ``rates``; ``tight`` are the links that matter."""
    for i in range(tight_count):
        links.remaining[tight[i]] = paths.capacity_Bps[tight[i]]
        links.usage[tight[i]] = 0.0
    for i in range(count):
        slot = component[i]
        path = messages.path[flows.message[slot]]
        open_flows[i] = slot
        for k in range(paths.first[path], paths.first[path + 1]):
            links.usage[paths.link[k]] += paths.weight[k] / paths.penalty[path]
    while count > 0:
        least = np.inf  # what the tightest link has for a flow of penalty 1
        for i in range(tight_count):
            link = tight[i]
            if links.usage[link] > 0.0:
                fair = links.remaining[link] / links.usage[link]
                if fair < least:
                    least = fair
        bounded = np.inf
        for i in range(count):
            path = messages.path[flows.message[open_flows[i]]]
            wish = paths.bound_Bps[path] * paths.penalty[path]
            if wish < bounded:
                bounded = wish
        by_bound = bounded <= least
        limit = (bounded if by_bound else least) * _SLACK
        left = 0
        for i in range(count):
            slot = open_flows[i]
            path = messages.path[flows.message[slot]]
            first, last = paths.first[path], paths.first[path + 1]
            if by_bound:
                fixed = paths.bound_Bps[path] * paths.penalty[path] <= limit
            else:
                fixed = False
                for k in range(first, last):
                    link = paths.link[k]
                    if links.seen[link] < 0 and links.usage[link] > 0.0:
                        fixed = fixed or links.remaining[link] <= limit * links.usage[link]
            if fixed:
                rates[slot] = paths.bound_Bps[path] if by_bound else least / paths.penalty[path]
            else:
                rates[slot] = -1.0
        for i in range(count):
            slot = open_flows[i]
            if rates[slot] < 0.0:
                open_flows[left] = slot
                left += 1
                continue
            path = messages.path[flows.message[slot]]
            for k in range(paths.first[path], paths.first[path + 1]):
                link = paths.link[k]
                links.remaining[link] -= paths.weight[k] * rates[slot]
                links.usage[link] -= paths.weight[k] / paths.penalty[path]
                if links.usage[link] < 1e-12 * paths.weight[k] / paths.penalty[path]:
                    links.usage[link] = 0.0
                if links.remaining[link] < 0.0:
                    links.remaining[link] = 0.0
        count = left


@njit(cache=True, error_model="numpy")
def evaluate(instructions, messages, paths, s_per_flop, marks_s):
    """Executes the instructions and fills ``marks_s`` (ranks x marks) with the dates of each rank's marks, s.

    ``s_per_flop``: of each rank.  Returns the date at which each rank ends, s; NaN for ranks that wait for ever.
    """
    nranks = len(instructions.first) - 1
    nmessages = len(messages.source)
    nlinks = len(paths.capacity_Bps)
    width = 1
    for path in range(len(paths.first) - 1):
        width = max(width, paths.first[path + 1] - paths.first[path])

    clock = np.zeros(nranks)
    at = instructions.first[:-1].copy()
    marked = np.zeros(nranks, np.int64)
    end_s = np.full(nranks, np.nan)
    sent_s = np.full(nmessages, _NEVER)
    received_s = np.full(nmessages, _NEVER)  # the receive was posted
    done_s = np.full(nmessages, _NEVER)
    waiting = np.full((nmessages, 2), -1, np.int32)  # ranks: for it to be sent, for it to be received

    slots = max(1, nmessages)
    flows = _Flows(
        np.empty(slots, np.int32),
        np.empty(slots),
        np.empty(slots),
        np.empty(slots),
        np.zeros(slots, np.int32),
        np.zeros(slots, np.int64),
        np.empty(slots * width, np.int32),
        np.empty(slots * width, np.int32),
    )
    free = np.empty(slots, np.int32)
    free_count, used = 0, 0
    links = _Links(
        np.full(nlinks, -1, np.int32),
        np.zeros(nlinks),
        np.zeros(nlinks, np.bool_),
        np.zeros(nlinks, np.int64),
        np.zeros(nlinks),
        np.zeros(nlinks),
    )
    stamp = 0
    component = np.empty(slots, np.int32)
    open_flows = np.empty(slots, np.int32)
    rates = np.empty(slots)
    reached = np.empty(nlinks + 1, np.int32)
    tight = np.empty(nlinks + 1, np.int32)
    seeds = np.empty(max(64, 4 * width), np.int32)
    woken = np.empty(nranks, np.int32)

    room = 1024
    dates, what, version = np.empty(room), np.empty(room, np.int32), np.empty(room, np.int32)
    size = 0

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
                elif code in (SEND, RECV):
                    if code == SEND:
                        sent_s[m] = now
                        begins = messages.eager[m] or received_s[m] != _NEVER
                        if waiting[m, 1] < -1:  # a probe waits: -2 - rank
                            prober = -2 - waiting[m, 1]
                            waiting[m, 1] = -1
                            clock[prober] = max(clock[prober], now)
                            woken[woken_count] = prober
                            woken_count += 1
                    else:
                        received_s[m] = now
                        begins = sent_s[m] != _NEVER and not messages.eager[m]
                    if begins:
                        start = sent_s[m] if messages.eager[m] else max(sent_s[m], received_s[m])
                        if size == room:
                            room *= 2
                            dates = np.concatenate((dates, np.empty(room - size)))
                            what = np.concatenate((what, np.empty(room - size, np.int32)))
                            version = np.concatenate((version, np.empty(room - size, np.int32)))
                        size = _push(dates, what, version, size, start + messages.latency_s[m], m, -1)
                elif code == WAIT_SENT:
                    if not messages.detached[m]:
                        if done_s[m] == _NEVER:
                            waiting[m, 0] = rank
                            break
                        now = max(now, done_s[m])
                elif code == WAIT_RECEIVED:
                    if done_s[m] == _NEVER:
                        waiting[m, 1] = rank
                        break
                    now = max(now, done_s[m])
                elif code == PROBE:
                    if sent_s[m] == _NEVER:
                        waiting[m, 1] = -2 - rank
                        break
                    now = max(now, sent_s[m])
                i += 1
            at[rank], clock[rank] = i, now
            if i == last:
                end_s[rank] = now

        if size == 0:
            return end_s

        # Everything that happens at the next date.
        now = dates[0]
        nseeds = 0
        joined = 0
        stamp += 1
        while size > 0 and dates[0] == now:
            item, item_version = what[0], version[0]
            size = _pop(dates, what, version, size)
            if item_version < 0:  # the latency is paid: a flow begins
                m = item
                path = messages.path[m]
                if free_count > 0:
                    free_count -= 1
                    slot = free[free_count]
                else:
                    slot = used
                    used += 1
                flows.message[slot] = m
                flows.remaining[slot] = messages.amount_bytes[m]
                flows.rate[slot] = 0.0
                flows.since[slot] = now
                flows.version[slot] += 1
                flows.seen[slot] = stamp
                component[joined] = slot
                joined += 1
            else:
                slot = item
                if flows.version[slot] != item_version:
                    continue
                m = flows.message[slot]
                path = messages.path[m]
                flows.version[slot] += 1
                flows.message[slot] = -1
                free[free_count] = slot
                free_count += 1
                done_s[m] = now
                for side in range(2):
                    rank = waiting[m, side]
                    if rank >= 0:
                        waiting[m, side] = -1
                        clock[rank] = max(clock[rank], now)
                        woken[woken_count] = rank
                        woken_count += 1
            first, last = paths.first[path], paths.first[path + 1]
            if nseeds + (last - first) > len(seeds):
                seeds = np.concatenate((seeds, np.empty(len(seeds) + width, np.int32)))
            for k in range(first, last):
                link, entry = paths.link[k], slot * width + (k - first)
                amount = paths.weight[k] * paths.bound_Bps[path]
                if item_version < 0:
                    links.demand[link] += amount
                    head = links.head[link]
                    flows.before[entry], flows.after[entry] = -1, head
                    if head >= 0:
                        flows.before[head] = entry
                    links.head[link] = entry
                else:
                    before, after = flows.before[entry], flows.after[entry]
                    if after >= 0:
                        flows.before[after] = before
                    if before >= 0:
                        flows.after[before] = after
                    else:
                        links.head[link] = after
                    links.demand[link] = links.demand[link] - amount if links.head[link] >= 0 else 0.0
                seeds[nseeds] = link
                nseeds += 1

        # Flows whose rates may change: those that share a tight link with what came or went, and so on.
        nflows, nreached, ntight = joined, 0, 0
        done_flows, done_links = 0, 0
        for i in range(nseeds):
            link = seeds[i]
            over = links.demand[link] > paths.capacity_Bps[link] * _SLACK
            if (over or links.tight[link]) and abs(links.seen[link]) != stamp:
                links.seen[link] = -stamp if over else stamp
                links.tight[link] = over
                reached[nreached] = link
                nreached += 1
        while done_flows < nflows or done_links < nreached:
            if done_links < nreached:
                link = reached[done_links]
                done_links += 1
                if links.seen[link] < 0:
                    tight[ntight] = link
                    ntight += 1
                entry = links.head[link]
                while entry >= 0:
                    slot = entry // width
                    if flows.seen[slot] != stamp:
                        flows.seen[slot] = stamp
                        component[nflows] = slot
                        nflows += 1
                    entry = flows.after[entry]
            else:
                path = messages.path[flows.message[component[done_flows]]]
                done_flows += 1
                for k in range(paths.first[path], paths.first[path + 1]):
                    link = paths.link[k]
                    if abs(links.seen[link]) != stamp:
                        over = links.demand[link] > paths.capacity_Bps[link] * _SLACK
                        if over or links.tight[link]:
                            links.seen[link] = -stamp if over else stamp
                            links.tight[link] = over
                            reached[nreached] = link
                            nreached += 1
        if ntight > 0:
            _share(component, nflows, tight, ntight, flows, links, messages, paths, rates, open_flows)
        for i in range(nflows):
            slot = component[i]
            m = flows.message[slot]
            rate = rates[slot] if ntight > 0 else paths.bound_Bps[messages.path[m]]
            if rate == flows.rate[slot]:
                continue
            flows.remaining[slot] -= flows.rate[slot] * messages.factor[m] * (now - flows.since[slot])
            flows.rate[slot], flows.since[slot] = rate, now
            flows.version[slot] += 1
            if size == room:
                room *= 2
                dates = np.concatenate((dates, np.empty(room - size)))
                what = np.concatenate((what, np.empty(room - size, np.int32)))
                version = np.concatenate((version, np.empty(room - size, np.int32)))
            date = now + max(0.0, flows.remaining[slot]) / (rate * messages.factor[m])
            size = _push(dates, what, version, size, date, slot, flows.version[slot])
