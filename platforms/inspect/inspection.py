"""What there is to say of a platform."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.inspect.connections import Connection, connections, groups_of
from platforms.inspect.notes import Note, notes
from platforms.inspect.survey import Survey, survey
from platforms.platform import Cluster, Platform


@dataclass(frozen=True)
class Inspection:
    """A platform, with what a sample of its routes says."""

    platform: Platform
    survey: Survey
    between: dict[tuple[str, str], Connection]  # within and between clusters
    notes: tuple[Note, ...]


def inspect(platform: Platform) -> Inspection:
    """Raises PlatformError for what SimGrid cannot load."""
    looked_at = survey(platform)
    clusters = groups_of(platform, looked_at, len(platform.clusters))
    between = connections(clusters, looked_at)
    return Inspection(platform, looked_at, between, tuple(notes(platform, looked_at, between)))


def zones_of(cluster: Cluster, looked_at: Survey) -> list[str]:
    """The names of the zones that hold its hosts, each once."""
    return list(dict.fromkeys(looked_at.path_of_host[host.name][-1] for host in cluster.hosts))
