"""Runs of the target's problem on some of its nodes, the same number from every cluster, which keeps the mix.

The nodes of the target are listed in rounds, one node of each cluster per round.  A smaller run takes the first n nodes
of the list, with the ranks that the target has on them, in the target's order.  After each full round every cluster has
given the same number of nodes, or all that the target uses of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest

from apps.errors import KernelError
from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import runs_on
from predictor.base import EvidenceRequest, OutOfRange

FEW = range(2, 4)  # numbers of points, for laws with two coefficients
USUAL_SHARE, LARGEST_SHARE = 0.5, 0.75  # of the target's nodes; a larger run costs nearly as much as the target's


def smaller_runs(target: Target, points: range, *, predictor: str) -> list[EvidenceRequest]:
    """Return requests for runs on smaller numbers of nodes, ascending.

    There are as many runs as the largest of ``points``, or as many as are possible.  Every cluster takes part in each
    run, and each run has at least two nodes.  The numbers of nodes are full rounds, evenly spread up to half of the
    target's nodes.  If these are too few, they go up to three quarters of the nodes; if these are too few as well,
    other numbers between them are added, as far from their neighbours as possible.

    Args:
        target: The target.
        points: Allowed numbers of runs.
        predictor: Name of the predictor, for the error.

    Raises:
        OutOfRange: There are fewer runs than the smallest of ``points``.
    """
    return [EvidenceRequest("run", part(target, nodes)) for nodes in sizes(target, points, predictor=predictor)]


def sizes(target: Target, points: range, *, predictor: str) -> tuple[int, ...]:
    """Return the numbers of nodes of ``smaller_runs``.

    Raises:
        OutOfRange: There are fewer than the smallest of ``points``.
    """
    least, most = points.start, points.stop - 1
    counts, ranks = _counts(target), _ranks(target)
    nodes = sum(counts)
    smallest, largest = max(2, len(counts)), int(LARGEST_SHARE * nodes)

    def possible(numbers: Iterable[int]) -> list[int]:
        return [n for n in numbers if smallest <= n <= largest and _allows(target.problem, ranks[n])]

    full = [sum(min(k, count) for count in counts) for k in range(1, max(counts))]
    rounds = possible(full)
    for share in (USUAL_SHARE, LARGEST_SHARE):
        small = [n for n in rounds if n <= share * nodes]
        if len(small) >= most:
            return tuple(small[i * (len(small) - 1) // (most - 1)] for i in range(most))
    others = possible(sorted(set(range(largest + 1)) - set(full)))
    count = len(rounds) + len(others)
    if count < least:
        raise OutOfRange(
            f"{predictor}, {target.problem} on {nodes} nodes of {target.platform.name}",
            f"it needs runs on {least} numbers of nodes of at most {largest} on which every cluster takes part, and "
            f"there {'is' if count == 1 else 'are'} {count or 'none'}",
            "Use more nodes, or a predictor that needs no smaller runs",
        )
    return tuple(sorted(_filled(rounds, others, most)))


def part(target: Target, nodes: int) -> Target:
    """Return the target's problem on the first ``nodes`` nodes of the rounds."""
    kept = set(_dealt(target)[:nodes])
    return Target(target.problem, target.platform, tuple(host for host in target.placement if host in kept))


def _filled(rounds: Sequence[int], others: Sequence[int], wanted: int) -> list[int]:
    """Return ``rounds`` with as many of ``others`` as are missing, each as far as possible from the numbers so far."""
    chosen, left = list(rounds), list(others)
    while left and len(chosen) < wanted:
        best = max(left, key=lambda n: (min((abs(n - there) for there in chosen), default=0), -n))
        chosen.append(best)
        left.remove(best)
    return chosen


def _dealt(target: Target) -> list[str]:
    """Return the target's nodes, one of each cluster in turn; within a cluster in the order of the ranks."""
    by_cluster: dict[str, list[str]] = {}
    for host in dict.fromkeys(target.placement):
        by_cluster.setdefault(target.platform.cluster_of(host).name, []).append(host)
    rounds = zip_longest(*by_cluster.values())
    return [host for turn in rounds for host in turn if host is not None]


def _counts(target: Target) -> list[int]:
    """Return the number of nodes in use of each cluster in use."""
    return list(Counter(target.platform.cluster_of(host).name for host in set(target.placement)).values())


def _ranks(target: Target) -> list[int]:
    """Return the number of ranks on the first n nodes of the rounds, by n."""
    on_host = Counter(target.placement)
    return list(accumulate((on_host[host] for host in _dealt(target)), initial=0))


def _allows(problem: Problem, ranks: int) -> bool:
    """Return whether the problem runs on this number of ranks and its number of iterations is known."""
    if not runs_on(problem, ranks):
        return False
    try:
        problem.iterations_on(ranks)
    except KernelError:  # no run with arithmetic has given the number of iterations
        return False
    return True


def time_flags(time_s: float) -> tuple[str, ...]:
    """Return a flag for a predicted time that is not positive and finite."""
    if 0 < time_s < math.inf:
        return ()
    return (f"the predicted time is {time_s:.4g} s: the law is not valid this far from the measured runs",)


def extrapolation_flags(target: Target, ranks: Sequence[int]) -> tuple[str, ...]:
    """Return a flag with the ratio of the target's number of ranks to the largest measured one."""
    measured = ", ".join(map(str, sorted(ranks)))
    return (f"P = {target.nranks} is {target.nranks / max(ranks):.3g} times the largest measured one ({measured})",)
