"""Reasons to distrust a fitted law beyond its measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from apps.spec.target import Target


def time_flags(time_s: float) -> tuple[str, ...]:
    """Return a flag for a predicted time that is not positive and finite."""
    if 0 < time_s < math.inf:
        return ()
    return (f"the predicted time is {time_s:.4g} s: the law is not valid this far from the measured runs",)


def extrapolation_flags(target: Target, ranks: Sequence[int]) -> tuple[str, ...]:
    """Return a flag with the ratio of the target's number of ranks to the largest measured one."""
    measured = ", ".join(map(str, sorted(ranks)))
    return (f"P = {target.nranks} is {target.nranks / max(ranks):.3g} times the largest measured one ({measured})",)
