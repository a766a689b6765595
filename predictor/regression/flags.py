"""Reasons to distrust what a fitted law says beyond its measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from apps.spec import Target


def time_flags(time_s: float) -> tuple[str, ...]:
    """Of a law that has left what times can be."""
    if 0 < time_s < math.inf:
        return ()
    return (f"its predicted time is {time_s:.4g} s: the law does not reach as far as the target",)


def extrapolation_flags(target: Target, ranks: Sequence[int]) -> tuple[str, ...]:
    """How far the target is from the numbers of ranks that were measured."""
    measured = ", ".join(map(str, sorted(ranks)))
    return (f"P = {target.nranks} is {target.nranks / max(ranks):.3g} times the largest measured one ({measured})",)
