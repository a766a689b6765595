"""Times of one operation on a core, by the number of cores of the node that are busy, from measured runs.

Cores share the node's memory bus.  By eq. (1) of the hierarchical model an operation takes c on its core and b on the
bus, which serves the busy cores in turn: s(k) = c + k b, a line in k.  Two measured k show it; c and b differ between
programs.  A program measured at one k only borrows the ratio of the other programs.

Repeated times of equal k (on one node and on two, for example) show the scatter of runs; its standard deviation in
logarithms is taken to be the same for all programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

COVERAGE = 0.9  # of the interval of a single run
_LEAST_SHARE = 0.05  # of the shortest measured time: a line never leads below it


@dataclass(frozen=True)
class Observed:
    """A measured run: the time of one operation on each of its cores."""

    app: str
    preset: str | None  # the class
    busy: int  # cores of every node
    s_per_op: float
    fits: bool = True  # False: the messages alone take nearly as long as the run, on the platform's network


@dataclass(frozen=True)
class CoreTime:
    """Time of one operation, s, and the factor by which a single run may be above or below it."""

    s_per_op: float
    factor: float | None  # None: no repeated times show the scatter
    flags: tuple[str, ...] = ()


class UnknownCoreTimeError(Exception):
    """The measured runs do not give the time of an operation; the text is the reason."""


@dataclass(frozen=True)
class CoreTimes:
    """The times from all measured runs."""

    observed: tuple[Observed, ...]

    def of(self, app: str, preset: str | None, busy: int) -> CoreTime:
        """Return the time of one operation of a program with this number of busy cores on every node.

        Raises:
            UnknownCoreTimeError: No run of the program was measured, or none with this many cores.
        """
        flags: list[str] = []
        same = [observation for observation in self.observed if (observation.app, observation.preset) == (app, preset)]
        if not same:
            same = [observation for observation in self.observed if observation.app == app]
            if not same:
                raise UnknownCoreTimeError(f"no measured run of {app}")
            classes = sorted({str(observation.preset) for observation in same})
            flags.append(f"measured with class {', '.join(classes)} only: caches may serve it differently")
        means = _means(same)
        count = sum(observation.busy == busy for observation in same)
        if busy not in means and len(means) == 1:
            flags.append(f"measured with {_cores(next(iter(means)))} of a node only: the rest is as for other programs")
        if not all(observation.fits for observation in same):
            flags.append("in a measured run the messages alone take as long: the platform's network is too slow")
        s_per_op = _on_line(means, busy) or self._borrowed(app, means, busy)
        return CoreTime(s_per_op, self._factor(max(count, 1)), tuple(flags))

    def _borrowed(self, app: str, means: dict[int, float], busy: int) -> float:
        """Return a program's time from its only number of cores and the mean ratio of the other programs."""
        (known, s_per_op), *_ = means.items()
        ratios = []
        for other in sorted({observation.app for observation in self.observed} - {app}):
            theirs = _means([observation for observation in self.observed if observation.app == other])
            there, here = _on_line(theirs, busy), _on_line(theirs, known)
            if there is not None and here is not None:
                ratios.append(there / here)
        if not ratios:
            raise UnknownCoreTimeError(f"no measured run of any program compares {_cores(busy)} with {_cores(known)}")
        return s_per_op * _geometric_mean(ratios)

    @cached_property
    def scatter(self) -> tuple[float, int]:
        """The standard deviation of ln(time) between equal runs, and its degrees of freedom."""
        squares, freedom = 0.0, 0
        for same in _groups(self.observed):
            logs = np.log([observation.s_per_op for observation in same])
            squares += float(np.sum((logs - logs.mean()) ** 2))
            freedom += len(logs) - 1
        return (math.sqrt(squares / freedom) if freedom else 0.0), freedom

    def _factor(self, count: int) -> float | None:
        """Return the factor of a prediction interval (Student's t) for one more run beside the mean of ``count``."""
        # Imported here because it is slow to import.
        from scipy.stats import t

        deviation, freedom = self.scatter
        if not freedom:
            return None
        return math.exp(float(t.ppf((1 + COVERAGE) / 2, freedom)) * deviation * math.sqrt(1 + 1 / count))


def _groups(observed: Iterable[Observed]) -> list[list[Observed]]:
    def key(observed: Observed) -> tuple[str, str, int]:
        return observed.app, str(observed.preset), observed.busy

    return [list(same) for _, same in groupby(sorted(observed, key=key), key)]


def _means(observations: Sequence[Observed]) -> dict[int, float]:
    """Return the geometric mean of the times by the number of busy cores, ascending."""
    return {
        busy: _geometric_mean([observation.s_per_op for observation in observations if observation.busy == busy])
        for busy in sorted({observation.busy for observation in observations})
    }


def _on_line(means: dict[int, float], busy: int) -> float | None:
    """Return s(k): measured, or on the line through the two measured k that are nearest; None: there is only one."""
    if busy in means:
        return means[busy]
    if len(means) < 2:
        return None
    low, high = sorted(sorted(means, key=lambda known: abs(known - busy))[:2])
    slope = (means[high] - means[low]) / (high - low)
    return max(means[low] + slope * (busy - low), _LEAST_SHARE * min(means.values()))


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _cores(number: int) -> str:
    return f"{number} busy {'core' if number == 1 else 'cores'}"
