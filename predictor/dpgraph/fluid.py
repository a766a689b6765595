"""The time of rank programs on a network: an event loop, and max-min fair shares of links.

The functions are compiled by numba and work on flat arrays; numba keeps the compiled code beside this file or in its
cache folder.  Numba compiles again when this file changes, but not when another file changes.  So all compiled code of
the evaluation is in this file, and what it needs from another file is repeated here and compared on import.

A message begins when both its send and its receive are posted (an eager message when its send is posted).  It is
delayed by its latency and is then a flow: it crosses links and progresses at ``factor`` times the rate that the links
give it.  Rates are max-min fair with weights: a flow of penalty p gets x / p, where x is the share of its tightest link
for each of the link's flows, but never more than its bound.  A flow uses ``weight`` times its rate of a link.  This is
the fluid model of SimGrid (Velho et al., "On the validity of flow-level TCP network models", TOMACS 23(4), 2013), with
its parameters left open.

Only links whose flows together could exceed the capacity matter.  All other links are left out of every solution; this
is exact, and most flows keep their rates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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

# The numbers and fields that the compiled code depends on; numba does not notice when they change in another file.
if (
    (COMPUTE, SEND, RECV, WAIT_SENT, WAIT_RECEIVED, PROBE, MARK, SLEEP) != (0, 1, 2, 3, 4, 5, 6, 7)
    or " ".join(Instructions._fields) != "code argument value first"
    or " ".join(Paths._fields) != "bound_Bps penalty first link weight capacity_Bps"
):
    raise ImportError("predictor/dpgraph/instructions.py has changed: change what fluid.py repeats of it as well")

# Events at most this far apart, s, are simultaneous: SimGrid's own precision (option precision/timing).  Where many
# messages of equal size end together, one solution then serves for all.
PRECISION_S = 1e-9
_SLACK = 1 + 1e-9  # relative: tolerance for the rounding of sums of bounds
_SAME = 1e-12  # relative: rates that differ by less are equal
_NEVER = -1.0  # date of an event that has not happened
_compiled = njit(cache=True, error_model="numpy")


class _Network(NamedTuple):
    """The paths, and the quantities that follow from them."""

    paths: Paths
    amount: np.ndarray  # f8, as Paths.link: weight * bound, the most that a flow uses of the link
    share: np.ndarray  # f8, as Paths.link: weight / penalty
    width: int  # most links of a path


# The state of an evaluation, in groups that functions take as arguments.  Numbers that change are arrays of one entry.
#
# Numba counts the references to the arrays of such a group unless it sees that the counts cannot matter.  It does not
# see that where a function uses a group last under a condition and then returns a value, or leaves a loop by `break`.
# The counting would double the time of an evaluation, so the functions below avoid these forms.


class _Ranks(NamedTuple):
    """State of the ranks, by rank."""

    s_per_flop: np.ndarray  # f8
    clock: np.ndarray  # f8, date that the rank has reached
    at: np.ndarray  # i8, next instruction
    marked: np.ndarray  # i8, number of marks so far
    marks_s: np.ndarray  # f8, ranks x marks: dates
    woken: np.ndarray  # i8, stack of the ranks that can go on
    woken_count: np.ndarray  # i8, size of that stack


class _Starts(NamedTuple):
    """Messages that are delayed by their latency, as a heap by the dates at which their flows begin."""

    date_s: np.ndarray  # f8
    message: np.ndarray  # i8
    heap_size: np.ndarray  # i8


class _Flows(NamedTuple):
    """Active flows, by slot."""

    message: np.ndarray  # i8
    path: np.ndarray  # i8
    factor: np.ndarray  # f8, progress per rate
    remaining: np.ndarray  # f8, bytes that remain at the date `since`
    since: np.ndarray  # f8, date of the latest change of the rate
    rate: np.ndarray  # f8, -1 while the solution has not found it
    seen: np.ndarray  # i8, step in which the flow was last reached


class _Ends(NamedTuple):
    """The dates at which flows end, and the slots of the flows as a heap by these dates."""

    date_s: np.ndarray  # f8, by slot: date of the end if the rate stays as it is
    place: np.ndarray  # i8, by slot: index in `slot`; -1: not there
    slot: np.ndarray  # i8
    heap_size: np.ndarray  # i8


class _Links(NamedTuple):
    """State of the links.

    Each link has a doubly linked list of its flows.  Entry slot * width + k of the lists is the flow on its k-th link.
    """

    head: np.ndarray  # i8, by link: first entry of its list, -1: none
    before: np.ndarray  # i8, by entry: previous entry of the link's list, -1: none
    after: np.ndarray  # i8, by entry: next entry of the link's list, -1: none
    demand: np.ndarray  # f8, by link, as all that follow: sum over its flows of weight * bound
    tight: np.ndarray  # bool, took part in the latest solution
    seen: np.ndarray  # i8, step in which the link was last reached
    remaining: np.ndarray  # f8, capacity that the solution has not assigned yet
    usage: np.ndarray  # f8, sum over its flows without a rate of weight / penalty


class _Change(NamedTuple):
    """The flows and links that the events of one date concern."""

    step: np.ndarray  # i8, number of the date among those of the evaluation
    flow: np.ndarray  # i8, slots of the flows whose rates may change
    before_Bps: np.ndarray  # f8, their rates before
    flow_count: np.ndarray  # i8, number of these flows
    link: np.ndarray  # i8, links that limit these flows, or did so before
    link_count: np.ndarray  # i8, number of these links


@_compiled
def _push(starts: _Starts, date_s: float, message: int) -> None:
    """Add a message to the heap of starts."""
    dates_s, messages = starts.date_s, starts.message
    i = starts.heap_size[0]
    while i > 0:
        up = (i - 1) >> 1
        if dates_s[up] <= date_s:
            break
        dates_s[i], messages[i] = dates_s[up], messages[up]
        i = up
    dates_s[i], messages[i] = date_s, message
    starts.heap_size[0] += 1


@_compiled
def _pop(starts: _Starts) -> int:
    """Take the first message from the heap of starts and return it."""
    dates_s, messages = starts.date_s, starts.message
    first = messages[0]
    size = starts.heap_size[0] - 1
    starts.heap_size[0] = size
    date_s, message = dates_s[size], messages[size]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and dates_s[down + 1] < dates_s[down]:
            down += 1
        if dates_s[down] >= date_s:
            break
        dates_s[i], messages[i] = dates_s[down], messages[down]
        i = down
    dates_s[i], messages[i] = date_s, message
    return first


@_compiled
def _settle(ends: _Ends, i: int) -> None:
    """Move the flow at index ``i`` of the heap of ends to the place that its date requires."""
    slots, date_s, place, size = ends.slot, ends.date_s, ends.place, ends.heap_size[0]
    slot = slots[i]
    end_s = date_s[slot]
    while i > 0 and date_s[slots[(i - 1) >> 1]] > end_s:
        up = (i - 1) >> 1
        slots[i] = slots[up]
        place[slots[i]] = i
        i = up
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and date_s[slots[down + 1]] < date_s[slots[down]]:
            down += 1
        if date_s[slots[down]] >= end_s:
            break
        slots[i] = slots[down]
        place[slots[i]] = i
        i = down
    slots[i] = slot
    place[slot] = i


@_compiled
def _schedule(ends: _Ends, slot: int, date_s: float) -> None:
    """Set the date at which a flow ends."""
    ends.date_s[slot] = date_s
    if ends.place[slot] < 0:
        ends.slot[ends.heap_size[0]] = slot
        ends.place[slot] = ends.heap_size[0]
        ends.heap_size[0] += 1
    _settle(ends, ends.place[slot])


@_compiled
def _first_end(ends: _Ends) -> int:
    """Take the flow that ends first from the heap of ends and return its slot."""
    slot = ends.slot[0]
    ends.heap_size[0] -= 1
    if ends.heap_size[0] > 0:
        ends.slot[0] = ends.slot[ends.heap_size[0]]
        _settle(ends, 0)
    ends.place[slot] = -1
    return slot


@_compiled
def _join(links: _Links, network: _Network, slot: int, path: int) -> None:
    """Add a flow to the links of its path."""
    paths = network.paths
    first = paths.first[path]
    for k in range(first, paths.first[path + 1]):
        link, entry = paths.link[k], slot * network.width + (k - first)
        links.demand[link] += network.amount[k]
        head = links.head[link]
        links.before[entry], links.after[entry] = -1, head
        if head >= 0:
            links.before[head] = entry
        links.head[link] = entry


@_compiled
def _leave(links: _Links, network: _Network, slot: int, path: int) -> None:
    """Remove a flow from the links of its path."""
    paths = network.paths
    first = paths.first[path]
    for k in range(first, paths.first[path + 1]):
        link, entry = paths.link[k], slot * network.width + (k - first)
        before, after = links.before[entry], links.after[entry]
        if after >= 0:
            links.before[after] = before
        if before >= 0:
            links.after[before] = after
        else:
            links.head[link] = after
        links.demand[link] = links.demand[link] - network.amount[k] if links.head[link] >= 0 else 0.0


@_compiled
def _reach(change: _Change, links: _Links, paths: Paths, path: int) -> None:
    """Add the links of a path to a change that limit their flows now or did so before."""
    for k in range(paths.first[path], paths.first[path + 1]):
        link = paths.link[k]
        if links.seen[link] != change.step[0]:
            over = links.demand[link] > paths.capacity_Bps[link] * _SLACK
            if over or links.tight[link]:
                links.seen[link] = change.step[0]
                links.tight[link] = over
                change.link[change.link_count[0]] = link
                change.link_count[0] += 1


@_compiled
def _fix(flows: _Flows, links: _Links, network: _Network, slot: int, rate: float) -> None:
    """Give a flow its rate, and take that rate from its links."""
    flows.rate[slot] = rate
    paths, path = network.paths, flows.path[slot]
    for k in range(paths.first[path], paths.first[path + 1]):
        link, share = paths.link[k], network.share[k]
        links.remaining[link] = max(0.0, links.remaining[link] - paths.weight[k] * rate)
        links.usage[link] -= share
        if links.usage[link] < _SAME * share:
            links.usage[link] = 0.0


@_compiled
def _without_rates(change: _Change, flows: _Flows, links: _Links, network: _Network) -> float:
    """Mark the flows of a change as without a rate; return their smallest product of bound and penalty."""
    paths = network.paths
    for i in range(change.link_count[0]):
        link = change.link[i]
        links.remaining[link] = paths.capacity_Bps[link]
        links.usage[link] = 0.0
    least_wish = np.inf
    for i in range(change.flow_count[0]):
        slot = change.flow[i]
        flows.rate[slot] = -1.0
        path = flows.path[slot]
        least_wish = min(least_wish, paths.bound_Bps[path] * paths.penalty[path])
        for k in range(paths.first[path], paths.first[path + 1]):
            links.usage[paths.link[k]] += network.share[k]
    return least_wish


@_compiled
def _tightest(change: _Change, links: _Links) -> tuple[float, int]:
    """Return the smallest share that a link has for a flow of penalty 1, and that link."""
    least, tightest = np.inf, -1
    for i in range(change.link_count[0]):
        link = change.link[i]
        if links.tight[link] and links.usage[link] > 0.0:
            fair = links.remaining[link] / links.usage[link]
            if fair < least:
                least, tightest = fair, link
    return least, tightest


@_compiled
def _share(change: _Change, flows: _Flows, links: _Links, network: _Network) -> None:
    """Find the max-min fair rates of the flows of a change.

    The solution repeats one step: if the bounds of some flows are below their shares of the tightest link, these flows
    get their bounds; otherwise the flows of that link get their shares of it.
    """
    paths = network.paths
    least_wish = _without_rates(change, flows, links, network)
    left = change.flow_count[0]
    while left > 0:
        least, tightest = _tightest(change, links)
        if least_wish <= least * _SLACK:
            limit, least_wish = least * _SLACK, np.inf
            for i in range(change.flow_count[0]):
                slot = change.flow[i]
                if flows.rate[slot] >= 0.0:
                    continue
                bound_Bps, penalty = paths.bound_Bps[flows.path[slot]], paths.penalty[flows.path[slot]]
                if bound_Bps * penalty <= limit:
                    _fix(flows, links, network, slot, bound_Bps)
                    left -= 1
                else:
                    least_wish = min(least_wish, bound_Bps * penalty)
        else:
            entry = links.head[tightest]
            while entry >= 0:
                slot = entry // network.width
                if flows.rate[slot] < 0.0:
                    _fix(flows, links, network, slot, least / paths.penalty[flows.path[slot]])
                    left -= 1
                entry = links.after[entry]
            links.usage[tightest] = 0.0


@_compiled
def _wake(ranks: _Ranks, rank: int, date_s: float) -> None:
    """Let a rank go on, at this date at the earliest."""
    ranks.clock[rank] = max(ranks.clock[rank], date_s)
    ranks.woken[ranks.woken_count[0]] = rank
    ranks.woken_count[0] += 1


@_compiled
def _send(messages: np.ndarray, m: int, now: float, starts: _Starts) -> None:
    """Post the send of a message; start the message if it need not wait for its receive."""
    message = messages[m]
    message.sent_s = now
    if message.eager or message.received_s != _NEVER:
        start = now if message.eager else max(now, message.received_s)
        _push(starts, start + message.latency_s, m)


@_compiled
def _wake_prober(messages: np.ndarray, m: int, now: float, ranks: _Ranks) -> None:
    """Wake a rank that probes for a message."""
    message = messages[m]
    if message.receiver < -1:
        prober = -2 - message.receiver
        message.receiver = -1
        _wake(ranks, prober, now)


@_compiled
def _receive(messages: np.ndarray, m: int, now: float, starts: _Starts) -> None:
    """Post the receive of a message; start the message if it has waited for its receive."""
    message = messages[m]
    message.received_s = now
    if message.sent_s != _NEVER and not message.eager:
        _push(starts, max(message.sent_s, now) + message.latency_s, m)


@_compiled
def _awaited_s(messages: np.ndarray, m: int, code: int, rank: int) -> float:
    """Return the date that a rank waits for; if the date is not known, note that the rank waits and return infinity."""
    message = messages[m]
    if code == PROBE:
        if message.sent_s == _NEVER:
            message.receiver = -2 - rank
            return np.inf
        return message.sent_s
    if code == WAIT_SENT and message.detached:
        return -np.inf
    if message.done_s == _NEVER:
        if code == WAIT_SENT:
            message.sender = rank
        else:
            message.receiver = rank
        return np.inf
    return message.done_s


@_compiled
def _run(rank: int, instructions: Instructions, messages: np.ndarray, ranks: _Ranks, starts: _Starts) -> None:
    """Execute the instructions of a rank until it waits or ends."""
    i, last, now = ranks.at[rank], instructions.first[rank + 1], ranks.clock[rank]
    waits = False
    while i < last and not waits:
        code, m = instructions.code[i], instructions.argument[i]
        if code == COMPUTE:
            now += instructions.value[i] * ranks.s_per_flop[rank]
        elif code == SLEEP:
            now += instructions.value[i]
        elif code == MARK:
            ranks.marks_s[rank, ranks.marked[rank]] = now
            ranks.marked[rank] += 1
        elif code == SEND:
            _send(messages, m, now, starts)
            _wake_prober(messages, m, now, ranks)
        elif code == RECV:
            _receive(messages, m, now, starts)
        else:
            awaited_s = _awaited_s(messages, m, code, rank)
            if awaited_s == np.inf:
                waits = True
            else:
                now = max(now, awaited_s)
        i += not waits
    ranks.at[rank], ranks.clock[rank] = i, now


@_compiled
def _arrive(messages: np.ndarray, m: int, now: float, ranks: _Ranks) -> None:
    """Let a message arrive, and wake the ranks that wait for it."""
    message = messages[m]
    message.done_s = now
    for rank in (int(message.sender), int(message.receiver)):
        if rank >= 0:
            _wake(ranks, rank, now)


@_compiled
def _note(change: _Change, flows: _Flows, slot: int) -> None:
    """Add a flow to a change."""
    flows.seen[slot] = change.step[0]
    change.flow[change.flow_count[0]] = slot
    change.before_Bps[change.flow_count[0]] = flows.rate[slot]
    change.flow_count[0] += 1


@_compiled
def _begin(message: Any, flows: _Flows, slot: int, now: float) -> None:
    """Make a message the flow of a slot, which has no rate yet."""
    flows.path[slot], flows.factor[slot] = message.path, message.factor
    flows.remaining[slot], flows.since[slot], flows.rate[slot] = message.amount_bytes, now, 0.0


@_compiled
def _note_sharers(change: _Change, flows: _Flows, links: _Links, link: int, width: int) -> None:
    """Add the flows of a link to a change."""
    entry = links.head[link]
    while entry >= 0:
        slot = entry // width
        if flows.seen[slot] != change.step[0]:
            _note(change, flows, slot)
        entry = links.after[entry]


@_compiled
def _spread(change: _Change, flows: _Flows, links: _Links, network: _Network) -> None:
    """Add all flows whose rates may change: those that share a tight link with a flow of the change, transitively."""
    done_flows, done_links = 0, 0
    while done_flows < change.flow_count[0] or done_links < change.link_count[0]:
        if done_links < change.link_count[0]:
            _note_sharers(change, flows, links, change.link[done_links], network.width)
            done_links += 1
        else:
            _reach(change, links, network.paths, flows.path[change.flow[done_flows]])
            done_flows += 1


@_compiled
def _bound(change: _Change, flows: _Flows, paths: Paths) -> None:
    """Give the flows of a change that no link limits the rates of their bounds."""
    for i in range(change.flow_count[0]):
        slot = change.flow[i]
        flows.rate[slot] = paths.bound_Bps[flows.path[slot]]


@_compiled
def _new_end_s(flows: _Flows, slot: int, before_Bps: float, now: float) -> float:
    """Return the date at which a flow ends with its new rate; _NEVER if the rate is the one before."""
    rate, end_s = flows.rate[slot], _NEVER
    if abs(rate - before_Bps) <= _SAME * rate:
        rate = before_Bps
    else:
        flows.remaining[slot] -= before_Bps * flows.factor[slot] * (now - flows.since[slot])
        flows.since[slot] = now
        end_s = now + max(0.0, flows.remaining[slot]) / (rate * flows.factor[slot])
    flows.rate[slot] = rate
    return end_s


@_compiled
def _network(paths: Paths) -> _Network:
    """Return the paths with the quantities that follow from them."""
    width = 1
    amount, share = np.empty(len(paths.link)), np.empty(len(paths.link))
    for path in range(len(paths.first) - 1):
        width = max(width, paths.first[path + 1] - paths.first[path])
        for k in range(paths.first[path], paths.first[path + 1]):
            amount[k] = paths.weight[k] * paths.bound_Bps[path]
            share[k] = paths.weight[k] / paths.penalty[path]
    return _Network(paths, amount, share, width)


@_compiled
def _at_start(messages: np.ndarray) -> None:
    """Set the dates and waiting ranks of all messages to those before the evaluation."""
    for m in range(len(messages)):
        messages[m].sent_s = messages[m].received_s = messages[m].done_s = _NEVER
        messages[m].sender = messages[m].receiver = -1


@_compiled
def _no_flows(slots: int) -> tuple[_Flows, _Ends]:
    """Return the state of flows, and their ends, without any flow."""
    flows = _Flows(
        message=np.empty(slots, np.int64),
        path=np.empty(slots, np.int64),
        factor=np.empty(slots),
        remaining=np.empty(slots),
        since=np.empty(slots),
        rate=np.empty(slots),
        seen=np.zeros(slots, np.int64),
    )
    ends = _Ends(np.empty(slots), np.empty(slots, np.int64), np.empty(slots, np.int64), np.zeros(1, np.int64))
    ends.place[:] = -1
    return flows, ends


@_compiled
def _idle_links(links: int, entries: int) -> _Links:
    """Return the state of links without flows; ``entries``: room for this many entries in their lists."""
    idle = _Links(
        head=np.empty(links, np.int64),
        before=np.empty(entries, np.int64),
        after=np.empty(entries, np.int64),
        demand=np.zeros(links),
        tight=np.zeros(links, np.bool_),
        seen=np.zeros(links, np.int64),
        remaining=np.zeros(links),
        usage=np.zeros(links),
    )
    idle.head[:] = -1
    return idle


@_compiled
def evaluate(
    instructions: Instructions, messages: np.ndarray, paths: Paths, s_per_flop: np.ndarray, marks_s: np.ndarray
) -> np.ndarray:
    """Execute the instructions of all ranks.

    Args:
        instructions: The instructions.
        messages: The messages, of dtype MESSAGE; their dates and waiting ranks are written.
        paths: The network.
        s_per_flop: Seconds per flop of each rank.
        marks_s: Ranks x marks: filled with the dates of each rank's marks, s.

    Returns:
        The date at which each rank ends, s; NaN for ranks that wait for ever.
    """
    nranks, nlinks, slots = len(instructions.first) - 1, len(paths.capacity_Bps), max(1, len(messages))
    network = _network(paths)
    _at_start(messages)
    ranks = _Ranks(
        s_per_flop,
        clock=np.zeros(nranks),
        at=instructions.first[:-1].copy(),
        marked=np.zeros(nranks, np.int64),
        marks_s=marks_s,
        woken=np.empty(nranks, np.int64),
        woken_count=np.zeros(1, np.int64),
    )
    starts = _Starts(np.empty(slots), np.empty(slots, np.int64), np.zeros(1, np.int64))
    flows, ends = _no_flows(slots)
    links = _idle_links(nlinks, slots * network.width)
    change = _Change(
        step=np.zeros(1, np.int64),
        flow=np.empty(slots, np.int64),
        before_Bps=np.empty(slots),
        flow_count=np.zeros(1, np.int64),
        link=np.empty(nlinks + 1, np.int64),
        link_count=np.zeros(1, np.int64),
    )
    free, free_count = np.empty(slots, np.int64), slots  # stack of the slots without a flow
    for slot in range(slots):
        free[slots - 1 - slot] = slot
    for rank in range(nranks):
        _wake(ranks, rank, 0.0)

    while True:
        # Ranks go on until they wait; their clocks may be ahead of the network's date.
        while ranks.woken_count[0] > 0:
            ranks.woken_count[0] -= 1
            _run(ranks.woken[ranks.woken_count[0]], instructions, messages, ranks, starts)

        now = np.inf
        if starts.heap_size[0] > 0:
            now = starts.date_s[0]
        if ends.heap_size[0] > 0:
            now = min(now, ends.date_s[ends.slot[0]])
        if now == np.inf:
            break

        # All events of the next date.
        change.step[0] += 1
        change.flow_count[0] = change.link_count[0] = 0
        while ends.heap_size[0] > 0 and ends.date_s[ends.slot[0]] <= now + PRECISION_S:
            slot = _first_end(ends)
            free[free_count] = slot
            free_count += 1
            _arrive(messages, flows.message[slot], now, ranks)
            _leave(links, network, slot, flows.path[slot])
            _reach(change, links, paths, flows.path[slot])
        while starts.heap_size[0] > 0 and starts.date_s[0] <= now + PRECISION_S:
            free_count -= 1
            slot = free[free_count]
            flows.message[slot] = _pop(starts)
            _begin(messages[flows.message[slot]], flows, slot, now)
            _note(change, flows, slot)
            _join(links, network, slot, flows.path[slot])
        for i in range(change.link_count[0]):  # flows that ended may have made room on the links
            link = change.link[i]
            links.tight[link] = links.demand[link] > paths.capacity_Bps[link] * _SLACK
        _spread(change, flows, links, network)
        if change.link_count[0] > 0:
            _share(change, flows, links, network)
        else:
            _bound(change, flows, paths)
        for i in range(change.flow_count[0]):
            date_s = _new_end_s(flows, change.flow[i], change.before_Bps[i], now)
            if date_s != _NEVER:
                _schedule(ends, change.flow[i], date_s)

    end_s = np.empty(nranks)
    for rank in range(nranks):
        end_s[rank] = ranks.clock[rank] if ranks.at[rank] == instructions.first[rank + 1] else np.nan
    return end_s
