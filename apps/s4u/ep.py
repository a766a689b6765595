"""EP: the messages and operations of the C kernel (apps/ep/ep.c) in mode skeleton."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apps.s4u.ranks import Rank

LOG_BATCH, LOG_MOST, ANNULI = 16, 42, 10  # pairs are drawn in batches of 2^16, which are shared out whole
DOUBLE_BYTES = 8


def refusal(parameters: Mapping[str, float], nranks: int) -> str | None:
    """Why so many ranks cannot run this problem."""
    m = parameters["m"]
    if not LOG_BATCH <= m <= LOG_MOST:
        return f"m is {m}, not between {LOG_BATCH} and {LOG_MOST}"
    batches = 2 ** (m - LOG_BATCH)
    return f"{nranks} ranks, but there are only {batches} batches of pairs" if batches < nranks else None


def main(rank: Rank) -> None:
    """All numbers, then the sums of the deviates and of the counts."""
    each, more = divmod(2 ** (int(rank.parameters["m"]) - LOG_BATCH), rank.size)
    batches = each + (rank.rank < more)
    rank.start()
    rank.compute(batches * 2.0 ** (LOG_BATCH + 1))  # the benchmark counts random numbers, two a pair
    for numbers in (1, 1, ANNULI):
        rank.allreduce(numbers * DOUBLE_BYTES)
    rank.stop()
