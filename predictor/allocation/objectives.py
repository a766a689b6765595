"""Objectives that a search minimises: time, energy, cost (Ichikawa, Takahashi, Kawai, section 8), or another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from platforms.errors import UserError
from platforms.prices.carbon import J_PER_KWH, Site
from platforms.prices.price import S_PER_HOUR

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """A value that depends on the time T and on a rate R = sum P_i r_i over the nodes in use.

    ``value(T, R)`` takes arrays.  Branch and bound assumes that it never falls as T grows, and that it either never
    falls or never rises as R grows.  ``of_energy(T, E)`` replaces it where the energies of configurations are known.
    """

    name: str
    unit: str
    rates: tuple[float, ...] | None  # r_i per node in use of each sub-cluster; None: R is 0
    value: Callable[[Floats, Floats], Floats]
    of_energy: Callable[[Floats, Floats, Floats], Floats] | None = None  # None: energy does not matter

    def rate(self, sub_cluster: int, pes: np.ndarray | int) -> Floats:
        """Return the contribution of ``pes`` nodes of a sub-cluster to R."""
        return np.zeros(np.shape(pes)) if self.rates is None else self.rates[sub_cluster] * np.asarray(pes, float)

    def check(self, sub_clusters: int) -> None:
        """Check the number of rates.

        Raises:
            UserError: There is not one rate for each sub-cluster.
        """
        if self.rates is not None and len(self.rates) != sub_clusters:
            problem = f"{len(self.rates)} values for {sub_clusters} sub-clusters"
            raise UserError(f"objective {self.name}", problem, "Give one per sub-cluster")

    def values(self, times_s: Floats, pes: np.ndarray, energies_j: Floats | None = None) -> Floats:
        """Return the values of configurations.

        Args:
            times_s: Times of the configurations.
            pes: P_i, configurations x sub-clusters.
            energies_j: Energies of the configurations, NaN where not known; None: none is known.
        """
        R = np.zeros(len(times_s))
        if self.rates is not None:
            for i in range(
                pes.shape[1]
            ):  # in the order in which branch and bound adds, so that both agree to the last bit
                R = R + self.rate(i, pes[:, i])
        values = self.value(times_s, R)
        if self.of_energy is None or energies_j is None:
            return values
        return np.where(np.isnan(energies_j), values, self.of_energy(times_s, energies_j, pes.sum(axis=1)))


def _time(T: Floats, R: Floats) -> Floats:
    return T


def _energy(T: Floats, R: Floats) -> Floats:
    return T * R


def _edp(T: Floats, R: Floats) -> Floats:
    return T * _energy(T, R)


def _known_energy(T: Floats, E: Floats, nodes: Floats) -> Floats:
    return E


def _known_edp(T: Floats, E: Floats, nodes: Floats) -> Floats:
    return T * E


def _cost(T: Floats, R: Floats) -> Floats:
    return T * R / S_PER_HOUR


TIME = Objective("time", "s", None, _time)


def energy(power_w: Sequence[float]) -> Objective:
    """Return the objective energy, J; nodes that are not in use do not count.

    Where a model or a simulation gives the energy, that is used: computation at full power, the rest idle
    (predictor/answers/energy.py).  Otherwise the value is an upper bound: T times the full power of the nodes in use.

    Args:
        power_w: Full power of a node of each sub-cluster, W.
    """
    return Objective("energy", "J", _rates("power", power_w), _energy, _known_energy)


def edp(power_w: Sequence[float]) -> Objective:
    """Return the objective energy-delay product, J s: T times the energy of ``energy``."""
    return Objective("edp", "J s", _rates("power", power_w), _edp, _known_edp)


def cost(price_per_node_hour: Sequence[float], currency: str = "") -> Objective:
    """Return the objective cost: the price of the nodes in use for the time T, by each sub-cluster's price."""
    return Objective("cost", currency, _rates("price", price_per_node_hour), _cost)


def carbon(power_w: Sequence[float], site: Site, start_s: float) -> Objective:
    """Return the objective carbon: grams of CO2-equivalent for the energy and the making of the nodes in use.

    Where the energy of a configuration is not known, the value is an upper bound: full power all the time, at the
    largest grams per kWh of the profile.

    Args:
        power_w: Full power of a node of each sub-cluster, W.
        site: The site of all nodes.
        start_s: Start of the run in the time of the site's profile.
    """
    most_g = max(site.profile.g_per_kwh) * site.pue / J_PER_KWH
    rates = [most_g * watts + site.embodied_g_per_node_hour / S_PER_HOUR for watts in _rates("power", power_w)]

    def known(T: Floats, E: Floats, nodes: Floats) -> Floats:
        each = zip(T.tolist(), E.tolist(), nodes.tolist(), strict=True)
        return np.array([emitted(site, *values, start_s=start_s) for values in each])

    return Objective("carbon", "g CO2e", tuple(rates), _energy, known)


def emitted(site: Site, time_s: float, energy_j: float, nodes: int, *, start_s: float) -> float:
    """Return the grams of CO2-equivalent of a run; NaN where its energy or its time is not known."""
    if not (time_s >= 0 and energy_j >= 0):
        return np.nan
    return site.operational_g(energy_j, start_s=start_s, time_s=time_s) + site.embodied_g(nodes, time_s)


def _rates(name: str, rates: Sequence[float]) -> tuple[float, ...]:
    if not all(0 <= rate < np.inf for rate in rates):
        raise UserError(
            f"{name} {list(rates)}", "a value below zero, or not a number", "Give one per sub-cluster, from 0"
        )
    return tuple(float(rate) for rate in rates)
