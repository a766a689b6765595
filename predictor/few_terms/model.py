"""Predict the time on more nodes: work that is divided, one added term of a known shape, and noise.

On p nodes a run takes (work / p) w(p) + x g(p).  The shape g is one of a few: an exchange with all other nodes, the
surface of a domain, a constant, a logarithm, a line, or the machine's own times of MPI_Allreduce.  w(p), the time of a
unit of work, may change with the nodes as a random walk over their doublings.  Small runs show too little to choose one
shape, so that all are kept with the probabilities that Bayes' rule gives them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Shape = Callable[[np.ndarray], np.ndarray]  # of node counts: a time that is added to the work of a node

EXCHANGE, SURFACE, CONSTANT, LOGARITHM, LINEAR = "exchange", "surface", "constant", "logarithm", "linear"
SYNCHRONISATION = "allreduce"
# What a node exchanges with all others, which one node does not, of data of a fixed size; halos of a three-dimensional
# domain; serial parts, pipelines and messages of fixed number; trees; messages to every node.
SHAPES: Mapping[str, Shape] = {
    EXCHANGE: lambda nodes: (1 - 1 / nodes) / nodes,
    SURFACE: lambda nodes: nodes ** (-2 / 3),
    CONSTANT: np.ones_like,
    LOGARITHM: lambda nodes: np.log2(2 * nodes),
    LINEAR: lambda nodes: nodes,
}
QUANTILES = np.linspace(0.005, 0.995, 100)
_LEAST_SHARE = 0.02  # of a run that is computation, however many synchronisations are declared
_GRID = np.linspace(np.log(1e-3), np.log(20.0), 40)  # logarithms of the added time over the work
_FREE = 30.0  # variance of the logarithm of the work: nothing is known of it
_POINTS = 400


@dataclass(frozen=True)
class Prior:
    """Scales of the model's parts; all are relative to the time of a run.

    They were chosen by the pinball loss of predictions over the series of examples/real/published, rounded, those of
    noise upwards (docs/validation/clusters.md).
    """

    scatter: float = 0.02  # standard deviation of a run's logarithm that repeats do not show, such as the partition's
    single: float = 0.06  # of a single repeat, from its like
    # Standard deviation of the change of a unit of work for each doubling of the nodes, with probabilities: nearly
    # none, or caches that the problem begins to fit into.
    changes: tuple[tuple[float, float], ...] = ((0.03, 0.85), (0.2, 0.15))
    none: float = 0.01  # probability that nothing is added to the work
    added: float = 0.07  # median of what is added over the work, on the most nodes of the evidence, if anything is
    spread: float = 2.6  # standard deviation of its natural logarithm
    weights: Mapping[str, float] = field(
        default_factory=lambda: {
            EXCHANGE: 2.0,
            SURFACE: 0.75,
            CONSTANT: 1.1,
            LOGARITHM: 0.9,
            LINEAR: 0.25,
            SYNCHRONISATION: 0.95,
        }
    )


PRIOR = Prior()


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    nodes: float
    processes: float  # among which the work is divided
    work: float = 1.0  # in any unit; 1 for every run of a fixed problem


@dataclass(frozen=True)
class Small:
    """A measured part of a small run."""

    size: Size
    time_s: float
    repeats: int = 1


@dataclass(frozen=True)
class Allreduces:
    """Times of one small MPI_Allreduce against nodes, in between along lines in logarithms."""

    nodes: tuple[float, ...]  # ascending
    times_s: tuple[float, ...]

    def __call__(self, nodes: np.ndarray) -> np.ndarray:
        """Return the times by number of nodes; with one measured count they grow as the logarithm of the nodes."""
        if len(self.nodes) == 1:
            return np.asarray(self.times_s[0] * np.log2(2 * nodes) / np.log2(2 * self.nodes[0]))
        x, known, times = np.log(nodes), np.log(self.nodes), np.log(self.times_s)
        inside = np.interp(x, known, times)
        slopes = np.diff(times) / np.diff(known)
        below, above = np.minimum(x - known[0], 0) * slopes[0], np.maximum(x - known[-1], 0) * slopes[-1]
        return np.asarray(np.exp(inside + below + above))


@dataclass(frozen=True)
class Series:
    """Small runs of one program, or of one part of it."""

    runs: Sequence[Small]  # on at least two numbers of nodes, ascending
    allreduces: Allreduces | None = None
    synchronisations: float = 0.0  # allreduces of a run that are known; they are not part of the fit


def quantiles(series: Series, targets: Sequence[Size], prior: Prior = PRIOR) -> np.ndarray:
    """Return the QUANTILES of the time of every target: targets x quantiles, in s."""
    sizes = [run.size for run in series.runs] + list(targets)
    nodes = np.array([size.nodes for size in sizes], dtype=float)
    unit_s = np.array([size.work / size.processes for size in sizes])  # of the time of a unit of work
    known = np.zeros(len(sizes))
    if series.allreduces is not None and series.synchronisations:
        known = series.synchronisations * series.allreduces(nodes)
    count = len(series.runs)
    times = np.array([run.time_s for run in series.runs])
    logs = np.log(np.maximum(times - known[:count], _LEAST_SHARE * times) / unit_s[:count])
    weight, means, deviations = _mixture(series, nodes, unit_s, logs, prior)
    rows = [
        np.exp(_mixture_quantiles(weight, means[:, i], deviations[:, i])) * unit_s[count + i] + known[count + i]
        for i in range(len(targets))
    ]
    return np.array(rows)


def _mixture(
    series: Series, nodes: np.ndarray, unit_s: np.ndarray, logs: np.ndarray, prior: Prior
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, means and deviations of the logarithms of the targets' units: components, and x targets."""
    count = len(logs)
    shapes: dict[str, Shape] = dict(SHAPES)
    if nodes.min() > 1:  # from two nodes on it hardly differs from the work
        del shapes[EXCHANGE]
    if series.allreduces is not None:
        shapes[SYNCHRONISATION] = series.allreduces
    total = sum(prior.weights[name] for name in shapes)
    added = np.exp(_GRID)
    density = -0.5 * ((_GRID - np.log(prior.added)) / prior.spread) ** 2
    density -= np.log(np.exp(density).sum())
    weights, means, variances = [], [], []
    for change, probability in prior.changes:
        gain, inverse, half_log_det, variance = _gaussian(series, nodes, change, prior)

        def keep(
            offsets: np.ndarray,
            before: np.ndarray,
            gain: np.ndarray = gain,
            inverse: np.ndarray = inverse,
            half_log_det: float = half_log_det,
            variance: np.ndarray = variance,
        ) -> None:
            rest = logs - offsets[:, :count]
            weights.append(before - 0.5 * np.einsum("ki,ij,kj->k", rest, inverse, rest) - half_log_det)
            means.append(rest @ gain.T + offsets[:, count:])
            variances.append(np.repeat(variance[None], len(offsets), 0))

        keep(np.zeros((1, len(nodes))), np.array([np.log(probability * prior.none)]))
        for name, shape in shapes.items():
            ratio = shape(nodes) / unit_s
            offsets = np.log1p(added[:, None] * (ratio / ratio[count - 1])[None, :])
            keep(offsets, density + np.log(probability * (1 - prior.none) * prior.weights[name] / total))
    together = np.concatenate(weights)
    weight = np.exp(together - together.max())
    return weight / weight.sum(), np.concatenate(means), np.sqrt(np.concatenate(variances))


