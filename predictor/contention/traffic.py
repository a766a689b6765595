"""The traffic of the programs that the predictor describes: the declared ones, and IS with keys as expected."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from apps.errors import KernelError
from apps.programs.problem import Problem
from apps.recording.events import Op
from apps.traffic import DECLARED, declares, traffic
from apps.traffic.split import split_count
from apps.traffic.steps import AllToAll, Collective, Compute, Traffic
from predictor.base import OutOfRange

NAMES = (*DECLARED, "is")
_KEY_BYTES = 4
_TESTED_KEYS = 5  # summed up together with the sizes of the buckets
_BUCKET_SHARE = 0.8  # of the work on a key, before it is sent (apps/kernels/is/is.c)


@lru_cache(maxsize=256)
def traffic_of(problem: Problem, nranks: int) -> Traffic:
    """Return what a program does on so many ranks.

    Raises:
        OutOfRange: It is none of NAMES, or its kernel refuses the number of ranks.
    """
    where = problem.on(nranks)
    if declares(problem):
        try:
            return traffic(problem, nranks)
        except KernelError as err:
            raise OutOfRange(where, err.problem, err.remedy) from err
    if problem.program is not None or problem.name != "is":
        raise OutOfRange(where, "its messages are not declared", f"Use one of {', '.join(NAMES)}")
    return _sorting(int(dict(problem.params)["total_keys"]), int(dict(problem.params)["num_buckets"]), nranks)


def _sorting(keys: int, buckets: int, nranks: int) -> Traffic:
    """Return the traffic of IS, in which every rank sends equal shares of its keys to all ranks.

    The kernel's shares depend on the keys.  All ranks draw them from one distribution, and the buckets are cut so that
    every rank receives about as many keys.
    """
    own = split_count(keys, nranks, np.arange(nranks))
    members = np.arange(nranks)[None, :]
    blocks = np.broadcast_to((_KEY_BYTES * own // nranks)[:, None], (nranks, nranks))[None]
    counts = np.full((1, nranks, nranks), _KEY_BYTES, np.int64)
    each = (
        Compute(_BUCKET_SHARE * own),
        Collective(Op.ALLREDUCE, _KEY_BYTES * (buckets + _TESTED_KEYS)),
        AllToAll(members, counts, np.array([True])),
        AllToAll(members, blocks, np.array([False])),
        Compute((1 - _BUCKET_SHARE) * own),
    )
    return Traffic(nranks, before=(), iteration=each, last=each, after=())
