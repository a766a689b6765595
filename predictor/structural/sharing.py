"""How long messages take that share links: in proportion to the load of the links, in closed form (numba).

All ranks enter an exchange together.  Flow i of amount a_i is on its way from the end of its latency on, and of the
messages before it that its sender has to wait for, for T_i seconds.  Flows that share a link of capacity C get it in
proportion to 1 / p, p their penalties (their round trips).  While flow i is on its way, flow j, which meets it for o_ij
seconds, moves

    m_ij = o_ij min(a_j / T_j, b_j, (a_i / T_i) (p_i / p_j))        m_ii = a_i

by its own pace, its bound b_j, and its share; and

    T_i = max(a_i / b_i, max over links of  sum over j of w_j m_ij / C)

with w the share of a link that a flow takes (its acknowledgements take some of the other direction).  For flows that
are alike and share one link this is exact: n a / C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from predictor.structural.paths import Paths
from predictor.structural.schedule import Schedule
from predictor.structural.survey import SYNCHRONOUS

# What is compiled below into the code that numba keeps, until this file changes.
if (
    SYNCHRONOUS != 2
    or " ".join(Schedule._fields)
    != "size_bytes segment kind item flops first at_once source destination size shape plane_flops plane_size"
    or " ".join(Paths._fields)
    != "cluster row self_row latency_s amount_bytes bound_Bps penalty capacity_Bps back self_shares"
):
    raise ImportError("predictor/structural has changed: change what sharing.py repeats of it as well")

_compiled = njit(cache=True, error_model="numpy")
_SAME = 3e-3  # relative: times that differ by less are equal
_NOTHING = 0.02  # of the latency: a load that takes less time is none
_MOST_LINKS = 10  # of a message
MOST_SHARED = 4  # of them, by others too, and with more than they can do at once
_ROUNDS = 3  # of when messages begin whose senders wait
_PASSES = 3  # of the equation above; what a link does to one flow leaves more of another link to others


Arrays = tuple[np.ndarray, ...]  # whose places the functions that take it name


class Shares(NamedTuple):
    """What sharing does to the messages of placements.  Links are those that clusters share, from the first one on."""

    latency_s: np.ndarray  # f8, placements x messages
    flow_s: np.ndarray  # f8, placements x messages: on their way, after that
    link: np.ndarray  # i4, placements x messages x MOST_SHARED: links that the message shares; -1: none
    own_s: np.ndarray  # f8, the same: what it alone takes of the link
    load_s: np.ndarray  # f8, placements x exchanges x links: what an exchange takes of a shared link
    flows: np.ndarray  # i4, the same: how many messages that is
    # Placements x sweeps x 2 x ranks: what a rank sends of a plane, along x and along y.
    plane_s: np.ndarray  # f8, the message alone
    plane_load_s: np.ndarray  # f8, what all messages of a plane take of a link that this one uses


@_compiled
def share(schedule: Schedule, paths: Paths, hosts: np.ndarray, protocol: np.ndarray) -> Shares:
    """The Shares of placements: ``hosts``, placements x ranks, by number in ``paths``.

    ``protocol``: BUFFERED, EAGER or SYNCHRONOUS, by size.
    """
    count, messages, exchanges = len(hosts), len(schedule.source), len(schedule.at_once)
    links = len(paths.capacity_Bps) - 2 * len(paths.cluster)
    shares = Shares(
        np.empty((count, messages)),
        np.empty((count, messages)),
        np.full((count, messages, MOST_SHARED), -1, np.int32),
        np.zeros((count, messages, MOST_SHARED)),
        np.zeros((count, exchanges, links)),
        np.zeros((count, exchanges, links), np.int32),
        np.zeros((count, len(schedule.shape), 2, hosts.shape[1])),
        np.zeros((count, len(schedule.shape), 2, hosts.shape[1])),
    )
    for i in range(count):
        _fill(schedule, paths, hosts[i], protocol, _one(shares, i))
        for w in range(len(schedule.shape)):
            _fill_sweep(schedule, paths, hosts[i], w, shares.plane_s[i, w], shares.plane_load_s[i, w])
    return shares


@_compiled
def _one(shares: Shares, i: int) -> Arrays:
    """Of one placement."""
    return (shares.latency_s[i], shares.flow_s[i], shares.link[i], shares.own_s[i], shares.load_s[i], shares.flows[i])


@_compiled
def _fill(schedule: Schedule, paths: Paths, host: np.ndarray, protocol: np.ndarray, shares: Arrays) -> None:
    """Of one placement."""
    most = 0
    for e in range(len(schedule.first) - 1):
        most = max(most, schedule.first[e + 1] - schedule.first[e])
    work = _work(most, len(paths.capacity_Bps))
    ready = np.empty(len(host))
    for e in range(len(schedule.first) - 1):
        _share(schedule, paths, host, protocol, e, shares, ready, work)


@_compiled
def _fill_sweep(
    schedule: Schedule, paths: Paths, host: np.ndarray, sweep: int, plane_s: np.ndarray, plane_load_s: np.ndarray
) -> None:
    """The messages of one plane: the time of each alone, and what all together take of the most loaded link it uses."""
    width, height, forward, _ = schedule.shape[sweep]
    ahead = 1 if forward else -1
    link, weight = np.empty(_MOST_LINKS, np.int32), np.empty(_MOST_LINKS)
    load_s = np.zeros(len(paths.capacity_Bps))
    for adds_up in (True, False):
        for r in range(width * height):
            for axis in range(2):
                place, places = (r % width, width) if axis == 0 else (r // width, height)
                if not 0 <= place + ahead < places:
                    continue
                a, b = host[r], host[r + ahead * (1 if axis == 0 else width)]
                size = schedule.plane_size[sweep, axis, r]
                row = paths.row[paths.cluster[a], paths.cluster[b]] if a != b else paths.self_row[paths.cluster[a]]
                amount = paths.amount_bytes[row, size]
                count = _links_of(paths, a, b, link, weight)
                if not adds_up:
                    plane_s[axis, r] = paths.latency_s[row, size] + amount / paths.bound_Bps[row]
                for k in range(count):
                    if adds_up:
                        load_s[link[k]] += weight[k] * amount / paths.capacity_Bps[link[k]]
                    else:
                        plane_load_s[axis, r] = max(plane_load_s[axis, r], load_s[link[k]])


@_compiled
def _work(messages: int, links: int) -> Arrays:
    """Arrays to work with: by message and place on its way; by message; by link; by place on all ways together; by
    kind of flow."""
    return (
        np.empty((messages, _MOST_LINKS), np.int32),
        np.empty((messages, _MOST_LINKS)),
        np.empty((2, messages), np.int32),
        np.empty((6, messages)),
        np.zeros(links, np.int32),
        np.zeros(links),
        np.empty(messages * _MOST_LINKS, np.int32),
        np.empty(messages * _MOST_LINKS),
        np.empty((3, messages * 2)),
        np.empty(messages * 2, np.int32),
    )


@_compiled
def _share(
    schedule: Schedule,
    paths: Paths,
    host: np.ndarray,
    protocol: np.ndarray,
    exchange: int,
    shares: Arrays,
    ready: np.ndarray,
    work: Arrays,
) -> None:
    """Of the messages of an exchange."""
    link, weight, (source, nlinks), flow, users, load, _, _, _, _ = work
    amount, bound, penalty, latency, _, time = flow
    first = schedule.first[exchange]
    n = schedule.first[exchange + 1] - first
    held = np.zeros(n, np.bool_)
    for i in range(n):
        m = first + i
        a, b = host[schedule.source[m]], host[schedule.destination[m]]
        row = paths.row[paths.cluster[a], paths.cluster[b]] if a != b else paths.self_row[paths.cluster[a]]
        source[i] = schedule.source[m]
        held[i] = protocol[schedule.size[m]] == SYNCHRONOUS and not schedule.at_once[exchange]
        amount[i] = paths.amount_bytes[row, schedule.size[m]]
        bound[i] = paths.bound_Bps[row]
        penalty[i] = paths.penalty[row]
        latency[i] = paths.latency_s[row, schedule.size[m]]
        time[i] = amount[i] / bound[i]
        nlinks[i] = _links_of(paths, a, b, link[i], weight[i])
        for k in range(nlinks[i]):
            users[link[i, k]] += 1
            load[link[i, k]] += weight[i, k] * amount[i]
    _press_all(paths.capacity_Bps, n, held, ready, work)
    latency_s, flow_s, shared, own_s, load_s, flows = shares
    own_links = 2 * len(paths.cluster)  # those of the hosts
    for i in range(n):
        latency_s[first + i], flow_s[first + i] = latency[i], time[i]
        place = 0
        for k in range(nlinks[i]):
            name = link[i, k]
            if name >= own_links and users[name] < 0 and place < MOST_SHARED:
                shared[first + i, place] = name - own_links
                own_s[first + i, place] = weight[i, k] * amount[i] / paths.capacity_Bps[name]
                load_s[exchange, name - own_links] += own_s[first + i, place]
                flows[exchange, name - own_links] += 1
                place += 1
    for i in range(n):
        for k in range(nlinks[i]):
            users[link[i, k]] = 0
            load[link[i, k]] = 0.0


@_compiled
def _press_all(capacity_Bps: np.ndarray, n: int, held: np.ndarray, ready: np.ndarray, work: Arrays) -> None:
    """Lengthens the times of flows by what the links do, until they stay."""
    link, weight, (source, nlinks), flow, users, load, user, part, of_kind, one = work
    amount, bound, _, latency, begin, time = flow
    # Links whose load, all of it together, could lengthen a message.
    count, places = 0, 0
    tight = np.empty(n * _MOST_LINKS, np.int32)
    since = np.empty(n * _MOST_LINKS + 1, np.int32)
    for i in range(n):
        for k in range(nlinks[i]):
            name = link[i, k]
            if users[name] > 0 and load[name] > capacity_Bps[name] * (time[i] + _NOTHING * latency[i]):
                tight[count] = name
                since[count] = places
                places += users[name]
                users[name] = -1 - count  # its place among them
                count += 1
    if count == 0:
        return
    since[count] = places
    filled = since[:count].copy()
    for i in range(n):
        for k in range(nlinks[i]):
            t = -1 - users[link[i, k]]
            if t >= 0:
                user[filled[t]], part[filled[t]] = i, weight[i, k]
                filled[t] += 1
    kind, kinds = np.empty(places, np.int32), np.empty(count, np.int32)
    for _ in range(_ROUNDS if held[:n].any() else 1):
        ready[:] = 0.0
        for i in range(n):
            begin[i] = ready[source[i]] + latency[i]
            if held[i]:
                ready[source[i]] = begin[i] + time[i]
        for i in range(n):
            time[i] = amount[i] / bound[i]
        for t in range(count):
            kinds[t] = _sort_kinds(since[t], since[t + 1], user, flow, kind, one)
        for _ in range(_PASSES):
            change = 0.0
            for t in range(count):
                capacity, shortest = capacity_Bps[tight[t]], np.inf
                for x in range(since[t], since[t + 1]):
                    shortest = min(shortest, time[user[x]])
                if load[tight[t]] <= capacity * shortest * (1 + _SAME):  # all of it together would not lengthen any
                    continue
                longer = _press(capacity, since[t], since[t + 1], user, part, kind, kinds[t], flow, of_kind, one)
                change = max(change, longer)
            if change < _SAME:
                break


@_compiled
def _sort_kinds(first: int, end: int, user: np.ndarray, flow: np.ndarray, kind: np.ndarray, one: np.ndarray) -> int:
    """Tells apart the flows of a link that differ in amount or beginning; returns how many kinds they are."""
    amount, _, _, _, begin, _ = flow
    count = 0
    for x in range(first, end):
        i = user[x]
        kind[x] = count
        for known in range(count):
            if amount[one[known]] == amount[i] and begin[one[known]] == begin[i]:
                kind[x] = known
                break
        if kind[x] == count:
            one[count] = i
            count += 1
    return count


@_compiled
def _press(
    capacity: float,
    first: int,
    end: int,
    user: np.ndarray,
    part: np.ndarray,
    kind: np.ndarray,
    kinds: int,
    flow: np.ndarray,
    of_kind: np.ndarray,
    one: np.ndarray,
) -> float:
    """Lengthens the times of the flows on a link to what its load makes of them; returns the largest change."""
    amount, bound, penalty, _, begin, time = flow
    count, weight, mean_s = of_kind
    for x in range(kinds):
        count[x] = weight[x] = mean_s[x] = 0.0
    for x in range(first, end):
        count[kind[x]] += 1
        weight[kind[x]] += part[x]
        mean_s[kind[x]] += time[user[x]]
        one[kind[x]] = user[x]
    for x in range(kinds):
        mean_s[x] /= count[x]
    for x in range(kinds):
        i = one[x]
        if amount[i] == 0.0:
            continue
        moved = weight[x] * amount[i]
        share = penalty[i] * amount[i] / mean_s[x]
        until = begin[i] + mean_s[x]
        for y in range(kinds):
            j = one[y]
            meets = min(until, begin[j] + mean_s[y]) - max(begin[i], begin[j])
            if x != y and meets > 0:
                moved += weight[y] * meets * min(amount[j] / mean_s[y], bound[j], share / penalty[j])
        mean_s[x] = max(mean_s[x], moved / capacity)
    change = 0.0
    for x in range(first, end):
        i = user[x]
        if mean_s[kind[x]] > time[i] * (1 + _SAME):
            change = max(change, mean_s[kind[x]] / time[i] - 1)
            time[i] = mean_s[kind[x]]
    return change


@_compiled
def _links_of(paths: Paths, a: int, b: int, link: np.ndarray, weight: np.ndarray) -> int:
    """Fills in the links from host a to host b and the share of each that a flow takes; returns how many they are.

    In the order of paths.PlaceOfLinks.
    """
    hosts, clusters = len(paths.cluster), len(paths.self_row)
    c, d = paths.cluster[a], paths.cluster[b]
    inside, outside, one_way = 2 * hosts, 2 * hosts + clusters, 2 * hosts + 2 * clusters
    if a == b:
        if not paths.self_shares[c]:
            return 0
        link[0], link[1], link[2] = a, hosts + a, inside + c
        weight[0] = weight[1] = 1 + paths.back[c]
        weight[2] = 1.0
        return 3
    weight[:] = 1.0
    link[0], link[1], link[2], link[3], link[4] = a, hosts + b, hosts + a, b, inside + c
    weight[2], weight[3] = paths.back[c], paths.back[d]
    if c == d:
        return 5
    link[5], link[6], link[7] = inside + d, outside + c, outside + d
    link[8] = one_way + c * clusters + d
    link[9] = one_way + clusters * clusters + min(c, d) * clusters + max(c, d)
    return 10