def _gaussian(
    series: Series, nodes: np.ndarray, change: float, prior: Prior
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return how the targets follow from the evidence if nothing is added.

    These are the regression of the targets on the evidence, the inverse of the evidence's covariance, half the
    logarithm of its determinant, and the targets' variances.
    """
    count = len(series.runs)
    doublings = np.log2(nodes / nodes.min())
    covariance = change**2 * np.minimum.outer(doublings, doublings) + _FREE
    noise = [prior.scatter**2 + prior.single**2 / run.repeats for run in series.runs]
    covariance += np.diag(noise + [prior.scatter**2] * (len(nodes) - count))
    inverse = np.linalg.inv(covariance[:count, :count])
    gain = covariance[count:, :count] @ inverse
    variance = np.diag(covariance[count:, count:] - gain @ covariance[:count, count:])
    return gain, inverse, 0.5 * float(np.linalg.slogdet(covariance[:count, :count])[1]), variance


def _mixture_quantiles(weights: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the QUANTILES of a mixture of normal distributions."""
    # Imported here because it is slow to import.
    from scipy.special import ndtr

    some = weights > 1e-6
    weights, means, deviations = weights[some] / weights[some].sum(), means[some], deviations[some]
    at = np.linspace((means - 5 * deviations).min(), (means + 5 * deviations).max(), _POINTS)
    return np.interp(QUANTILES, ndtr((at[:, None] - means) / deviations) @ weights, at)
