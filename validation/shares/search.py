"""Search for the best shares: one for each cluster, in equal steps.

All choices are simulated, except those that are known to take longer than the best because their computation alone
does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from apps.options.shares import shared_evenly
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from validation.shares.bounds import least_s

MOST_CHOICES = 20_000
_AT_ONCE = 8  # simulations between two looks at the best time


@dataclass(frozen=True)
class Searched:
    """The best of all choices."""

    shares: dict[str, float]  # by cluster; their sum is 1
    time_s: float
    choices: int  # number of choices
    simulated: int  # of these; the others compute longer than the best takes


def choices(count: int, steps: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to give each of ``count`` clusters at least one of so many steps.

    >>> list(choices(2, 4))
    [(1, 3), (2, 2), (3, 1)]
    """
    if count == 1:
        yield (steps,)
        return
    for first in range(1, steps - count + 2):
        for rest in choices(count - 1, steps - first):
            yield (first, *rest)


def number_of_choices(target: Target, steps: int) -> int:
    """Return how many choices a search has.

    Raises:
        UserError: There are none, or more than MOST_CHOICES.
    """
    count = len(_clusters(target))
    number = 0
    for number, _ in enumerate(choices(count, steps), 1):
        if number > MOST_CHOICES:
            raise UserError("--search", f"more than {MOST_CHOICES} choices", "Give a larger step")
    if not number:
        raise UserError("--search", f"fewer steps than the {count} clusters", "Give a smaller step")
    return number


def searched(target: Target, settings: Settings, runner: Runner, *, steps: int) -> Searched:
    """Return the best choice of shares.

    The choices are simulated in the order of the least times that they can take, until those exceed the best simulated
    time.  The runner's store keeps the runs, so that a search that was stopped goes on where it was.

    Args:
        target: The target, divided evenly.
        settings: How the runs are made.
        runner: Makes the runs.
        steps: Number of equal steps that the clusters share.

    Raises:
        UserError: As in ``number_of_choices``.
    """
    number_of_choices(target, steps)
    names = _clusters(target)
    every = [
        {name: count / steps for name, count in zip(names, way, strict=True)} for way in choices(len(names), steps)
    ]
    specs = [settings.spec(with_shares(target, shares)) for shares in every]
    bounds_s = [least_s(spec) for spec in specs]
    order = sorted(range(len(every)), key=bounds_s.__getitem__)
    times_s: dict[int, float] = {}
    while order and (not times_s or bounds_s[order[0]] <= min(times_s.values())):
        now, order = order[:_AT_ONCE], order[_AT_ONCE:]
        runner.start([specs[i] for i in now])
        times_s |= {i: runner.record(specs[i]).time_s for i in now}
    best = min(sorted(times_s), key=times_s.__getitem__)
    return Searched(every[best], times_s[best], len(every), len(times_s))


def with_shares(target: Target, shares: dict[str, float]) -> Target:
    """Return the target with these shares of the clusters, each divided evenly among its ranks."""
    places = [target.platform.cluster_of(host).name for host in target.placement]
    return replace(target, problem=target.problem.divided(shared_evenly(places, shares)))


def _clusters(target: Target) -> list[str]:
    """Return the clusters in use, in rank order."""
    return list(Counter(target.platform.cluster_of(host).name for host in target.placement))
