"""Probes: short runs of the few configurations that the models find best, by which one of them is chosen.

A probe is a run of a few iterations, from which the time of all iterations follows; a program without iterations is
run whole.  Probes are runs at the size of the choice.  They are charged like all other evidence, and noise is drawn
for them as for measurements.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.quantities import significant
from predictor.allocation.configuration import Configuration
from predictor.allocation.search import ChosenConfiguration, exhaustive
from predictor.allocation.space import Space
from predictor.base import Cost, EvidenceRequest
from predictor.evidence.broker import Broker
from predictor.nodes.drivers import Estimates, Gathered, Noise
from predictor.nodes.study import Study
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.smaller import time_of_iterations_s

PROBES = 3  # configurations that are probed by default
MOST_PROBES = 100
ITERATIONS = 5  # of a probe


@dataclass(frozen=True)
class Probing:
    """The way to probe: how many configurations, through which broker, and with which noise."""

    count: int
    broker: Broker
    noise: Noise


@dataclass(frozen=True)
class Probed:
    """A probed configuration."""

    configuration: Configuration
    estimated_s: float  # by the models
    probed_s: float  # of all iterations, by the probe


@dataclass(frozen=True)
class ProbedChoice:
    """The choice among the probed configurations."""

    choice: ChosenConfiguration
    probed: tuple[Probed, ...]  # by increasing probed time
    gathered: Gathered


def check_probes(count: int, where: str) -> None:
    """Check a number of configurations to probe.

    Raises:
        UserError: It is negative or too large.
    """
    if not 0 <= count <= MOST_PROBES:
        raise UserError(where, "not a number of configurations to probe", f"Give 0 to {MOST_PROBES}, 0 for no probes")


def short(problem: Problem, nranks: int) -> Problem:
    """Return the problem with at most ITERATIONS iterations.

    A program without iterations is left as it is, and so is the user's own, whose iterations may have no dates in the
    record: its runs are extrapolated from a few iterations where these repeat.
    """
    if problem.program is not None:
        return problem
    parameter = named_kernel(problem.name).iterations_parameter
    if parameter is None or problem.iterations_on(nranks) <= ITERATIONS:
        return problem
    return replace(problem, params=tuple((key, ITERATIONS if key == parameter else old) for key, old in problem.params))


def probe_target(study: Study, configuration: Configuration, size: int) -> Target:
    """Return the run of a probe."""
    target = study.target(configuration, size)
    return replace(target, problem=short(target.problem, target.nranks))


def choose_by_probes(study: Study, space: Space, size: int, estimates: Estimates, probing: Probing) -> ProbedChoice:
    """Probe the configurations that the estimates find best, one of each P, and choose the fastest of them.

    Raises:
        OutOfRange: No configuration has an estimate.
    """
    best = estimates.choose(space)
    listed = shortlist(space, estimates.times_s, probing.count, table_s=estimates.table_s)
    targets = [probe_target(study, candidate.configuration, size) for candidate in listed]
    started = time.perf_counter()
    evidence = probing.broker.gather([EvidenceRequest("run", target) for target in targets])
    wall_s = time.perf_counter() - started
    asked = [study.target(candidate.configuration, size).iterations for candidate in listed]
    quiet = Measurements.of(
        Measurement(candidate.configuration, size, time_of_iterations_s(run.record, target.iterations, iterations))
        for candidate, run, target, iterations in zip(listed, evidence, targets, asked, strict=True)
    )
    # A stream of its own, so that probes and measurements do not have the same noise.
    noisy_s = replace(probing.noise, seed=_stream(probing.noise.seed, size)).of(quiet).time_s.tolist()
    probed = sorted(
        (
            Probed(candidate.configuration, candidate.time_s, time_s)
            for candidate, time_s in zip(listed, noisy_s, strict=True)
        ),
        key=lambda probe: probe.probed_s,
    )
    chosen = probed[0]
    choice = replace(
        best,
        configuration=chosen.configuration,
        time_s=chosen.probed_s,
        value=chosen.probed_s,
        flags=_flags(space, estimates, chosen.configuration),
    )
    spent = Gathered(sum((run.cost for run in evidence), Cost()), sum(run.record.time_s for run in evidence), wall_s)
    return ProbedChoice(choice, tuple(probed), spent)


def _stream(seed: int, size: int) -> int:
    return 1_000_003 * (seed + 1) + size


def _flags(space: Space, estimates: Estimates, configuration: Configuration) -> tuple[str, ...]:
    """Return the reasons to distrust the estimate of a configuration, besides its time, which the probe replaces."""
    (row,) = space.rows([configuration])
    return (*estimates.flags, *estimates.own_flags.get(int(row), ()))


def comparison_text(probed: Sequence[Probed]) -> str:
    """Return a sentence that compares the choice with the second best of the probed configurations.

    >>> a, b = (Configuration(((pes, 1),)) for pes in (2, 3))
    >>> comparison_text([Probed(a, 5.0, 4.0), Probed(b, 4.5, 4.4)])
    'probed 2 configurations: the second best, (3,1), is within 10.0 % of the chosen one'
    """
    if len(probed) < 2:
        return "probed 1 configuration: there is no other number of processes"
    first, second = probed[:2]
    ahead = 100 * (second.probed_s / first.probed_s - 1)
    said = f"the second best, {second.configuration}, is within {significant(ahead)} % of the chosen one"
    return f"probed {len(probed)} configurations: {said}"


def shortlist(
    space: Space, times_s: np.ndarray, count: int, *, table_s: np.ndarray | None = None
) -> list[ChosenConfiguration]:
    """Return the configurations with the least times, at most ``count``, no two with the same number of processes P.

    Models of T_i(N, P)|M_i distinguish configurations of the same P less than those of another P, and their errors are
    those of whole P: uneven blocks, classes of message sizes.  So configurations of another P are worth a comparison.

    Args:
        space: The configurations.
        times_s: Time of each configuration; NaN: no model.
        count: Largest number of configurations.
        table_s: T_i by (i, M_i, P), where the model gives them.

    Raises:
        OutOfRange: No configuration has a time.
    """
    left_s = np.array(times_s, float)
    configurations: list[ChosenConfiguration] = []
    while len(configurations) < count and (not configurations or not np.isnan(left_s).all()):
        configurations.append(exhaustive(space, left_s, table_s=table_s))
        left_s[space.total == configurations[-1].configuration.total] = np.nan
    return configurations
