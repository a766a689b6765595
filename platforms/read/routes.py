"""The routes of platforms, kept in memory because callers ask for many parts of a platform one after the other."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from platforms.errors import PlatformError
from platforms.model.platform import Platform, Route
from platforms.read.content import loadable
from platforms.read.read import read_routes

_MOST_HOSTS = 64  # of a platform whose routes are kept; its 4,096 routes are read in 0.2 s
_PLATFORMS_KEPT = 64


@dataclass(eq=False)
class _Known:
    """The routes of one platform that have been read so far."""

    routes: dict[tuple[str, str], Route] = field(default_factory=dict)
    reads: int = 0

    def lacks(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs whose routes have not been read."""
        return [pair for pair in dict.fromkeys(pairs) if pair not in self.routes]

    def read(self, platform: Platform, pairs: Sequence[tuple[str, str]]) -> None:
        """Read the routes of these pairs."""
        self.routes.update(zip(pairs, read_routes(platform, pairs), strict=True))


def routes_between(platform: Platform, pairs: Sequence[tuple[str, str]]) -> list[Route]:
    """Return the routes of these pairs of host names, as read_routes.

    The first request reads only its own pairs.  The second request reads all routes of the platform, because more
    requests are likely to follow.

    Raises:
        PlatformError: As read_routes.
    """
    if len(platform.hosts) > _MOST_HOSTS:
        return read_routes(platform, pairs)
    known = _known(loadable(platform), platform.content_hash)
    if known.lacks(pairs):
        known.reads += 1
        if known.reads == 2:
            names = [host.name for host in platform.hosts]
            with suppress(PlatformError):  # not every pair of hosts needs to have a route
                known.read(platform, [(a, b) for a in names for b in names])
        if lacking := known.lacks(pairs):
            known.read(platform, lacking)
    return [known.routes[pair] for pair in pairs]


@functools.lru_cache(maxsize=_PLATFORMS_KEPT)
def _known(path: Path, content_hash: str) -> _Known:
    return _Known()
