"""Limits of what each person does at a time, so that nobody keeps the others from working."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_REQUESTS = 24  # that are being answered for a person, streams of events apart
MOST_BODIES = 6  # forms and uploads of a person that are arriving
MOST_UPLOADS_EACH = 4  # platforms of a person that are checked, or wait for it
MOST_STREAMS, MOST_STREAMS_EACH = 400, 12  # of events: of all persons, and of each
MOST_SENT_BYTES = 256 << 20  # bodies of a person within an hour
MOST_FAILURES = 10  # wrong passwords from an address within a minute
_HOUR_S, _MINUTE_S = 3600.0, 60.0
_PARTS = 60  # of a time within which amounts are added up: those of one part are kept as one


@dataclass
class Refused(Exception):
    """A request that gets no answer from a page."""

    status: int
    text: str


class Limits:
    """Counts of each person: of things under way, and of what was sent lately; used by the event loop alone."""

    def __init__(self) -> None:
        self._held: Counter[tuple[str, str]] = Counter()
        self._sent: dict[tuple[str, str], deque[tuple[float, int]]] = defaultdict(deque)

    @contextmanager
    def hold(self, what: str, key: str, most: int, *, most_of_all: int | None = None) -> Iterator[None]:
        """Count one thing more of a person within the context.

        Args:
            what: The name of such things.
            key: The person.
            most: The most that a person may have at a time.
            most_of_all: The most of all persons; None: there is no such limit.

        Raises:
            Refused: There are too many.
        """
        many = sum(count for (kind, _), count in self._held.items() if kind == what) if most_of_all is not None else 0
        if self._held[what, key] >= most or many >= (most_of_all or 1):
            raise Refused(429, f"{what}: too many at a time. Wait for the others, or close some pages.")
        self._held[what, key] += 1
        try:
            yield
        finally:
            self._held[what, key] -= 1
            if not self._held[what, key]:
                del self._held[what, key]

    def spend(self, what: str, key: str, amount: int, most: int, within_s: float) -> None:
        """Count an amount that a person uses up, of which there is so much within a time.

        Raises:
            Refused: It is used up.
        """
        now_s, spent = time.monotonic(), self._sent[what, key]
        while spent and now_s - spent[0][0] > within_s:
            spent.popleft()
        if sum(part for _, part in spent) + amount > most:
            raise Refused(429, f"{what}: too much in a short time. Try again later.")
        if spent and now_s - spent[-1][0] < within_s / _PARTS:  # a body may come in very many pieces
            spent[-1] = spent[-1][0], spent[-1][1] + amount
        elif amount:
            spent.append((now_s, amount))
        if not spent:
            del self._sent[what, key]

    def send(self, key: str, count: int) -> None:
        """Count bytes that a person sends.

        Raises:
            Refused: The person has sent too many.
        """
        self.spend("bytes sent", key, count, MOST_SENT_BYTES, _HOUR_S)

    def fail(self, address: str, count: int = 1) -> None:
        """Count a wrong password; with the count 0, only check that there were not too many.

        Raises:
            Refused: There were too many.
        """
        self.spend("wrong passwords", address, count, MOST_FAILURES, _MINUTE_S)
