"""Questions to a network: do these messages, sent at the same moment, share a link?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

SLOWED = 1.15  # a message that takes this many times its time alone has shared a link

Flow = tuple[str, str]  # from host to host


@dataclass(frozen=True)
class SharingExperiment:
    """Messages that are sent at the same moment.

    Two questions that touch nothing in common can be put to the network at the same moment.
    """

    flows: tuple[Flow, ...]
    touches: frozenset[Hashable]  # the parts of the network that the messages may use


@dataclass(frozen=True)
class SharingTimes:
    """The times of a question's messages."""

    question: SharingExperiment
    times_s: tuple[float, ...]
    slower: tuple[float, ...]  # times relative to those of the messages alone

    @property
    def shared(self) -> bool:
        """Some message was slowed down."""
        return max(self.slower) > SLOWED


@dataclass(frozen=True)
class SharedCapacity:
    """Two messages that share a link and thereby show its capacity."""

    flows: tuple[Flow, Flow]
    times_s: tuple[float, float]


class Structure(Protocol):
    """The links between the hosts of a cluster, as far as the answers so far show them."""

    latencies: float  # its messages are to take longer than this multiple of the largest latency

    def shown(self) -> dict[str, SharedCapacity]:
        """Return two messages that share it for each link over which two were sent."""

    def questions(self) -> list[SharingExperiment]:
        """Return the next questions; none if the links are known."""

    def take(self, answers: Sequence[SharingTimes]) -> None:
        """Take the answers to the questions."""

    def links(self, a: str, b: str) -> tuple[str, ...]:
        """Return the links on the way from host a to host b that other hosts' messages use too."""

    def unresolved(self) -> int:
        """Return the number of pairs of hosts whose way could not be found."""


def packed(questions: Iterable[SharingExperiment]) -> list[list[SharingExperiment]]:
    """Return the questions in sets that can be put to the network at the same moment.

    The hosts of a set send at most one message and receive at most one, and no two hosts send to each other: MPI keeps
    the order of messages between two hosts, so that an answer would wait for a message before it.
    """
    sets: list[tuple[set[Hashable], list[SharingExperiment]]] = []
    for question in questions:
        ends = {("from", a) for a, _ in question.flows} | {("to", b) for _, b in question.flows}
        needs = set(question.touches) | ends | {frozenset(flow) for flow in question.flows}
        for touched, members in sets:
            if touched.isdisjoint(needs):
                touched |= needs
                members.append(question)
                break
        else:
            sets.append((needs, [question]))
    return [members for _, members in sets]
