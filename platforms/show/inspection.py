"""Collect the description of a platform."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.model.platform import Cluster, Platform
from platforms.show.notes import Note, notes
from platforms.survey.connections import Connection, connections, groups_of
from platforms.survey.survey import Survey, survey


@dataclass(frozen=True)
class Inspection:
    """A platform with the properties of a sample of its routes."""

    platform: Platform
    survey: Survey
    between: dict[tuple[str, str], Connection]  # within and between clusters
    notes: tuple[Note, ...]


def inspect(platform: Platform) -> Inspection:
    """Return the description of a platform.

    Raises:
        PlatformError: SimGrid cannot load the platform.
    """
    looked_at = survey(platform)
    clusters = groups_of(platform, looked_at, len(platform.clusters))
    between = connections(clusters, looked_at)
    return Inspection(platform, looked_at, between, tuple(notes(platform, looked_at, between)))


def zones_of(cluster: Cluster, looked_at: Survey) -> list[str]:
    """Return the names of the zones that directly contain the cluster's hosts, each once."""
    return list(dict.fromkeys(looked_at.path_of_host[host.name][-1] for host in cluster.hosts))
