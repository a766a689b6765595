"""All configurations within limits, as arrays for an exhaustive search.

Ichikawa, Takahashi, Kawai, Tables VI and VII, have 404 and 285 configurations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration, Limits

MOST_CONFIGURATIONS = 20_000_000  # limit of the list: about a gigabyte of arrays for three sub-clusters


class Space:
    """The configurations within ``limits`` whose number of processes P is ``allowed``, in order.

    ``allowed`` is called once for every P; it is the program's own rule, such as "N is a multiple of P" (section 5.2).
    The arrays are made when they are first needed; branch and bound needs none of them.
    """

    def __init__(self, limits: Limits, allowed: Callable[[int], bool] | None = None):
        self.limits = limits
        self.most_total = sum(limits.most_processes)
        # Indexed by P from 0; P = 0 is not a configuration.
        self.allowed = np.array([False] + [allowed is None or bool(allowed(P)) for P in range(1, self.most_total + 1)])

    def options(self, sub_cluster: int) -> tuple[np.ndarray, np.ndarray]:
        """Return P_i and M_i of all uses of a sub-cluster: (0, 0) first, then in order."""
        most_pes, most = self.limits.pes[sub_cluster], self.limits.processes[sub_cluster]
        pes = np.repeat(np.arange(1, most_pes + 1), most)
        processes = np.tile(np.arange(1, most + 1), most_pes)
        return np.concatenate(([0], pes)), np.concatenate(([0], processes))

    @property
    def table_shape(self) -> tuple[int, int, int]:
        """Shape of the table of T_i by (i, M_i, P) that gives the times of these configurations."""
        return self.limits.sub_clusters, max(self.limits.processes) + 1, self.most_total + 1

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays pes, processes, total and keys."""
        counts = [most + 1 for most in self.limits.most_processes]
        if math.prod(counts) > MOST_CONFIGURATIONS:
            problem = f"{math.prod(counts) - 1} configurations, at most {MOST_CONFIGURATIONS} are listed"
            raise UserError(f"limits {self.limits.pes}, {self.limits.processes}", problem, "Use branch and bound")

        def spread(values: np.ndarray, axis: int) -> np.ndarray:
            """Place the values of a sub-cluster's options along its axis of the product of all options."""
            return values.astype(np.int32).reshape([-1 if i == axis else 1 for i in range(len(counts))])

        options = [self.options(i) for i in range(len(counts))]
        each = (spread(pes * processes, i) for i, (pes, processes) in enumerate(options))
        total = sum(each, start=np.zeros((1,) * len(counts), np.int32)).reshape(-1)
        keys = np.flatnonzero(self.allowed[total])
        picked = slice(1, None) if self.allowed[1:].all() else keys  # a slice is faster than an index array

        def listed(values: np.ndarray, axis: int) -> np.ndarray:
            return np.broadcast_to(spread(values, axis), counts).reshape(-1)[picked]

        # Columns are contiguous in memory, because all loops go over one sub-cluster after another.
        pes, processes = (np.empty((len(keys), len(counts)), np.int32, order="F") for _ in range(2))
        for i, (some_pes, some_processes) in enumerate(options):
            pes[:, i], processes[:, i] = listed(some_pes, i), listed(some_processes, i)
        arrays = pes, processes, total[picked], keys
        for array in arrays:
            array.flags.writeable = False
        return arrays

    @property
    def pes(self) -> np.ndarray:
        """P_i, configurations x sub-clusters."""
        return self._arrays[0]

    @property
    def processes(self) -> np.ndarray:
        """M_i, configurations x sub-clusters."""
        return self._arrays[1]

    @property
    def total(self) -> np.ndarray:
        """P = sum P_i M_i of each configuration."""
        return self._arrays[2]

    @property
    def count(self) -> int:
        """Number of configurations, found without listing them."""
        return int(self._ways.sum())

    @property
    def ranks(self) -> list[int]:
        """All P of the configurations, found without listing them."""
        return np.flatnonzero(self._ways).tolist()

    @cached_property
    def _ways(self) -> np.ndarray:
        """Number of configurations by P; 0 where P is not allowed."""
        ways = np.array([1], dtype=object)  # Python integers, which are exact for any number
        for i in range(self.limits.sub_clusters):
            pes, processes = self.options(i)
            counts = np.bincount(pes * processes, minlength=self.limits.most_processes[i] + 1).astype(object)
            ways = np.convolve(ways, counts)
        return np.where(self.allowed, ways, 0)

    def __len__(self) -> int:
        return len(self.total)

    def configuration(self, row: int) -> Configuration:
        """Return the configuration of a row."""
        return Configuration(tuple(zip(self.pes[row].tolist(), self.processes[row].tolist(), strict=True)))

    def rows(self, configurations: Sequence[Configuration]) -> np.ndarray:
        """Return the rows of configurations; -1 for a configuration that is not in the space."""
        known = [self.limits.allow(configuration) for configuration in configurations]
        keys = np.array([self._key(c) if k else -1 for c, k in zip(configurations, known, strict=True)], int)
        rows = np.searchsorted(self._arrays[3], keys)
        chosen = np.zeros(len(keys), bool)
        inside = rows < len(self)
        chosen[inside] = self._arrays[3][rows[inside]] == keys[inside]
        return np.where(chosen, rows, -1)

    def _key(self, configuration: Configuration) -> int:
        """Return the index of a configuration among all within the limits, allowed or not."""
        key = 0
        places = zip(configuration.shares, self.limits.processes, self.limits.most_processes, strict=True)
        for (pes, processes), most, most_processes in places:
            key = key * (most_processes + 1) + ((pes - 1) * most + processes if pes else 0)
        return key

    @cached_property
    def _index(self) -> list[np.ndarray]:
        """Index of each configuration's T_i in a flat table, by sub-cluster."""
        _, rows, columns = self.table_shape
        processes = self.processes.T.astype(np.intp)
        return [(i * rows + column) * columns + self.total for i, column in enumerate(processes)]

    def gather(self, table_s: np.ndarray) -> np.ndarray:
        """Return T = max_i T_i of every configuration, s, from a table of T_i by (i, M_i, P); NaN where a T_i is NaN.

        Rows M_i = 0 of the table must hold -inf, so that a sub-cluster that is not used has no effect.
        """
        if table_s.shape != self.table_shape:
            raise ValueError(f"a table of shape {table_s.shape}, not {self.table_shape}")
        flat = np.ascontiguousarray(table_s).reshape(-1)
        times_s: np.ndarray = flat[self._index[0]]
        for index in self._index[1:]:
            np.maximum(times_s, flat[index], out=times_s)
        return times_s


class ListedSpace(Space):
    """Some of the configurations of a space, such as those that a search has examined.

    Args:
        space: The space.
        configurations: Configurations of it, each once.
    """

    def __init__(self, space: Space, configurations: Sequence[Configuration]):
        self.limits, self.most_total, self.allowed = space.limits, space.most_total, space.allowed
        self.whole = space
        self._listed = sorted(configurations, key=self._key)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        shares = np.array([configuration.shares for configuration in self._listed], np.int32)
        shares = shares.reshape(len(self._listed), self.limits.sub_clusters, 2)
        keys = np.array([self._key(configuration) for configuration in self._listed], int)
        return shares[:, :, 0], shares[:, :, 1], (shares[:, :, 0] * shares[:, :, 1]).sum(axis=1), keys

    @property
    def count(self) -> int:
        """Number of configurations of the whole space."""
        return self.whole.count
