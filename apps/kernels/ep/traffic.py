"""The declared traffic of EP (apps/kernels/ep): pairs of random numbers in batches, and three sums at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.recording.events import Op
from apps.traffic.split import split_count
from apps.traffic.steps import Collective, Compute, Traffic

_LOG_BATCH, _LOG_MOST = 16, 42  # a batch has 2^16 pairs; more than 2^42 pairs would repeat random numbers
_ANNULI = 10


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    m = int(params["m"])
    if not _LOG_BATCH <= m <= _LOG_MOST:
        return f"m is {m}, not between {_LOG_BATCH} and {_LOG_MOST}"
    if _batches(params) < nranks:
        return f"{nranks} ranks, but there are only {_batches(params)} batches of pairs"
    return None


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic for 2^m pairs.  EP has no iterations: all steps belong to the last one."""
    batches = split_count(_batches(params), nranks, np.arange(nranks))
    sums = (Collective(Op.ALLREDUCE, 8), Collective(Op.ALLREDUCE, 8), Collective(Op.ALLREDUCE, 8 * _ANNULI))
    numbers = Compute(2.0 ** (_LOG_BATCH + 1) * batches)
    return Traffic(nranks, before=(), iteration=(), last=(numbers, *sums), after=())


def _batches(params: dict[str, Any]) -> int:
    """Return the number of batches of all ranks."""
    return int(2 ** (int(params["m"]) - _LOG_BATCH))
