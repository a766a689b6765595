"""What is asked for the sake of many targets: once per platform, once per request, of those in range.

That a target is out of range is said when it is to be predicted, of that target alone: here it only costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from apps.spec import Target
from predictor.base import EvidenceRequest, OutOfRange

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def one_per_platform(targets: Sequence[Target]) -> list[Target]:
    """The first target of each platform, on all hosts that any of them uses, in the order of the platform."""
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
    """Each item with its answer, without those out of range.

    Out of range is what ``answer`` raises OutOfRange for, which it has to do at once: what it raises later, as a
    generator does, goes on to the caller.
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
    """What ``requests`` names for all that are in range, each request once, in the order of the first who asks."""
    return list(dict.fromkeys(request for _, found in in_range(requests, items) for request in found))
