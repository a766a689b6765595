"""What EP computes and sends (apps/ep): pairs of random numbers in batches, and three sums at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.recording import Op
from apps.traffic.split import check_ranks, split_count
from apps.traffic.steps import Collective, Compute, Traffic

_LOG_BATCH = 16  # pairs, by powers of two
_ANNULI = 10


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Of 2^m pairs.  It has no iterations: all is in the last one."""
    all_batches = 2 ** (int(params["m"]) - _LOG_BATCH)
    check_ranks("ep", nranks, nranks <= all_batches, f"a batch each, and there are {all_batches}")
    batches = split_count(all_batches, nranks, np.arange(nranks))
    sums = (Collective(Op.ALLREDUCE, 8), Collective(Op.ALLREDUCE, 8), Collective(Op.ALLREDUCE, 8 * _ANNULI))
    numbers = Compute(2.0 ** (_LOG_BATCH + 1) * batches)
    return Traffic(nranks, before=(), iteration=(), last=(numbers, *sums), after=())
