"""What is counted of the energy of a run: which of SimGrid's plugins it needs, and what its record says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from platforms.platform import Platform

_PLUGINS = {"hosts": "host_energy", "links": "link_energy"}
_LINK_WATTS = (b"wattage_range", b"watt_range")  # the property of a link that has watts, and its former name
_MOST_HOSTS = 1_000_000  # of a platform
_Run = tuple[float, str, str, int, int, str]  # J, name of the first, prefix, first number, last number, suffix
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,14})([^0-9]*)", re.DOTALL)


def counted(platform: Platform) -> tuple[str, ...]:
    """What the platform gives watts: "hosts", "links", both or none.

    Links are not looked at one by one: it counts whether the file names their property.
    """
    hosts = ("hosts",) if any(host.power is not None for host in platform.hosts) else ()
    return (*hosts, *(("links",) if _names_link_watts(platform.path, platform.content_hash) else ()))


@cache
def _names_link_watts(path: Path, content_hash: str) -> bool:
    content = path.read_bytes()
    return any(name in content for name in _LINK_WATTS)


def plugin_options(energy: Iterable[str]) -> list[str]:
    """SimGrid's options that load the plugins, and keep them from printing what every host consumed in the end."""
    plugins = [_PLUGINS[one] for one in energy]
    return [f"--cfg=plugin:{name}" for name in plugins] + [f"--log={name}.thres:error" for name in plugins]


def idle_added(
    energy_j: Mapping[str, float], platform: Platform, *, used: Iterable[str], span_s: float
) -> dict[str, float]:
    """Energy of the hosts in use, J, and beside it that of the platform's other hosts, which idle for ``span_s``.

    In the order of the platform's hosts; of those that have watts.
    """
    used = set(used)
    return {
        host.name: energy_j[host.name] if host.name in used else host.power.idle_w * span_s
        for host in platform.hosts
        if host.power is not None
    }


def packed(energy_j: Mapping[str, float] | None) -> list[list[Any]] | None:
    """The same in few words, for JSON: hosts that follow each other, in their numbers too, and consumed the same.

    A list of [J, host] and of [J, prefix, first number, last number, suffix], which stands for several hosts.
    """
    if energy_j is None:
        return None
    runs: list[_Run] = []
    for name, joules in energy_j.items():
        prefix, number, suffix = match.groups() if (match := _NUMBERED.fullmatch(name)) else (name, "-1", "")
        run = (joules, name, prefix, int(number), int(number), suffix)
        if runs and _continues(run, runs[-1]):
            runs[-1] = (*runs[-1][:4], int(number), suffix)
        else:
            runs.append(run)
    return [[run[0], run[1]] if run[3] == run[4] else [run[0], *run[2:]] for run in runs]


def _continues(run: _Run, last: _Run) -> bool:
    """Whether the host is the next after the last one of a run, and consumed the same, to the bit."""
    same = (repr(run[0]), run[2], run[5]) == (repr(last[0]), last[2], last[5])
    return same and run[3] >= 0 and run[3] == last[4] + 1


def unpacked(rows: Sequence[Any] | None) -> dict[str, float] | None:
    """The inverse of ``packed``.  Raises ValueError or TypeError for what is none."""
    if rows is None:
        return None
    energy_j = {}
    for joules, *place in rows:
        if len(place) == 1:
            energy_j[place[0]] = joules
        else:
            prefix, first, last, suffix = place
            if last - first + len(energy_j) >= _MOST_HOSTS:
                raise ValueError(f"{last - first + 1} hosts in a row")
            energy_j.update((f"{prefix}{number}{suffix}", joules) for number in range(first, last + 1))
    return energy_j
