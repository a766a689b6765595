"""The work of a process as a function of the size of the problem N and the number of nodes P.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments": "problem size and number of nodes are input to the model" (abstract).  The paper does not say
which functions it fits; those here are this project's own: q(N, P) = g(P) (N / N_0)^x, with g fitted to the largest
recorded size N_0 as in predictor.graph.scaling, and the exponent x to the sizes recorded on equal numbers of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from predictor.graph.scaling import Curve, MessageKind, Process, Work

Works = Mapping[tuple[int, int], Work]  # by N and number of nodes


@dataclass(frozen=True)
class Surface:
    """A quantity as a function of N and P: the curve at N = ``size``, times (N / size)^exponent."""

    curve: Curve
    size: int
    exponent: float

    @classmethod
    def fit(cls, values: Mapping[tuple[int, int], float], *, power: bool = False) -> Surface:
        """Return the fit to values by N and P.

        The exponent is the mean, over the numbers of nodes with several sizes, of the slope of log q over log N.

        Args:
            values: The values; at least one.
            power: The curve is a power of P.
        """
        largest = max(N for N, _ in values)
        nodes = sorted(P for N, P in values if largest == N)
        at_largest = [values[largest, P] for P in nodes]
        curve = Curve.fit_power(nodes, at_largest) if power else Curve.fit(nodes, at_largest)
        slopes = []
        for P in nodes:
            known = sorted((N, value) for (N, on), value in values.items() if on == P and value > 0)
            if len(known) > 1:
                N, q = np.log(np.array(known, float)).T
                slopes.append(float(np.polyfit(N, q, 1)[0]))
        return cls(curve, largest, float(np.mean(slopes)) if slopes else 0.0)

    def value(self, N: float, P: int) -> float:
        """Return the quantity, at least 0."""
        return max(0.0, self.curve.value(P)) * float((N / self.size) ** self.exponent)


def counterpart(rank: int, ranks: int, recorded: int) -> int:
    """Return the process of a run on ``recorded`` nodes that has the same relative place as one among ``ranks``.

    >>> [counterpart(rank, 8, 4) for rank in range(8)]
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    return min(recorded - 1, rank * recorded // ranks)


def process_at(works: Works, N: float, rank: int, ranks: int) -> Process:
    """Return the work of a process on a problem of size N, fitted to its counterparts in the recorded runs.

    Args:
        works: The recorded work; of two sizes at least on one number of nodes.
        N: Size of the problem.
        rank: The process.
        ranks: Number of processes.
    """
    processes = {(M, P): work.processes[counterpart(rank, ranks, P)] for (M, P), work in works.items()}
    flops = Surface.fit({at: process.flops for at, process in processes.items()}).value(N, ranks)
    messages, mean_bytes = dict[MessageKind, float](), dict[MessageKind, float]()
    for kind in dict.fromkeys(kind for process in processes.values() for kind in process.messages):
        count = Surface.fit({at: process.messages.get(kind, 0.0) for at, process in processes.items()}).value(N, ranks)
        having = {at: process.mean_bytes[kind] for at, process in processes.items() if kind in process.mean_bytes}
        if count > 0:
            messages[kind], mean_bytes[kind] = count, Surface.fit(having, power=True).value(N, ranks)
    return Process(flops, messages, mean_bytes)


def partner_shares(sent_bytes: np.ndarray, rank: int, groups: Sequence[str]) -> dict[str, float]:
    """Return the share of a process's bytes that goes to the processes of each group.

    Args:
        sent_bytes: Recorded bytes by sender and receiver, on a number of nodes of its own; those that a process sends
            to itself do not count.
        rank: The process.
        groups: The group of each process to predict, such as its cluster.
    """
    ranks, recorded = len(groups), len(sent_bytes)
    row = sent_bytes[counterpart(rank, ranks, recorded)]
    shares: dict[str, float] = {}
    for other in range(ranks):
        if other != rank:
            weight = float(row[counterpart(other, ranks, recorded)])
            shares[groups[other]] = shares.get(groups[other], 0.0) + weight
    total = sum(shares.values())
    if total <= 0:
        return {groups[rank]: 1.0}
    return {group: weight / total for group, weight in shares.items()}
