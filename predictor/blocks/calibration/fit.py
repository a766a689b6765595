"""Regressions of a calibration: linear formulas, Table 1's lines for one node, and lines over sizes of messages.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing", section 4,
uses two measures of error: the mean percentage error where small values matter, such as times of short messages, and
the mean squared error elsewhere.

Fits to one node: Table 1's computation and power over threads, and the power of the idle node.

SimGrid has no HyperThreading, so that P_low = P_hi, the number of cores, and the middle branches are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError
from platforms.model.placement import block_shares
from predictor.base import OutOfRange
from predictor.blocks.names import ERRORS
from predictor.blocks.published.formulas import computation_time, node_power
from predictor.blocks.published.parameters import ComputeParameters, PowerParameters
from predictor.network.segments import measured_pieces

# The paper does not say which measure it used for which block.  Here the relative one is used for blocks whose
# measurements span decades.
CHOICE = {
    "compute": "mse",
    "p2p": "mpe",
    "bcast": "mpe",
    "scatter": "mpe",
    "gather": "mpe",
    "alltoall": "mpe",
    "barrier": "mse",
    "disk_read": "mpe",
    "disk_write": "mpe",
    "power": "mse",
}


def mean_percentage_error(fitted: ArrayLike, measured: ArrayLike) -> float:
    """Return 100 x the mean of ``|fitted - measured| / measured``, %; values measured as 0 are ignored."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    counted = measured > 0
    if not counted.any():
        return 0.0
    return float(100 * np.mean(np.abs(fitted[counted] - measured[counted]) / measured[counted]))


def r_squared(fitted: ArrayLike, measured: ArrayLike) -> float | None:
    """Return the squared Pearson coefficient, as in the paper's Table 2; None if one of the two does not vary."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    if len(fitted) < 2 or not _varies(fitted) or not _varies(measured):
        return None
    return float(np.corrcoef(fitted, measured)[0, 1] ** 2)


def _varies(values: np.ndarray) -> bool:
    return bool(np.ptp(values) > 1e-9 * np.abs(values).max())


def linear_fit(features: ArrayLike, measured: ArrayLike, *, error: str, nonnegative: bool = False) -> np.ndarray:
    """Return the coefficients c that minimise the error of ``features @ c`` against ``measured``.

    Args:
        features: Matrix of observations x coefficients; the columns may differ in scale by many decades.
        measured: Measured values, >= 0.
        error: "mpe" minimises the mean of ``|error| / value``, an L1 problem that is solved exactly as a linear program
            (values of 0 are ignored); "mse" minimises the squares.
        nonnegative: Whether all coefficients must be >= 0.
    """
    X, y = np.asarray(features, dtype=float), np.asarray(measured, dtype=float)
    if error == "mpe":  # values measured as 0 have no percentage error
        X, y = X[y != 0], y[y != 0]
    if not y.any():
        return np.zeros(X.shape[1])
    scale = np.abs(X).max(axis=0)
    scale[scale == 0] = 1.0
    unit = float(np.mean(y))  # scale of the coefficients of the scaled columns
    scaled = X / scale
    if error == "mpe":
        solve = _least_percentage
    elif error == "mse":
        solve = _least_squares
    else:
        raise ValueError(f"error {error!r} is not of {', '.join(ERRORS)}")
    coefficients: np.ndarray = solve(scaled, y / unit, 0.0 if nonnegative else -np.inf) * unit / scale
    return coefficients


def _least_squares(features: np.ndarray, measured: np.ndarray, least: float) -> np.ndarray:
    if least == -np.inf:
        coefficients: np.ndarray = np.linalg.lstsq(features, measured, rcond=None)[0]
        return coefficients
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import lsq_linear

    return lsq_linear(features, measured, bounds=(least, np.inf)).x


def _least_percentage(features: np.ndarray, measured: np.ndarray, least: float) -> np.ndarray:
    """Minimise sum e subject to -e <= features @ c / measured - 1 <= e."""
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import linprog

    relative = features / measured[:, None]
    columns = np.abs(relative).max(axis=0)
    columns[columns == 0] = 1.0
    relative = relative / columns
    rows, count = relative.shape
    slack = -np.eye(rows)
    done = linprog(
        np.concatenate([np.zeros(count), np.ones(rows)]),
        A_ub=np.block([[relative, slack], [-relative, slack]]),
        b_ub=np.concatenate([np.ones(rows), -np.ones(rows)]),
        bounds=[(least, None)] * count + [(0, None)] * rows,
        method="highs",
    )
    if done.x is None:  # impossible: the problem is bounded and always has a solution
        raise RuntimeError(f"linear program: {done.message}")
    coefficients: np.ndarray = done.x[:count] / columns
    return coefficients


@dataclass(frozen=True)
class Quality:
    """Agreement of a formula with measurements."""

    points: int
    r2: float | None  # squared Pearson coefficient
    mpe_pct: float  # mean |error| / value, %
    worst_pct: float  # largest |error| / value, %


def quality(fitted: ArrayLike, measured: ArrayLike) -> Quality:
    """Return the quality of one fit."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    errors = np.abs(fitted - measured)[measured > 0] / measured[measured > 0]
    worst = float(100 * errors.max()) if len(errors) else 0.0
    return Quality(len(measured), r_squared(fitted, measured), mean_percentage_error(fitted, measured), worst)


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


