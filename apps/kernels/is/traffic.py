"""The expected traffic of IS (apps/kernels/is): keys in buckets, sums of the buckets' sizes, keys sent to their ranks.

The kernel's messages depend on its keys.  Here every rank has as many keys in a bucket as the distribution from which
all keys are drawn lets expect: a key is the mean of four random numbers.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import Op
from apps.traffic.split import split_count, split_start
from apps.traffic.steps import AllToAll, Collective, Compute, Traffic
from platforms.wording import number_of

_KEY_BYTES = 4
_TESTED_KEYS = 5  # summed up together with the sizes of the buckets
_BUCKET_SHARE = 0.8  # of the work on a key, before it is sent (apps/kernels/is/is.c)
_SUMMANDS = 4  # random numbers in a key


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    keys, least, iterations = (int(params[name]) for name in ("total_keys", "min_procs", "max_iterations"))
    if nranks < least:
        return f"the keys need at least {least} ranks, {number_of(nranks, 'rank')} cannot hold them"
    if keys // nranks <= 2 * iterations:
        return f"{nranks} ranks are too many: rank 0 needs more than {2 * iterations} of the {keys} keys"
    return None


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic of total_keys keys in num_buckets buckets."""
    keys, buckets = int(params["total_keys"]), int(params["num_buckets"])
    keys_of_rank = split_count(keys, nranks, np.arange(nranks))
    up_to = _up_to(buckets)
    share = np.diff(up_to[first_buckets(np.rint(keys * up_to[1:]), keys, nranks)])
    sent = np.rint(np.outer(keys_of_rank, share)).astype(np.int64)
    ranks = np.arange(nranks)[None, :]
    counts = np.full((1, nranks, nranks), _KEY_BYTES, np.int64)
    each = (
        Compute(_BUCKET_SHARE * keys_of_rank),
        Collective(Op.ALLREDUCE, _KEY_BYTES * (buckets + _TESTED_KEYS)),
        AllToAll(ranks, counts, np.array([True])),
        AllToAll(ranks, _KEY_BYTES * sent[None], np.array([False])),
        Compute((1 - _BUCKET_SHARE) * sent.sum(axis=0)),
    )
    return Traffic(nranks, before=(), iteration=each, last=each, after=())


def first_buckets(up_to: npt.NDArray[np.float64], keys: int, nranks: int) -> npt.NDArray[np.int64]:
    """Return the first bucket of each rank, then the number of buckets.

    Ranks take buckets in order: the next rank begins when the ranks so far have their share of the keys, or more.

    Args:
        up_to: By bucket, the number of keys in it and in the buckets before it.
        keys: The number of all keys.
        nranks: The number of ranks.
    """
    buckets = len(up_to)
    first = [0]
    for rank in range(1, nranks):
        # The bucket that completes the share ends this rank's buckets; every rank takes one while any are left.
        last = int(np.searchsorted(up_to, split_start(keys, nranks, rank)))
        first.append(min(max(last, first[-1]) + 1, buckets))
    return np.array([*first, buckets])


def _up_to(buckets: int) -> npt.NDArray[np.float64]:
    """Return the share of the keys before each bucket, then 1: the distribution of the mean of four random numbers.

    It is that of their sum, sum over k of (-1)^k C(4, k) max(0, x - k)^4 / 4!, which is even around the middle; the
    sum of the upper half is taken from there, because it would cancel out.
    """
    x = _SUMMANDS * np.arange(buckets + 1) / buckets
    low = np.minimum(x, _SUMMANDS - x)
    terms = [(-1) ** k * comb(_SUMMANDS, k) * np.maximum(0, low - k) ** _SUMMANDS for k in range(_SUMMANDS // 2 + 1)]
    half: npt.NDArray[np.float64] = sum(terms) / 24
    return np.where(x <= _SUMMANDS / 2, half, 1 - half)
