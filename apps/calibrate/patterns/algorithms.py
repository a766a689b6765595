"""Algorithms of MPI_Alltoall: libraries use another one with 2, 4, 8, 16 ... ranks, as the measured times show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from apps.calibrate.patterns.replay import Replayed, median_error
from apps.calibrate.patterns.rows import PatternTime

ALL_TO_ALL = "alltoall"
POWERS_ALONE = "pair"  # SMPI's algorithm for a power of two of ranks
_FAR = 0.2  # median absolute error from which on another algorithm is tried
_OTHERS = ("bruck", "pair", "basic_linear")


@dataclass(frozen=True)
class OtherAlgorithm:
    """An algorithm that fits the all-to-alls of some numbers of ranks better than that of the platform."""

    name: str
    replays: tuple[Replayed, ...]

    @property
    def note(self) -> str:
        """The sentence about it."""
        ranks = ", ".join(str(replay.row.call.ranks) for replay in self.replays)
        errors = [replay.error for replay in self.replays]
        return (
            f"MPI_Alltoall of {ranks} ranks takes what SMPI's algorithm {self.name} takes ({min(errors):+.0%} to "
            f"{max(errors):+.0%}): the library uses another one with powers of two; for such numbers of ranks give "
            f"--cfg smpi/alltoall:{self.name}"
        )


def is_power(ranks: int) -> bool:
    """Return whether a number of ranks is a power of two."""
    return ranks & (ranks - 1) == 0


def other_algorithm(
    replays: Sequence[Replayed], replayed_with: Callable[[str, Sequence[PatternTime]], Sequence[Replayed]]
) -> OtherAlgorithm | None:
    """Return the algorithm shown by the measured all-to-alls on powers of two; None: that of the platform.

    Args:
        replays: All rows, with the algorithm of the platform.
        replayed_with: Replays rows with another algorithm.
    """
    rows = [replay for replay in replays if replay.row.call.pattern == ALL_TO_ALL and replay.row.call.ranks > 2]
    powers, others = (
        [replay for replay in rows if is_power(replay.row.call.ranks) == power] for power in (True, False)
    )
    if not powers or median_error(powers) < _FAR or (others and median_error(others) >= _FAR):
        return None
    tried = {name: tuple(replayed_with(name, [replay.row for replay in powers])) for name in _OTHERS}
    best = min(tried, key=lambda name: float(np.median([abs(replay.error) for replay in tried[name]])))
    return OtherAlgorithm(best, tried[best]) if median_error(tried[best]) < _FAR else None
