"""Measured times of runs, to which the models are fitted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration


@dataclass(frozen=True)
class Measurement:
    """One run."""

    configuration: Configuration
    size: float  # N
    time_s: float
    work_flops: float | None = None  # flops of the run; only the search for glitches uses them

    def __post_init__(self) -> None:
        where = f"measurement on {self.configuration}, N = {self.size:g}"
        if not 0 < self.size < np.inf:
            raise UserError(where, "not a size", "Give a positive number")
        if not 0 < self.time_s < np.inf:
            raise UserError(where, f"its time is {self.time_s} s", "Give a positive number of seconds")
        if self.work_flops is not None and not 0 < self.work_flops < np.inf:
            raise UserError(where, f"its work is {self.work_flops} flops", "Give a positive number, or none")


@dataclass(frozen=True, eq=False)
class Measurements:
    """Many runs as columns, made and checked by ``of``."""

    pes: np.ndarray  # P_i, runs x sub-clusters
    processes: np.ndarray  # M_i, runs x sub-clusters
    size: np.ndarray  # N
    time_s: np.ndarray
    work_flops: np.ndarray  # NaN where it is not known

    @classmethod
    def of(cls, runs: Iterable[Measurement]) -> Measurements:
        """Make columns of runs.

        Raises:
            UserError: There are no runs, or they have different numbers of sub-clusters.
        """
        runs = list(runs)
        counts = {len(run.configuration.shares) for run in runs}
        if len(counts) != 1:
            problem = f"runs on {' and '.join(str(n) for n in sorted(counts)) or 'no'} sub-clusters"
            raise UserError("measurements", problem, "Give runs on one cluster")
        shares = np.array([run.configuration.shares for run in runs], int)
        return cls(
            pes=shares[:, :, 0],
            processes=shares[:, :, 1],
            size=np.array([run.size for run in runs], float),
            time_s=np.array([run.time_s for run in runs], float),
            work_flops=np.array([np.nan if run.work_flops is None else run.work_flops for run in runs], float),
        )

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def total(self) -> np.ndarray:
        """P = sum P_i M_i of each run."""
        total: np.ndarray = (self.pes * self.processes).sum(axis=1)
        return total

    @cached_property
    def sub_cluster(self) -> np.ndarray:
        """The only sub-cluster in use of each run, counted from 0; -1 for a heterogeneous run."""
        return np.where((self.pes > 0).sum(axis=1) == 1, (self.pes > 0).argmax(axis=1), -1)

    @cached_property
    def series(self) -> list[np.ndarray]:
        """Rows of the runs of each configuration, by increasing N."""
        shares = np.concatenate((self.pes, self.processes), axis=1)
        _, which = np.unique(shares, axis=0, return_inverse=True)
        by_size = np.lexsort((self.size, which.reshape(-1)))
        return np.split(by_size, np.flatnonzero(np.diff(which.reshape(-1)[by_size])) + 1)

    def configuration(self, row: int) -> Configuration:
        """Return the configuration of one run."""
        return Configuration(tuple(zip(self.pes[row].tolist(), self.processes[row].tolist(), strict=True)))

    def where(self, mask: np.ndarray) -> Measurements:
        """Return the runs that the mask selects, for example those of fewer sizes (section 5.5)."""
        names = ("pes", "processes", "size", "time_s", "work_flops")
        return Measurements(**{name: getattr(self, name)[mask] for name in names})

    def with_times(self, time_s: np.ndarray) -> Measurements:
        """Return the same runs with other times."""
        return replace(self, time_s=np.asarray(time_s, float))
