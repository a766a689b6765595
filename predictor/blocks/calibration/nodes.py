"""Fits to one node: Table 1's computation and power over threads, and the power of the idle node.

SimGrid has no HyperThreading, so that P_low = P_hi, the number of cores, and the middle branches are empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.blocks.calibration.fit import CHOICE, Quality, linear_fit, quality
from predictor.blocks.published.formulas import computation_time, node_power
from predictor.blocks.published.parameters import ComputeParameters, PowerParameters


@dataclass(frozen=True)
class ComputeFit:
    """Fitted computation: t = T_min h for at most as many threads as cores, (T_hi + K_hi p_th) h above."""

    parameters: ComputeParameters
    error: str  # the minimised error, one of fit.ERRORS
    quality: Quality


@dataclass(frozen=True)
class PowerFit:
    """Fitted power: pw = PW_low + KW_low p_th for at most as many threads as cores, PW_max above."""

    parameters: PowerParameters  # the empty middle branch has the coefficients of the first
    idle_w: float  # measured power of a node without threads
    error: str  # the minimised error, one of fit.ERRORS
    quality: Quality  # for nodes with threads


@dataclass(frozen=True)
class NodeFit:
    """Fits to the nodes of a cluster."""

    cluster: str
    compute: ComputeFit
    power: PowerFit | None  # None: the platform has no power data


def fit_compute(
    operations: np.ndarray, threads: np.ndarray, time_s: np.ndarray, *, cores: int, error: str | None = None
) -> ComputeFit:
    """Fit the computation of a node.

    Args:
        operations: Operations of each thread in each sample.
        threads: Number of threads in each sample; some are above the number of cores.
        time_s: Time of each sample.
        cores: Number of cores.
        error: The error to be minimised; None: as in fit.CHOICE.
    """
    minimised = error or CHOICE["compute"]
    per_operation_s, beyond = time_s / operations, threads > cores
    (T_min,) = map(
        float, linear_fit(np.ones((np.count_nonzero(~beyond), 1)), per_operation_s[~beyond], error=minimised)
    )
    T_hi, K_hi = map(float, linear_fit(_line(threads[beyond]), per_operation_s[beyond], error=minimised))
    T_hi = T_hi if abs(T_hi) > 1e-9 * abs(K_hi) else 0.0  # smaller values are rounding errors
    fitted_s = computation_time(
        operations, threads, P_low=cores, P_hi=cores, T_min=T_min, T_low=T_min, T_hi=T_hi, K_hi=K_hi
    )
    parameters = ComputeParameters(
        P_low=float(cores), P_hi=float(cores), T_min_s=T_min, T_low_s=T_min, T_hi_s=T_hi, K_hi_s=K_hi
    )
    return ComputeFit(parameters, minimised, quality(fitted_s, time_s))


def fit_power(threads: np.ndarray, power_w: np.ndarray, *, cores: int, error: str | None = None) -> PowerFit:
    """Fit the power of a node.

    In SimGrid an idle node may take less power than the limit of a small load, so the idle node is not a point of the
    line.  With a single core it is one, because the line needs a second point beside that of one thread.

    Args:
        threads: Number of threads in each sample; one of them is 0, and some are above the number of cores.
        power_w: Power of the node in each sample.
        cores: Number of cores.
        error: As in fit_compute.
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
        PowerParameters(PW_low_w=PW_low, KW_low_w=KW_low, PW_hi_w=PW_low, KW_hi_w=KW_low, PW_max_w=PW_max),
        idle_w=float(power_w[idle][0]),
        error=minimised,
        quality=quality(fitted_w[~idle], power_w[~idle]),
    )


def _line(threads: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(threads), threads], axis=1)
