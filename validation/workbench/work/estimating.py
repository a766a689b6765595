"""Estimates of the time of runs from the times of like steps on this computer, with their range and ground."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.runs.limits import EXPERIMENT_S, rough_duration
from validation.workbench.work.durations import (
    ANSWER,
    CASE,
    EVALUATION,
    MEASUREMENT,
    PROGRAM,
    RECORDING,
    RUN,
    START,
    Durations,
    Step,
)

SAME, LIKE, OTHERS, RULE = GROUNDS = ("same", "like", "others", "rule")
# The range of an estimate of one step, as a factor to both sides, by its ground.
_FACTORS = {SAME: 1.4, LIKE: 1.6, OTHERS: 2.5, RULE: 4.0}
_MOST_FACTOR, _FEW_FACTOR = 6.0, 1.4
_LEAST = 1.5  # the largest fixed part, relative to the shortest step of a kind
_NEAR = 5  # steps that an estimate is taken from
_ALIKE = 1.02  # amounts of work of the same step differ by less
_SIZE_APART, _RANKS_WEIGHT = 0.7, 0.5  # of distances between steps, in units of the logarithm of the amount
_BY_RULE = {  # seconds of a step, and of each unit of its amount
    RUN: (0.15, 2e-5), RECORDING: (0.3, 4e-5), MEASUREMENT: (0.2, EXPERIMENT_S), ANSWER: (0.05, 0.0),
    EVALUATION: (0.02, 1e-4), f"{PROGRAM}{RUN}": (2.0, 2e-5), f"{PROGRAM}{RECORDING}": (2.0, 4e-5),
}  # fmt: skip
# Start of a worker process, where it is not known: it imports about what the process of this module has imported.
_START_S = min(3.0, 1.5 * time.process_time())
_REST_S = 0.1  # of a run beside its steps, where it is not known
_RATIOS = 200  # the latest runs whose times are compared with those of their steps


@dataclass(frozen=True)
class Guess:
    """The time that a step will take."""

    wall_s: float
    factor: float  # it will take between ``wall_s / factor`` and ``wall_s * factor``
    ground: str  # one of GROUNDS


@dataclass(frozen=True)
class Estimate:
    """The time that a suite will take."""

    wall_s: float
    low_s: float
    high_s: float
    at_once: int  # runs at a time
    ground: str  # in words

    def __str__(self) -> str:
        low, high = rough_duration(self.low_s), rough_duration(self.high_s)
        between = f", between {low} and {high}" if low != high else ""
        at_once = f" with {self.at_once} at a time" if self.at_once > 1 else ""
        return f"time: about {rough_duration(self.wall_s)}{between}{at_once}; {self.ground}"


class Guesses:
    """Guesses of steps, each kind of step once.

    Args:
        known: The times of steps that were made.
    """

    def __init__(self, known: Durations):
        self._known = known
        self._made: dict[Step, Guess] = {}
        self._others: dict[str, list[tuple[Step, float]]] = {}

    def of(self, step: Step) -> Guess:
        """Return the guess of a step."""
        if step not in self._made:
            self._made[step] = self._guess(step)
        return self._made[step]

    def is_known(self, step: Step) -> bool:
        """Return whether steps of its kind and name were made."""
        return (step.kind, step.name) in self._known.known

    def has_size(self, step: Step) -> bool:
        """Return whether steps of its kind, name and size were made."""
        return any(other.size == step.size for other, _ in self._known.known.get((step.kind, step.name), []))

    def _guess(self, step: Step) -> Guess:
        known = self._known.known.get((step.kind, step.name), [])
        same = [
            wall_s for other, wall_s in known
            if (other.size, other.ranks) == (step.size, step.ranks)
            and 1 / _ALIKE < other.amount / step.amount < _ALIKE
        ][:_NEAR]  # fmt: skip
        if same:
            return Guess(statistics.median(same), _FACTORS[SAME] * _few(same), SAME)
        if step.kind not in self._others:
            self._others[step.kind] = self._known.of_kind(step.kind)
        of_kind = self._others[step.kind]
        if of_kind:
            # The part that does not depend on the work is that of the kind, such as the start of a simulation.
            least_s = _LEAST * min(wall_s for _, wall_s in of_kind)
            return _scaled(step, known or of_kind, LIKE if known else OTHERS, least_s)
        once_s, each_s = _BY_RULE[step.kind]
        return Guess(once_s + each_s * step.amount, _FACTORS[RULE], RULE)


def _scaled(step: Step, known: Sequence[tuple[Step, float]], ground: str, most_fixed_s: float) -> Guess:
    """Return the time of a step from the nearest ones of its kind, in proportion to the work beside a fixed part."""
    fixed_s = min(_fixed_s(known), most_fixed_s)
    apart = sorted((_distance(step, other), other.amount, wall_s) for other, wall_s in known)[:_NEAR]
    exponent = _exponent(known, fixed_s)
    scaled = [fixed_s + max(0.0, wall_s - fixed_s) * (step.amount / amount) ** exponent for _, amount, wall_s in apart]
    wall_s = statistics.median(scaled)
    spread = max(max(scaled) / wall_s, wall_s / max(1e-9, min(scaled))) if wall_s > 0 else 1.0
    factor = _FACTORS[ground] * _few(known) * math.exp(0.25 * apart[0][0]) * min(2.0, max(1.0, spread**0.5))
    return Guess(wall_s, min(_MOST_FACTOR, factor), ground)


def _few(known: Sequence[object]) -> float:
    """Return by how much an estimate from few times is wider: other work on the computer may have been in one."""
    return 1.0 if len(known) > 2 else _FEW_FACTOR


def _fixed_s(known: Sequence[tuple[Step, float]]) -> float:
    """Return the part of the time that does not depend on the work: that of the steps with the least work."""
    least = sorted(known, key=lambda known_step: known_step[0].amount)[: max(_NEAR, len(known) // 10)]
    return min(statistics.median(wall_s for _, wall_s in least), min(wall_s for _, wall_s in known) * 2)


def _exponent(known: Sequence[tuple[Step, float]], fixed_s: float) -> float:
    """Return the power of the work with which the time grows, between 1 and 1.3, from steps that take long."""
    pairs = [(math.log(step.amount), math.log(wall_s - fixed_s)) for step, wall_s in known if wall_s > 3 * fixed_s]
    if len(pairs) < 2 * _NEAR or max(x for x, _ in pairs) - min(x for x, _ in pairs) < math.log(4):
        return 1.0
    slope, _ = statistics.linear_regression(*zip(*pairs, strict=True))
    return min(1.3, max(1.0, slope))


def _distance(step: Step, other: Step) -> float:
    apart = abs(math.log(step.amount / other.amount)) + _RANKS_WEIGHT * abs(math.log(step.ranks / other.ranks))
    return apart + _SIZE_APART * (step.size != other.size)


def estimated(
    cases: Iterable[Sequence[Step]], shared: Iterable[Step], names: str, known: Durations, *, jobs: int,
    of: int | None = None, cold: bool = False, far: bool = False,
) -> Estimate | None:  # fmt: skip
    """Return the time that runs will take; None: there are none.

    Args:
        cases: The steps of each run that no other one needs.
        shared: Steps that the runs need, each once.
        names: The predictors of the runs, in words.
        known: The times of steps that were made.
        jobs: Number of runs at a time.
        of: Number of all runs, of which ``cases`` are a sample; None: they are all.
        cold: Worker processes have to start.
        far: Workers of a scheduler make the runs.
    """
    guesses = Guesses(known)
    each = [[guesses.of(step) for step in steps] for steps in cases]
    if not each:
        return None
    common = [guesses.of(step) for step in shared]
    share = 1.0 if of is None else of / len(each)
    at_once = max(1, min(jobs, round(share * len(each))))
    ratio = _ratio(known, names)
    listed = [*common, *(guess for steps in each for guess in steps)]
    start_s = _start_s(known) if cold else 0.0
    ends = []
    for power in (-1, 0, 1):
        times_s = [sum(guess.wall_s * guess.factor**power for guess in steps) for steps in each]
        shared_s = sum(guess.wall_s * guess.factor**power for guess in common)
        # Evidence of a sample may be all that there is, or grow with the number of runs.
        grown = {-1: 1.0, 0: math.sqrt(share), 1: share}[power]
        work_s = ratio.typical_s(share * len(each)) + ratio.factor * (share * sum(times_s) + grown * shared_s)
        longest_s = max(times_s, default=0.0) + max((g.wall_s * g.factor**power for g in common), default=0.0)
        ends.append(start_s + max(work_s / at_once, longest_s))
    slack = 1.6 if far else 1.2
    return Estimate(ends[1], ends[0] / slack, ends[2] * slack, at_once, _ground(listed, far=far))


@dataclass(frozen=True)
class _Ratio:
    """Relation of the times of whole runs to those of their steps."""

    factor: float
    rest_s: float  # of each run

    def typical_s(self, runs: float) -> float:
        """Return the time that runs take besides their steps."""
        return self.rest_s * runs


def _ratio(known: Durations, names: str) -> _Ratio:
    """Return how runs of these predictors, or of any, took longer or shorter than their steps together."""
    runs = known.known.get((CASE, names), []) or known.of_kind(CASE)
    latest = [(step.amount, wall_s) for step, wall_s in runs[:_RATIOS]]
    if not latest:
        return _Ratio(1.0, _REST_S)
    steps_s, walls_s = (math.fsum(values) for values in zip(*latest, strict=True))
    rest_s = statistics.median(max(0.0, wall_s - parts_s) for parts_s, wall_s in latest)
    factor = max(0.0, walls_s - rest_s * len(latest)) / steps_s if steps_s > 0 else 1.0
    return _Ratio(min(1.5, max(0.5, factor)), rest_s)


def _start_s(known: Durations) -> float:
    starts = [wall_s for _, wall_s in known.known.get((START, "worker"), [])[:_NEAR]]
    return statistics.median(starts) if starts else _START_S


def _ground(listed: Sequence[Guess], *, far: bool) -> str:
    """Return in words what an estimate rests on: the shares of its time by ground."""
    total_s = math.fsum(guess.wall_s for guess in listed)
    shares = {
        ground: math.fsum(guess.wall_s for guess in listed if guess.ground == ground) / total_s if total_s else 0.0
        for ground in GROUNDS
    }
    words = {
        SAME: "from the times of the same steps", LIKE: "from those of like steps, by their work",
        OTHERS: "from other programs or predictors", RULE: "by a rule of thumb, because nothing like it was run",
    }  # fmt: skip
    said = [f"{100 * shares[ground]:.0f} % {words[ground]}" for ground in GROUNDS if shares[ground] >= 0.005]
    where = " on this computer, which the workers of the scheduler may differ from" if far else " on this computer"
    return f"{', '.join(said) or 'nothing is to be made'}{where}"
