"""The times of messages that share links, from the load of the links in closed form (compiled by numba).

All ranks enter an exchange together.  Flow i of amount a_i begins when its latency is over and when the earlier
messages for which its sender waits have arrived; it takes T_i seconds.  Flows that share a link of capacity C get rates
in proportion to 1 / p, where p are their penalties (their round-trip times).  While flow i is on its way, flow j, which
overlaps it for o_ij seconds, moves

    m_ij = o_ij min(a_j / T_j, b_j, (a_i / T_i) (p_i / p_j))        m_ii = a_i

limited by its own rate, its bound b_j, and its share of the link; and

    T_i = max(a_i / b_i, max over links of  sum over j of w_j m_ij / C)

where w is the share of its rate that a flow uses of a link (its acknowledgements use some of the other direction).  For
equal flows that share one link this is exact: n a / C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from predictor.structural.paths import Paths
from predictor.structural.schedule import Schedule
from predictor.structural.sharing_survey import SYNCHRONOUS

# The numbers and fields that the compiled code depends on; numba does not notice when they change in another file.
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
_NOTHING = 0.02  # relative to the latency: a load that lengthens a message by less is ignored
_MOST_LINKS = 10  # most links that a message crosses
MOST_SHARED = 4  # most links of a message that are overloaded and shared between clusters
_ROUNDS = 3  # number of times that the beginnings of messages are found whose senders wait for earlier ones
_PASSES = 3  # iterations of the equation above: a flow that one link delays leaves more of another link to others


class Shares(NamedTuple):
    """The effects of sharing on the messages of placements.

    Links are those that clusters share, numbered from the first one on.
    """

    latency_s: np.ndarray  # f8, placements x messages
    flow_s: np.ndarray  # f8, placements x messages: time on the links, after the latency
    link: np.ndarray  # i4, placements x messages x MOST_SHARED: links that the message shares; -1: none
    own_s: np.ndarray  # f8, as `link`: time of the link that the message takes alone
    load_s: np.ndarray  # f8, placements x exchanges x links: time of a shared link that an exchange takes
    flows: np.ndarray  # i4, as `load_s`: number of the exchange's messages on the link
    # Placements x sweeps x 2 x ranks: a rank's message of a plane, along x and along y.
    plane_s: np.ndarray  # f8, time of the message alone
    plane_load_s: np.ndarray  # f8, time that all messages of a plane take of the most loaded link of this message


class _Work(NamedTuple):
    """The messages of an exchange and the links that they share, in arrays that serve for all exchanges.

    Functions that are called often use it to their end, or return nothing: else numba counts the references to all its
    arrays at each call (predictor/dpgraph/fluid.py).
    """

    # By message.
    link: np.ndarray  # i4, messages x _MOST_LINKS: the links on its way
    weight: np.ndarray  # f8, as `link`: share of its rate that it uses of the link
    links: np.ndarray  # i4, number of these links
    source: np.ndarray  # i4, rank that sends
    held: np.ndarray  # bool, the next message of its sender waits for it
    amount: np.ndarray  # f8, bytes
    bound: np.ndarray  # f8, bytes/s
    penalty: np.ndarray  # f8
    latency: np.ndarray  # f8, s
    begin: np.ndarray  # f8, time at which it begins to use the links
    time: np.ndarray  # f8, s that it uses the links
    ready: np.ndarray  # f8, by rank: time at which it can send its next message
    # By link.  The link number t of those that may lengthen a message has users -1 - t, once it is known.
    users: np.ndarray  # i4, number of messages that use the link
    load: np.ndarray  # f8, bytes that all messages together take of it
    # By number t of the links that may lengthen a message ("tight").
    tight: np.ndarray  # i4, the link
    since: np.ndarray  # i4, its users are at the places since[t] to since[t + 1]
    kinds: np.ndarray  # i4, number of different kinds of users
    # By place among the users of the tight links.
    user: np.ndarray  # i4, message
    part: np.ndarray  # f8, its weight on the link
    kind: np.ndarray  # i4, its kind among the link's users: messages of equal amount and beginning
    # By kind of the users of one tight link.
    one: np.ndarray  # i4, a message of the kind
    number: np.ndarray  # f8, number of its messages
    together: np.ndarray  # f8, sum of their weights
    mean_s: np.ndarray  # f8, mean of their times


@_compiled
def share(schedule: Schedule, paths: Paths, hosts: np.ndarray, protocol: np.ndarray) -> Shares:
    """Return the effects of sharing on the messages of some placements.

    Args:
        schedule: The steps of the program.
        paths: The network.
        hosts: The host of each rank, placements x ranks, by its number in ``paths``.
        protocol: BUFFERED, EAGER or SYNCHRONOUS, by size.
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
def _fill(schedule: Schedule, paths: Paths, host: np.ndarray, protocol: np.ndarray, shares: Shares) -> None:
    """Write the Shares of the exchanges of one placement."""
    most = 0
    for e in range(len(schedule.first) - 1):
        most = max(most, schedule.first[e + 1] - schedule.first[e])
    work = _work(most, len(host), len(paths.capacity_Bps))
    for e in range(len(schedule.first) - 1):
        _read(schedule, paths, host, protocol, e, work)
        n = schedule.first[e + 1] - schedule.first[e]
        count = _find_tight(paths.capacity_Bps, n, work)
        if count > 0:
            _list_users(n, count, work)
            _press_all(paths.capacity_Bps, n, count, work)
        _write(schedule, paths, e, shares, work)


