"""The links between the switches of a tree, found by messages that cross them at the same moment.

Hosts that are near each other form groups, and groups form larger ones.  Messages that leave a group go up one of its
links, and those that enter it come down one; which one may depend on the destination, as in a fat tree, and on the
source.  Hosts whose messages share the link are of one class.  Two messages at a time, between different parts of the
group and different other groups, show whether two hosts are of one class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from predictor.network.distances import Distances
from predictor.network.shared_links import Flow, SharedCapacity, SharingExperiment, SharingTimes

_MOST_SOURCES = 4  # pairs of sources that are tried until messages to two destinations share a link

Group = frozenset[str]
Flows = tuple[Flow, Flow]
Mates = dict[str, set[str]]


def is_tree(distances: Distances) -> bool:
    """Return whether no host is farther from another than the farther of both is from any third one."""
    kind = distances.kind
    return all(
        bool((kind <= np.maximum(kind[:, [k]], kind[[k], :]))[_others(len(kind), k)].all()) for k in range(len(kind))
    )


def _others(count: int, k: int) -> np.ndarray:
    other = np.arange(count) != k
    others: np.ndarray = other[:, None] & other[None, :] & ~np.eye(count, dtype=bool)
    return others


@dataclass
class _Classes:
    """Hosts, sorted into classes by comparing each with a member of every class."""

    items: Sequence[str]
    flows: Callable[[str, str], Flows]  # the messages that compare two hosts
    comparable: Callable[[str, str], bool]
    mates: Mapping[str, set[str]]  # hosts that are of one class for another group: compared first
    classes: list[list[str]] = field(init=False)
    sharing: list[SharingTimes] = field(init=False, default_factory=list)
    _differ: set[frozenset[str]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.classes = [[self.items[0]]]
        self._waiting = list(self.items[1:])

    def comparisons(self) -> list[tuple[str, str]]:
        """Return the next comparisons; none if the classes are known."""
        while self._waiting:
            pairs = [pair for item in self._foremost() if (pair := self._comparison(item))]
            if pairs:
                return pairs
            self.classes.append([self._waiting.pop(0)])
        return [pair for first, other in combinations(self.classes, 2) if (pair := self._between(first, other))]

    def _foremost(self) -> list[str]:
        """Return the waiting hosts, without those that can wait for a mate to be placed."""
        foremost: list[str] = []
        for item in self._waiting:
            mates = self.mates.get(item, set())
            if mates.isdisjoint(foremost) or any(not mates.isdisjoint(members) for members in self.classes):
                foremost.append(item)
        return foremost

    def _comparison(self, item: str) -> tuple[str, str] | None:
        likely = sorted(self.classes, key=lambda members: self.mates.get(item, set()).isdisjoint(members))
        return next((pair for members in likely if (pair := self._between([item], members))), None)

    def _between(self, first: Sequence[str], other: Sequence[str]) -> tuple[str, str] | None:
        """Return a comparison of two classes, unless members were already found to differ."""
        pairs = [(a, b) for a in first for b in other]
        if any(frozenset(pair) in self._differ for pair in pairs):
            return None
        return next((pair for pair in pairs if self.comparable(*pair)), None)

    def take(self, a: str, b: str, answer: SharingTimes) -> None:
        """Take the result of a comparison."""
        if not answer.shared:
            self._differ.add(frozenset((a, b)))
            return
        self.sharing.append(answer)
        home = next(members for members in self.classes if b in members)
        if a in self._waiting:
            self._waiting.remove(a)
            home.append(a)
        elif a not in home:
            other = next(members for members in self.classes if a in members)
            self.classes.remove(other)
            home += other

    def first_of(self, item: str) -> str:
        """Return the first member of a host's class."""
        return next(members[0] for members in self.classes if item in members)


