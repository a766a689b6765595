"""Threads for answers that wait for a worker process: each person has few, so that pages of the others do not wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from validation.workbench.web.answers import person_of

_Value = TypeVar("_Value")
_THREADS = 32  # of all persons, besides those of other pages
_EACH = 2  # of a person
_UPLOADS = 2  # platform files of all persons that are read at a time, each in a process of its own


class Lanes:
    """The limits on threads that wait for worker processes."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(_THREADS)
        self._each: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        self._uploads = CapacityLimiter(_UPLOADS)

    async def run(self, key: str, function: Callable[[], _Value], *, upload: bool = False) -> _Value:
        """Run a function in a thread when the person has one free; meanwhile no thread waits."""
        limiter = self._each.get(key)
        if limiter is None:
            limiter = self._each[key] = CapacityLimiter(_EACH)
        async with limiter:
            if upload:
                async with self._uploads:
                    return await to_thread.run_sync(function, limiter=self._threads)
            return await to_thread.run_sync(function, limiter=self._threads)


async def in_lane(request: Request, function: Callable[[], _Value], *, upload: bool = False) -> _Value:
    """Run a function that waits for a worker process in one of the threads of the person who asks."""
    lanes: Lanes = request.app.state.lanes
    return await lanes.run(person_of(request).key, function, upload=upload)


def laned(page: Callable[[Request], Response]) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Return a page that waits for a worker process as one that does so in a thread of the person who asks."""

    @wraps(page)
    async def answer(request: Request) -> Response:
        return await in_lane(request, partial(page, request))

    return answer
