"""Identity of the part of a platform that a run uses, so that equal runs on different platforms are recognised."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

from platforms.model.platform import Platform
from platforms.read.routes import routes_between

# With more hosts there are too many pairs of hosts to compare their routes, and few runs would turn out to be equal.
_MOST_HOSTS = 16
_PARTS_KEPT = 4096


def part_hash(platform: Platform, hosts: Sequence[str]) -> str:
    """Return a hash of the part of the platform that affects a run on these hosts.

    Equal parts of different platforms have the same hash.  For up to 16 hosts of a generated platform, the hash covers
    the hosts, the links of all routes between them, and the SimGrid options.  Otherwise it covers the whole platform,
    because a user's own file may contain what routes do not show, such as availability profiles.
    """
    used = tuple(dict.fromkeys(hosts))
    if platform.network is None or len(used) > _MOST_HOSTS:
        return platform.content_hash
    return _hash_of(platform, used)


@functools.lru_cache(maxsize=_PARTS_KEPT)
def _hash_of(platform: Platform, used: tuple[str, ...]) -> str:
    routes = routes_between(platform, [(a, b) for a in used for b in used])
    seen = (platform.options, [platform.host(name) for name in used], [(r.latency_s, r.links) for r in routes])
    return hashlib.sha256(repr(seen).encode()).hexdigest()
