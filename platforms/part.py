"""The part of a platform that a run uses."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

from platforms.platform import Platform
from platforms.routes import routes_between

# Above this many hosts the routes between all pairs are too many to compare, and few runs would turn out equal.
_MOST_HOSTS = 16
_PARTS_KEPT = 4096


def part_hash(platform: Platform, hosts: Sequence[str]) -> str:
    """Identity of what a run on these hosts can see of the platform: equal parts of different platforms are equal.

    For few hosts of a generated platform it is the hosts, the links of all routes between them, and the options.  For
    any other it is the whole platform, because a file of the user's own may hold what routes do not show, such as
    profiles of availability.
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
