"""Search for the best grids and the Pareto front of price against time, with bounds.

Candidates are visited best first, by lower bounds of the weighted sum of their times.  A candidate is ruled out if as
many evaluated grids as were asked for are faster than its bound, and, for the front, one of them costs no more.  So the
answer is the same as that of an exhaustive search.
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from apps.errors import KernelError, OptionError, SimulationError
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.base import Cost, Evidence, Predictor
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.grid.request import DesignQuestion
from predictor.grid.space import Candidate
from predictor.series.front import pareto_front

if TYPE_CHECKING:
    from apps.runs.runner import Runner


Report = Callable[[str, int, int], None]  # called with a description, steps done, and their total number
_BATCH = 32  # candidates processed together, ordered by number of ranks: equal numbers use the same graph in memory


class NoAnswer(Exception):
    """The predictor has no answer for this grid; the text gives the reason."""


@dataclass(frozen=True)
class GridTimes:
    """Times of the programs on a grid."""

    times_s: tuple[float, ...]  # in the order of the mix
    flags: tuple[str, ...] = ()  # reasons to distrust the times


class Times(Protocol):
    """Source of the times of the programs of a mix, in the order of the mix."""

    levels: int  # number of levels of bounds, 0: none; higher levels are tighter and take longer

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Gather the evidence that serves all candidates."""

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        """Return lower bounds of the programs' times, s, for a level from 1 to ``levels``.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """

    def times(self, candidate: Candidate) -> GridTimes:
        """Return the programs' times on the candidate.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """

    @property
    def cost(self) -> Cost:
        """Cost of the evidence so far."""


def candidate_targets(request: DesignQuestion, candidate: Candidate) -> list[Target]:
    """Return the programs of a mix on a candidate."""
    grid = candidate.grid()
    platform, placement = materialise(grid), candidate.placement(grid)
    return [Target(program.problem, platform, placement) for program in request.programs]


@dataclass(eq=False)
class PredictorTimes:
    """Times from any predictor, one grid after the other.  There are no bounds, so every grid is evaluated."""

    predictor: Predictor
    request: DesignQuestion
    settings: Settings
    runner: Runner
    levels: int = 0
    _costs: dict[str, Cost] = field(default_factory=dict)  # by id of the evidence

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Do nothing: the evidence for a grid is gathered with its times."""

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        """Return zeros, which are lower bounds on any grid."""
        return (0.0,) * len(self.request.programs)

    def times(self, candidate: Candidate) -> GridTimes:
        """Predict the programs' times on the candidate.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """
        targets = candidate_targets(self.request, candidate)
        for target in targets:
            self.settings.spec(target)  # raise errors in the settings here, so that they are not blamed on the grid
        try:
            answers = predict(self.predictor, targets, Broker.of(self.settings, targets, self.runner))
        except (KernelError, OptionError, RefusedEvidence, SimulationError) as err:
            raise NoAnswer(str(err)) from err
        predictions = []
        for answer in answers:
            if answer.prediction is None:
                raise NoAnswer(answer.refusal)
            predictions.append(answer.prediction)
        self._pay(answers[0].evidence)
        flags = (
            f"{program.problem}: {flag}"
            for program, prediction in zip(self.request.programs, predictions, strict=True)
            for flag in prediction.flags
        )
        return GridTimes(tuple(prediction.time_s for prediction in predictions), tuple(flags))

    def _pay(self, evidence: Sequence[Evidence]) -> None:
        for item in evidence:
            self._costs[item.id] = item.cost

    @property
    def cost(self) -> Cost:
        """Cost of the evidence so far."""
        return sum(self._costs.values(), Cost())


@dataclass(frozen=True)
class Evaluated:
    """A candidate and its times."""

    candidate: Candidate
    times_s: tuple[float, ...]  # of the programs
    value_s: float  # weighted sum of the times
    flags: tuple[str, ...]  # reasons to distrust the times
    number: int  # index of the candidate, which decides between equals

    @property
    def rounded_s(self) -> float:
        """The weighted sum, s, to nine digits; predictors do not tell apart events that are closer in time."""
        return float(f"{self.value_s:.9g}")

    @property
    def key(self) -> tuple[float, float, int, int]:
        """Sort key that puts faster grids first, then cheaper ones, then those with fewer clusters."""
        return self.rounded_s, self.candidate.price, len(self.candidate.parts), self.number


