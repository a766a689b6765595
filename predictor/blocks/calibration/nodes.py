"""What one node shows: Table 1's computation and power by threads, and the idle node's watts.

SimGrid has no HyperThreading, so that P_low = P_hi, the cores, and the middle branches are empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.blocks.calibration.fit import CHOICE, Quality, linear_fit, quality
from predictor.blocks.published.formulas import computation_time, node_power
from predictor.blocks.published.parameters import ComputeParameters, PowerParameters


@dataclass(frozen=True)
class ComputeFit:
    """t = T_min h up to as many threads as cores, (T_hi + K_hi p_th) h beyond."""

    parameters: ComputeParameters
    error: str  # that was minimised, of fit.ERRORS
    quality: Quality


@dataclass(frozen=True)
class PowerFit:
    """pw = PW_low + KW_low p_th up to as many threads as cores, PW_max beyond."""

    parameters: PowerParameters  # the empty middle branch has the coefficients of the first
    idle_w: float  # of a node without any thread, as it was measured
    error: str  # that was minimised, of fit.ERRORS
    quality: Quality  # of nodes with threads


@dataclass(frozen=True)
class NodeFit:
    """The nodes of a cluster."""

    cluster: str
    compute: ComputeFit
    power: PowerFit | None  # None: the platform gives no watts


def fit_compute(
    operations: np.ndarray, threads: np.ndarray, time_s: np.ndarray, *, cores: int, error: str | None = None
) -> ComputeFit:
    """From times of blocks of so many operations on each of so many threads, some beyond the cores.

    ``error``: what is minimised; None: as fit.CHOICE has it.
    """
    minimised = error or CHOICE["compute"]
    per_operation_s, beyond = time_s / operations, threads > cores
    (T_min,) = map(
        float, linear_fit(np.ones((np.count_nonzero(~beyond), 1)), per_operation_s[~beyond], error=minimised)
    )
    T_hi, K_hi = map(float, linear_fit(_line(threads[beyond]), per_operation_s[beyond], error=minimised))
    T_hi = T_hi if abs(T_hi) > 1e-9 * abs(K_hi) else 0.0  # less is rounding
    fitted_s = computation_time(
        operations, threads, P_low=cores, P_hi=cores, T_min=T_min, T_low=T_min, T_hi=T_hi, K_hi=K_hi
    )
    parameters = ComputeParameters(float(cores), float(cores), T_min, T_min, T_hi, K_hi)
    return ComputeFit(parameters, minimised, quality(fitted_s, time_s))


def fit_power(threads: np.ndarray, power_w: np.ndarray, *, cores: int, error: str | None = None) -> PowerFit:
    """From the W of a node with so many threads, 0 once among them, and some beyond the cores.

    SimGrid may have an idle node take less than the limit of a small load, so that the idle one is no point of the
    line; but with a single core it is, as there is no other beside that of one thread.  ``error``: as in fit_compute.
    """
    minimised = error or CHOICE["power"]
    idle, beyond = threads == 0, threads > cores
    low = ~beyond if cores == 1 else ~beyond & ~idle
    PW_low, KW_low = map(float, linear_fit(_line(threads[low]), power_w[low], error=minimised))
    (PW_max,) = map(float, linear_fit(np.ones((np.count_nonzero(beyond), 1)), power_w[beyond], error=minimised))
    fitted_w = node_power(
        threads, P_low=cores, P_hi=cores, PW_low=PW_low, KW_low=KW_low, PW_hi=PW_low, KW_hi=KW_low, PW_max=PW_max,
        law="printed",
    )  # fmt: skip
    return PowerFit(
        PowerParameters(PW_low, KW_low, PW_low, KW_low, PW_max),
        float(power_w[idle][0]),
        minimised,
        quality(fitted_w[~idle], power_w[~idle]),
    )


def _line(threads: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(threads), threads], axis=1)
