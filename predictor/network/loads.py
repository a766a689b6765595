"""Experiments under load, which show the links that messages share: many messages that begin together.

The first ones are the same for every depth of a survey: parts of the network that share no link are loaded at the same
time.  A deep survey adds those that the first ones make necessary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from apps.probes.network.measure import Exchange

LARGE_BYTES = 500_000  # size of messages under load
NEAR_BYTES = 2_000_000  # size of a message that is to last until a far one has come to share its link
FarName = tuple[str, str, int]  # a cluster, twice, and the number of a distance
LoadName = str | tuple[str, int | str] | tuple[str, str, str] | FarName  # the part under load; the round or clusters
Load = tuple[Exchange, ...]
Hosts = Mapping[str, tuple[str, ...]]  # by cluster
Pairs = Sequence[Sequence[str]]


def _one_way(pairs: Pairs) -> Load:
    return tuple(Exchange(a, b, LARGE_BYTES, 0) for a, b in pairs)


def _both_ways(pairs: Pairs) -> Load:
    return _one_way([pair for a, b in pairs for pair in ((a, b), (b, a))])


def pairs_of(hosts: Hosts, c: str, d: str) -> list[tuple[str, str]]:
    """Return disjoint pairs of hosts, with one host in each of two clusters."""
    return list(zip(hosts[c], hosts[d], strict=False))


def _ring(members: Sequence[str]) -> list[tuple[str, str]]:
    """Return each host of a cluster with the next one, the last with the first."""
    return list(zip(members, [*members[1:], members[0]], strict=True))


def _outside(hosts: Hosts, c: str) -> list[tuple[str, str]]:
    """Return each host of a cluster with a host of another cluster; the other clusters take turns."""
    others = [host for row in zip_round([h for d, h in hosts.items() if d != c]) for host in row]
    return list(zip(hosts[c], others * len(hosts[c]), strict=False))


def zip_round(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the first member of each group, then the second of each group that has one, and so on."""
    return [[group[i] for group in groups if i < len(group)] for i in range(max(map(len, groups), default=0))]


def first_loads(hosts: Hosts) -> dict[LoadName, Load]:
    """Return the first experiments: in all clusters at once, in rounds of disjoint pairs of clusters, of each cluster.

    Args:
        hosts: The hosts in use by cluster.
    """
    several = [members for members in hosts.values() if len(members) > 1]
    many = [members for members in several if len(members) > 2]
    experiments: dict[LoadName, Load] = {
        "out": _one_way([(members[0], other) for members in many for other in members[1:3]]),
        "in": _one_way([(other, members[0]) for members in many for other in members[1:3]]),
        "both": _both_ways([members[:2] for members in several]),
        "ring": _one_way([pair for members in many for pair in _ring(members)]),
        "self": _one_way([(members[0], to) for members in several for to in members[:2]]),
    }
    for number, together in enumerate(tournament(list(hosts))):
        pairs = [pair for c, d in together for pair in pairs_of(hosts, c, d)]
        experiments["one way", number], experiments["two ways", number] = _one_way(pairs), _both_ways(pairs)
        for name, senders in (("near and far", together), ("far and near", [pair[::-1] for pair in together])):
            experiments[name, number] = tuple(e for c, d in senders for e in near_and_far(hosts, c, d))
    if len(hosts) > 2:
        experiments |= {("outside", c): _both_ways(_outside(hosts, c)) for c in hosts}
    if len(hosts) > 1:
        # The nodes of a cluster may not fill a link they share, nor show whether their messages use the outside link.
        experiments |= {
            ("mixed", c): (*_one_way(_ring(members)), *_both_ways(_outside(hosts, c)))
            for c, members in hosts.items()
            if len(members) > 1
        }
    return {name: load for name, load in experiments.items() if load}


def near_and_far(hosts: Hosts, c: str, d: str) -> Load:
    """Return the messages of a node to a near and to a far one, which share its link; none if there is no near one."""
    if len(hosts[c]) == 1:
        return ()
    a, near = hosts[c][:2]
    return Exchange(a, near, NEAR_BYTES, 0), Exchange(a, hosts[d][0], LARGE_BYTES, 0)


def first_count(hosts: Hosts) -> int:
    """Return the number of these experiments, which on many clusters are too many to be made."""
    sizes, clusters = [len(members) for members in hosts.values()], len(hosts)
    several, many = (sum(size > least for size in sizes) for least in (1, 2))
    alone, rounds = 2 * (several > 0) + 3 * (many > 0), tournament(list(hosts))
    if clusters == 1:
        return alone
    shared = sum(any(len(hosts[pair[i]]) > 1 for pair in together) for together in rounds for i in (0, 1))
    return alone + 2 * len(rounds) + shared + clusters * (clusters > 2) + several


def loads_between(hosts: Hosts, c: str, d: str) -> dict[LoadName, Load]:
    """Return the experiments on the links between two clusters alone."""
    pairs = pairs_of(hosts, c, d)
    return {
        ("one way", c, d): _one_way(pairs),
        ("one way", d, c): _one_way([(b, a) for a, b in pairs]),
        ("two ways", c, d): _both_ways(pairs),
    }


def round_of(clusters: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return the number of the round in which each pair of clusters meets, by the pair in the platform's order."""
    met = {frozenset(pair): number for number, pairs in enumerate(tournament(clusters)) for pair in pairs}
    return {(c, d): met[frozenset((c, d))] for c, d in combinations(clusters, 2)}


def tournament(players: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return rounds of disjoint pairs in which every two players meet exactly once (the circle method)."""
    circle: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    rounds = []
    for _ in range(len(circle) - 1):
        pairs = zip(circle[: len(circle) // 2], reversed(circle[len(circle) // 2 :]), strict=True)
        rounds.append([(a, b) for a, b in pairs if a is not None and b is not None])
        circle.insert(1, circle.pop())
    return [pairs for pairs in rounds if pairs]
