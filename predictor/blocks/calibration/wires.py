"""What two hosts alone show of a network: lines over message sizes, and from which size on a sender is held."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.dpgraph.segments import pieces


@dataclass(frozen=True)
class Lines:
    """The time of a message between two idle hosts: latency + size x (s per byte), piecewise in size.

    The pieces begin where the measurements leave the line so far: a network's protocols and size factors.
    """

    from_bytes: tuple[float, ...]  # where each piece begins; the first at 0
    latency_s: tuple[float, ...]  # of each piece, at size 0
    s_per_byte: tuple[float, ...]  # of each piece

    def latency(self, size_bytes: ArrayLike) -> np.ndarray:
        """The part that does not grow within a piece, s."""
        latency_s: np.ndarray = np.asarray(self.latency_s)[self._piece(size_bytes)]
        return latency_s

    def transfer(self, size_bytes: ArrayLike) -> np.ndarray:
        """The part in proportion to the size, s."""
        s_per_byte: np.ndarray = np.asarray(self.s_per_byte)[self._piece(size_bytes)]
        transfer_s: np.ndarray = s_per_byte * np.asarray(size_bytes, dtype=float)
        return transfer_s

    def time(self, size_bytes: ArrayLike) -> np.ndarray:
        """Of one message, s."""
        time_s: np.ndarray = self.latency(size_bytes) + self.transfer(size_bytes)
        return time_s

    def _piece(self, size_bytes: ArrayLike) -> np.ndarray:
        return np.searchsorted(self.from_bytes, np.asarray(size_bytes, dtype=float), side="right") - 1


def lines(size_bytes: ArrayLike, time_s: ArrayLike) -> Lines:
    """The lines through measured times of messages, in order of their sizes.

    A piece begins at the geometric mean of the sizes on its two sides.  Raises OutOfRange for times that make no lines.
    """
    sizes, times = np.asarray(size_bytes, dtype=float), np.asarray(time_s, dtype=float)
    found = pieces(sizes, times)
    if not found:
        raise OutOfRange("point-to-point times", "they make no lines over sizes", "Calibrate an idle network")
    begins = [0.0] + [float(np.sqrt(sizes[one.last] * sizes[other.first])) for one, other in pairwise(found)]
    return Lines(tuple(begins), tuple(one.start_s for one in found), tuple(one.s_per_byte for one in found))


@dataclass(frozen=True)
class Wires:
    """Lines of the two kinds of pairs of hosts; at least one kind."""

    near: Lines | None  # in one cluster; None: no cluster has two hosts in use
    far: Lines | None  # in two clusters; None: there is one
    held_from_bytes: float | None  # MPI_Send waits for the receiver from this size on; None: it never does

    def of(self, far: bool) -> Lines:
        """Of a kind; of the other where there is no such pair."""
        wanted, other = (self.far, self.near) if far else (self.near, self.far)
        found = other if wanted is None else wanted
        if found is None:
            raise ValueError("lines of neither kind of pair")
        return found

    def held(self, size_bytes: ArrayLike) -> np.ndarray:
        """Whether MPI_Send waits for the receiver of such a message."""
        return np.asarray(size_bytes) >= (np.inf if self.held_from_bytes is None else self.held_from_bytes)


def held_from(size_bytes: ArrayLike, held_s: ArrayLike, time_s: ArrayLike) -> float | None:
    """From which size on MPI_Send takes as long as its message, bytes; None where it never does.

    ``held_s``: times of MPI_Send, ``time_s``: of the whole messages, by size in ascending order.
    """
    sizes = np.asarray(size_bytes, dtype=float)
    free = np.asarray(held_s) < 0.5 * np.asarray(time_s)
    if not free.any():
        return 0.0
    last = int(np.flatnonzero(free)[-1])
    return None if last == len(sizes) - 1 else float(np.sqrt(sizes[last] * sizes[last + 1]))


class Clustered(Protocol):
    """Who is where."""

    def __hash__(self) -> int:
        """Equal ones are looked up together."""

    def clusters(self, processes: int) -> np.ndarray:
        """The cluster of each of the first so many processes, by number."""


@dataclass(frozen=True)
class Layout:
    """Clusters of a platform, and who is where when P processes are placed on them, one per host."""

    hosts: tuple[int, ...]  # in each cluster, in the platform's order

    @property
    def most(self) -> int:
        """Processes that fit."""
        return sum(self.hosts)

    def shares(self, processes: int) -> list[int]:
        """Processes of each cluster, as the mapping ``block`` places them: in even shares where they fit.

        Raises OutOfRange for more than there are hosts.
        """
        if processes > self.most:
            problem = f"{processes} processes, but it was calibrated on {self.most} hosts, one process each"
            raise OutOfRange("calibrated model", problem, "Give fewer, or take the formulas of Table 1 (paper)")
        even, odd = divmod(processes, len(self.hosts))
        shares, carry = [], 0
        for i, room in enumerate(self.hosts):
            wanted = even + (i < odd) + carry
            shares.append(min(wanted, room))
            carry = wanted - shares[-1]
        for i, room in enumerate(self.hosts):  # what the later ones could not take
            more = min(carry, room - shares[i])
            shares[i] += more
            carry -= more
        return shares

    def clusters(self, processes: int) -> np.ndarray:
        """The cluster of each of so many processes, by number."""
        return np.repeat(np.arange(len(self.hosts)), self.shares(processes))


def checked_processes(processes: np.ndarray) -> np.ndarray:
    """Whole numbers.  Raises UserError."""
    whole = processes.astype(int)
    if (whole != processes).any():
        wrong = processes[whole != processes].flat[0]
        raise UserError(f"processes {wrong:g}", "not a whole number", "Give 1, 2, ...")
    return whole