class _Side:
    """The links by which messages leave a group, or those by which they enter it.

    First destinations are compared, with two sources, then sources, with two destinations of one class.  If no messages
    to two destinations share a link, the two sources may be of different classes, and others are tried.
    """

    def __init__(self, name: str, sides: _Ends, mates: tuple[Mates, Mates]):
        self.name, self._ends, self._mates = name, sides, mates
        self._sources_left = list(sides.pairs_of_sources[:_MOST_SOURCES])
        self._targets = self._compare_targets()
        self._sources: _Classes | None = None

    def _compare_targets(self) -> _Classes:
        first, second = self._sources_left.pop(0)
        return _Classes(
            self._ends.targets, lambda a, b: ((first, a), (second, b)), self._ends.targets_comparable, self._mates[1]
        )

    def comparisons(self) -> list[tuple[_Classes, str, str]]:
        """Return the next comparisons; none if the links are known."""
        while not (pairs := self._targets.comparisons()):
            if self._targets.sharing:
                return self._of_sources()
            if not self._sources_left:
                return []
            self._targets = self._compare_targets()
        return [(self._targets, a, b) for a, b in pairs]

    def _of_sources(self) -> list[tuple[_Classes, str, str]]:
        if self._sources is None:
            (s, t), (u, v) = self._targets.sharing[0].question.flows
            others = [host for host in self._ends.sources if host not in (s, u)]
            comparable = self._ends.sources_comparable
            self._sources = _Classes([s, u, *others], lambda a, b: ((b, t), (a, v)), comparable, self._mates[0])
        return [(self._sources, a, b) for a, b in self._sources.comparisons()]

    def note_mates(self) -> None:
        """Record which hosts are of one class, to compare them first for other groups."""
        for classes, mates in zip((self._sources, self._targets), self._mates, strict=True):
            for members in classes.classes if classes is not None else ():
                for host in members:
                    mates.setdefault(host, set()).update(members)

    def link(self, a: str, b: str) -> str | None:
        """Return the link of messages from a to b; None if messages from other hosts do not cross it."""
        if self._sources is None:
            return None
        return f"{self.name} from {self._sources.first_of(a)} to {self._targets.first_of(b)}"

    def shown(self) -> dict[str, SharedCapacity]:
        """Return two messages that share it for each link over which two were sent."""
        capacities: dict[str, SharedCapacity] = {}
        for classes in (self._targets, self._sources):
            for answer in classes.sharing if classes is not None else ():
                first, second = answer.question.flows
                name = self.link(*first)
                if name is not None and name == self.link(*second):
                    capacities.setdefault(name, SharedCapacity((first, second), (answer.times_s[0], answer.times_s[1])))
        return capacities


@dataclass(frozen=True)
class _Ends:
    """The hosts between which messages cross a side of a group."""

    sources: Sequence[str]
    targets: Sequence[str]
    pairs_of_sources: Sequence[tuple[str, str]]  # from different parts, in the order in which they are tried
    sources_comparable: Callable[[str, str], bool]
    targets_comparable: Callable[[str, str], bool]


