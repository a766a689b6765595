"""The links between switches that are joined to one another, as in a torus or a dragonfly.

The latencies count the links between two hosts.  Switches with one link between them are neighbours.  Where several
shortest ways join two others, messages between neighbours, sent at the same moment, show which way is used: those that
are slowed down cross a link of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np

from predictor.network.distances import Distances
from predictor.network.shared_links import Flow, SharedCapacity, SharingExperiment, SharingTimes

_EVEN = 0.1  # of a link: the most by which latencies may miss whole numbers of links
_MOST_WAYS = 60  # number of distinguished shortest paths between two switches

_SLOWED = 1.04  # a message over one link that takes this many times its time alone has shared it with a longer one
_CLEARLY = 0.02  # of its time alone: by so much more are messages slowed down that share a link with another one
_ACKNOWLEDGED = 1.08  # by acknowledgements alone, messages are slowed down by less

Link = tuple[int, int]  # from switch to switch
Way = tuple[Link, ...]


def hops(distances: Distances) -> np.ndarray | None:
    """Return the number of links between the switches of any two hosts; None if latencies are no multiples of one.

    Hosts at the smallest latency are at one switch, if all that are so near to a third are so near to each other.
    Otherwise each host is a switch.
    """
    typical = np.array([distances.typical_s(kind) for kind in range(distances.count)])
    step = float(np.diff(typical).min())
    near = (distances.kind == 0) | np.eye(len(distances.kind), dtype=bool)
    together = bool(((near.astype(int) @ near.astype(int) > 0) == near).all())
    count = (typical - typical[0]) / step + (0 if together else 1)
    if np.abs(count - np.round(count)).max() > _EVEN:
        return None
    links: np.ndarray = np.round(count).astype(int)[distances.kind]
    np.fill_diagonal(links, 0)
    return links


@dataclass(frozen=True)
class _Trial:
    """A message whose way is sought, and messages that may share a link with it."""

    ends: tuple[int, int] | None  # its switches; None: a host's messages to two neighbours
    links: tuple[Link, ...]  # of the other messages


def _shortest(length: np.ndarray) -> np.ndarray:
    """Return the length of the shortest way between any two switches (Floyd and Warshall), given those of links."""
    shortest = length.copy()
    np.fill_diagonal(shortest, 0)
    for via in range(len(shortest)):
        shortest = np.minimum(shortest, shortest[:, [via]] + shortest[[via], :])
    return shortest


def _explains(way: Way, slower: Mapping[Link, float]) -> bool:
    """Return whether exactly the messages over links of a way are slowed down, others by acknowledgements at most."""
    over = [times for link, times in slower.items() if link in way]
    beside = [times for link, times in slower.items() if link not in way]
    if not over:
        return max(beside, default=1.0) < _ACKNOWLEDGED
    return min(over) > (max(_SLOWED, max(beside) + _CLEARLY) if beside else _ACKNOWLEDGED)


class Mesh:
    """The links between switches: see sharing.Structure."""

    latencies = 3.0

    def __init__(self, distances: Distances, hops: np.ndarray):
        self._hosts = distances.hosts
        firsts = [i for i in range(len(hops)) if not (hops[i, :i] == 0).any()]
        self._switch = {
            host: next(n for n, i in enumerate(firsts) if hops[i, j] == 0) for j, host in enumerate(self._hosts)
        }
        self._members = [[host for host in self._hosts if self._switch[host] == n] for n in range(len(firsts))]
        self._hops = hops[np.ix_(firsts, firsts)]
        self._links = self._find_links()
        self._ways = {(a, b): self._possible(a, b) for a, b in permutations(range(len(firsts)), 2)}
        # If two directions are somewhere not equally long, no way is sure to be a shortest one: all are to be shown.
        unlike = any(self._shortest[ends] != self._hops[ends] for ends in self._ways)
        self._unlike = {ends for ends, ways in self._ways.items() if ways != [(ends,)]} if unlike else set()
        self._unknown: set[Link] = {ends for ends, ways in self._ways.items() if len(ways) != 1} | self._unlike
        self._shown: dict[str, SharedCapacity] = {}
        self._trials: list[_Trial] = []
        self._own_links = True  # a host has links of its own to its switch, which all its messages share
        self._rounds = iter((self._ask_own_links, self._ask_ways, self._ask_capacities))

    def shown(self) -> dict[str, SharedCapacity]:
        """Return two messages that share it for each link over which two were sent."""
        return self._shown

    def _find_links(self) -> dict[int, list[int]]:
        """Return the neighbours of each switch.

        These are the nearest switches, and others to which no way over nearer ones is less than twice as long.  (A pair
        whose two directions take different ways may seem nearer than any way is.)
        """
        far = np.iinfo(int).max // 4
        length = np.where(self._hops == self._hops[self._hops > 0].min(), self._hops, far)
        for hop in np.unique(self._hops[self._hops > 0]):
            over = _shortest(length)
            length = np.where((self._hops == hop) & (over >= 2 * hop), hop, length)
        self._lengths, self._shortest = length, _shortest(length)
        return {a: [int(b) for b in np.flatnonzero(row < far)] for a, row in enumerate(length)}

    def _possible(self, a: int, b: int) -> list[Way]:
        """Return the shortest ways from a to b; at most _MOST_WAYS."""
        return list(islice(self._onward(a, b), _MOST_WAYS))

    def _onward(self, a: int, b: int) -> Iterator[Way]:
        if a == b:
            yield ()
            return
        for c in self._links[a]:
            if self._lengths[a, c] + self._shortest[c, b] == self._shortest[a, b]:
                for way in self._onward(c, b):
                    yield ((a, c), *way)

    def questions(self) -> list[SharingExperiment]:
        """Return the next questions: whether hosts have links of their own, then ways, then links not seen so far."""
        for ask in self._rounds:
            asked = list(ask())
            self._trials = [trial for trial, _ in asked]
            if asked:
                return [question for _, question in asked]
        return []

    def _ask_own_links(self) -> Iterator[tuple[_Trial, SharingExperiment]]:
        """Yield the messages of a host to two neighbours, if each host may be a switch."""
        if all(len(members) == 1 for members in self._members):
            for a, near in self._links.items():
                if len(near) > 1:
                    flows = tuple((self._members[a][0], self._members[b][0]) for b in near[:2])
                    yield _Trial(None, ()), SharingExperiment(flows, frozenset((a, b) for b in near[:2]))
                    return

    def _ask_ways(self) -> Iterator[tuple[_Trial, SharingExperiment]]:
        """Yield the messages that distinguish shortest paths."""
        for a, b in sorted(self._unknown):
            ways = self._ways[a, b]
            common = set.intersection(*map(set, ways)) if ways and (a, b) not in self._unlike else set()
            links = [link for link in dict.fromkeys(link for way in ways for link in way) if link not in common]
            asked = self._trial((a, b), links)
            if asked:
                yield asked

    def _ask_capacities(self) -> Iterator[tuple[_Trial, SharingExperiment]]:
        """Yield two messages over each link that was not seen shared, where two hosts can send them."""
        for a, near in self._links.items():
            for b in near:
                if self._name((a, b)) in self._shown:
                    continue
                over = [ends for ends, ways in self._ways.items() if len(ways) == 1 and (a, b) in ways[0]]
                asked = (self._trial(ends, [(a, b)]) for ends in sorted(over))
                first = next((experiment for experiment in asked if experiment), None)
                if first:
                    yield first

    def _trial(self, ends: tuple[int, int], links: Sequence[Link]) -> tuple[_Trial, SharingExperiment] | None:
        """Return a message between two switches together with messages over links; None if there are none."""
        source, target = self._members[ends[0]][0], self._members[ends[1]][-1]
        flows, crossed = self._witnesses(links, source, target)
        if not flows:
            return None
        touched = frozenset(link for way in self._ways[ends] for link in way)
        return _Trial(ends, tuple(crossed)), SharingExperiment(((source, target), *flows), touched)

    def _witnesses(self, links: Sequence[Link], source: str, target: str) -> tuple[list[Flow], list[Link]]:
        """Return messages over single links that share no other link with one another or with a message."""
        flows, crossed = [], []
        from_, to = {source}, {target}
        for a, b in links:
            starts, ends = self._members[a], self._members[b]
            if self._own_links:
                starts = [host for host in starts if host not in from_]
                ends = [host for host in ends if host not in to]
            if starts and ends:
                flows.append((starts[0], ends[0]))
                crossed.append((a, b))
                from_.add(starts[0])
                to.add(ends[0])
        return flows, crossed

    def take(self, answers: Sequence[SharingTimes]) -> None:
        """Take the answers to the questions."""
        for trial, answer in zip(self._trials, answers, strict=True):
            if trial.ends is None:
                self._own_links = answer.shared
                continue
            slower = dict(zip(trial.links, answer.slower[1:], strict=True))
            if trial.ends in self._unknown:
                fitting = [way for way in self._ways[trial.ends] if _explains(way, slower)]
                if not fitting and trial.ends in self._unlike:  # a different path: only its links are known
                    fitting = [tuple(link for link, times in slower.items() if times > _ACKNOWLEDGED)]
                if fitting:
                    self._ways[trial.ends] = fitting
                    if len(fitting) == 1:
                        self._unknown.remove(trial.ends)
            if trial.ends not in self._unknown:
                self._show(trial, answer, self._ways[trial.ends][0])

    def _show(self, trial: _Trial, answer: SharingTimes, way: Way) -> None:
        flows, times_s = answer.question.flows, answer.times_s
        for i, link in enumerate(trial.links, start=1):
            if link in way and answer.slower[i] > _SLOWED:
                self._shown.setdefault(self._name(link), SharedCapacity((flows[0], flows[i]), (times_s[0], times_s[i])))

    def _name(self, link: Link) -> str:
        a, b = link
        return f"from {self._members[a][0]} to {self._members[b][0]}"

    def links(self, a: str, b: str) -> tuple[str, ...]:
        """Return the links between switches on the way from host a to host b."""
        ways = self._ways.get((self._switch[a], self._switch[b]))
        return tuple(self._name(link) for link in ways[0]) if ways else ()

    def unresolved(self) -> int:
        """Return the number of pairs of switches between which several ways remain possible."""
        return len(self._unknown)


def mesh_of(distances: Distances) -> Mesh | None:
    """Return the mesh that the distances show; None if latencies are no multiples of one."""
    steps = hops(distances)
    return None if steps is None else Mesh(distances, steps)
