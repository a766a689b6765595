"""Events on a platform during a simulation: a link gets another bandwidth, a host another speed, or a host fails."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.errors import OptionError
from platforms.errors import known_names
from platforms.model.platform import Platform

_FORM = re.compile(
    r"t=(?P<date>\S+)\s+(?P<kind>link|host)\s+(?P<name>\S+)\s+(?:(?P<key>bandwidth|speed)=(?P<factor>\S+)|(?P<fails>fails))"
)
_KEYS = {"link": "bandwidth", "host": "speed"}
EXAMPLES = '"t=100 link wan bandwidth=0.1", "t=50 host h1 speed=0.5" or "t=50 host h1 fails"'
_DIRECTIONS = ("", "_UP", "_DOWN")  # SimGrid's names of the directions of a split-duplex link


@dataclass(frozen=True)
class PlatformEvent:
    """A change at a date, which holds until the next event of the same link or host."""

    date_s: float
    kind: str  # "link" or "host"
    name: str
    factor: float  # of the bandwidth or speed in the platform file, > 0; 0: the host fails

    @property
    def fails(self) -> bool:
        """True if a host fails."""
        return self.factor == 0

    def __str__(self) -> str:
        change = "fails" if self.fails else f"{_KEYS[self.kind]}={self.factor:g}"
        return f"t={self.date_s:g} {self.kind} {self.name} {change}"


def parse_event(text: str, where: str) -> PlatformEvent:
    """Parse an event such as ``t=100 link wan bandwidth=0.1``; the number is a factor of the platform's own value.

    Raises:
        OptionError: It has another form, or a number is out of its range.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or (match["key"] is not None and match["key"] != _KEYS[match["kind"]]):
        raise OptionError(f"{where} {text!r}", "not an event", f"Write for example {EXAMPLES}")
    if match["fails"] and match["kind"] == "link":
        raise OptionError(f"{where} {text!r}", "links do not fail", "Give a small bandwidth, such as bandwidth=0.01")
    date_s = _number(match["date"])
    factor = 0.0 if match["fails"] else _number(match["factor"])
    if not 0 <= date_s < math.inf:
        raise OptionError(f"{where} {text!r}", f"the date {match['date']} is not a time in s", "Give 0 or more")
    if not match["fails"] and not 1e-4 <= factor <= 1e4:
        problem = f"{match['key']}={match['factor']} is not a factor of the platform's {match['key']}"
        raise OptionError(f"{where} {text!r}", problem, "Give for example 0.5 for half of it")
    return PlatformEvent(date_s, match["kind"], match["name"], factor)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def check_events(events: Sequence[PlatformEvent], platform: Platform, links: Iterable[str]) -> None:
    """Check that the hosts and links of events exist.

    Args:
        events: The events.
        platform: The platform.
        links: SimGrid's names of the links between the hosts in use, by direction.

    Raises:
        OptionError: One does not.
    """
    hosts, known = {host.name for host in platform.hosts}, set(links)
    for event in events:
        names = hosts if event.kind == "host" else {_undirected(name) for name in known}
        if event.kind == "host" and event.name not in hosts:
            raise OptionError(f"event {str(event)!r}", "no such host", known_names(event.name, sorted(names)))
        if event.kind == "link" and not directions(event.name, known):
            problem = "no such link between the hosts in use"
            raise OptionError(f"event {str(event)!r}", problem, known_names(event.name, sorted(names)))


def directions(name: str, links: Iterable[str]) -> list[str]:
    """Return SimGrid's names of a link's directions; a link without directions has one.

    >>> directions("wan", ["wan_UP", "wan_DOWN", "other"])
    ['wan_UP', 'wan_DOWN']
    """
    known = set(links)
    return [f"{name}{ending}" for ending in _DIRECTIONS if f"{name}{ending}" in known]


def _undirected(name: str) -> str:
    return re.sub("_(UP|DOWN)$", "", name)
