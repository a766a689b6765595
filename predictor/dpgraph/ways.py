"""The paths between many pairs of hosts as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from predictor.dpgraph.expanding import ranges
from predictor.dpgraph.instructions import Paths
from predictor.network.value import DirectedPath


class Ways(Mapping[tuple[str, str], DirectedPath]):
    """The paths of many pairs, each built when it is first used.

    Args:
        pairs: Source and destination of each path.
        timing_class: Row of Timing, by path.
        paths: Bounds, penalties and crossed links of the paths, and the capacities of the links.
        names: The names of the links.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], timing_class: np.ndarray, paths: Paths, names: Sequence[str]):
        self._pairs, self._timing_class, self._paths, self._names = pairs, timing_class, paths, names

    @cached_property
    def _index(self) -> dict[tuple[str, str], int]:
        return {pair: at for at, pair in enumerate(self._pairs)}

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __getitem__(self, pair: tuple[str, str]) -> DirectedPath:
        at, paths = self._index[pair], self._paths
        crossed = slice(paths.first[at], paths.first[at + 1])
        links = {
            self._names[link]: weight
            for link, weight in zip(paths.link[crossed].tolist(), paths.weight[crossed].tolist(), strict=True)
        }
        return DirectedPath(int(self._timing_class[at]), float(paths.bound_Bps[at]), float(paths.penalty[at]), links)

    def rows(self, pairs: Sequence[tuple[str, str]]) -> tuple[np.ndarray, Paths]:
        """Return the timing classes and the paths of some pairs."""
        at, paths = np.array([self._index[pair] for pair in pairs], np.int64), self._paths
        begin, end = paths.first[at], paths.first[at + 1]
        crossed = ranges(begin, end)
        chosen = Paths(
            bound_Bps=paths.bound_Bps[at],
            penalty=paths.penalty[at],
            first=np.concatenate([[0], np.cumsum(end - begin)]).astype(np.int64),
            link=paths.link[crossed],
            weight=paths.weight[crossed],
            capacity_Bps=paths.capacity_Bps,
        )
        return self._timing_class[at], chosen
