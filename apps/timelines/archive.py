"""Timelines in the Open Trace Format 2, which Vampir, Scalasca and otf2-print read: two files and a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import otf2

from apps.timelines.activities import COMPUTATION, DISK, NAMES
from apps.timelines.moments import Change, Moment, moments

if TYPE_CHECKING:
    from apps.timelines.activities import Activities

_TICKS_PER_S = 10**15


def write_archive(activities: Activities, path: Path) -> None:
    """Write an archive, of which ``path`` is the anchor file; nothing of it may exist.

    Regions are the activities, within a region for each iteration; the archive's description names the run.
    """
    with otf2.writer.open(str(path.parent), archive_name=path.stem, timer_resolution=_TICKS_PER_S) as archive:
        archive.description = f"{activities.what}: {activities.scope}"
        writer = _Writer(archive, activities)
        for moment in moments(activities):
            writer.write(moment)


class _Writer:
    """Write moments to an archive."""

    def __init__(self, archive: Any, activities: Activities):
        known = archive.definitions
        self._messages = activities.messages
        root = known.system_tree_node(activities.what, class_name="run")
        clusters = {
            name: known.system_tree_node(name, class_name="cluster", parent=root)
            for name in dict.fromkeys(activities.clusters)
        }
        hosts = {
            host: known.system_tree_node(host, class_name="node", parent=clusters[cluster])
            for host, cluster in dict(zip(activities.hosts, activities.clusters, strict=True)).items()
        }
        locations = []
        for rank, host in enumerate(activities.hosts):
            group = known.location_group(f"rank {rank}", system_tree_parent=hosts[host])
            locations.append(known.location(f"rank {rank} on {host}", group=group))
        self._ranks = [archive.event_writer_from_location(location) for location in locations]
        mpi = {"paradigm": otf2.Paradigm.MPI}
        known.group("locations", group_type=otf2.GroupType.COMM_LOCATIONS, members=tuple(locations), **mpi)
        world = known.group("world", group_type=otf2.GroupType.COMM_GROUP, members=tuple(locations), **mpi)
        self._world = known.comm("world", group=world)
        self._activities = [
            known.region(name, **({"paradigm": otf2.Paradigm.USER} if number in (COMPUTATION, DISK) else mpi))
            for number, name in enumerate(NAMES)
        ]
        self._iterations = [
            known.region(f"iteration {iteration + 1}") for iteration in range(activities.known_iterations)
        ]

    def write(self, moment: Moment) -> None:
        """Write a moment to the events of its rank."""
        ticks, who, value, messages = round(moment.time_s * _TICKS_PER_S), moment.who, moment.value, self._messages
        match moment.change:
            case Change.ACTIVITY_BEGINS:
                self._ranks[who].enter(ticks, self._activities[value])
            case Change.ACTIVITY_ENDS:
                self._ranks[who].leave(ticks, self._activities[value])
            case Change.ITERATION_BEGINS:
                self._ranks[who].enter(ticks, self._iterations[value - 1])
            case Change.ITERATION_ENDS:
                self._ranks[who].leave(ticks, self._iterations[value - 1])
            case Change.SENT:
                source, target = int(messages.source[who]), int(messages.target[who])
                self._ranks[source].mpi_send(
                    ticks, target, self._world, int(messages.tag[who]), int(messages.size_bytes[who])
                )
            case _:
                source, target = int(messages.source[who]), int(messages.target[who])
                self._ranks[target].mpi_recv(
                    ticks, source, self._world, int(messages.tag[who]), int(messages.size_bytes[who])
                )
