"""Fits to messages between two idle hosts: lines over message sizes, and the size from which MPI_Send waits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError
from platforms.model.placement import block_shares
from predictor.base import OutOfRange
from predictor.network.segments import measured_pieces


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
