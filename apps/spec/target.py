"""Target: a problem on a platform with a placement of its ranks."""

from __future__ import annotations

from dataclasses import dataclass

from apps.errors import KernelError
from apps.programs.problem import Problem
from platforms.model.platform import Change, Platform


@dataclass(frozen=True)
class Target:
    """A problem, the platform it runs on and the host of every rank."""

    problem: Problem
    platform: Platform
    placement: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.placement:
            raise KernelError("placement", "no ranks", "Place at least one rank")

    def __str__(self) -> str:
        return f"{self.problem.on(self.nranks)} of {self.platform.name}"

    @property
    def nranks(self) -> int:
        """Number of ranks."""
        return len(self.placement)

    @property
    def nodes(self) -> int:
        """Number of hosts in use."""
        return len(set(self.placement))

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes of the platform during a run that its profiles may make."""
        return self.platform.changes_for(self.placement)

    @property
    def iterations(self) -> int:
        """Number of iterations of a full run; see Problem.iterations_on."""
        return self.problem.iterations_on(self.nranks)
