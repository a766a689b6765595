"""Targets on one platform as one target: what is measured of a network serves them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.spec import Target


def one_per_platform(targets: Sequence[Target]) -> list[Target]:
    """The first target of each platform, on all hosts that any of them uses, in the order of the platform."""
    of_platform: dict[str, list[Target]] = {}
    for target in targets:
        of_platform.setdefault(target.platform.content_hash, []).append(target)
    together = []
    for group in of_platform.values():
        used = {host for target in group for host in target.placement}
        placement = tuple(host.name for host in group[0].platform.hosts if host.name in used)
        together.append(replace(group[0], placement=placement))
    return together
