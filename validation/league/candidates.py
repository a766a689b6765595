"""Candidates of a choice on a platform: the clusters to use and the mapping of the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from apps.programs.problem import Problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import MAPPINGS
from platforms.model.platform import Cluster, Platform
from validation.series.case import Case

MOST_CLUSTERS = 8  # they have 255 subsets


def candidates(
    platform: Platform, problems: Sequence[Problem], mappings: Sequence[str], settings: Settings, *, own_grids: bool
) -> Iterator[Case]:
    """Yield every problem on every non-empty subset of the clusters with every mapping, one rank per host.

    Args:
        platform: The whole platform.
        problems: The problems to run.
        mappings: Names of mappings.
        settings: Settings of the runs.
        own_grids: Make each subset a platform of its own for the predictors, so that it has its own probe; otherwise a
            subset is a placement on the whole platform, and one probe serves all subsets.

    Raises:
        UserError: The platform has more than MOST_CLUSTERS clusters.
    """
    number = len(platform.clusters)
    if number > MOST_CLUSTERS:
        many = f"{number} clusters have {2**number - 1:,} subsets"
        raise UserError(f"platform {platform.name}", many, f"Join clusters, so that at most {MOST_CLUSTERS} are left")
    for subset in subsets(platform.clusters):
        part = replace(platform, clusters=subset)  # the SimGrid platform is the same, so runs on these hosts are too
        for mapping in mappings:
            placement = MAPPINGS[mapping](part, len(part.hosts))
            for problem in problems:
                yield Case(Target(problem, part if own_grids else platform, placement), mapping, settings)


def subsets(clusters: Sequence[Cluster]) -> Iterator[tuple[Cluster, ...]]:
    """Yield all non-empty subsets, the smallest first."""
    for size in range(1, len(clusters) + 1):
        yield from combinations(clusters, size)
