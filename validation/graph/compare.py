"""The predicted graph of a program beside its simulation, and gains of faster parts of a platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.errors import Departed
from apps.recording.events import Recording
from apps.runs.recorded_run import run_recorded
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.model.platform import Platform
from platforms.read.routes import changed_platform, routes_between
from platforms.terminal.progress import doing
from predictor.graph.faster import WHOLE, DeclaredNetwork, MeasuredNetwork, Network
from predictor.graph.on_platform import Analysis
from predictor.graph.places import places_of
from predictor.graph.what_if import Answers, WhatIf
from validation.graph.simulated import Elements, elements_of_analysis, simulated_elements

PLATFORM_KINDS = ("network", "link", "node", "cluster")  # the others are changes of the program


@dataclass(frozen=True)
class Changed:
    """A row of the what-if table, and the platform on which it is simulated."""

    answer: WhatIf
    platform: Platform


@dataclass(frozen=True)
class Gain:
    """The saving of a faster part, predicted and simulated."""

    answer: WhatIf
    simulated_s: float  # time of the program on the changed platform
    saved_s: float  # simulated


def changed_platforms(target: Target, network: Network, answers: Answers, *, most: int) -> list[Changed]:
    """Return the platforms of the first rows that change the platform.

    A link that messages showed, but that no link of the platform corresponds to, has none.

    Raises:
        PlatformError: As ``platforms.read.routes.changed_platform``.
    """
    changed: list[Changed] = []
    for answer in (row for row in answers.answers if row.kind in PLATFORM_KINDS):
        if len(changed) == most:
            break
        made = _changed(target, network, answer, answers.factor)
        if made is not None:
            changed.append(Changed(answer, made))
    return changed


def gains(changed: Sequence[Changed], target: Target, now_s: float, simulate: Callable[[Target], float]) -> list[Gain]:
    """Return the simulated gains.

    Args:
        changed: The rows and their platforms.
        target: The target on the platform as it is.
        now_s: Its simulated time.
        simulate: Returns the time of a target.
    """
    times_s = ((change.answer, simulate(replace(target, platform=change.platform))) for change in changed)
    return [Gain(answer, time_s, now_s - time_s) for answer, time_s in times_s]


def _changed(target: Target, network: Network, answer: WhatIf, factor: float) -> Platform | None:
    hosts = list(dict.fromkeys(target.placement))
    if answer.kind in ("network", "link"):
        links = _links(target, network, answer.name)
        return changed_platform(target.platform, hosts, faster_links=dict.fromkeys(links, factor)) if links else None
    named = [host for host in hosts if target.platform.cluster_of(host).name == answer.name]
    if answer.kind == "node":
        named = [answer.name]
    return changed_platform(target.platform, hosts, faster_hosts=dict.fromkeys(named, factor))


def _links(target: Target, network: Network, part: str) -> frozenset[str]:
    """Return SimGrid's names of the links that a part of a network stands for."""
    if isinstance(network, DeclaredNetwork):
        return frozenset().union(*network.links.values()) if part == WHOLE else network.links[part]
    assert isinstance(network, MeasuredNetwork)
    hosts = list(dict.fromkeys(target.placement))
    pairs = [(a, b) for a in hosts for b in hosts if a != b]
    links = {
        (route.source, route.destination): frozenset(route.link_names)
        for route in routes_between(target.platform, pairs)
    }
    if part == WHOLE:
        return frozenset().union(*links.values())
    return _only_on(links, network.crossing(part))


def _only_on(links: Mapping[tuple[str, str], frozenset[str]], crossing: frozenset[tuple[str, str]]) -> frozenset[str]:
    """Return the links on the ways of all these pairs, there or back, and of no others; none if there are no others.

    Without other pairs the links of two nodes cannot be distinguished.
    """
    others = [names for pair, names in links.items() if pair not in crossing]
    crossed = [names | links[pair[::-1]] for pair, names in links.items() if pair in crossing]
    if not others or not crossed:
        return frozenset()
    return frozenset.intersection(*crossed).difference(*others)


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
