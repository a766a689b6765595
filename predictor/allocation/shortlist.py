"""The best configurations of distinct numbers of processes."""

from __future__ import annotations

import numpy as np

from predictor.allocation.search import ChosenConfiguration, exhaustive
from predictor.allocation.space import Space


def shortlist(
    space: Space, times_s: np.ndarray, count: int, *, table_s: np.ndarray | None = None
) -> list[ChosenConfiguration]:
    """Return the configurations with the least times, at most ``count``, no two with the same number of processes P.

    Models of T_i(N, P)|M_i distinguish configurations of the same P less than those of another P, and their errors are
    those of whole P: uneven blocks, classes of message sizes.  So configurations of another P are worth a comparison.

    Args:
        space: The configurations.
        times_s: Time of each configuration; NaN: no model.
        count: Largest number of configurations.
        table_s: T_i by (i, M_i, P), where the model gives them.

    Raises:
        OutOfRange: No configuration has a time.
    """
    left_s = np.array(times_s, float)
    configurations: list[ChosenConfiguration] = []
    while len(configurations) < count and (not configurations or not np.isnan(left_s).all()):
        configurations.append(exhaustive(space, left_s, table_s=table_s))
        left_s[space.total == configurations[-1].configuration.total] = np.nan
    return configurations
