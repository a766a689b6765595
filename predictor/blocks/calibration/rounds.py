"""What a collective sends: which messages wait for each other, how many meet at the busiest places, how large they are.

The algorithms are those of SMPI's selector ``default`` (SimGrid's manual, "Simulating MPI applications").  A round is
a set of messages that are under way together.  A path is a chain of rounds that wait for each other; a collective takes
as long as its longest path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Load:
    """How many messages of a round meet at the busiest places."""

    node: int  # sent by one process, or received by one
    cluster: int  # crossing the network of one cluster: those within it, and those that leave or enter it
    between: int  # crossing what joins one pair of clusters, both directions together


@dataclass(frozen=True)
class Round:
    """Messages of equal size that are under way together, and which of them are waited for.

    Without ``near`` that is all of them.
    """

    blocks: int  # size of each, in blocks of the collective
    all: Load | None  # where some stay within a cluster: of all messages; else None
    far: Load | None  # where some go between clusters: of those alone; else None
    near: Load | None = None  # of those within a cluster alone, where these are waited for and others go between


@dataclass(frozen=True)
class Paths:
    """Chains of rounds: ``counts[p, r]`` times round r in path p."""

    rounds: tuple[Round, ...]
    counts: np.ndarray  # paths x rounds

    @classmethod
    def of(cls, chains: Sequence[Sequence[Round]]) -> Paths:
        """Equal rounds, and equal chains, once."""
        rounds = tuple(dict.fromkeys(one for chain in chains for one in chain))
        place = {one: i for i, one in enumerate(rounds)}
        counts = np.zeros((len(chains), len(rounds)))
        for row, chain in zip(counts, chains, strict=True):
            for one in chain:
                row[place[one]] += 1
        return cls(rounds, np.unique(counts, axis=0))


def bcast_binomial(cluster: np.ndarray, held: bool) -> Paths:
    """Place r passes the vector on to r + 2^k, largest k first.

    ``held``: a sender waits until a message has come before it begins the next, and messages of equal reach are under
    way together; else it sends to all its children at once, and so do all of its generation.
    """
    P = len(cluster)
    place = np.arange(1, P)
    place = place[np.argsort(-(place & -place), kind="stable")]  # in the order in which they are sent to
    reach = place & -place  # the lowest bit: by that a place is reached
    parent = place - reach
    together = -reach if held else np.array([one.bit_count() for one in place.tolist()])
    distant = cluster[parent] != cluster[place]
    children, far_children = np.bincount(parent), np.bincount(parent, distant).astype(int)
    loads = {
        int(when): _load(parent[together == when], place[together == when], cluster) for when in np.unique(together)
    }
    chains: list[list[Round]] = [[] for _ in range(P)]
    for r, p, when, is_far in zip(place.tolist(), parent.tolist(), together.tolist(), distant.tolist(), strict=True):
        sent, sent_far = (1, int(is_far)) if held else (int(children[p]), int(far_children[p]))
        chains[r] = [*chains[p], _hop(is_far, sent, sent_far, loads[when])]
        if held:
            chains[p] = chains[r]  # it goes on sending, with the next shorter reach, when this has come
    return Paths.of(chains[1:])


def _hop(is_far: bool, sent: int, sent_far: int, generation: Load) -> Round:
    """A message to one child, whose parent sends so many at once, so many of them to other clusters."""

    def load(messages: int) -> Load | None:
        return Load(messages, generation.cluster, generation.between) if messages else None

    near = sent - sent_far
    if is_far:
        return Round(1, load(sent) if near else None, load(sent_far))
    return Round(1, load(sent), None, load(near) if sent_far else None)


def from_root(cluster: np.ndarray, held: bool) -> Paths:
    """The root sends to everybody at once: scatter."""
    others = np.arange(1, len(cluster))
    return Paths.of([[_round(np.zeros_like(others), others, cluster)]])


def to_root(cluster: np.ndarray, held: bool) -> Paths:
    """Everybody sends to the root at once: gather."""
    others = np.arange(1, len(cluster))
    return Paths.of([[_round(others, np.zeros_like(others), cluster)]])


def barrier_linear(cluster: np.ndarray, held: bool) -> Paths:
    """All tell the root, then the root tells all."""
    return Paths.of([[*to_root(cluster, held).rounds, *from_root(cluster, held).rounds]])


def alltoall_linear(cluster: np.ndarray, held: bool) -> Paths:
    """Everybody sends to everybody at once."""
    P = len(cluster)
    source, destination = np.divmod(np.arange(P * P), P)
    other = source != destination
    return Paths.of([[_round(source[other], destination[other], cluster)]])


def alltoall_bruck(cluster: np.ndarray, held: bool) -> Paths:
    """In round k everybody sends the blocks whose number has bit k to the one 2^k further: log2 P rounds."""
    P = len(cluster)
    rank, rounds, reach = np.arange(P), [], 1
    while reach < P:
        blocks = int(np.count_nonzero(rank & reach))
        rounds.append(_round(rank, (rank + reach) % P, cluster, blocks))
        reach *= 2
    return Paths.of([rounds])


def alltoall_pairwise(cluster: np.ndarray, held: bool) -> Paths:
    """In round k ranks r and r xor k exchange blocks; for powers of two."""
    rank = np.arange(len(cluster))
    return Paths.of([[_round(rank, rank ^ step, cluster) for step in range(1, len(cluster))]])


Algorithm = Callable[[np.ndarray, bool], Paths]  # cluster of each process, are senders held -> paths

# By the name of the shape that it has.
ALGORITHMS: dict[str, Algorithm] = {
    "bcast-binomial": bcast_binomial,
    "scatter-linear": from_root,
    "gather-linear": to_root,
    "barrier-linear": barrier_linear,
    "alltoall-linear": alltoall_linear,
    "alltoall-bruck": alltoall_bruck,
    "alltoall-pairwise": alltoall_pairwise,
}


def _round(source: np.ndarray, destination: np.ndarray, cluster: np.ndarray, blocks: int = 1) -> Round:
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
