"""Estimates of the configurations of a space by N-T, P-T or NP-T models; predictor_driver.py does so by predictors.

Noise on times, which real machines have and simulations do not.

Ichikawa, Takahashi, Kawai, sections 5.6 and 5.8, describe its effect on the models.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from apps.results.record import RunRecord
from platforms.errors import UserError
from platforms.wording import number_of
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import TIME, Objective
from predictor.allocation.search import ChosenConfiguration, exhaustive
from predictor.allocation.space import Space
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange
from predictor.evidence.broker import Broker
from predictor.nodes.options import GLITCH_FACTOR, GLITCH_SHARE, OUTLIERS
from predictor.nodes.study import Study
from predictor.npt.fit import check_method
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.models import FORMS, NptModels
from predictor.npt.outliers import WIDTHS, check_k
from predictor.npt.predictability import cross_validated_error, probability_best
from predictor.npt.smaller import time_of_iterations_s
from predictor.npt.terms import Equations


def perturb(
    measurements: Measurements,
    *,
    sigma: float,
    seed: int,
    glitch_share: float = GLITCH_SHARE,
    glitch_factor: float = GLITCH_FACTOR,
) -> Measurements:
    """Return the same runs with times as a noisy machine would give them.

    Every time is multiplied by exp(sigma z), with z standard normal (median 1, so 0.02 is about 2 %).  With probability
    ``glitch_share`` it is also multiplied by ``glitch_factor``.  The same seed and runs in the same order give the same
    times; changing the glitches leaves the rest of the noise as it is.

    Raises:
        UserError: A value is out of its range.
    """
    check_noise(sigma, seed, glitch_share, glitch_factor)
    random = np.random.default_rng(seed)
    factor = np.exp(sigma * random.standard_normal(len(measurements)))
    factor[random.random(len(measurements)) < glitch_share] *= glitch_factor
    return measurements.with_times(measurements.time_s * factor)


def check_noise(sigma: float, seed: int, glitch_share: float, glitch_factor: float) -> None:
    """Check the settings of noise.

    Raises:
        UserError: A value is out of its range.
    """
    if not 0 <= sigma <= 1:
        raise UserError(f"noise {sigma}", "not a standard deviation of relative times", "Give one from 0 to 1")
    if not 0 <= glitch_share <= 1:
        raise UserError(f"glitch share {glitch_share}", "not a share", "Give a number from 0 to 1")
    if not 1 <= glitch_factor < np.inf:
        raise UserError(f"glitch factor {glitch_factor}", "a glitch is slower, not faster", "Give 1 or more")
    if seed < 0:
        raise UserError(f"seed {seed}", "below zero", "Give a whole number from 0")


@dataclass(frozen=True)
class Gathered:
    """Cost of the evidence so far."""

    cost: Cost = field(default_factory=Cost)
    measured_s: float = 0.0  # sum of the times of all runs
    wall_s: float = 0.0  # elapsed time on this computer to gather it; runs from the store take almost no time

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(self.cost + other.cost, self.measured_s + other.measured_s, self.wall_s + other.wall_s)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of the configurations of a space at one size N."""

    times_s: np.ndarray  # of every configuration; NaN where there is no answer
    table_s: np.ndarray | None = None  # T_i by (i, M_i, P), of models that have such a table
    # Energy of the hosts in use of every configuration, J; None: the platform or the model does not give it.
    energies_j: np.ndarray | None = None
    flags: tuple[str, ...] = ()  # reasons to distrust all estimates
    own_flags: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # reasons to distrust one estimate, by row
    refusals: tuple[str, ...] = ()  # reasons of all configurations without an answer

    def choose(self, space: Space, objective: Objective = TIME, *, time_limit_s: float = np.inf) -> ChosenConfiguration:
        """Return the best configuration (predictor.allocation.search.exhaustive), with the reasons to distrust it.

        Raises:
            OutOfRange: No configuration has an answer; the error gives the most frequent reason.
        """
        if self.refusals and np.isnan(self.times_s).all():
            ((reason, count),) = Counter(self.refusals).most_common(1)
            problem = f"no answer for any of {len(space)} configurations; for {count} of them: {reason.rstrip('.')}"
            raise OutOfRange("search", problem, "Use another predictor, or other nodes and processes")
        choice = exhaustive(
            space,
            self.times_s,
            objective,
            table_s=self.table_s,
            energies_j=self.energies_j,
            time_limit_s=time_limit_s,
        )
        (row,) = space.rows([choice.configuration])
        return replace(choice, flags=(*choice.flags, *self.flags, *self.own_flags.get(int(row), ())))


class Driver(Protocol):
    """Source of estimates for configurations."""

    def estimate(self, space: Space, size: int) -> Estimates:
        """Estimate every configuration of the space at N = ``size``."""

    @property
    def gathered(self) -> Gathered:
        """Cost of all evidence so far."""


