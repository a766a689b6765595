"""An artificial neural network as a baseline, as in the references of the HCF paper (its [5] and [6]).

B. C. Lee et al., PPoPP 2007; K. Singh et al., "Predicting parallel application performance via machine learning
approaches", 2007: a multilayer network learns the time from runs of the same program.  Here it has one hidden layer and
sees three features of a run: the logarithms of the number of ranks, of the speed of all its hosts together, and of the
slowest of them.  Ten networks from different random weights vote; their median counts.  It needs scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from apps.spec.target import Target
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.regression.smaller_runs import extrapolation_flags, smaller_runs

POINTS = range(3, 9)  # numbers of runs on nodes of all clusters
NETWORKS = 10
HIDDEN = 8  # neurons
_ITERATIONS = 200  # of L-BFGS; more learn the few runs by heart
_PENALTY = 1e-3  # of large weights, beside the squared errors of scaled logarithms


def features(target: Target) -> tuple[float, float, float]:
    """Return the logarithms of the ranks, of the speed of all hosts in use, and of that of the slowest one."""
    speeds = [target.platform.host(host).speed_flops for host in target.placement]
    return float(np.log(target.nranks)), float(np.log(sum(speeds))), float(np.log(min(speeds)))


def learned_times(inputs: np.ndarray, times_s: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the times of NETWORKS networks for asked features, after training on runs; networks x asked.

    Args:
        inputs: Features of the runs, runs x features.
        times_s: Their times, positive.
        asked: Features of what is asked for.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    # Imported here for a quick start: it is slow to import, and an extra.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    centre, spread = inputs.mean(axis=0), np.maximum(inputs.std(axis=0), 1e-9)
    logs = np.log(times_s)
    middle, width = logs.mean(), max(float(logs.std()), 1e-9)
    made = []
    for seed in range(NETWORKS):
        network = MLPRegressor(
            hidden_layer_sizes=(HIDDEN,),
            activation="tanh",
            solver="lbfgs",
            alpha=_PENALTY,
            max_iter=_ITERATIONS,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped before it learns the runs by heart
            network.fit((inputs - centre) / spread, (logs - middle) / width)
        made.append(network.predict((asked - centre) / spread) * width + middle)
    times: np.ndarray = np.exp(np.array(made))
    return times


@dataclass(frozen=True)
class NeuralModel:
    """The runs; each prediction trains networks on those of its target."""

    predictor: Neural
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by networks that are trained on the smaller runs.

        Raises:
            OutOfRange: scikit-learn is not installed, or there are too few smaller runs.
        """
        evidence = [self.answers[request] for request in self.predictor.runs(target)]
        inputs = np.array([features(run.request.target) for run in evidence])
        times_s = learned_times(
            inputs, np.array([run.record.time_s for run in evidence]), np.array([features(target)])
        )[:, 0]
        time_s = float(np.median(times_s))
        ratio = float(times_s.max() / times_s.min())
        scatter = (f"{NETWORKS} networks from other random weights differ by a factor of {ratio:.3g}",)
        return Prediction(
            time_s=time_s,
            parts={"learned_s": time_s},
            flags=(*extrapolation_flags(target, [run.record.ranks for run in evidence]), *scatter),
            evidence=tuple(run.id for run in evidence),
            cost=sum((run.cost for run in evidence), Cost()),
        )


@dataclass(frozen=True)
class Neural(AsksOnce):
    """The predictor."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range; the store has those that were made before."""
        return requests_in_range(self.runs, targets)

    def fit(self, evidence: Sequence[Evidence]) -> NeuralModel:
        """Return a model that holds the runs."""
        return NeuralModel(self, {run.request: run for run in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """Return the runs to learn from: on some nodes of every cluster.

        Raises:
            OutOfRange: scikit-learn is not installed, which is said before any run is made, or there are fewer than
                three smaller sizes.
        """
        if find_spec("sklearn") is None:
            raise OutOfRange(self.name, "it needs scikit-learn", "Install the extra: pip install 'gridval[neural]'")
        try:
            return smaller_runs(target, POINTS, predictor=self.name)
        except OutOfRange as err:
            raise OutOfRange(err.where, err.problem, "Predict more nodes, or use another predictor") from None


FIT_NEURAL = Neural("fit:neural")
