"""Messages of collectives: which of them wait for each other, how many share the busiest resources, and their sizes.

The algorithms are those of SMPI's selector ``default`` (SimGrid's manual, "Simulating MPI applications").  A round is
a set of messages that are in flight together.  A path is a chain of rounds of which each waits for the previous one; a
collective takes as long as its longest path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


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
        rounds = tuple(dict.fromkeys(one for chain in chains for one in chain))
        place = {one: i for i, one in enumerate(rounds)}
        counts = np.zeros((len(chains), len(rounds)))
        for row, chain in zip(counts, chains, strict=True):
            for one in chain:
                row[place[one]] += 1
        return cls(rounds, np.unique(counts, axis=0))


def bcast_binomial(cluster: np.ndarray, held: bool) -> Paths:
    """Return the paths of a broadcast in which place r passes the vector on to r + 2^k, largest k first.

    If ``held`` is true, a sender waits until a message has arrived before it begins the next one, and messages of equal
    reach 2^k are in flight together.  Otherwise a sender sends to all its children at once, and so do all senders of
    its generation.
    """
    P = len(cluster)
    place = np.arange(1, P)
    place = place[np.argsort(-(place & -place), kind="stable")]  # in the order in which the vector reaches them
    reach = place & -place  # distance to the parent: the lowest bit of the place
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


def from_root(cluster: np.ndarray, held: bool) -> Paths:
    """Return the path of a scatter: the root sends to all others at once."""
    others = np.arange(1, len(cluster))
    return Paths.of([[_round(np.zeros_like(others), others, cluster)]])


def to_root(cluster: np.ndarray, held: bool) -> Paths:
    """Return the path of a gather: all others send to the root at once."""
    others = np.arange(1, len(cluster))
    return Paths.of([[_round(others, np.zeros_like(others), cluster)]])


def barrier_linear(cluster: np.ndarray, held: bool) -> Paths:
    """Return the path of a barrier: all others send to the root, then the root sends to all others."""
    return Paths.of([[*to_root(cluster, held).rounds, *from_root(cluster, held).rounds]])


def alltoall_linear(cluster: np.ndarray, held: bool) -> Paths:
    """Return the path of an all-to-all in which every process sends to every other process at once."""
    P = len(cluster)
    source, destination = np.divmod(np.arange(P * P), P)
    other = source != destination
    return Paths.of([[_round(source[other], destination[other], cluster)]])


def alltoall_bruck(cluster: np.ndarray, held: bool) -> Paths:
    """Return the path of Bruck's all-to-all.

    In round k each of the P processes sends the blocks whose number has bit k set to the process 2^k further, so that
    there are log2 P rounds.
    """
    P = len(cluster)
    rank, rounds, reach = np.arange(P), [], 1
    while reach < P:
        blocks = int(np.count_nonzero(rank & reach))
        rounds.append(_round(rank, (rank + reach) % P, cluster, blocks))
        reach *= 2
    return Paths.of([rounds])


def alltoall_pairwise(cluster: np.ndarray, held: bool) -> Paths:
    """Return the path of the pairwise all-to-all: in round k ranks r and r xor k exchange blocks; P a power of two."""
    rank = np.arange(len(cluster))
    return Paths.of([[_round(rank, rank ^ step, cluster) for step in range(1, len(cluster))]])


Algorithm = Callable[[np.ndarray, bool], Paths]  # (cluster of each process, whether senders are held) -> paths

# Algorithms by the names of their shapes.
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