@_compiled
def _fill_sweep(
    schedule: Schedule, paths: Paths, host: np.ndarray, sweep: int, plane_s: np.ndarray, plane_load_s: np.ndarray
) -> None:
    """Find the time of each message of a plane alone, and the load of all of them on its most loaded link."""
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
def _work(messages: int, ranks: int, links: int) -> _Work:
    """Return room for exchanges of up to so many messages."""
    places = messages * _MOST_LINKS
    return _Work(
        link=np.empty((messages, _MOST_LINKS), np.int32),
        weight=np.empty((messages, _MOST_LINKS)),
        links=np.empty(messages, np.int32),
        source=np.empty(messages, np.int32),
        held=np.empty(messages, np.bool_),
        amount=np.empty(messages),
        bound=np.empty(messages),
        penalty=np.empty(messages),
        latency=np.empty(messages),
        begin=np.empty(messages),
        time=np.empty(messages),
        ready=np.empty(ranks),
        users=np.zeros(links, np.int32),
        load=np.zeros(links),
        tight=np.empty(places, np.int32),
        since=np.empty(places + 1, np.int32),
        kinds=np.empty(places, np.int32),
        user=np.empty(places, np.int32),
        part=np.empty(places),
        kind=np.empty(places, np.int32),
        one=np.empty(messages * 2, np.int32),
        number=np.empty(messages * 2),
        together=np.empty(messages * 2),
        mean_s=np.empty(messages * 2),
    )


@_compiled
def _read(schedule: Schedule, paths: Paths, host: np.ndarray, protocol: np.ndarray, exchange: int, work: _Work) -> None:
    """Write the messages of an exchange, each as if it were alone, and the load of the links."""
    first = schedule.first[exchange]
    for i in range(schedule.first[exchange + 1] - first):
        m = first + i
        a, b = host[schedule.source[m]], host[schedule.destination[m]]
        row = paths.row[paths.cluster[a], paths.cluster[b]] if a != b else paths.self_row[paths.cluster[a]]
        work.source[i] = schedule.source[m]
        work.held[i] = protocol[schedule.size[m]] == SYNCHRONOUS and not schedule.at_once[exchange]
        work.amount[i] = paths.amount_bytes[row, schedule.size[m]]
        work.bound[i] = paths.bound_Bps[row]
        work.penalty[i] = paths.penalty[row]
        work.latency[i] = paths.latency_s[row, schedule.size[m]]
        work.time[i] = work.amount[i] / work.bound[i]
        work.links[i] = _links_of(paths, a, b, work.link[i], work.weight[i])
        for k in range(work.links[i]):
            work.users[work.link[i, k]] += 1
            work.load[work.link[i, k]] += work.weight[i, k] * work.amount[i]


@_compiled
def _write(schedule: Schedule, paths: Paths, exchange: int, shares: Shares, work: _Work) -> None:
    """Write the Shares of an exchange, and take its load from the links."""
    first = schedule.first[exchange]
    n = schedule.first[exchange + 1] - first
    own_links = 2 * len(paths.cluster)  # the links of the hosts
    for i in range(n):
        m = first + i
        shares.latency_s[m], shares.flow_s[m] = work.latency[i], work.time[i]
        place = 0
        for k in range(work.links[i]):
            name = work.link[i, k]
            if name >= own_links and work.users[name] < 0 and place < MOST_SHARED:
                shares.link[m, place] = name - own_links
                shares.own_s[m, place] = work.weight[i, k] * work.amount[i] / paths.capacity_Bps[name]
                shares.load_s[exchange, name - own_links] += shares.own_s[m, place]
                shares.flows[exchange, name - own_links] += 1
                place += 1
    for i in range(n):
        for k in range(work.links[i]):
            work.users[work.link[i, k]] = 0
            work.load[work.link[i, k]] = 0.0


