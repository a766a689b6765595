"""What each configuration of a space would take, by N-T, P-T or NP-T models; by predictors: predictor_driver.py."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from platforms.errors import UserError
from predictor.base import Cost, EvidenceRequest, OutOfRange
from predictor.evidence import Broker
from predictor.npt.configuration import Configuration
from predictor.npt.equations import Equations
from predictor.npt.fit import check_method
from predictor.npt.fitting import fit_models
from predictor.npt.glitches import check_k
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.models import FORMS, NptModels
from predictor.npt.noise import GLITCH_FACTOR, GLITCH_SHARE, check_noise, perturb
from predictor.npt.objectives import TIME, Objective
from predictor.npt.search import Choice, exhaustive
from predictor.npt.space import Space
from predictor.optimize.study import Study


@dataclass(frozen=True)
class Gathered:
    """What evidence has cost."""

    cost: Cost = field(default_factory=Cost)
    measured_s: float = 0.0  # times of the runs among it, one after the other
    wall_s: float = 0.0  # of this computer, to gather it here and now: what the store knows takes next to nothing


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the configurations of a space would take at one N."""

    times_s: np.ndarray  # of every configuration; NaN where there is no answer
    table_s: np.ndarray | None = None  # T_i by (i, M_i, P), of models that have such a table
    # J of the hosts in use, of every configuration; None: not known, by the platform or by the model.
    energies_j: np.ndarray | None = None
    flags: tuple[str, ...] = ()  # reasons to distrust all of them
    own_flags: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # reasons to distrust one, by its row
    refusals: tuple[str, ...] = ()  # why there is no answer, of each that has none

    def choose(self, space: Space, objective: Objective = TIME, *, time_limit_s: float = np.inf) -> Choice:
        """The best (predictor.npt.search.exhaustive), with the reasons to distrust it.

        Raises OutOfRange where there is none, with the commonest reason.
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
    """Says what configurations would take."""

    def estimate(self, space: Space, size: int) -> Estimates:
        """Of every configuration of the space at N."""

    @property
    def gathered(self) -> Gathered:
        """All evidence so far."""


@dataclass(frozen=True)
class Noise:
    """What is added to measured times, because simulations have none (predictor/npt/noise.py).

    Raises UserError for values that make no sense.
    """

    sigma: float = 0.0
    seed: int = 0
    glitch_share: float = GLITCH_SHARE
    glitch_factor: float = GLITCH_FACTOR

    def __post_init__(self) -> None:
        check_noise(self.sigma, self.seed, self.glitch_share, self.glitch_factor)

    def of(self, measurements: Measurements) -> Measurements:
        """The measurements as a noisy machine would give them; a sigma of 0 is none, glitches included."""
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
class NptSettings:
    """Which models are made of the measurements, and how; see predictor.npt.fitting.fit_models.

    Raises UserError for names and values that are not known.
    """

    form: str = "npt"
    method: str = "nnls"
    weights: str = "relative"  # the paper's are absolute: docs/planning/allocation.md compares them
    drop: tuple[str, ...] = ()
    glitch_k: float | None = None
    noise: Noise = Noise()

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise UserError(f"form {self.form!r}", "no such model", f"Known: {', '.join(FORMS)}")
        check_method(self.method, self.weights)
        if self.glitch_k is not None:
            check_k(self.glitch_k)

    def check(self, equations: Equations, runs: Sequence[tuple[Configuration, int]]) -> None:
        """Whether runs at these sizes make such models, before any is made.

        Raises UserError where there are too few, or a term is dropped that is not there.
        """
        if not runs:
            raise UserError("measurements", "none of the sizes allows any", "Give others")
        # What a fit can tell apart depends on N and P alone: any times will do.
        times = Measurements.of(Measurement(configuration, size, float(size)) for configuration, size in runs)
        fit_models(times, equations, form=self.form, method="ls", drop=self.drop)

    @property
    def name(self) -> str:
        """Such as "NP-T/NNLS", as the paper has it."""
        forms = {"nt": "N-T", "pt": "P-T", "pt-printed": "P-T printed", "npt": "NP-T"}
        extra = [f"without {term}" for term in self.drop]
        extra += [] if self.weights == "absolute" else [f"{self.weights} weights"]
        extra += [] if self.glitch_k is None else [f"glitches below {self.glitch_k:g} left out"]
        return ", ".join([f"{forms.get(self.form, self.form)}/{self.method.upper()}", *extra])


@dataclass(frozen=True, eq=False)
class Measured:
    """Runs on sub-clusters alone, and what they cost."""

    measurements: Measurements
    costs: tuple[Cost, ...]  # of each run
    quiet_s: np.ndarray  # their times without noise
    wall_s: float  # of this computer, to gather them here and now

    @property
    def gathered(self) -> Gathered:
        return Gathered(sum(self.costs, Cost()), float(self.quiet_s.sum()), self.wall_s)

    def where(self, mask: np.ndarray) -> Measured:
        """Some of them; the time of gathering is that of all."""
        costs = tuple(cost for cost, kept in zip(self.costs, mask, strict=True) if kept)
        return Measured(self.measurements.where(mask), costs, self.quiet_s[mask], self.wall_s)

    def with_noise(self, noise: Noise) -> Measured:
        """The same as a noisy machine would give them, at the same cost."""
        return replace(self, measurements=noise.of(self.measurements))


def measure(study: Study, runs: Sequence[tuple[Configuration, int]], broker: Broker) -> Measured:
    """The times of these configurations and sizes, by runs that are charged for."""
    started = time.perf_counter()
    evidence = broker.gather([EvidenceRequest("run", study.target(*run)) for run in runs])
    measurements = Measurements.of(
        Measurement(configuration, size, one.record.time_s, one.record.flops)
        for (configuration, size), one in zip(runs, evidence, strict=True)
    )
    costs = tuple(one.cost for one in evidence)
    return Measured(measurements, costs, measurements.time_s, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class NptDriver:
    """Fitted models."""

    models: NptModels
    gathered: Gathered
    fit_s: float  # wall time that the fitting took

    def estimate(self, space: Space, size: int) -> Estimates:
        return Estimates(*self.models.times(space, size), flags=self.models.flags(size))


def npt_driver(measured: Measured, equations: Equations, settings: NptSettings) -> NptDriver:
    """Models of the measurements, with the noise that the settings say.  Raises UserError where none can be made."""
    started = time.perf_counter()
    models = fit_models(
        settings.noise.of(measured.measurements),
        equations,
        form=settings.form,
        method=settings.method,
        weights=settings.weights,
        drop=settings.drop,
        glitch_k=settings.glitch_k,
    )
    return NptDriver(models, measured.gathered, time.perf_counter() - started)
