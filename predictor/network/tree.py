"""The links between the switches of a tree, found by messages that cross them at the same moment.

Hosts that are near each other form groups, and groups form larger ones.  Messages that leave a group go up one of its
links, and those that enter it come down one; which one may depend on the destination, as in a fat tree.  Destinations
whose messages share the link are of one class.  Two messages at a time, from different parts of the group and to
different groups, show whether their destinations are of one class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from predictor.network.distances import Distances
from predictor.network.sharing import Answer, Flow, Question, Shown

Group = frozenset[str]


def is_tree(distances: Distances) -> bool:
    """Tell whether no host is farther from another than the farther of both is from any third one."""
    kind = distances.kind
    return all(
        bool((kind <= np.maximum(kind[:, [k]], kind[[k], :]))[_others(len(kind), k)].all()) for k in range(len(kind))
    )


def _others(count: int, k: int) -> np.ndarray:
    other = np.arange(count) != k
    return other[:, None] & other[None, :] & ~np.eye(count, dtype=bool)


@dataclass
class _Classes:
    """Destinations, sorted into classes by comparing each with a member of every class."""

    name: str
    items: Sequence[str]
    flows: Callable[[str, str], tuple[Flow, Flow]]  # the messages that compare two destinations
    comparable: Callable[[str, str], bool]
    classes: list[list[str]] = field(init=False)
    differ: set[frozenset[str]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.classes = [[self.items[0]]]
        self.waiting = list(self.items[1:])

    def comparisons(self) -> list[tuple[str, str]]:
        """Return the next comparisons; after them, or if there are none, the classes are known."""
        while self.waiting:
            found = [pair for item in self.waiting if (pair := self._comparison(item))]
            if found:
                return found
            self.classes.append([self.waiting.pop(0)])
        return [pair for one, other in combinations(self.classes, 2) if (pair := self._between(one, other))]

    def _comparison(self, item: str) -> tuple[str, str] | None:
        return next((pair for one in self.classes if (pair := self._between([item], one))), None)

    def _between(self, one: Sequence[str], other: Sequence[str]) -> tuple[str, str] | None:
        """Return a comparison of two classes, unless members were already found to differ."""
        pairs = [(a, b) for a in one for b in other]
        if any(frozenset(pair) in self.differ for pair in pairs):
            return None
        return next((pair for pair in pairs if self.comparable(*pair)), None)

    def take(self, a: str, b: str, *, shared: bool) -> None:
        """Take the result of a comparison."""
        if not shared:
            self.differ.add(frozenset((a, b)))
            return
        home = next(one for one in self.classes if b in one)
        if a in self.waiting:
            self.waiting.remove(a)
            home.append(a)
        elif a not in home:
            other = next(one for one in self.classes if a in one)
            self.classes.remove(other)
            home += other

    def class_of(self, item: str) -> int | None:
        """Return the number of a destination's class; None for other hosts."""
        return next((i for i, one in enumerate(self.classes) if item in one), None)


