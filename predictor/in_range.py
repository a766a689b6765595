"""Targets that a predictor has an answer for: it asks for no evidence of the others.

That a target is out of range is said when it is to be predicted, of that target alone: here it only costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from predictor.base import EvidenceRequest, OutOfRange

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def in_range(of: Callable[[_Asked], _Answer], asked: Iterable[_Asked]) -> Iterator[tuple[_Asked, _Answer]]:
    """Each with its answer, without those that ``of`` raises OutOfRange for.  ``of`` has to raise it at once: what it
    raises later, as a generator does, goes on to the caller.
    """
    for one in asked:
        try:
            answer = of(one)
        except OutOfRange:
            continue
        yield one, answer


def requests_in_range(
    requests: Callable[[_Asked], Iterable[EvidenceRequest]], asked: Iterable[_Asked]
) -> list[EvidenceRequest]:
    """What ``requests`` names for all that are in range, each request once, in the order of the first who asks."""
    return list(dict.fromkeys(request for _, found in in_range(requests, asked) for request in found))
