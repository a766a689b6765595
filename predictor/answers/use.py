"""Notes on the use of the nodes: cores that stay idle, and a cluster that the others wait for."""

from __future__ import annotations

from collections.abc import Mapping

from apps.spec.target import Target
from platforms.terminal.quantities import duration, significant
from platforms.wording import number_of

_MOSTLY = 0.5  # share of the time that a cluster computes before it can be said to hold the others up
_LESS = 0.9  # and the most that any other cluster computes, over its time


def cores_note(target: Target) -> str | None:
    """Return how many cores of the hosts in use have a rank, where each has one rank and several cores.

    None: a host has several ranks, or one core.
    """
    hosts = [target.platform.host(name) for name in target.placement]
    if len(set(target.placement)) < len(hosts) or min(host.cores for host in hosts) == 1:
        return None
    cores = sum(host.cores for host in hosts)
    return f"{target.nranks} of {cores} cores of these hosts are used; --ranks-per-host cores uses all"


def slowest_cluster_note(target: Target, busy_s: Mapping[str, float], time_s: float) -> str | None:
    """Return which cluster the others wait for: it computes most of the time, and all others clearly less.

    Args:
        target: The target.
        busy_s: Time that each host in use computes, s.
        time_s: Time of the run, s.
    """
    of_cluster: dict[str, list[float]] = {}
    for host, host_s in busy_s.items():
        of_cluster.setdefault(target.platform.cluster_of(host).name, []).append(host_s)
    if len(of_cluster) < 2 or not time_s > 0:
        return None
    slowest = max(of_cluster, key=lambda name: max(of_cluster[name]))
    most_s = max(of_cluster[slowest])
    others_s = max(max(each) for name, each in of_cluster.items() if name != slowest)
    if most_s < _MOSTLY * time_s or others_s > _LESS * most_s:
        return None
    unit = duration(time_s).split()[-1]
    computing = duration(most_s, like_s=time_s).removesuffix(f" {unit}")
    nodes = number_of(len(of_cluster[slowest]), "node")
    return (
        f"{slowest} holds the others up: its {nodes} compute for {computing} of {duration(time_s)}, all others for at "
        f"most {significant(100 * others_s / most_s)} % of that"
    )