class Tree:
    """The links of the groups of a tree: see sharing.Structure."""

    latencies = 1.0

    def __init__(self, distances: Distances):
        self._hosts = distances.hosts
        self._groups = _groups(distances)
        everyone = frozenset(self._hosts)
        self._meets = {
            (a, b): next((group for group in self._groups if a in group and b in group), everyone)
            for a, b in product(self._hosts, repeat=2)
        }
        self._sides: dict[tuple[str, Group], _Side] = {}
        mates: dict[tuple[str, int], tuple[Mates, Mates]] = {}
        for group in self._groups:
            for what, ends in (("leave", self._leaving(group)), ("enter", self._entering(group))):
                if ends is not None:
                    of_size = mates.setdefault((what, len(group)), ({}, {}))
                    self._sides[what, group] = _Side(f"{what} {self._name(group)}", ends, of_size)
        first = {(what, len(group)): key for key in reversed(self._sides) for what, group in [key]}
        self._waves = [list(first.values()), [key for key in self._sides if key not in first.values()]]
        self._asked: list[tuple[_Classes, str, str]] = []

    def questions(self) -> list[SharingExperiment]:
        """Return the next comparisons of hosts: those of one group of each size first, which show what to expect."""
        while self._waves:
            sides = [self._sides[key] for key in self._waves[0]]
            self._asked = [comparison for side in sides for comparison in side.comparisons()]
            if self._asked:
                return [self._question(classes.flows(a, b)) for classes, a, b in self._asked]
            for side in sides:
                side.note_mates()
            self._waves.pop(0)
        return []

    def _question(self, flows: Flows) -> SharingExperiment:
        # Acknowledgements cross the same groups the other way, where they would be slowed down by other messages.
        return SharingExperiment(flows, frozenset(group for flow in flows for _, group in self._crossed(*flow)))

    def _crossed(self, a: str, b: str) -> Iterator[tuple[str, Group]]:
        for group in self._groups:
            if (a in group) != (b in group):
                yield ("leave" if a in group else "enter"), group

    def take(self, answers: Sequence[SharingTimes]) -> None:
        """Take the answers to the questions."""
        for (classes, a, b), answer in zip(self._asked, answers, strict=True):
            classes.take(a, b, answer)

    def shown(self) -> dict[str, SharedCapacity]:
        """Return two messages that share it for each link over which two were sent."""
        return {name: shown for side in self._sides.values() for name, shown in side.shown().items()}

    def links(self, a: str, b: str) -> tuple[str, ...]:
        """Return the links on the way from host a to host b that other hosts' messages use too."""
        sides = (self._sides.get(crossed) for crossed in self._crossed(a, b))
        return tuple(name for side in sides if side is not None and (name := side.link(a, b)) is not None)

    def unresolved(self) -> int:
        """Return 0: the classes of all hosts are found."""
        return 0

    def _leaving(self, group: Group) -> _Ends | None:
        """Return the ends of messages that leave a group; None if one host alone leaves it."""
        parts = self._parts(group)
        outside = self._mixed([host for host in self._hosts if host not in group])
        if len(parts) < 2 or len(outside) < 2:
            return None
        # In a tree of two groups all destinations are in the other one, so that they share its links too, or not.
        strict = any(self._meet(a, b) >= group for a, b in combinations(outside, 2))
        return _Ends(
            sources=[host for host in self._hosts if host in group],
            targets=outside,
            pairs_of_sources=[(parts[0], other) for other in parts[1:]],
            sources_comparable=lambda a, b: a != b and self._meet(a, b) >= group,
            targets_comparable=lambda a, b: a != b and (not strict or self._meet(a, b) >= group),
        )

    def _entering(self, group: Group) -> _Ends | None:
        """Return the ends of messages that enter a group; None if all leave one other group and share its links."""
        inside = [host for host in self._hosts if host in group]
        outside = self._mixed([host for host in self._hosts if host not in group])
        first = next((a for a in outside if any(self._meet(a, b) >= group for b in outside)), None)
        if len(self._parts(group)) < 2 or first is None:
            return None
        others = [host for host in outside if self._meet(first, host) >= group]
        near = [host for host in self._hosts if self._meet(others[0], host) < self._meet(others[0], first)]
        return _Ends(
            sources=outside,
            targets=inside,
            pairs_of_sources=[(first, host) for host in near if host in others] or [(first, others[0])],
            sources_comparable=lambda a, b: a != b and self._meet(a, b) >= group,
            targets_comparable=lambda a, b: a != b and self._meet(a, b) >= group,
        )

    def _name(self, group: Group) -> str:
        members = [host for host in self._hosts if host in group]
        return f"{members[0]}..{members[-1]}"

    def _meet(self, a: str, b: str) -> Group:
        """Return the smallest group that holds two hosts."""
        return self._meets[a, b]

    def _parts(self, group: Group) -> list[str]:
        """Return a host of each largest part of a group."""
        inner = [part for part in self._groups if part < group]
        largest = [part for part in inner if not any(part < other for other in inner)]
        single = [host for host in self._hosts if host in group and not any(host in part for part in largest)]
        first = [next(host for host in self._hosts if host in part) for part in largest]
        return sorted(first + single, key=self._hosts.index)

    def _mixed(self, hosts: Sequence[str]) -> list[str]:
        """Return hosts in an order in which neighbours are of different groups where possible."""
        smallest = {host: min((g for g in self._groups if host in g), key=len, default=frozenset()) for host in hosts}
        place: dict[str, int] = {}
        for host in hosts:
            place[host] = sum(1 for other in place if smallest[other] == smallest[host])
        return sorted(hosts, key=lambda host: place[host])


def _groups(distances: Distances) -> list[Group]:
    """Return all groups of several hosts, the smallest first, without the one that holds all."""
    groups: dict[Group, None] = {}
    for kind in range(distances.count - 1):
        near = distances.kind <= kind
        for row in near:
            group = frozenset(host for host, is_near in zip(distances.hosts, row, strict=True) if is_near)
            if len(group) > 1:
                groups[group] = None
    return sorted(groups, key=len)


def tree_of(distances: Distances) -> Tree | None:
    """Return the tree that the distances show; None if they are not those of a tree."""
    return Tree(distances) if is_tree(distances) else None