@dataclass(frozen=True)
class Lines:
    """The time of a message between two idle hosts: latency + size x (s per byte), piecewise in size.

    A piece begins where the measurements leave the line of the previous piece, because of a network's protocols and
    size factors.
    """

    from_bytes: tuple[float, ...]  # start of each piece; the first begins at 0
    latency_s: tuple[float, ...]  # of each piece, at size 0
    s_per_byte: tuple[float, ...]  # of each piece

    def latency(self, size_bytes: ArrayLike) -> np.ndarray:
        """Return the part of the time that is constant within a piece, s."""
        latency_s: np.ndarray = np.asarray(self.latency_s)[self._piece(size_bytes)]
        return latency_s

    def transfer(self, size_bytes: ArrayLike) -> np.ndarray:
        """Return the part of the time that is proportional to the size, s."""
        s_per_byte: np.ndarray = np.asarray(self.s_per_byte)[self._piece(size_bytes)]
        transfer_s: np.ndarray = s_per_byte * np.asarray(size_bytes, dtype=float)
        return transfer_s

    def time(self, size_bytes: ArrayLike) -> np.ndarray:
        """Return the time of a message, s."""
        time_s: np.ndarray = self.latency(size_bytes) + self.transfer(size_bytes)
        return time_s

    def _piece(self, size_bytes: ArrayLike) -> np.ndarray:
        return np.searchsorted(self.from_bytes, np.asarray(size_bytes, dtype=float), side="right") - 1


def lines(size_bytes: ArrayLike, time_s: ArrayLike) -> Lines:
    """Fit lines to measured times of messages, which are sorted by size.

    A piece begins at the geometric mean of the neighbouring sizes.

    Raises:
        OutOfRange: If the times do not lie on lines.
    """
    sizes, times = np.asarray(size_bytes, dtype=float), np.asarray(time_s, dtype=float)
    pieces = measured_pieces(sizes, times)
    if not pieces:
        raise OutOfRange("point-to-point times", "they do not lie on lines over sizes", "Calibrate an idle network")
    begins = [0.0] + [float(np.sqrt(sizes[piece.last] * sizes[other.first])) for piece, other in pairwise(pieces)]
    return Lines(tuple(begins), tuple(piece.start_s for piece in pieces), tuple(piece.s_per_byte for piece in pieces))


@dataclass(frozen=True)
class Wires:
    """Lines of the two kinds of pairs of hosts; at least one kind is present."""

    near: Lines | None  # hosts of one cluster; None: no cluster has two hosts in use
    far: Lines | None  # hosts of two clusters; None: there is only one cluster
    held_from_bytes: float | None  # size from which MPI_Send waits for the receiver; None: it never waits

    def of(self, far: bool) -> Lines:
        """Return the lines of a kind of pairs, or of the other kind if there is no such pair."""
        wanted, other = (self.far, self.near) if far else (self.near, self.far)
        line = other if wanted is None else wanted
        if line is None:
            raise ValueError("no lines for any kind of pair")
        return line

    def held(self, size_bytes: ArrayLike) -> np.ndarray:
        """Return whether MPI_Send waits for the receiver of a message of this size."""
        return np.asarray(size_bytes) >= (np.inf if self.held_from_bytes is None else self.held_from_bytes)


def held_from(size_bytes: ArrayLike, held_s: ArrayLike, time_s: ArrayLike) -> float | None:
    """Return the size from which MPI_Send takes as long as its message, bytes; None if it never does.

    Args:
        size_bytes: Sizes in ascending order.
        held_s: Time of MPI_Send for each size.
        time_s: Time of the whole message for each size.
    """
    sizes = np.asarray(size_bytes, dtype=float)
    free = np.asarray(held_s) < 0.5 * np.asarray(time_s)
    if not free.any():
        return 0.0
    last = int(np.flatnonzero(free)[-1])
    return None if last == len(sizes) - 1 else float(np.sqrt(sizes[last] * sizes[last + 1]))


class Clustered(Protocol):
    """The clusters of processes; hashable, because results are cached by it."""

    def __hash__(self) -> int:
        """Return the same value for equal objects."""

    def clusters(self, processes: int) -> np.ndarray:
        """Return the cluster of each of the first ``processes`` processes, by number."""


@dataclass(frozen=True)
class Layout:
    """The clusters of a platform, on which processes are placed with one process per host."""

    hosts: tuple[int, ...]  # in each cluster, in the platform's order

    @property
    def most(self) -> int:
        """Number of hosts, and so of processes that fit."""
        return sum(self.hosts)

    def shares(self, processes: int) -> list[int]:
        """Return the processes of each cluster by the mapping ``block``, in even shares as far as they fit.

        Raises:
            OutOfRange: If there are more processes than hosts.
        """
        if processes > self.most:
            problem = f"{processes} processes, but it was calibrated on {self.most} hosts with one process each"
            raise OutOfRange("calibrated model", problem, "Give fewer, or use the formulas of Table 1 (paper)")
        return block_shares(processes, self.hosts)

    def clusters(self, processes: int) -> np.ndarray:
        """Return the cluster of each process, by number."""
        return np.repeat(np.arange(len(self.hosts)), self.shares(processes))


def checked_processes(processes: np.ndarray) -> np.ndarray:
    """Return numbers of processes as integers.

    Raises:
        UserError: If one is not a whole number.
    """
    whole = processes.astype(int)
    if (whole != processes).any():
        wrong = processes[whole != processes].flat[0]
        raise UserError(f"processes {wrong:g}", "not a whole number", "Give 1, 2, ...")
    return whole
