"""Figures of a schedule: waiting and turnaround times, bounded slowdown, utilisation.

D. G. Feitelson, L. Rudolph, "Metrics and Benchmarking for Parallel Job Scheduling", 1998.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BOUND_S = 10.0  # shorter runs count as long in the bounded slowdown


@dataclass(frozen=True)
class Span:
    """One job of a finished schedule."""

    arrival_s: float
    start_s: float
    end_s: float
    nodes: int

    @property
    def wait_s(self) -> float:
        """Time between arrival and start."""
        return self.start_s - self.arrival_s

    @property
    def turnaround_s(self) -> float:
        """Time between arrival and end."""
        return self.end_s - self.arrival_s

    @property
    def bounded_slowdown(self) -> float:
        """Turnaround over run time, where runs shorter than BOUND_S count as BOUND_S; at least 1."""
        return max(1.0, self.turnaround_s / max(self.end_s - self.start_s, BOUND_S))


@dataclass(frozen=True)
class Figures:
    """Means over the jobs of a schedule."""

    jobs: int
    wait_s: float
    turnaround_s: float
    bounded_slowdown: float
    utilisation: float  # share of all nodes that jobs hold between the first arrival and the last end
    makespan_s: float


def figures(spans: Sequence[Span], nodes: int) -> Figures:
    """Return the figures of a schedule on a number of nodes."""
    count = len(spans)
    makespan_s = max(span.end_s for span in spans) - min(span.arrival_s for span in spans)
    held = sum(span.nodes * (span.end_s - span.start_s) for span in spans)
    return Figures(
        jobs=count,
        wait_s=sum(span.wait_s for span in spans) / count,
        turnaround_s=sum(span.turnaround_s for span in spans) / count,
        bounded_slowdown=sum(span.bounded_slowdown for span in spans) / count,
        utilisation=held / (nodes * makespan_s) if makespan_s > 0 else 0.0,
        makespan_s=makespan_s,
    )
