"""Platforms of which some clusters have other hosts: another speed, or other watts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from platforms.errors import PlatformError
from platforms.grids.xml import written_root
from platforms.model.platform import Platform
from platforms.read.read import kept_file, read_platform

if TYPE_CHECKING:
    from lxml.etree import _Element

Change = Callable[["_Element"], None]  # of an element <cluster> or <host>, in place


def with_clusters(platform: Platform, changes: Mapping[str, Change], *, name: str) -> Platform:
    """Return the platform with changed elements of clusters, by their names; the clusters stay the same sets of hosts.

    Args:
        platform: The platform, of which every name is a cluster.
        changes: What changes the <cluster>, or each <host>, of a cluster in the platform's file.
        name: Name of the result in tables.

    Raises:
        PlatformError: The platform is no XML file, or no element of it has the hosts.
    """
    # Imported here for a quick start: it is slow to import.
    from lxml import etree

    where = f"platform {platform.name}"
    if platform.path.suffix != ".xml":
        raise PlatformError(where, "its hosts are not in an XML file", "Use one, or leave the option out")
    root = etree.parse(str(platform.path)).getroot()
    for cluster in platform.clusters:
        if cluster.name not in changes:
            continue
        hosts = {host.name for host in cluster.hosts}
        elements = [one for one in root.iter("cluster") if one.get("id") == cluster.name]
        elements = elements or [one for one in root.iter("host") if one.get("id") in hosts]
        if not elements:
            raise PlatformError(where, f"no element has the hosts of {cluster.name}", "Leave the cluster out")
        for element in elements:
            changes[cluster.name](element)
    changed = read_platform(kept_file(written_root(root)), name)
    clusters = tuple(
        replace(cluster, hosts=tuple(changed.host(host.name) for host in cluster.hosts))
        for cluster in platform.clusters
    )
    return replace(changed, clusters=clusters, network=platform.network)