@dataclass(frozen=True)
class Noise:
    """Noise that is added to measured times, because simulations have none (predictor/nodes/drivers.py).

    Raises:
        UserError: A value is out of its range.
    """

    sigma: float = 0.0
    seed: int = 0
    glitch_share: float = GLITCH_SHARE
    glitch_factor: float = GLITCH_FACTOR

    def __post_init__(self) -> None:
        check_noise(self.sigma, self.seed, self.glitch_share, self.glitch_factor)

    def of(self, measurements: Measurements) -> Measurements:
        """Return the measurements with noise; a sigma of 0 adds neither noise nor glitches."""
        if self.sigma == 0:
            return measurements
        return perturb(
            measurements,
            sigma=self.sigma,
            seed=self.seed,
            glitch_share=self.glitch_share,
            glitch_factor=self.glitch_factor,
        )

    def __str__(self) -> str:
        if self.sigma == 0:
            return "none"
        glitches = f"{100 * self.glitch_share:g} % glitches of {self.glitch_factor:g} times"
        return f"{100 * self.sigma:g} %, {glitches}, seed {self.seed}"


@dataclass(frozen=True)
class Tuning:
    """Settings of a fit that the measurements decide."""

    reject: bool  # leave outliers out
    width: float  # of local weights


@dataclass(frozen=True)
class NptSettings:
    """Form of the models and the way to fit them; see predictor.npt.fitting.fit_models.

    Raises:
        UserError: A name or value is not valid.
    """

    form: str = "npt"
    method: str = "nnls"
    weights: str = "relative"  # the paper's weights are absolute; docs/planning/allocation.md compares them
    drop: tuple[str, ...] = ()
    glitch_k: float | None = None
    outliers: str = "keep"  # of names.OUTLIERS
    noise: Noise = Noise()

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise UserError(f"form {self.form!r}", "no such model", f"Known: {', '.join(FORMS)}")
        check_method(self.method, self.weights)
        if self.form == "npt:messages" and self.method != "nnls":
            problem = "times of messages that do not fall with their size are found by nnls only"
            raise UserError(f"fit {self.method!r}", problem, "Take nnls, or the models npt")
        if self.outliers not in OUTLIERS:
            raise UserError(f"outliers {self.outliers!r}", "no such word", f"Known: {', '.join(OUTLIERS)}")
        if self.glitch_k is not None:
            check_k(self.glitch_k)

    def check(self, equations: Equations, runs: Sequence[tuple[Configuration, int]]) -> None:
        """Check, before any run is made, that runs at these sizes suffice for the models.

        Raises:
            UserError: There are too few runs, or a term to drop is not in the equation.
        """
        if not runs:
            raise UserError("measurements", "the program runs on no configuration with any of the sizes", "Give others")
        # Whether a fit can separate the terms depends on N and P only, so any times serve here.
        times = Measurements.of(Measurement(configuration, size, float(size)) for configuration, size in runs)
        fit_models(times, equations, form=self.form, method="ls", drop=self.drop)

    @property
    def name(self) -> str:
        """Name in the paper's style, such as "NP-T/NNLS"."""
        forms = {"npt:nt": "N-T", "npt:pt": "P-T", "npt:pt-printed": "P-T printed", "npt": "NP-T"}
        forms["npt:messages"] = "NP-T with messages"
        extra = [f"without {term}" for term in self.drop]
        extra += [] if self.weights == "absolute" else [f"{self.weights} weights"]
        extra += [] if self.glitch_k is None else [f"glitches below {self.glitch_k:g} left out"]
        said = {"keep": [], "reject": ["outliers left out"], "cross-validate": ["outliers by cross-validation"]}
        extra += said[self.outliers]
        return ", ".join([f"{forms.get(self.form, self.form)}/{self.method.upper()}", *extra])

    def fit(self, measurements: Measurements, equations: Equations, *, near: float, tuning: Tuning) -> NptModels:
        """Fit models to measurements, which contain the noise already.

        Args:
            measurements: The runs.
            equations: Terms of the program's time.
            near: The N near which models with local weights are to hold.
            tuning: Settings that the measurements themselves have decided.

        Raises:
            UserError: The models cannot be fitted.
        """
        return fit_models(
            measurements,
            equations,
            form=self.form,
            method=self.method,
            weights=self.weights,
            drop=self.drop,
            glitch_k=self.glitch_k,
            near=near,
            width=tuning.width,
            reject=tuning.reject,
        )

    def tuned(self, measurements: Measurements, equations: Equations) -> Tuning:
        """Return the settings that predict the runs of left-out sizes best, of those that are open.

        Open are the width of local weights, and with "cross-validate" whether outliers are left out.  All are judged
        by all runs, outliers included, which none of them predicts.
        """
        rejects = (False, True) if self.outliers == "cross-validate" else (self.outliers == "reject",)
        widths = WIDTHS if self.weights == "local" else WIDTHS[-1:]
        candidates = [Tuning(reject, width) for reject in rejects for width in widths]
        if len(candidates) == 1:
            return candidates[0]

        def error(tuning: Tuning) -> float:
            return cross_validated_error(
                measurements, lambda runs, near: self.fit(runs, equations, near=near, tuning=tuning)
            )

        return min(candidates, key=error)


