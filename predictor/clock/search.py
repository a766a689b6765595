"""Search for the best frequencies under a time limit.

E(S) = P_idle T(S) + sum_c D_c(S_c), where S_c = f_max / f is the slowdown of cluster c.  The dynamic energies D_c are
known in closed form, so only the time T of a choice has to be evaluated, which may take milliseconds to seconds.

If there are few choices, all are evaluated.  Otherwise two estimates of T decide which choices are evaluated:

(a) T never falls as a node gets slower.  So no choice is faster than an evaluated one whose nodes are all at least as
    fast, nor faster than the computation of its busiest node.
(b) T is nearly convex in S, as is the longest path of a graph with fixed waits.  So T lies above its tangents, here
    secants to the next slower level (Kelley's cutting planes on the grid of levels).

The search evaluates the choice that is best by (b), with its secants, until (b) promises nothing better; a plane that
proves too high is removed.  Because shared links disturb the convexity of (b), further stages use times between (b) and
(a), closer and closer to (a), and in the end a little below (a): where messages share links, slower nodes may even save
some time.  After every improvement the neighbours of the new best choice are tried.  (b) only proposes choices; (a)
bounds in the end how far the result may be from the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from platforms.errors import UserError, known_names
from predictor.base import OutOfRange
from predictor.clock.levels import EVALUATIONS, OBJECTIVES, Frequency, Levels, Objective, Point

EXHAUSTIVE = 250  # up to this number of choices all are evaluated
MOST_CHOICES = 5_000_000  # largest number of choices that are listed
_ENOUGH = 1e-6  # relative improvement that a choice must promise to be evaluated
_ODD = 0.02  # relative time that slower nodes are assumed to save at most, in the last stage
# Stages of a search: weight of (b), factor on (a), share of the evaluations that are made by the end of the stage.
_STAGES = ((1.0, 1.0, 0.5), (0.9, 1.0, 0.65), (0.75, 1.0, 0.8), (0.5, 1.0, 0.9), (0.0, 1.0, 0.95), (0.0, 1 - _ODD, 1.0))


@dataclass(frozen=True)
class Best:
    """The result of a search."""

    point: Point
    choices: int  # number of all choices
    evaluated: int  # number of choices whose time was predicted
    gap: float  # bound of the relative improvement that any choice can bring, if slower nodes never save time


def best(
    levels: Levels, *, time_limit: float = math.inf, objective: str = "energy", evaluations: int = EVALUATIONS
) -> Best:
    """Find the choice with the smallest value within the time limit.

    Args:
        levels: Predictions of the target at its frequency levels.
        time_limit: Largest allowed time, as a multiple of the time at the highest frequencies, >= 1.
        objective: Name of the value to minimise, of OBJECTIVES.
        evaluations: Number of predictions that the search may make where it does not evaluate all choices, >= 1.

    Raises:
        UserError: A limit or the objective is not valid.
        OutOfRange: The model has no answer, or there are more than MOST_CHOICES choices.
    """
    if objective not in OBJECTIVES:
        raise UserError(f"--objective {objective}", "no such objective", known_names(objective, OBJECTIVES))
    if not time_limit >= 1:  # refuses NaN
        problem = "less than the time at the highest frequencies"
        raise UserError(f"--time-limit {time_limit:g}", problem, "Give 1 or more, such as 1.1")
    if evaluations < 1:
        raise UserError(f"--evaluations {evaluations}", "not positive", "Give at least 1")
    counts = [len(frequency.levels_hz) for frequency in levels.frequencies]
    if math.prod(counts) > MOST_CHOICES:
        problem = f"{math.prod(counts)} choices of frequencies, at most {MOST_CHOICES} are listed"
        raise OutOfRange(f"frequencies of {len(counts)} clusters", problem, "Give larger steps (step_ghz)")
    limit_s = time_limit * levels.point(levels.highest).time_s
    search = _Search(levels, limit_s, OBJECTIVES[objective])
    if math.prod(counts) <= EXHAUSTIVE:
        for index in product(*map(range, counts)):
            search.evaluate(index)
    else:
        for trust, belief, share in _STAGES:
            search.look(trust, belief, max(1, round(share * evaluations)))
    return Best(search.best, math.prod(counts), levels.evaluated, search.gap())


Index = tuple[int, ...]  # index of the level of each cluster; 0 is the highest level


class _Search:
    """State of a search.  Arrays have one axis per cluster, with the levels from the highest frequency down."""

    def __init__(self, levels: Levels, limit_s: float, value: Objective):
        self.levels, self.limit_s, self.value = levels, limit_s, value
        self.slowdowns = [
            np.array([frequency.slowdown(hz) for hz in frequency.levels_hz]) for frequency in levels.frequencies
        ]
        shape = tuple(map(len, self.slowdowns))
        least_s = [self._each(levels.least_time_s, i) for i in range(len(shape))]
        self.dynamic_j = self._sum(self._each(levels.dynamic_j, i) for i in range(len(shape)))
        self.least_s = np.zeros(shape)  # estimate (a)
        for i, times_s in enumerate(least_s):
            np.maximum(self.least_s, self._along(times_s, i), out=self.least_s)
        self.planes: list[tuple[float, np.ndarray]] = []  # constant, s, and slope of each cluster's slowdown, s
        self.plane_s = np.zeros(shape)  # estimate (b), the largest value of all planes
        self.done = np.zeros(shape, bool)
        self.best = levels.point(levels.highest)
        self.evaluate((0,) * len(shape))

    @property
    def best_value(self) -> float:
        """Value of the best choice so far."""
        return self.value(self.best.time_s, self.best.energy_j)

    def evaluate(self, index: Index) -> Point:
        """Predict the choice, and raise (a) for all slower choices."""
        point = self.levels.point(self._frequencies_hz(index))
        if self.done[index]:
            return point
        self.done[index] = True
        self._take_away_planes(index, point.time_s)
        slower = tuple(slice(i, None) for i in index)
        np.maximum(self.least_s[slower], point.time_s, out=self.least_s[slower])
        better = self.value(point.time_s, point.energy_j) < self.best_value
        if better and point.time_s <= self.limit_s * (1 + 1e-12):
            self.best = point
        return point

    def look(self, trust: float, belief: float, evaluations: int) -> None:
        """Evaluate the most promising choices, with times between ``belief`` * (a) (trust 0) and (b) (trust 1)."""
        while self.levels.evaluated < evaluations:
            index: Index | None = (0,) * self.done.ndim
            if self.planes:
                tangent_s = np.maximum(self.plane_s, self.least_s)
                index = self._most_promising(trust * tangent_s + (1 - trust) * belief * self.least_s)
            if index is None:
                return
            before = self.best
            self.evaluate(index)
            if trust:
                self._add_plane(index)
            if self.best is not before:
                self._climb(evaluations)

    def _climb(self, evaluations: int) -> None:
        """Evaluate the neighbours of the best choice, as long as one of them is better."""
        before: Point | None = None
        while self.best is not before:
            before = self.best
            for index in self._neighbours(self.best):
                if self.levels.evaluated >= evaluations:
                    return
                if not self.done[index] and self._may_be_better(index):
                    self.evaluate(index)

    def gap(self) -> float:
        """Return the relative improvement over the best choice that (a) does not exclude."""
        values = self._values(self.least_s)
        return max(0.0, 1 - float(values.min(initial=np.inf)) / self.best_value)

    def _values(self, times_s: np.ndarray) -> np.ndarray:
        """Return the values of all choices at these times; infinite if evaluated or beyond the time limit."""
        values = self.value(times_s, self.levels.idle_w * times_s + self.dynamic_j)
        return np.where(self.done | (times_s > self.limit_s), np.inf, values)

    def _most_promising(self, times_s: np.ndarray) -> Index | None:
        values = self._values(times_s)
        index = np.unravel_index(int(values.argmin()), values.shape)
        if not values[index] < self.best_value * (1 - _ENOUGH):
            return None
        return tuple(map(int, index))

    def _may_be_better(self, index: Index) -> bool:
        """Return whether a choice may be better than the best, by a little less than (a)."""
        time_s = (1 - _ODD) * self.least_s[index]
        value = self.value(time_s, self.levels.idle_w * time_s + self.dynamic_j[index])
        return bool(time_s <= self.limit_s and value < self.best_value)

    def _add_plane(self, index: Index) -> None:
        """Add the plane through this time and the times at the next slower (else faster) level of each cluster."""
        time_s = self.levels.point(self._frequencies_hz(index)).time_s
        slopes_s = np.zeros(len(index))
        for i, at in enumerate(index):
            if len(self.slowdowns[i]) == 1:
                continue
            next_to = at + 1 if at + 1 < len(self.slowdowns[i]) else at - 1
            other_s = self.evaluate((*index[:i], next_to, *index[i + 1 :])).time_s
            slopes_s[i] = max(0.0, (other_s - time_s) / (self.slowdowns[i][next_to] - self.slowdowns[i][at]))
        here = np.array([slowdowns[at] for slowdowns, at in zip(self.slowdowns, index, strict=True)])
        self.planes.append((time_s - float(slopes_s @ here), slopes_s))
        np.maximum(self.plane_s, self._plane(*self.planes[-1]), out=self.plane_s)

    def _take_away_planes(self, index: Index, time_s: float) -> None:
        """Remove the planes that lie above the time of an evaluated choice."""
        here = np.array([slowdowns[at] for slowdowns, at in zip(self.slowdowns, index, strict=True)])
        kept = [plane for plane in self.planes if plane[0] + plane[1] @ here <= time_s * (1 + _ENOUGH)]
        if 0 < len(kept) < len(self.planes):
            self.planes = kept
            self.plane_s = np.maximum.reduce([self._plane(*plane) for plane in kept])

    def _plane(self, constant_s: float, slopes_s: np.ndarray) -> np.ndarray:
        """Return the plane's time at every choice."""
        return constant_s + self._sum(slope * self.slowdowns[i] for i, slope in enumerate(slopes_s))

    def _neighbours(self, point: Point) -> list[Index]:
        """Return the choices with one cluster a level up or down, or one up and another down."""
        at = [
            frequency.levels_hz.index(hz)
            for frequency, hz in zip(self.levels.frequencies, point.frequencies_hz, strict=True)
        ]
        moves = [move for move in product((-1, 0, 1), repeat=min(len(at), 3)) if any(move) and abs(sum(move)) <= 1]
        if len(at) > 3:  # with many clusters, change at most two at a time
            moves = [
                tuple((up if i == a else 0) + (down if i == b else 0) for i in range(len(at)))
                for a in range(len(at)) for b in range(len(at))
                for up, down in ((1, 0), (-1, 0), (1, -1)) if a != b
            ]  # fmt: skip
        near = {tuple(i + step for i, step in zip(at, move, strict=True)) for move in moves}
        return [index for index in sorted(near) if all(0 <= i < n for i, n in zip(index, self.done.shape, strict=True))]

    def _frequencies_hz(self, index: Sequence[int]) -> Frequency:
        return tuple(frequency.levels_hz[i] for frequency, i in zip(self.levels.frequencies, index, strict=True))

    def _each(self, of: Callable[[int, float], float], cluster: int) -> np.ndarray:
        return np.array([of(cluster, hz) for hz in self.levels.frequencies[cluster].levels_hz])

    def _sum(self, of_clusters: Iterable[np.ndarray]) -> npt.NDArray[np.float64]:
        """Return, at every choice, the sum of the values of its levels."""
        each = (self._along(values, i) for i, values in enumerate(of_clusters))
        return sum(each, start=np.zeros((1,) * len(self.slowdowns)))

    def _along(self, values: np.ndarray, axis: int) -> np.ndarray:
        return values.reshape([-1 if i == axis else 1 for i in range(len(self.slowdowns))])