class Tree:
    """The links of the groups of a tree: see sharing.Structure."""

    def __init__(self, distances: Distances):
        self._hosts = distances.hosts
        self._groups = _groups(distances)
        self._leaving = {group: found for group in self._groups if (found := self._compare_leaving(group))}
        self._entering = {group: found for group in self._groups if (found := self._compare_entering(group))}
        self._asked: list[tuple[_Classes, str, str]] = []
        self._sharing: list[tuple[_Classes, Answer]] = []

    @property
    def shown(self) -> dict[str, Shown]:
        """By link: two messages that share it."""
        found: dict[str, Shown] = {}
        for one, answer in self._sharing:
            first, second = answer.question.flows
            for name in self._names(*first):
                if name.startswith(one.name):
                    found.setdefault(name, Shown((first, second), (answer.times_s[0], answer.times_s[1])))
        return found

    def questions(self) -> list[Question]:
        """Return the next comparisons of destinations."""
        self._asked = [
            (one, a, b) for one in (*self._leaving.values(), *self._entering.values()) for a, b in one.comparisons()
        ]
        return [self._question(one.flows(a, b)) for one, a, b in self._asked]

    def _question(self, flows: tuple[Flow, Flow]) -> Question:
        # Acknowledgements cross the same groups the other way, where they would be slowed down by other messages.
        return Question(flows, frozenset(group for flow in flows for _, group in self._crossed(*flow)))

    def _crossed(self, a: str, b: str) -> Iterator[tuple[str, Group]]:
        for group in self._groups:
            if (a in group) != (b in group):
                yield ("leave" if a in group else "enter"), group

    def take(self, answers: Sequence[Answer]) -> None:
        """Take the answers to the questions."""
        for (one, a, b), answer in zip(self._asked, answers, strict=True):
            one.take(a, b, shared=answer.shared)
            if answer.shared:
                self._sharing.append((one, answer))

    def links(self, a: str, b: str) -> tuple[str, ...]:
        """Return the links of groups on the way from a to b that messages to several hosts share."""
        shown = self.shown
        return tuple(name for name in self._names(a, b) if name in shown)

    def _names(self, a: str, b: str) -> Iterator[str]:
        for what, group in self._crossed(a, b):
            one = (self._leaving if what == "leave" else self._entering).get(group)
            if one is not None and (home := one.class_of(b)) is not None:
                yield f"{one.name} to {one.classes[home][0]}"

    def unresolved(self) -> int:
        """Return 0: where destinations differ, their classes are found."""
        return 0

    def _compare_leaving(self, group: Group) -> _Classes | None:
        """Return the destinations outside a group; None if one host alone leaves it."""
        parts = self._parts(group)
        outside = self._mixed([host for host in self._hosts if host not in group])
        if len(parts) < 2 or len(outside) < 2:
            return None
        strict = any(self._meet(a, b) >= group for a, b in combinations(outside, 2))

        def comparable(a: str, b: str) -> bool:
            return a != b and (not strict or self._meet(a, b) >= group)

        first, second = parts[0], parts[1]
        return _Classes(f"up {self._name(group)}", outside, lambda a, b: ((first, a), (second, b)), comparable)

    def _compare_entering(self, group: Group) -> _Classes | None:
        """Return the destinations in a group; None if all come from one other group, whose links they share."""
        parts = self._parts(group)
        outside = [host for host in self._hosts if host not in group]
        sources = next(((a, b) for a, b in combinations(outside, 2) if self._meet(a, b) >= group), None)
        if len(parts) < 2 or sources is None:
            return None
        inside = [host for host in self._hosts if host in group]

        def comparable(a: str, b: str) -> bool:
            return a != b and self._meet(a, b) >= group

        first, second = sources
        return _Classes(f"down {self._name(group)}", inside, lambda a, b: ((first, a), (second, b)), comparable)

    def _name(self, group: Group) -> str:
        members = [host for host in self._hosts if host in group]
        return f"{members[0]}..{members[-1]}"

    def _meet(self, a: str, b: str) -> Group:
        """Return the smallest group that holds two hosts."""
        holding = [group for group in self._groups if a in group and b in group]
        return min(holding, key=len, default=frozenset(self._hosts))

    def _parts(self, group: Group) -> list[str]:
        """Return a host of each largest part of a group."""
        inner = [one for one in self._groups if one < group]
        largest = [one for one in inner if not any(one < other for other in inner)]
        single = [host for host in self._hosts if host in group and not any(host in one for one in largest)]
        first = [next(host for host in self._hosts if host in one) for one in largest]
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
    found: dict[Group, None] = {}
    for kind in range(distances.count - 1):
        near = distances.kind <= kind
        for row in near:
            group = frozenset(host for host, is_near in zip(distances.hosts, row, strict=True) if is_near)
            if len(group) > 1:
                found[group] = None
    return sorted(found, key=len)
