"""Messages of collectives: which of them wait for each other, how many share the busiest resources, and their sizes.

The algorithms are those of apps/traffic/collectives.py, which dpgraph and the graph of blocks use too.  A round is
a set of messages that are in flight together.  A path is a chain of rounds of which each waits for the previous one; a
collective takes as long as its longest path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.recording.events import Op
from apps.traffic.collectives import ALGORITHMS, Call


@dataclass(frozen=True)
class Load:
    """Numbers of messages of a round at the busiest places."""

    node: int  # messages that one process sends, or that one process receives
    cluster: int  # messages that cross the network of one cluster: those within it, and those that leave or enter it
    between: int  # messages that cross the link between one pair of clusters, both directions together


@dataclass(frozen=True)
class Round:
    """Messages of equal size that are in flight together.  The next round waits for all of them if ``near`` is None."""

    blocks: int  # size of each message, in blocks of the collective
    all: Load | None  # load of all messages; None: no message stays within a cluster
    far: Load | None  # load of the messages between clusters; None: there are none
    near: Load | None = None  # load of the messages within a cluster, if only these are waited for


@dataclass(frozen=True)
class Paths:
    """Chains of rounds; path p has round r ``counts[p, r]`` times."""

    rounds: tuple[Round, ...]
    counts: np.ndarray  # paths x rounds

    @classmethod
    def of(cls, chains: Sequence[Sequence[Round]]) -> Paths:
        """Return the paths of these chains, without duplicates of rounds and chains."""
        rounds = tuple(dict.fromkeys(round_of_chain for chain in chains for round_of_chain in chain))
        place = {round_of_chain: i for i, round_of_chain in enumerate(rounds)}
        counts = np.zeros((len(chains), len(rounds)))
        for row, chain in zip(counts, chains, strict=True):
            for round_of_chain in chain:
                row[place[round_of_chain]] += 1
        return cls(rounds, np.unique(counts, axis=0))


def paths(name: str, cluster: np.ndarray, held: bool) -> Paths:
    """Return the paths of an algorithm.

    Args:
        name: A key of apps.traffic.collectives.ALGORITHMS.
        cluster: The cluster of each process.
        held: Whether the sender of a broadcast waits until a message has arrived before it begins the next one.
    """
    step, source, destination, blocks = _messages(name, len(cluster))
    if name == "bcast-binomial":
        return _tree(source, destination, cluster, held)
    each = [step == number for number in np.unique(step)]
    return Paths.of([[_round(source[here], destination[here], cluster, int(blocks[here][0])) for here in each]])


def _messages(name: str, processes: int) -> np.ndarray:
    """Return the messages: the sender's step, sender, receiver and size in blocks (4 x messages)."""
    messages = [
        (number, rank, partner, blocks)
        for rank in range(processes)
        for number, message in enumerate(ALGORITHMS[name](Call(Op.ALLTOALL, rank, processes, 0, 1, ())))
        for is_send, partner, blocks in message.operations
        if is_send
    ]
    columns = np.array(messages, int).reshape(-1, 4).T
    columns[3] = np.maximum(columns[3], 1)  # a barrier's messages are empty
    return columns


def _tree(parent: np.ndarray, place: np.ndarray, cluster: np.ndarray, held: bool) -> Paths:
    """Return the paths of a broadcast in which each process sends to its children, the farthest first.

    If senders are held, messages of equal reach are in flight together.  Otherwise a sender sends to all its children
    at once, and so do all senders of its generation.
    """
    order = np.argsort(parent - place, kind="stable")  # in the order in which the vector reaches them
    parent, place = parent[order], place[order]
    together = parent - place if held else np.array([rank.bit_count() for rank in place.tolist()])
    distant = cluster[parent] != cluster[place]
    children, far_children = np.bincount(parent), np.bincount(parent, distant).astype(int)
    loads = {
        int(when): _load(parent[together == when], place[together == when], cluster) for when in np.unique(together)
    }
    chains: list[list[Round]] = [[] for _ in cluster]
    for r, p, when, is_far in zip(place.tolist(), parent.tolist(), together.tolist(), distant.tolist(), strict=True):
        sent, sent_far = (1, int(is_far)) if held else (int(children[p]), int(far_children[p]))
        chains[r] = [*chains[p], _hop(is_far, sent, sent_far, loads[when])]
        if held:
            chains[p] = chains[r]  # the parent sends the next message, of shorter reach, when this one has arrived
    return Paths.of(chains[1:])


def _hop(is_far: bool, sent: int, sent_far: int, generation: Load) -> Round:
    """Return the round of a message to one child; its parent sends ``sent`` at once, ``sent_far`` to other clusters."""

    def load(messages: int) -> Load | None:
        return Load(messages, generation.cluster, generation.between) if messages else None

    near = sent - sent_far
    if is_far:
        return Round(1, load(sent) if near else None, load(sent_far))
    return Round(1, load(sent), None, load(near) if sent_far else None)


def _round(source: np.ndarray, destination: np.ndarray, cluster: np.ndarray, blocks: int) -> Round:
    far = cluster[source] != cluster[destination]
    return Round(
        blocks,
        None if far.all() else _load(source, destination, cluster),
        _load(source[far], destination[far], cluster) if far.any() else None,
    )


def _load(source: np.ndarray, destination: np.ndarray, cluster: np.ndarray) -> Load:
    here, there = cluster[source], cluster[destination]
    far = here != there
    crossing = np.bincount(np.concatenate([here, there[far]]))
    pairs = np.minimum(here, there)[far] * (cluster.max() + 1) + np.maximum(here, there)[far]
    return Load(
        int(max(np.bincount(source).max(), np.bincount(destination).max())),
        int(crossing.max()),
        int(np.bincount(pairs).max()) if len(pairs) else 0,
    )
