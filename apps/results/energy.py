"""Energy of a run: the SimGrid plugins that count it, and its form in a record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from platforms.model.platform import Platform
from platforms.read.content import loadable

_PLUGINS = {"hosts": "host_energy", "links": "link_energy"}
_LINK_WATTS = (b"wattage_range", b"watt_range")  # name of the link property for power, and its former name
_MOST_HOSTS = 1_000_000  # in a platform
_Run = tuple[float, str, str, int, int, str]  # J, first host's name, prefix, first number, last number, suffix
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,14})([^0-9]*)", re.DOTALL)


def counted(platform: Platform) -> tuple[str, ...]:
    """Return for which resources the platform gives watts: "hosts", "links", both or none.

    Links are not checked one by one; they count as soon as the platform file contains the name of their property.
    """
    hosts = ("hosts",) if any(host.power is not None for host in platform.hosts) else ()
    return (*hosts, *(("links",) if _names_link_watts(loadable(platform), platform.content_hash) else ()))


@cache
def _names_link_watts(path: Path, content_hash: str) -> bool:
    content = path.read_bytes()
    return any(name in content for name in _LINK_WATTS)


def plugin_options(energy: Iterable[str]) -> list[str]:
    """Return the SimGrid options that load the plugins and suppress their final list of each host's consumption."""
    plugins = [_PLUGINS[part] for part in energy]
    return [f"--cfg=plugin:{name}" for name in plugins] + [f"--log={name}.thres:error" for name in plugins]


def idle_added(
    energy_j: Mapping[str, float], platform: Platform, *, used: Iterable[str], span_s: float
) -> dict[str, float]:
    """Return the energy of all hosts that have watts, J, in the platform's order.

    Hosts in ``used`` keep their energy from ``energy_j``; every other host idles for ``span_s`` seconds.
    """
    used = set(used)
    return {
        host.name: energy_j[host.name] if host.name in used else host.power.idle_w * span_s
        for host in platform.hosts
        if host.power is not None
    }


def packed(energy_j: Mapping[str, float] | None) -> list[list[Any]] | None:
    """Return a compact form of the energies for JSON.

    Consecutive hosts with consecutive numbers in their names and the same energy become one row.  A row is [J, host],
    or [J, prefix, first number, last number, suffix] for several hosts.
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
    """Return whether a host directly follows the last host of a run and has bitwise the same energy."""
    same = (repr(run[0]), run[2], run[5]) == (repr(last[0]), last[2], last[5])
    return same and run[3] >= 0 and run[3] == last[4] + 1


def unpacked(rows: Sequence[Any] | None) -> dict[str, float] | None:
    """Return the energies from their compact form (the inverse of ``packed``).

    Raises:
        ValueError: The rows are not of that form, or name more hosts than a platform may have.
        TypeError: The rows are not of that form.
    """
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