@dataclass(frozen=True, eq=False)
class Measured:
    """Runs on single sub-clusters, with their cost."""

    measurements: Measurements
    costs: tuple[Cost, ...]  # of each run
    quiet_s: np.ndarray  # times of the runs without noise
    wall_s: float  # elapsed time on this computer to gather the runs

    @property
    def gathered(self) -> Gathered:
        """Cost of the runs."""
        return Gathered(sum(self.costs, Cost()), float(self.quiet_s.sum()), self.wall_s)

    def where(self, mask: np.ndarray) -> Measured:
        """Return the runs that the mask selects; wall_s remains that of all runs."""
        costs = tuple(cost for cost, kept in zip(self.costs, mask, strict=True) if kept)
        return Measured(self.measurements.where(mask), costs, self.quiet_s[mask], self.wall_s)

    def with_noise(self, noise: Noise) -> Measured:
        """Return the runs with noise added to their times, at the same cost."""
        return replace(self, measurements=noise.of(self.measurements))


def measure(study: Study, runs: Sequence[tuple[Configuration, int]], broker: Broker) -> Measured:
    """Measure these configurations and sizes by runs, and charge their cost."""
    started = time.perf_counter()
    evidence = broker.gather([EvidenceRequest("run", study.target(*run)) for run in runs])
    rows = [
        (Measurement(*run, scale * time_s, piece.record.flops or None), Cost(piece.cost.node_s / len(times_s)))
        for run, piece in zip(runs, evidence, strict=True)
        for scale, times_s in [(_scale(study, piece), _repeats_s(piece.record))]
        for time_s in times_s
    ]
    measurements = Measurements.of(row for row, _ in rows)
    costs = tuple(cost for _, cost in rows)
    simulated_s = sum(piece.cost.wall_s for piece in evidence)
    costs = (replace(costs[0], wall_s=simulated_s), *costs[1:])
    return Measured(measurements, costs, measurements.time_s, time.perf_counter() - started)


def _repeats_s(record: RunRecord) -> tuple[float, ...]:
    """Return the times of a run: on a real machine one of each repeat."""
    return (record.time_s,) if record.measured is None else tuple(record.measured.repeats_s)


def _scale(study: Study, piece: Evidence) -> float:
    """Return the time with the asked problem's number of iterations over that of the run; classes differ in it."""
    ran = piece.request.target
    if study.fixed is None or study.fixed.program is not None:
        return 1.0
    return (
        time_of_iterations_s(piece.record, ran.iterations, study.fixed.iterations_on(ran.nranks)) / piece.record.time_s
    )


@dataclass(frozen=True, eq=False)
class NptDriver:
    """Estimates by fitted N-T, P-T or NP-T models."""

    models: NptModels
    gathered: Gathered
    fit_s: float  # wall time of the fit
    runs: Measurements  # those that the models were fitted to, with their noise
    refit: Callable[[Measurements], NptModels]  # fits models to other times of these runs in the same way
    cautions: tuple[str, ...] = ()  # about the runs
    terms: str = ""  # a sentence about the terms of the models, where they are not those of the kernel

    def estimate(self, space: Space, size: int) -> Estimates:
        """Estimate every configuration of the space at N = ``size``."""
        return Estimates(*self.models.times(space, size), flags=self.flags(size))

    def flags(self, size: int) -> tuple[str, ...]:
        """Return reasons to distrust the estimates at N = ``size``."""
        flags = (*self.models.flags(size), *self.cautions)
        if left_out := int(self.models.outliers.sum()):
            flags = (*flags, f"{left_out} of {number_of(len(self.runs), 'run')} left out of the fit as outliers")
        return flags

    def probability_best(self, space: Space, size: int, chosen: Configuration, resamplings: int) -> float:
        """Return the share of resampled measurements by which the choice is the best (npt/predictability.py)."""
        return probability_best(self.runs, self.refit, space, size, chosen, resamplings=resamplings)


def npt_driver(
    measured: Measured, equations: Equations, settings: NptSettings, *, near: float, tuning: Tuning | None = None
) -> NptDriver:
    """Fit models to the measurements, with the noise of the settings, for a choice at N = ``near``.

    ``tuning`` is what ``settings.tuned`` has returned for these measurements; None: it is called.

    Raises:
        UserError: The models cannot be fitted.
    """
    started = time.perf_counter()
    runs = settings.noise.of(measured.measurements)
    tuned = settings.tuned(runs, equations) if tuning is None else tuning

    def refit(runs: Measurements) -> NptModels:
        return settings.fit(runs, equations, near=near, tuning=tuned)

    models = refit(runs)
    return NptDriver(models, measured.gathered, time.perf_counter() - started, runs, refit)
