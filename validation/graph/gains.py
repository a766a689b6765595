"""Predicted gains of faster parts of a platform beside those of simulations on platforms that are changed so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from apps.spec.target import Target
from platforms.model.platform import Platform
from platforms.read.changed import changed_platform
from platforms.read.routes import routes_between
from predictor.graph.faster import WHOLE, DeclaredNetwork, MeasuredNetwork, Network
from predictor.graph.what_if import Answers, WhatIf

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
        PlatformError: As ``platforms.read.changed.changed_platform``.
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