@dataclass(eq=False)
class Search:
    """A search over candidates; its results so far are valid even if it was interrupted."""

    candidates: Sequence[Candidate]
    weights: Sequence[float]
    top: int  # number of best grids that are asked for
    with_front: bool = True
    exhaustive: bool = False  # evaluate every candidate, to check the bounds
    evaluated: list[Evaluated] = field(default_factory=list)  # in order of their keys
    left_out: int = 0  # number of candidates that bounds ruled out
    unanswered: Counter[str] = field(default_factory=Counter)  # number of candidates without an answer, by reason
    complete: bool = False
    _front: list[Evaluated] = field(default_factory=list)  # so far, by price

    def run(self, times: Times, report: Report) -> None:
        """Evaluate every candidate or rule it out."""
        last = 0 if self.exhaustive else times.levels
        times.prepare(self.candidates, report)
        queue = self._bounded(times, min(last, 1))
        if last:
            queue = self._begun(times, queue)
        while queue:
            batch = [heapq.heappop(queue) for _ in range(min(_BATCH, len(queue)))]
            for bound_s, number, level in sorted(batch, key=lambda entry: (self.candidates[entry[1]].ranks, entry[1])):
                if last and self._hopeless(bound_s, self.candidates[number].price):
                    self.left_out += 1
                elif level < last:
                    tighter_s = self._bound_s(times, number, level + 1)
                    if tighter_s is not None:
                        heapq.heappush(queue, (max(bound_s, tighter_s), number, level + 1))
                else:
                    self._evaluate(times, number)
            report(self._state, len(self.candidates) - len(queue), len(self.candidates))
        self.complete = True

    @property
    def _state(self) -> str:
        best = f", best so far {self.evaluated[0].value_s:.4g} s" if self.evaluated else ""
        return f"{len(self.evaluated)} grids evaluated, {self.left_out} ruled out{best}"

    @property
    def best(self) -> list[Evaluated]:
        """The best grids, at most ``top``."""
        return self.evaluated[: self.top]

    @property
    def front(self) -> list[Evaluated]:
        """The Pareto front, by price; each grid is faster than all others that cost no more."""
        return list(self._front)

    def _bounded(self, times: Times, level: int) -> list[tuple[float, int, int]]:
        """Return all candidates that have an answer, as a heap of (bound, index, level of the bound)."""
        queue = []
        for number in range(len(self.candidates)):
            bound_s = self._bound_s(times, number, level)
            if bound_s is not None:
                queue.append((bound_s, number, level))
        heapq.heapify(queue)
        return queue

    def _begun(self, times: Times, queue: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
        """Evaluate the most promising grid of each network and number of clusters; return the rest of the queue."""
        first: dict[tuple[str, int], tuple[float, int, int]] = {}
        for entry in sorted(queue):
            candidate = self.candidates[entry[1]]
            first.setdefault((candidate.network.name, len(candidate.parts)), entry)
        for _, number, _ in first.values():
            self._evaluate(times, number)
        rest = list(set(queue) - set(first.values()))
        heapq.heapify(rest)
        return rest

    def _bound_s(self, times: Times, number: int, level: int) -> float | None:
        """Return a lower bound of the weighted sum; None where the predictor has no answer."""
        if level == 0:
            return 0.0
        try:
            return self._weighted(times.bounds_s(self.candidates[number], level))
        except NoAnswer as err:
            self.unanswered[str(err)] += 1
            return None

    def _evaluate(self, times: Times, number: int) -> None:
        candidate = self.candidates[number]
        try:
            told = times.times(candidate)
        except NoAnswer as err:
            self.unanswered[str(err)] += 1
            return
        evaluated = Evaluated(candidate, told.times_s, self._weighted(told.times_s), told.flags, number)
        insort(self.evaluated, evaluated, key=lambda other: other.key)
        self._to_front(evaluated)

    def _weighted(self, times_s: Sequence[float]) -> float:
        return math.fsum(weight * time_s for weight, time_s in zip(self.weights, times_s, strict=True))

    def _hopeless(self, bound_s: float, price: float) -> bool:
        """Return whether a grid with such a bound and price is neither among the best nor on the front."""
        if len(self.evaluated) < self.top or bound_s <= self.evaluated[self.top - 1].rounded_s:
            return False
        return not self.with_front or any(
            front_grid.candidate.price <= price and front_grid.rounded_s < bound_s for front_grid in self._front
        )

    def _to_front(self, evaluated: Evaluated) -> None:
        """Add a grid to the front if no grid there dominates it; of equal ones, the first by key stays."""
        grids = sorted([*self._front, evaluated], key=lambda grid: grid.key)
        front = pareto_front([(grid.candidate.price, grid.rounded_s) for grid in grids], equals=False)
        self._front = [grids[at] for at in front]
