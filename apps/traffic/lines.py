"""Messages along the lines of a grid of ranks, whose nodes hold q consecutive ranks each.

Rank r is in place (r // columns, r % columns).  A line is a row (stride 1) or a column of the grid (stride: columns);
all lines do the same at the same time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from apps.traffic.path import Route


@dataclass(frozen=True)
class Lines:
    """The rows or the columns of a grid."""

    places: int  # ranks in a line
    stride: int  # between two neighbours
    q: int  # ranks of a node
    p: int  # nodes
    alone: bool = False  # True: only one of the lines is in use

    @property
    def _within(self) -> bool:
        """True if no line leaves a node."""
        ranks = self.places * self.stride
        return self.p == 1 or (ranks <= self.q and self.q % ranks == 0)

    @property
    def _own(self) -> int:
        """Places of a line in one node."""
        return max(1, self.q // self.stride)

    def _in_use(self, ranks: float) -> float:
        """Return how many of a node's ranks, given their number, are in used lines."""
        return max(1.0, ranks / self.stride) if self.alone else float(ranks)

    def _exchange(self, distance: int) -> Route:
        """Return the route of an exchange between places of this distance, by all members at the same time."""
        reach = distance * self.stride
        if self._within or (reach < self.q and self.q % (2 * reach) == 0):
            return Route(staying=1, beside=self._in_use(self.q))
        return Route(crossing=1, load=self._in_use(min(self.q, reach)))

    def merged(self) -> Route:
        """Return the route of a sum that all members get: exchanges at distances 1, 2, 4 ...

        Beyond a power of two, members send to a helper first and get the sum from it last.
        """
        bits = self.places.bit_length() - 1
        distances = [1 << bit for bit in range(bits)] + [1 << bits] * (2 if self.places > 1 << bits else 0)
        return sum((self._exchange(distance) for distance in distances), Route())

    def broadcast(self) -> Route:
        """Return the route of a broadcast by a binomial tree, as its root sends it, on average over the roots.

        A message leaves a node if its distance is as large as the node's part of the line.  If it is smaller, it does
        so for half of the roots, unless the line is within a node.
        """
        stages = (self.places - 1).bit_length()
        beside = self._in_use(min(self.q, self.stride))
        if self._within:
            return Route(staying=stages, beside=stages * beside * self._own / 2)
        near = sum(1 << bit < self._own for bit in range(stages))
        crossing = stages - near / 2
        return Route(crossing, crossing * beside, near / 2, near / 2 * beside)

    def buffered_broadcast(self) -> Route:
        """Return the route of a broadcast of messages that are buffered, one of many that follow one another.

        Its root does not wait until they have left, so that the broadcasts of several roots overlap: the mean is taken
        of what the root sends and of what a member sends on average.
        """
        stages = (self.places - 1).bit_length()
        if not stages:
            return Route()
        return self.broadcast() * ((1 + (self.places - 1) / self.places / stages) / 2)

    def hop(self) -> Route:
        """Return the route of a message from a member to the next, on average over the places of the line."""
        beside = self._in_use(min(self.q, self.stride))
        if self.places == 1:
            return Route()
        if self._within:
            return Route(staying=1, beside=beside * max(1.0, self.q / (self.places * self.stride)))
        share = 1 / self._own
        return Route(share, share * beside, 1 - share, (1 - share) * beside)


def square_rows(ranks: int) -> int:
    """Return the number of rows of the most square grid of this number of ranks, with no more rows than columns.

    >>> square_rows(32), square_rows(36), square_rows(7)
    (4, 6, 1)
    """
    return next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
