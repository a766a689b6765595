"""The predicted graph of a program beside its simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.errors import Departed
from apps.recording.events import Recording
from apps.runs.recorded_run import run_recorded
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.terminal.progress import doing
from predictor.graph.on_platform import Analysis
from predictor.graph.places import places_of
from validation.graph.elements import Elements, elements_of_analysis
from validation.graph.gains import Changed, Gain, gains
from validation.graph.simulated import simulated_elements

Simulate = Callable[[Target], Recording]


@dataclass(frozen=True)
class Compared:
    """An analysis, the simulated times of its elements, and gains."""

    analysis: Analysis
    predicted: Elements
    simulated: Elements
    whole_s: float  # simulated time of all iterations
    asked_s: float  # simulated time that the gains are of: of all iterations, or of the recorded ones
    gains: tuple[Gain, ...]

    @property
    def clusters(self) -> list[str]:
        """The cluster of each process."""
        return list(self.analysis.timed.clusters)


def compared(
    analysis: Analysis, changed: Sequence[Changed], simulate: Simulate, whole_s: Callable[[Target], float]
) -> Compared:
    """Simulate the program on its platform and on the changed ones.

    Args:
        analysis: The prediction.
        changed: The rows of the what-if table to simulate.
        simulate: Returns a recording, with clocks, of a run on a target's own platform.
        whole_s: Returns the simulated time of all iterations on a target's own platform.
    """

    def elements(target: Target) -> Elements:
        recording = simulate(target)
        return simulated_elements(recording, places_of(target.problem, recording.paths))

    now, run_s = elements(analysis.target), whole_s(analysis.target)
    of_run = analysis.answers is not None and analysis.answers.iterations
    now_s, time_of = (run_s, whole_s) if of_run else (now.time_s, lambda target: elements(target).time_s)
    gained = gains(changed, analysis.target, now_s, time_of)
    return Compared(analysis, elements_of_analysis(analysis), now, run_s, now_s, tuple(gained))


def simulation(spec: RunSpec, iterations: int, *, time_limit_s: float | None) -> Simulate:
    """Return the function that simulates a number of iterations of a spec's program on any target, with the recorder.

    Args:
        spec: The run, whose target is replaced.
        iterations: Number of iterations.
        time_limit_s: Limit of the wall time of each run; None: there is none.
    """

    def simulate(target: Target) -> Recording:
        own = replace(spec, target=target)
        with doing(f"simulating {target}"):
            try:
                return run_recorded(own, iterations, what=str(target), time_limit_s=time_limit_s)
            except Departed:  # the record of the same run cautions about it
                live = replace(own, work=None)
                return run_recorded(live, iterations, what=str(target), time_limit_s=time_limit_s)

    return simulate


def by_cluster(values: np.ndarray, clusters: Sequence[str]) -> dict[str, float]:
    """Return the sum of the processes' values of each cluster."""
    sums = dict.fromkeys(clusters, 0.0)
    for cluster, value in zip(clusters, values.tolist(), strict=True):
        sums[cluster] += value
    return sums
