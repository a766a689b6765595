"""Words for messages."""

from __future__ import annotations


def number_of(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 rank``, ``2 ranks`` and so on; ``plural`` is needed if it is not the noun with an s.

    >>> number_of(1, "rank"), number_of(3, "rank")
    ('1 rank', '3 ranks')
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
