"""What EP computes and sends (apps/ep): pairs of random numbers in batches, and three sums at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.recording import Op
from apps.traffic.split import check_ranks, split_count
from apps.traffic.steps import Collective, Compute, Traffic

_LOG_BATCH = 16  # pairs, by powers of two
_ANNULI = 10


def check(params: dict[str, Any], nranks: int) -> None:
    """Raises KernelError where the program refuses so many ranks."""
    all_batches = _batches(params)
    check_ranks("ep", nranks, nranks <= all_batches, f"a batch each, and there are {all_batches}")


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Of 2^m pairs.  It has no iterations: all is in the last one."""
    check(params, nranks)
    batches = split_count(_batches(params), nranks, np.arange(nranks))
    sums = (Collective(Op.ALLREDUCE, 8), Collective(Op.ALLREDUCE, 8), Collective(Op.ALLREDUCE, 8 * _ANNULI))
    numbers = Compute(2.0 ** (_LOG_BATCH + 1) * batches)
    return Traffic(nranks, before=(), iteration=(), last=(numbers, *sums), after=())


def _batches(params: dict[str, Any]) -> int:
    """Of all ranks."""
    return int(2 ** (int(params["m"]) - _LOG_BATCH))
