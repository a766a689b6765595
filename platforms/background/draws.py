"""Draws from a background: the load of every node and of every wide-area link in one run."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from platforms.background.statement import Background, LoadableGrid, NodeLoad

if TYPE_CHECKING:  # slow to import
    import numpy as np

EPOCHS = 64  # of a node; then they repeat, so that a run may last arbitrarily long
TRUTHS, FORECASTS = 0, 1  # streams of draws, which never have a draw in common


@dataclass(frozen=True)
class Availability:
    """Share of a node's speed that is left to the program, over time: constant in each epoch, and periodic."""

    shares: tuple[float, ...]
    lengths_s: tuple[float, ...]  # of the epochs; (): one share forever
    _until_s: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _work_s: tuple[float, ...] = field(init=False, repr=False, compare=False)  # seconds of a quiet node, until then

    def __post_init__(self) -> None:
        object.__setattr__(self, "_until_s", tuple(accumulate(self.lengths_s)))
        amounts = (share * long_s for share, long_s in zip(self.shares, self.lengths_s, strict=False))
        object.__setattr__(self, "_work_s", tuple(accumulate(amounts)))

    @property
    def period_s(self) -> float | None:
        """Time after which the epochs repeat; None if there is one share only."""
        return self._until_s[-1] if self.lengths_s else None

    def done_s(self, until_s: float) -> float:
        """Return how many seconds of a quiet node's computation are done until then.

        >>> Availability((0.5, 1.0), (2.0, 1.0)).done_s(4.0)
        2.5
        """
        if not self.lengths_s:
            return self.shares[0] * until_s
        periods, rest_s = divmod(until_s, self._until_s[-1])
        at = min(bisect_right(self._until_s, rest_s), len(self.shares) - 1)
        before_s, before = (self._until_s[at - 1], self._work_s[at - 1]) if at else (0.0, 0.0)
        return periods * self._work_s[-1] + before + self.shares[at] * (rest_s - before_s)

    def mean(self, from_s: float, until_s: float) -> float:
        """Return the mean share between two moments, the earlier one first."""
        return (self.done_s(until_s) - self.done_s(from_s)) / (until_s - from_s)

    def next_change_s(self, after_s: float) -> float:
        """Return the moment of the first change of the share after a moment; infinite: there is none."""
        if not self.lengths_s:
            return math.inf
        periods, rest_s = divmod(after_s, self._until_s[-1])
        at = min(bisect_right(self._until_s, rest_s), len(self.shares) - 1)
        return periods * self._until_s[-1] + self._until_s[at]

    def dates(self) -> list[tuple[float, float]]:
        """Return the beginning of each epoch, s, and its share."""
        return list(zip((0.0, *self._until_s[:-1]), self.shares, strict=True))


@dataclass(frozen=True)
class Draw:
    """The background load of one run."""

    nodes: Mapping[str, Availability]  # by host; the others are quiet
    bandwidth: Mapping[str, float]  # by wide-area link: share that is left
    latency: Mapping[str, float]  # by wide-area link: factor


def drawn(background: Background, grid: LoadableGrid, *, seed: int, stream: int, number: int) -> Draw:
    """Return one draw; it does not depend on earlier draws.

    Args:
        background: The distributions.
        grid: The grid.
        seed: Seed of all draws.
        stream: TRUTHS or FORECASTS; draws of different streams are independent.
        number: Number of the draw in its stream.

    Raises:
        PlatformError: The background names a cluster or a wide-area link that the grid has not.
    """
    # Imported here because it is slow to import.
    import numpy as np

    background.check(grid)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(stream, number))
    of_nodes, of_links = map(np.random.default_rng, sequence.spawn(2))
    nodes: dict[str, Availability] = {}
    for cluster in grid.clusters:
        load = background.of_cluster(cluster.name)
        for host in cluster.host_names if load is not None else ():
            assert load is not None
            nodes[host] = _availability(load, of_nodes, cluster.cores)
    names = [link.name for link in grid.wan_links]
    quiet = {name: 1.0 for name in names if not background.shares(name)}
    names = [name for name in names if name not in quiet]
    shares, factors = (
        {
            **(dict(zip(names, law.draw(of_links, len(names)), strict=True)) if law else dict.fromkeys(names, 1.0)),
            **quiet,
        }
        for law in (background.bandwidth, background.latency)
    )
    return Draw(nodes, shares, factors)


def _availability(load: NodeLoad, generator: np.random.Generator, cores: int) -> Availability:
    if load.epoch_s is None:
        return Availability(tuple(load.availability.draw(generator, 1, cores)), ())
    lengths_s = generator.exponential(load.epoch_s, EPOCHS).tolist()
    return Availability(tuple(load.availability.draw(generator, EPOCHS, cores)), tuple(lengths_s))
