"""Grouping of hosts into clusters: by the zones of the platform, or by the user's patterns of host names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import count

from platforms.errors import PlatformError, UserError
from platforms.model.platform import Cluster, Host, Platform

LEFT_OUT = "-"  # in place of a cluster's name: the hosts are not used
_COMMAS = re.compile(r",(?![^\[]*\])")  # commas outside the brackets of a pattern
_SHOWN = 3  # hosts listed in a message


@dataclass(frozen=True)
class Pattern:
    """A pattern of host names; hosts that match belong to the cluster."""

    cluster: str
    pattern: str  # a shell pattern with *, ?, [abc], [!abc]; case-sensitive


def parse_clusters(text: str, where: str = "--clusters") -> tuple[Pattern, ...]:
    """Parse ``NAME=PATTERN,NAME=PATTERN,...``.

    A name may occur several times; ``-=PATTERN`` leaves hosts out.  ``where`` begins error messages.

    Raises:
        UserError: The text does not have this form.

    >>> parse_clusters("left=node-[0-9]*,-=*")
    (Pattern(cluster='left', pattern='node-[0-9]*'), Pattern(cluster='-', pattern='*'))
    """
    patterns = []
    for part in _COMMAS.split(text):
        name, equals, pattern = (piece.strip() for piece in part.partition("="))
        if not (name and equals and pattern):
            remedy = "Write for example left=node-[0-9]*,right=lab*, and -=PATTERN for hosts to leave out"
            raise UserError(f"{where} {text!r}", f"{part.strip()!r} is not of the form NAME=PATTERN", remedy)
        if not name.isprintable():
            raise UserError(f"{where} {text!r}", f"{name!r} has characters that cannot be shown", "Leave them out")
        patterns.append(Pattern(name, pattern))
    return tuple(patterns)


def regroup(platform: Platform, patterns: Sequence[Pattern], where: str = "--clusters") -> Platform:
    """Return the same platform with the clusters that the patterns define.

    Each host belongs to the first pattern that it matches.  The clusters are ordered as their names first occur in
    ``patterns``; the hosts of a cluster keep the order of the platform.  A cluster with several kinds of hosts is split
    by kind, as a zone is.  ``where`` begins error messages.

    Raises:
        PlatformError: A host matches no pattern, a pattern gets no host, or no host is left.
    """
    members: dict[str, list[Host]] = {pattern.cluster: [] for pattern in patterns}
    used, strays = set(), []
    for host in platform.hosts:
        matching_pattern = next((pattern for pattern in patterns if fnmatchcase(host.name, pattern.pattern)), None)
        if matching_pattern is None:
            strays.append(host.name)
        else:
            used.add(matching_pattern)
            members[matching_pattern.cluster].append(host)
    where = f"{where}, platform {platform.name}"
    if strays:
        shown = ", ".join(strays[:_SHOWN]) + (", ..." if len(strays) > _SHOWN else "")
        count = f"{len(strays)} of {len(platform.hosts)} hosts match no pattern"
        raise PlatformError(where, f"{count}: {shown}", f"Add a pattern for them, or leave them out by {LEFT_OUT}=*")
    for pattern in patterns:
        if pattern not in used:
            problem = f"no host is left for {pattern.cluster}={pattern.pattern}"
            hosts = ", ".join(host.name for host in platform.hosts[:_SHOWN])
            raise PlatformError(where, problem, f"Hosts are called {hosts} and so on, and the first match wins")
    members.pop(LEFT_OUT, None)
    clusters = by_kind([(name, hosts) for name, hosts in members.items() if hosts])
    if not clusters:
        raise PlatformError(where, "every host is left out", "Name at least one cluster")
    names = [(cluster.name, [host.name for host in cluster.hosts]) for cluster in clusters]
    content = f"{platform.content_hash} {names}"
    return replace(platform, clusters=clusters, content_hash=hashlib.sha256(content.encode()).hexdigest())


def by_kind(groups: Sequence[tuple[str, Sequence[Host]]]) -> tuple[Cluster, ...]:
    """Return one cluster per group, or several if the hosts of the group differ in speed or number of cores.

    The clusters of such a group are called name.1, name.2, ..., in the order in which the kinds of hosts first appear.
    A number that would give the name of another group is skipped.
    """
    taken = {name for name, _ in groups}
    return tuple(cluster for name, hosts in groups for cluster in _split(name, hosts, taken))


def _split(name: str, hosts: Sequence[Host], taken: Set[str]) -> Iterator[Cluster]:
    kinds: dict[tuple[float, int], list[Host]] = {}
    for host in hosts:
        kinds.setdefault((host.speed_flops, host.cores), []).append(host)
    if len(kinds) == 1:
        yield Cluster(name, tuple(hosts))
        return
    free = (numbered for number in count(1) if (numbered := f"{name}.{number}") not in taken)
    for numbered, members in zip(free, kinds.values(), strict=False):
        yield Cluster(numbered, tuple(members))
