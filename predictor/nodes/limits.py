"""Default limits of the nodes and processes that a search may use."""

from __future__ import annotations

from platforms.model.platform import Platform
from predictor.allocation.configuration import Limits
from predictor.allocation.sizes import kernel_sizes

PAPER_SCENARIOS = ("ichikawa", "ichikawa-two-switches")  # the NP-T paper's cluster, with one switch and with two


def default_limits(app: str, platform: Platform, scenario: str | None, *, by_cores: bool = False) -> Limits:
    """Return the default limits of a search.

    For the paper's benchmarks on the paper's cluster they are the paper's limits.  Otherwise they allow all nodes, with
    one process on each of the slowest nodes and two on each of the others.

    Args:
        app: Name of the kernel.
        platform: The platform.
        scenario: Name of the scenario of which the platform was made; None: a platform file.
        by_cores: Allow at least as many processes on a node as it has cores.
    """
    clusters, sizes = platform.clusters, kernel_sizes(app)
    paper = None if sizes is None else sizes.limits
    if paper is not None and scenario in PAPER_SCENARIOS and _has(platform, paper):
        return paper
    slowest = min(cluster.speed_flops for cluster in clusters)
    return Limits(
        tuple(len(cluster.hosts) for cluster in clusters),
        tuple(
            max(cluster.cores if by_cores else 1, 1 if cluster.speed_flops == slowest else 2) for cluster in clusters
        ),
    )


def _has(platform: Platform, limits: Limits) -> bool:
    """Return whether the platform has as many clusters, and at least as many nodes, as the limits."""
    nodes = [len(cluster.hosts) for cluster in platform.clusters]
    return len(nodes) == limits.sub_clusters and all(
        most <= there for most, there in zip(limits.pes, nodes, strict=True)
    )
