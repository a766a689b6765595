"""Runs of a target's own problem on a part of its nodes: the same number of every cluster, so that the mix remains.

The nodes of the target are dealt in turn, one of each cluster that it uses, again and again; a smaller run takes the
first n of them, with the ranks that the target has there, in the target's order.  After each full round every cluster
has given the same number, or all that the target uses of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest

from apps.catalog import Problem
from apps.errors import KernelError
from apps.spec import Target
from predictor.base import EvidenceRequest, OutOfRange
from predictor.npt.nas import NAS, nas_fits

FEW = range(2, 4)  # points, for laws of two numbers
USUAL_SHARE, LARGEST_SHARE = 0.5, 0.75  # of the target's nodes: beyond, the run itself is nearly as cheap


def smaller_runs(target: Target, points: range, *, predictor: str) -> list[EvidenceRequest]:
    """Runs on smaller numbers of nodes, ascending: as many as the largest of ``points``, or all that there are.

    On each of them every cluster takes part, and there are at least two nodes.  They are full rounds, evenly spread up
    to half of the target's nodes; where those are too few, up to three quarters; where these are, too, other numbers
    between them, as far from their neighbours as may be.  Raises OutOfRange where there are fewer than the smallest of
    ``points``; ``predictor``: who says so.
    """
    return [EvidenceRequest("run", part(target, nodes)) for nodes in sizes(target, points, predictor=predictor)]


def sizes(target: Target, points: range, *, predictor: str) -> tuple[int, ...]:
    """The numbers of nodes of ``smaller_runs``."""
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
            f"it takes runs on {least} numbers of nodes of at most {largest} on which every cluster takes part, and "
            f"there {'is' if count == 1 else 'are'} {count or 'none'}",
            "Use more nodes, or a predictor that needs no smaller runs",
        )
    return tuple(sorted(_filled(rounds, others, most)))


def part(target: Target, nodes: int) -> Target:
    """The target's problem on the first ``nodes`` of its nodes, as they are dealt."""
    kept = set(_dealt(target)[:nodes])
    return Target(target.problem, target.platform, tuple(host for host in target.placement if host in kept))


def _filled(rounds: Sequence[int], others: Sequence[int], wanted: int) -> list[int]:
    """``rounds`` and as many of ``others`` as are missing, each as far from what is there as may be."""
    chosen, left = list(rounds), list(others)
    while left and len(chosen) < wanted:
        best = max(left, key=lambda n: (min((abs(n - there) for there in chosen), default=0), -n))
        chosen.append(best)
        left.remove(best)
    return chosen


def _dealt(target: Target) -> list[str]:
    """The target's nodes, one of each cluster in turn; of a cluster in the order in which the ranks name them."""
    by_cluster: dict[str, list[str]] = {}
    for host in dict.fromkeys(target.placement):
        by_cluster.setdefault(target.platform.cluster_of(host).name, []).append(host)
    rounds = zip_longest(*by_cluster.values())
    return [host for one in rounds for host in one if host is not None]


def _counts(target: Target) -> list[int]:
    """Nodes in use of each cluster in use."""
    return list(Counter(target.platform.cluster_of(host).name for host in set(target.placement)).values())


def _ranks(target: Target) -> list[int]:
    """The number of ranks on the first n nodes, by n."""
    on_host = Counter(target.placement)
    return list(accumulate((on_host[host] for host in _dealt(target)), initial=0))


def _allows(problem: Problem, ranks: int) -> bool:
    """Whether the program runs on so many ranks, and for how many iterations is known."""
    if problem.program is None and problem.app in NAS and not nas_fits(problem, ranks):
        return False
    try:
        problem.iterations_on(ranks)
    except KernelError:  # no run with arithmetic has told
        return False
    return problem.allows(ranks)
