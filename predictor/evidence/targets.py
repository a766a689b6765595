"""Collect requests for evidence of many targets: one target per platform, each request once, only targets in range.

Targets out of range are skipped here without an error; the error is raised when such a target is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from apps.spec.target import Target
from predictor.base import EvidenceRequest, OutOfRange

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def one_per_platform(targets: Sequence[Target]) -> list[Target]:
    """Return one target per platform: its first target, placed on all hosts that any of its targets uses.

    The hosts are in the order of the platform.
    """
    of_platform: dict[str, list[Target]] = {}
    for target in targets:
        of_platform.setdefault(target.platform.content_hash, []).append(target)
    united = []
    for group in of_platform.values():
        used = {host for target in group for host in target.placement}
        placement = tuple(host.name for host in group[0].platform.hosts if host.name in used)
        united.append(replace(group[0], placement=placement))
    return united


def in_range(answer: Callable[[_Item], _Answer], items: Iterable[_Item]) -> Iterator[tuple[_Item, _Answer]]:
    """Yield each item with its answer, and skip the items for which ``answer`` raises OutOfRange.

    ``answer`` has to raise when it is called: an error that is raised later, as by a generator, reaches the caller.
    """
    for item in items:
        try:
            answered = answer(item)
        except OutOfRange:
            continue
        yield item, answered


def requests_in_range(
    requests: Callable[[_Item], Iterable[EvidenceRequest]], items: Iterable[_Item]
) -> list[EvidenceRequest]:
    """Return the requests of all items in range, each request once, in the order of their first appearance."""
    return list(
        dict.fromkeys(request for _, in_range_requests in in_range(requests, items) for request in in_range_requests)
    )
