"""A configuration (P_1, M_1, ..., P_G, M_G): the PEs in use of each sub-cluster and the processes on each of them.

Ichikawa, Takahashi, Kawai, section 4.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from platforms.errors import UserError


@dataclass(frozen=True, order=True)
class Configuration:
    """(P_i, M_i) of every sub-cluster; P_i = 0 <=> M_i = 0, and not all are zero.

    Configurations are ordered by the numbers P_1, M_1, P_2, ...

    >>> configuration = Configuration.parse("(4,1,4,2,0,0)")
    >>> configuration.total, configuration.nodes, configuration.used
    (12, 8, (0, 1))
    """

    shares: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if any(pes < 0 or processes < 0 for pes, processes in self.shares):
            raise UserError(f"configuration {self}", "a number below zero", "Count PEs and processes from zero")
        if any((pes == 0) != (processes == 0) for pes, processes in self.shares):
            problem = "PEs without processes, or processes without PEs"
            raise UserError(f"configuration {self}", problem, "Give P_i and M_i both zero or both positive")
        if not any(pes for pes, _ in self.shares):
            raise UserError(f"configuration {self}", "it uses nothing", "Use at least one sub-cluster")

    @classmethod
    def parse(cls, text: str) -> Configuration:
        """Parse a text such as "(4,1,4,2,0,0)"; brackets and spaces are optional.

        Raises:
            UserError: The text is not a configuration.
        """
        numbers = text.strip().removeprefix("(").removesuffix(")").split(",")
        if len(numbers) % 2 or not all(re.fullmatch(r"\s*\d{1,18}\s*", number, re.ASCII) for number in numbers):
            remedy = "Give P_1,M_1,P_2,M_2,..., for example (4,1,4,2,0,0)"
            raise UserError(f"configuration {text!r}", "not pairs of whole numbers", remedy)
        values = [int(number) for number in numbers]
        return cls(tuple(zip(values[::2], values[1::2], strict=True)))

    @property
    def total(self) -> int:
        """P, the number of processes."""
        return sum(pes * processes for pes, processes in self.shares)

    @property
    def nodes(self) -> int:
        """Number of PEs in use, sum P_i."""
        return sum(pes for pes, _ in self.shares)

    @property
    def used(self) -> tuple[int, ...]:
        """The sub-clusters in use, counted from 0."""
        return tuple(i for i, (pes, _) in enumerate(self.shares) if pes)

    def __str__(self) -> str:
        return "(" + ",".join(f"{pes},{processes}" for pes, processes in self.shares) + ")"


@dataclass(frozen=True)
class Limits:
    """Limits of configurations: 0 <= P_i <= ``|G_i|`` and 0 <= M_i <= the largest number of processes on a PE."""

    pes: tuple[int, ...]  # |G_i|, of each sub-cluster
    processes: tuple[int, ...]  # largest M_i

    def __post_init__(self) -> None:
        object.__setattr__(self, "pes", tuple(int(n) for n in self.pes))
        object.__setattr__(self, "processes", tuple(int(n) for n in self.processes))
        if len(self.pes) != len(self.processes) or not self.pes:
            problem = f"{len(self.pes)} numbers of PEs and {len(self.processes)} of processes"
            raise UserError("limits", problem, "Give one of each per sub-cluster")
        if min(*self.pes, *self.processes) < 0:
            raise UserError("limits", "a number below zero", "Give zero for a sub-cluster that may not be used")

    @property
    def sub_clusters(self) -> int:
        """Number of sub-clusters."""
        return len(self.pes)

    @property
    def most_processes(self) -> tuple[int, ...]:
        """The largest P_i M_i of each sub-cluster."""
        return tuple(pes * processes for pes, processes in zip(self.pes, self.processes, strict=True))

    def allow(self, configuration: Configuration) -> bool:
        """Return whether the configuration lies within the limits."""
        if len(configuration.shares) != self.sub_clusters:
            return False
        bounds = zip(configuration.shares, self.pes, self.processes, strict=True)
        return all(pes <= most_pes and processes <= most for (pes, processes), most_pes, most in bounds)


def remaining(limits: Limits, configuration: Configuration) -> Limits:
    """Return the limits for the next job while one runs on ``configuration``, which takes its PEs whole (section 8).

    Raises:
        UserError: The configuration does not lie within the limits.
    """
    if not limits.allow(configuration):
        problem = f"more than the limits {limits.pes} PEs, {limits.processes} processes on each"
        raise UserError(f"configuration {configuration}", problem, "Take one from the space of these limits")
    left = (most - pes for most, (pes, _) in zip(limits.pes, configuration.shares, strict=True))
    return Limits(tuple(left), limits.processes)
