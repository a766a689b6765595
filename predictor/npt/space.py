"""All configurations within limits, as arrays: what an exhaustive search goes through.

Ichikawa, Takahashi, Kawai, Tables VI and VII: 404 and 285 of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from platforms.errors import UserError
from predictor.npt.configuration import Configuration, Limits

MOST_CONFIGURATIONS = 20_000_000  # that are listed: about a gigabyte of arrays for three sub-clusters


class Space:
    """The configurations within ``limits`` whose number of processes P is ``allowed``, in order.

    ``allowed`` is asked once for every P: the benchmark's own rule, such as "N is a multiple of P" (section 5.2).
    The arrays are made when they are first needed; a search that bounds needs none of them.
    """

    def __init__(self, limits: Limits, allowed: Callable[[int], bool] | None = None):
        self.limits = limits
        self.most_total = sum(limits.most_processes)
        # By P, from 0; P = 0 is no configuration.
        self.allowed = np.array([False] + [allowed is None or bool(allowed(P)) for P in range(1, self.most_total + 1)])

    def options(self, sub_cluster: int) -> tuple[np.ndarray, np.ndarray]:
        """P_i and M_i of everything that may be done with a sub-cluster: (0, 0) first, then in order."""
        most_pes, most = self.limits.pes[sub_cluster], self.limits.processes[sub_cluster]
        pes = np.repeat(np.arange(1, most_pes + 1), most)
        processes = np.tile(np.arange(1, most + 1), most_pes)
        return np.concatenate(([0], pes)), np.concatenate(([0], processes))

    @property
    def table_shape(self) -> tuple[int, int, int]:
        """Shape of a table of T_i by (i, M_i, P): everything the times of these configurations depend on."""
        return self.limits.sub_clusters, max(self.limits.processes) + 1, self.most_total + 1

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """pes, processes, total, keys."""
        counts = [most + 1 for most in self.limits.most_processes]
        if math.prod(counts) > MOST_CONFIGURATIONS:
            problem = f"{math.prod(counts) - 1} configurations, at most {MOST_CONFIGURATIONS} are listed"
            raise UserError(f"limits {self.limits.pes}, {self.limits.processes}", problem, "Use branch and bound")

        def spread(values: np.ndarray, axis: int) -> np.ndarray:
            """Values of a sub-cluster's options along its axis of the product of all options."""
            return values.astype(np.int32).reshape([-1 if i == axis else 1 for i in range(len(counts))])

        options = [self.options(i) for i in range(len(counts))]
        each = (spread(pes * processes, i) for i, (pes, processes) in enumerate(options))
        total = sum(each, start=np.zeros((1,) * len(counts), np.int32)).reshape(-1)
        keys = np.flatnonzero(self.allowed[total])
        picked = slice(1, None) if self.allowed[1:].all() else keys  # a slice is quicker than a list

        def listed(values: np.ndarray, axis: int) -> np.ndarray:
            return np.broadcast_to(spread(values, axis), counts).reshape(-1)[picked]

        # Column by column in memory: everything goes through one sub-cluster after the other.
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
        """How many configurations there are, without listing them."""
        return int(self._ways.sum())

    @property
    def ranks(self) -> list[int]:
        """The P that they have, without listing them."""
        return np.flatnonzero(self._ways).tolist()

    @cached_property
    def _ways(self) -> np.ndarray:
        """By P, the ways to share it out; 0 where it is not allowed."""
        ways = np.array([1], dtype=object)  # exact however many there are
        for i in range(self.limits.sub_clusters):
            pes, processes = self.options(i)
            own = np.bincount(pes * processes, minlength=self.limits.most_processes[i] + 1).astype(object)
            ways = np.convolve(ways, own)
        return np.where(self.allowed, ways, 0)

    def __len__(self) -> int:
        return len(self.total)

    def configuration(self, row: int) -> Configuration:
        """That row of the arrays."""
        return Configuration(tuple(zip(self.pes[row].tolist(), self.processes[row].tolist(), strict=True)))

    def rows(self, configurations: Sequence[Configuration]) -> np.ndarray:
        """Where they are; -1 for those that are not here."""
        known = [self.limits.allow(configuration) for configuration in configurations]
        keys = np.array([self._key(c) if k else -1 for c, k in zip(configurations, known, strict=True)], int)
        rows = np.searchsorted(self._arrays[3], keys)
        found = np.zeros(len(keys), bool)
        inside = rows < len(self)
        found[inside] = self._arrays[3][rows[inside]] == keys[inside]
        return np.where(found, rows, -1)

    def _key(self, configuration: Configuration) -> int:
        """Its place among all configurations of the limits, allowed or not."""
        key = 0
        places = zip(configuration.shares, self.limits.processes, self.limits.most_processes, strict=True)
        for (pes, processes), most, most_processes in places:
            key = key * (most_processes + 1) + ((pes - 1) * most + processes if pes else 0)
        return key

    @cached_property
    def _index(self) -> list[np.ndarray]:
        """By sub-cluster, where in a flat table each configuration finds its T_i."""
        _, rows, columns = self.table_shape
        processes = self.processes.T.astype(np.intp)
        return [(i * rows + column) * columns + self.total for i, column in enumerate(processes)]

    def gather(self, table_s: np.ndarray) -> np.ndarray:
        """T = max_i T_i of every configuration, s, from a table of T_i by (i, M_i, P); NaN where one of them is.

        Rows M_i = 0 hold -inf: a sub-cluster that is not used has no say.
        """
        if table_s.shape != self.table_shape:
            raise ValueError(f"a table of shape {table_s.shape}, not {self.table_shape}")
        flat = np.ascontiguousarray(table_s).reshape(-1)
        times_s: np.ndarray = flat[self._index[0]]
        for index in self._index[1:]:
            np.maximum(times_s, flat[index], out=times_s)
        return times_s
