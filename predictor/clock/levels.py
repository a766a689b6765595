"""Time and energy of a run with the clusters at other frequencies, predicted from evidence at the highest ones.

J.-C. Charr, R. Couturier, A. Fanfakh, A. Giersch, "Energy consumption reduction for message passing iterative
applications in heterogeneous architecture using DVFS", 2015: computation takes S = f_max / f times as long, and
communication takes the same time; dynamic power is proportional to S^-3, so dynamic energy is proportional to S^-2, and
static energy grows with the time.  In the paper the time is the longest computation plus the shortest communication of
all nodes.  Here ``hcf`` and ``hcf:constant`` have such a sum; ``dpgraph`` evaluates the program's events with slower
nodes, so that slower computation may fill time that was spent waiting.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeGuard, TypeVar

from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.grid import Grid, GridCluster
from platforms.grids.scenario import with_frequencies
from platforms.model.frequency import Frequencies
from predictor.answers.energy import run_energy
from predictor.base import HostLoad, Model, Prediction

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


EVALUATIONS = 250  # default limit of evaluations where there are more choices

_Value = TypeVar("_Value", float, "npt.NDArray[np.float64]")


class Objective(Protocol):
    """Function of the time T, s, and the energy E, J, that a search minimises."""

    def __call__(self, T: _Value, E: _Value, /) -> _Value:
        """Return the value for time T and energy E."""


def _energy(T: _Value, E: _Value, /) -> _Value:
    return E


def _edp(T: _Value, E: _Value, /) -> _Value:
    product: _Value = T * E
    return product


OBJECTIVES: dict[str, Objective] = {"energy": _energy, "edp": _edp}


Frequency = tuple[float, ...]  # frequency of each cluster in use, Hz, in the order of the grid


class SlowedModel(Protocol):
    """A fitted model that takes the speed of the nodes into account, such as GraphModel and HcfModel."""

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Predict with clusters slowed down by ``slowdown``, f_max / f by cluster."""


def follows_speeds(model: Model) -> TypeGuard[SlowedModel]:
    """Return whether a fitted model accepts a slowdown of clusters."""
    return "slowdown" in inspect.signature(model.predict).parameters


@dataclass(frozen=True)
class Point:
    """Time and energy of a run with the clusters at these frequencies."""

    frequencies_hz: Frequency
    time_s: float
    energy_j: float  # of the nodes in use
    flags: tuple[str, ...] = ()

    @property
    def edp_js(self) -> float:
        """Energy-delay product, J s."""
        return self.energy_j * self.time_s


def at_maximum(grid: Grid) -> Grid:
    """Return the grid with its frequency levels, set to the highest.

    Raises:
        PlatformError: The levels of a cluster are not known.
    """
    grid = with_frequencies(grid)
    return grid.at([levels_of(cluster).max_hz for cluster in grid.clusters])


def levels_of(cluster: GridCluster) -> Frequencies:
    """Return the frequency levels of a cluster of a grid that ``at_maximum`` has returned."""
    if cluster.frequencies is None:
        raise ValueError(f"cluster {cluster.name} has no frequencies")
    return cluster.frequencies


def clusters_in_use(grid: Grid, placement: tuple[str, ...]) -> tuple[GridCluster, ...]:
    """Return the clusters with a rank; the others stay at the highest frequency, and their energy does not count."""
    used = set(placement)
    return tuple(cluster for cluster in grid.clusters if not used.isdisjoint(cluster.host_names))


@dataclass
class Clocks:
    """The frequency levels of the clusters that a target uses."""

    grid: Grid  # at the highest frequencies
    target: Target  # on the platform of that grid

    @cached_property
    def clusters(self) -> tuple[GridCluster, ...]:
        """The clusters in use."""
        return clusters_in_use(self.grid, self.target.placement)

    @property
    def frequencies(self) -> tuple[Frequencies, ...]:
        """The levels of each cluster in use."""
        return tuple(levels_of(cluster) for cluster in self.clusters)

    @property
    def highest(self) -> Frequency:
        """The highest frequency of each cluster in use."""
        return tuple(levels.max_hz for levels in self.frequencies)

    @property
    def lowest(self) -> Frequency:
        """The lowest frequency of each cluster in use."""
        return tuple(levels.min_hz for levels in self.frequencies)

    def sweeps(self) -> dict[str, tuple[Frequency, ...]]:
        """Return, by cluster in use, this cluster at each of its levels with the other clusters at their highest."""
        rest = self.highest
        return {
            cluster.name: tuple((*rest[:i], hz, *rest[i + 1 :]) for hz in levels_of(cluster).levels_hz)
            for i, cluster in enumerate(self.clusters)
        }


@dataclass
class Levels(Clocks):
    """Predictions of one target at the frequency levels of its clusters; each prediction is made once."""

    model: SlowedModel
    _known: dict[Frequency, Point] = field(default_factory=dict)

    @property
    def evaluated(self) -> int:
        """Number of points that have been predicted."""
        return len(self._known)

    def point(self, frequencies_hz: Frequency) -> Point:
        """Return the prediction at these frequencies.

        Raises:
            OutOfRange: The model has no answer.
            UserError: A node has no watts, or the model does not give the loads of the nodes.
        """
        if frequencies_hz not in self._known:
            pairs = list(zip(self.clusters, frequencies_hz, strict=True))
            made = self.model.predict(self.target, {c.name: levels_of(c).slowdown(hz) for c, hz in pairs})
            powers = {c.name: levels_of(c).power(c.node_power, hz) for c, hz in pairs}
            energy = run_energy(self.target, made.energy_span_s, _loads_of(made), powers)
            if energy is None:
                raise UserError("frequencies", "the platform gives no watts", "Give every node its watts")
            self._known[frequencies_hz] = Point(frequencies_hz, made.time_s, energy.middle_j, made.flags)
        return self._known[frequencies_hz]

    @cached_property
    def _at_highest(self) -> Prediction:
        return self.model.predict(self.target)

    def dynamic_j(self, cluster: int, frequency_hz: float) -> float:
        """Return the energy above idle of all nodes of a cluster in use, J; other clusters do not affect it.

        The value is exact, except where the power jumps as soon as one core computes: there it is a lower bound,
        because the busy time is at least the core-seconds divided by the cores.
        """
        clocked = self.clusters[cluster]
        power = levels_of(clocked).power(clocked.node_power, frequency_hz)
        node_s = sum(load.core_s / clocked.cores for load in self._loads(cluster))
        return levels_of(clocked).slowdown(frequency_hz) * (power.full_w - power.idle_w) * node_s

    @cached_property
    def idle_w(self) -> float:
        """Idle power of all nodes in use, W."""
        used = set(self.target.placement)
        return sum(c.node_power.idle_w * sum(host in used for host in c.host_names) for c in self.clusters)

    def least_time_s(self, cluster: int, frequency_hz: float) -> float:
        """Return the computation time of the busiest node of a cluster, s."""
        clocked = self.clusters[cluster]
        node_s = max((load.core_s / clocked.cores for load in self._loads(cluster)), default=0.0)
        return levels_of(clocked).slowdown(frequency_hz) * node_s

    def _loads(self, cluster: int) -> list[HostLoad]:
        hosts = set(self.clusters[cluster].host_names)
        return [load for host, load in _loads_of(self._at_highest).items() if host in hosts]


def _loads_of(prediction: Prediction) -> Mapping[str, HostLoad]:
    if prediction.loads is None:
        raise UserError("frequencies", "the model does not give the loads of the nodes", "Use dpgraph")
    return prediction.loads
