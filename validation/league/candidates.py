"""What can be chosen on a platform: which of its clusters to use, and how to place the ranks on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from apps.catalog import Problem
from apps.spec import Target
from platforms.errors import UserError
from platforms.placement import MAPPINGS
from platforms.platform import Cluster, Platform

MOST_CLUSTERS = 8  # 255 subsets


@dataclass(frozen=True)
class Candidate:
    """A target that could be chosen."""

    target: Target
    mapping: str


def candidates(
    platform: Platform, problems: Sequence[Problem], mappings: Sequence[str], *, own_grids: bool
) -> Iterator[Candidate]:
    """Every problem on every non-empty subset of the clusters with every mapping, one rank on each host of the subset.

    ``own_grids``: to a predictor a subset is a platform of those clusters, so that it is probed by itself; else it is a
    placement on the whole platform, whose probe serves all.  Raises UserError for more than MOST_CLUSTERS clusters.
    """
    number = len(platform.clusters)
    if number > MOST_CLUSTERS:
        many = f"{number} clusters have {2**number - 1:,} subsets"
        raise UserError(f"platform {platform.name}", many, f"Join clusters, so that at most {MOST_CLUSTERS} are left")
    for subset in subsets(platform.clusters):
        part = replace(platform, clusters=subset)  # the machine is the same, and so are runs on these hosts
        for mapping in mappings:
            placement = MAPPINGS[mapping](part, len(part.hosts))
            for problem in problems:
                yield Candidate(Target(problem, part if own_grids else platform, placement), mapping)


def subsets(clusters: Sequence[Cluster]) -> Iterator[tuple[Cluster, ...]]:
    """All but the empty one, the smallest first."""
    for size in range(1, len(clusters) + 1):
        yield from combinations(clusters, size)
