"""Knowledge of scaling before a program is seen: how large each part of the model usually is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


@dataclass(frozen=True)
class Prior:
    """Scales of the model's parts; all are relative to the time of a run.

    They were chosen by the pinball loss of predictions over the series of examples/real/published, rounded, those of
    noise upwards (docs/validation/clusters.md).
    """

    scatter: float = 0.02  # standard deviation of a run's logarithm that repeats do not show, as of the partition
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