@_compiled
def _press_all(capacity_Bps: np.ndarray, n: int, count: int, work: _Work) -> None:
    """Lengthen the times of flows by the effects of the tight links, until the times stay."""
    for _ in range(_ROUNDS if work.held[:n].any() else 1):
        work.ready[:] = 0.0
        for i in range(n):
            work.begin[i] = work.ready[work.source[i]] + work.latency[i]
            if work.held[i]:
                work.ready[work.source[i]] = work.begin[i] + work.time[i]
        for i in range(n):
            work.time[i] = work.amount[i] / work.bound[i]
        for t in range(count):
            work.kinds[t] = _sort_kinds(t, work)
        passes, change = 0, np.inf
        while passes < _PASSES and change >= _SAME:
            passes, change = passes + 1, 0.0
            for t in range(count):
                capacity = capacity_Bps[work.tight[t]]
                if work.load[work.tight[t]] > capacity * _shortest_s(t, work) * (1 + _SAME):  # else it lengthens none
                    _sum_kinds(t, work)
                    _lengthen_kinds(capacity, t, work)
                    change = max(change, _lengthen_users(t, work))


@_compiled
def _find_tight(capacity_Bps: np.ndarray, n: int, work: _Work) -> int:
    """Number the links whose whole load at once could lengthen a message, and return how many they are."""
    count, places = 0, 0
    for i in range(n):
        for k in range(work.links[i]):
            name = work.link[i, k]
            limit_s = work.time[i] + _NOTHING * work.latency[i]
            if work.users[name] > 0 and work.load[name] > capacity_Bps[name] * limit_s:
                work.tight[count] = name
                work.since[count] = places
                places += work.users[name]
                work.users[name] = -1 - count
                count += 1
    work.since[count] = places
    return count


@_compiled
def _list_users(n: int, count: int, work: _Work) -> None:
    """List the messages that use each of the tight links."""
    filled = work.since[:count].copy()
    for i in range(n):
        for k in range(work.links[i]):
            t = -1 - work.users[work.link[i, k]]
            if t >= 0:
                work.user[filled[t]], work.part[filled[t]] = i, work.weight[i, k]
                filled[t] += 1


@_compiled
def _sort_kinds(t: int, work: _Work) -> int:
    """Sort the users of a tight link into kinds of equal amount and beginning; return the number of kinds."""
    amount, begin, one, kind = work.amount, work.begin, work.one, work.kind
    count = 0
    for x in range(work.since[t], work.since[t + 1]):
        i = work.user[x]
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
def _shortest_s(t: int, work: _Work) -> float:
    """Return the shortest time of the users of a tight link."""
    shortest_s = np.inf
    for x in range(work.since[t], work.since[t + 1]):
        shortest_s = min(shortest_s, work.time[work.user[x]])
    return shortest_s


@_compiled
def _lengthen_users(t: int, work: _Work) -> float:
    """Lengthen the times of the users of a tight link to those of their kinds; return the largest relative change."""
    change = 0.0
    for x in range(work.since[t], work.since[t + 1]):
        i = work.user[x]
        mean_s = work.mean_s[work.kind[x]]
        if mean_s > work.time[i] * (1 + _SAME):
            change = max(change, mean_s / work.time[i] - 1)
            work.time[i] = mean_s
    return change


@_compiled
def _sum_kinds(t: int, work: _Work) -> None:
    """Find number, weight and mean time of each kind of the users of a tight link."""
    number, together, mean_s, kind = work.number, work.together, work.mean_s, work.kind
    for x in range(work.kinds[t]):
        number[x] = together[x] = mean_s[x] = 0.0
    for x in range(work.since[t], work.since[t + 1]):
        number[kind[x]] += 1
        together[kind[x]] += work.part[x]
        mean_s[kind[x]] += work.time[work.user[x]]
        work.one[kind[x]] = work.user[x]
    for x in range(work.kinds[t]):
        mean_s[x] /= number[x]


@_compiled
def _lengthen_kinds(capacity: float, t: int, work: _Work) -> None:
    """Lengthen the mean times of the kinds as the load of the link requires."""
    for x in range(work.kinds[t]):
        if work.amount[work.one[x]] != 0.0:
            work.mean_s[x] = max(work.mean_s[x], _moved(x, work.kinds[t], work) / capacity)


@_compiled
def _moved(x: int, kinds: int, work: _Work) -> float:
    """Return the bytes that a link moves while a message of kind ``x`` is on its way: the sum over w_j m_ij."""
    amount, bound, penalty, begin = work.amount, work.bound, work.penalty, work.begin
    together, mean_s, i = work.together, work.mean_s, work.one[x]
    moved = together[x] * amount[i]
    share = penalty[i] * amount[i] / mean_s[x]
    until = begin[i] + mean_s[x]
    for y in range(kinds):
        j = work.one[y]
        meets = min(until, begin[j] + mean_s[y]) - max(begin[i], begin[j])
        if x != y and meets > 0:
            moved += together[y] * meets * min(amount[j] / mean_s[y], bound[j], share / penalty[j])
    return moved


@_compiled
def _links_of(paths: Paths, a: int, b: int, link: np.ndarray, weight: np.ndarray) -> int:
    """Write the links from host a to host b and the share of each that a flow uses; return the number of links.

    Links are numbered as in paths.PlaceOfLinks.
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
