"""What each configuration of a space would take: by N-T, P-T or NP-T models, or by any predictor of the project."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from platforms.errors import UserError
from predictor.base import Cost, EvidenceRequest, Predictor
from predictor.evidence import Broker
from predictor.npt.configuration import Configuration
from predictor.npt.equations import Equations
from predictor.npt.fit import check_method
from predictor.npt.fitting import fit_models
from predictor.npt.glitches import check_k
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.models import FORMS, NptModels
from predictor.npt.noise import GLITCH_FACTOR, GLITCH_SHARE, check_noise, perturb
from predictor.npt.space import Space
from predictor.optimize.study import Study
from predictor.predict import predict
from predictor.progress import Progress


class Driver(Protocol):
    """Says what configurations would take."""

    def times_s(self, space: Space, size: int) -> tuple[np.ndarray, np.ndarray | None]:
        """T of every configuration of the space at N, s; NaN where it has no answer.

        And T_i by (i, M_i, P), if it has such a table.
        """

    @property
    def cost(self) -> Cost:
        """Of the evidence so far."""


@dataclass(frozen=True)
class Noise:
    """What is added to measured times, because simulations have none (predictor/npt/noise.py).

    Raises UserError for values that make no sense.
    """

    sigma: float = 0.0
    seed: int = 0
    glitch_share: float = GLITCH_SHARE
    glitch_factor: float = GLITCH_FACTOR

    def __post_init__(self):
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
    weights: str = "absolute"
    drop: tuple[str, ...] = ()
    glitch_k: float | None = None
    noise: Noise = Noise()

    def __post_init__(self):
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
    """Runs on sub-clusters alone, without noise, and what they cost."""

    measurements: Measurements
    cost: Cost


def measure(study: Study, runs: Sequence[tuple[Configuration, int]], broker: Broker) -> Measured:
    """The times of these configurations and sizes, by runs that are charged for."""
    evidence = broker.gather([EvidenceRequest("run", study.target(*run)) for run in runs])
    measurements = Measurements.of(
        Measurement(configuration, size, one.answer.time_s, one.answer.flops)
        for (configuration, size), one in zip(runs, evidence, strict=True)
    )
    return Measured(measurements, sum((one.cost for one in evidence), Cost()))


@dataclass(frozen=True, eq=False)
class NptDriver:
    """Fitted models."""

    models: NptModels
    cost: Cost
    fit_s: float  # wall time that the fitting took

    def times_s(self, space: Space, size: int) -> tuple[np.ndarray, np.ndarray]:
        return self.models.times(space, size)


def npt_driver(measured: Measured, equations: Equations, settings: NptSettings) -> NptDriver:
    """Models of the measurements, with the noise that the settings say."""
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
    return NptDriver(models, measured.cost, time.perf_counter() - started)


@dataclass(eq=False)
class PredictorDriver:
    """Any predictor, asked for one configuration after the other."""

    predictor: Predictor
    study: Study
    broker: Broker
    _costs: dict[str, Cost] = field(default_factory=dict)  # by evidence

    def times_s(self, space: Space, size: int) -> tuple[np.ndarray, None]:
        targets = [self.study.target(space.configuration(row), size) for row in range(len(space))]
        progress = Progress()
        try:
            answers = predict(self.predictor, targets, self.broker, progress=progress)
        finally:
            progress.close()
        for evidence in answers[0].evidence if answers else ():
            self._costs[evidence.id] = evidence.cost
        return np.array([np.nan if a.prediction is None else a.prediction.time_s for a in answers]), None

    @property
    def cost(self) -> Cost:
        return sum(self._costs.values(), Cost())
