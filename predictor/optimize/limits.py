"""How many nodes and processes a search may use where nobody says."""

from __future__ import annotations

from platforms.platform import Platform
from predictor.npt.configuration import Limits
from predictor.npt.sizes import paper_sizes

PAPER_SCENARIOS = ("ichikawa", "ichikawa-two-switches")  # the NP-T paper's cluster, with one switch and with two


def default_limits(app: str, platform: Platform, scenario: str | None) -> Limits:
    """The paper's for its benchmarks on its cluster; else all nodes, two processes on each but on the slowest.

    ``scenario``: the name that the platform was made from; None: a file.
    """
    clusters, paper = platform.clusters, paper_sizes().get(app)
    if paper is not None and scenario in PAPER_SCENARIOS and _has(platform, paper.limits):
        return paper.limits
    slowest = min(cluster.speed_flops for cluster in clusters)
    return Limits(
        tuple(len(cluster.hosts) for cluster in clusters),
        tuple(1 if cluster.speed_flops == slowest else 2 for cluster in clusters),
    )


def _has(platform: Platform, limits: Limits) -> bool:
    """Whether there are as many clusters and nodes."""
    nodes = [len(cluster.hosts) for cluster in platform.clusters]
    return len(nodes) == limits.sub_clusters and all(
        most <= there for most, there in zip(limits.pes, nodes, strict=True)
    )
