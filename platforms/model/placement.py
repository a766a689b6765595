"""Placement of ranks on hosts.

A placement is a tuple of host names in rank order: rank r runs on ``placement[r]``.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from platforms.errors import PlatformError, nearest
from platforms.files.reading import input_text
from platforms.files.writing import write_whole
from platforms.model.platform import Host, Platform
from platforms.wording import number_of

Placement = tuple[str, ...]
RanksPerHost = int | Literal["cores"]  # a number, or one on each core of a host
MOST_RANKS = 1_000_000  # in a host file; SimGrid cannot simulate more

_COUNTED = re.compile(r"(?P<host>.+):(?P<count>[0-9]{1,6})")


def block(platform: Platform, nranks: int, ranks_per_host: RanksPerHost = 1) -> Placement:
    """Place consecutive ranks on the clusters in order, in equal shares if they fit.

    If the number of ranks is not a multiple of the number of clusters, the first clusters take one rank more.  Ranks
    that a full cluster cannot take go to the following clusters, and if those are full too, to earlier ones.  Within a
    cluster, each host from the first on takes ``ranks_per_host`` consecutive ranks; ``"cores"``: one on each core.

    Raises:
        PlatformError: The ranks do not fit on the hosts.
    """
    slots = _slots(platform, nranks, ranks_per_host)
    shares = block_shares(nranks, [len(free) for free in slots])
    return tuple(host for free, share in zip(slots, shares, strict=True) for host in free[:share])


def block_shares(nranks: int, places: Sequence[int]) -> list[int]:
    """Return the ranks of each cluster by the mapping ``block``, for clusters that have room for them together."""
    even, odd = divmod(nranks, len(places))
    shares, carry = [], 0
    for i, room in enumerate(places):
        wanted = even + (i < odd) + carry
        shares.append(min(wanted, room))
        carry = wanted - shares[i]
    for i, room in enumerate(places):
        more = min(carry, room - shares[i])
        shares[i] += more
        carry -= more
    return shares


def cyclic(platform: Platform, nranks: int, ranks_per_host: RanksPerHost = 1) -> Placement:
    """Deal the ranks to the clusters in turn, each to the cluster's first free place; full clusters are skipped.

    Raises:
        PlatformError: The ranks do not fit on the hosts.
    """
    slots = _slots(platform, nranks, ranks_per_host)
    rounds = max(len(free) for free in slots)
    dealt = [free[turn] for turn in range(rounds) for free in slots if turn < len(free)]
    return tuple(dealt[:nranks])


MAPPINGS: dict[str, Callable[..., Placement]] = {"block": block, "cyclic": cyclic}


def configured(
    platform: Platform, configuration: Sequence[tuple[int, int]], *, skip: Sequence[int] | None = None
) -> Placement:
    """Place M_i consecutive ranks on each of the first P_i hosts of each cluster, cluster by cluster.

    This is a configuration (P_1, M_1, P_2, M_2, ...) of S. Ichikawa, S. Takahashi, Y. Kawai, "Optimizing process
    allocation of parallel programs for heterogeneous clusters", section 4.1.

    Args:
        platform: The platform whose hosts are used.
        configuration: (P_i, M_i) of every cluster, both 0 for a cluster that is not used.  M_i may exceed the cores of
            a host; the ranks then share the cores.
        skip: Number of hosts at the beginning of each cluster that are left out; None leaves out none.

    Raises:
        PlatformError: The configuration does not fit the platform.
    """
    where = f"configuration ({', '.join(f'{pes}, {processes}' for pes, processes in configuration)})"
    if len(configuration) != len(platform.clusters):
        problem = f"{len(configuration)} clusters, but platform {platform.name} has {len(platform.clusters)}"
        raise PlatformError(where, problem, "Give P_i and M_i of each, 0 and 0 for one that is not used")
    placement: list[str] = []
    firsts = [0] * len(configuration) if skip is None else skip
    for cluster, first, (pes, processes) in zip(platform.clusters, firsts, configuration, strict=True):
        if not 0 <= pes <= len(cluster.hosts) - first:
            problem = f"{pes} hosts of {cluster.name}, which has {len(cluster.hosts) - first}"
            raise PlatformError(where, problem, "Give at most as many as there are")
        if processes < 0 or (pes == 0) != (processes == 0):
            raise PlatformError(
                where, f"{pes} hosts of {cluster.name} with {processes} ranks each", "Give both or none"
            )
        placement += [host.name for host in cluster.hosts[first : first + pes] for _ in range(processes)]
    if not placement:
        raise PlatformError(where, "no ranks", "Use at least one host")
    return tuple(placement)


def probe_placement(platform: Platform) -> Placement:
    """Place one rank on the first host of each cluster: the NCT nodes of the HCF paper."""
    return tuple(cluster.hosts[0].name for cluster in platform.clusters)


def read_host_file(path: str | Path, platform: Platform) -> Placement:
    """Read a placement from a file: one host per line in rank order, or ``host:k`` for k consecutive ranks.

    Empty lines and text after a # are skipped.  A host may be listed several times, even more often than it has cores;
    its ranks then share the cores.

    Raises:
        PlatformError: The file cannot be read or is wrong; the message names file and line.
    """
    try:
        lines = input_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as err:
        reason = err.strerror if isinstance(err, OSError) else "not UTF-8 text"
        raise PlatformError(f"host file {path}", f"cannot be read: {reason}", "Give one host per line") from err
    placement: list[str] = []
    for number, line in enumerate(lines, 1):
        entry = line.partition("#")[0].strip()
        if entry:
            placement += _hosts_of(entry, platform, f"{path}:{number}")
            if len(placement) > MOST_RANKS:
                problem = f"more than {MOST_RANKS} ranks up to here"
                raise PlatformError(f"{path}:{number}", problem, "Place fewer")
    if not placement:
        raise PlatformError(f"host file {path}", "names no host", "Give one host per line")
    return tuple(placement)


def write_host_file(path: str | Path, placement: Sequence[str]) -> None:
    """Write a host file for smpirun and read_host_file, whole or not at all: one host per line in rank order.

    Raises:
        PlatformError: The file cannot be written.
    """
    try:
        write_whole(path, "".join(f"{host}\n" for host in placement).encode())
    except OSError as err:
        raise PlatformError(f"host file {path}", f"cannot be written: {err.strerror}", "Choose another place") from err


def _hosts_of(entry: str, platform: Platform, where: str) -> list[str]:
    if entry in platform:
        return [entry]
    counted = _COUNTED.fullmatch(entry)
    name, count = (counted["host"].strip(), int(counted["count"])) if counted else (entry, 1)
    if name not in platform:
        remedy = nearest(name, (host.name for host in platform.hosts))
        raise PlatformError(where, f"no host {name!r} in platform {platform.name}", remedy)
    if count < 1:
        raise PlatformError(where, f"{count} ranks on {name!r}", "Give at least 1, or leave the line out")
    return [name] * count


def places(platform: Platform, ranks_per_host: RanksPerHost) -> int:
    """Return how many ranks fit on all hosts."""
    if ranks_per_host == "cores":
        return sum(host.cores for host in platform.hosts)
    return len(platform.hosts) * ranks_per_host


def core_parts(platform: Platform, placement: Sequence[str]) -> list[float]:
    """Return by rank the part of a core that it has: 1, or less where its host has more ranks than cores."""
    ranks = Counter(placement)
    return [min(1.0, platform.host(host).cores / ranks[host]) for host in placement]


def _slots(platform: Platform, nranks: int, ranks_per_host: RanksPerHost) -> list[list[str]]:
    """Return for each cluster the host of each place for a rank, in order, after checking that the ranks fit."""
    where = f"platform {platform.name}"
    if ranks_per_host != "cores" and ranks_per_host < 1:
        raise PlatformError(where, f"{ranks_per_host} ranks per host", "Give at least 1")
    if nranks < 1:
        raise PlatformError(where, f"{nranks} ranks", "Give at least 1")
    room = places(platform, ranks_per_host)
    if ranks_per_host == "cores":
        if nranks > room:
            problem = f"{nranks} ranks do not fit: the hosts have {number_of(room, 'core')}"
            raise PlatformError(where, problem, f"Give at most {number_of(room, 'rank')}, or a host file")
        return [[host.name for host in cluster.hosts for _ in range(host.cores)] for cluster in platform.clusters]
    if ranks_per_host == 1 and nranks <= room:  # which fits any host: large suites ask often
        return [[host.name for host in cluster.hosts] for cluster in platform.clusters]
    weakest: Host = min(platform.hosts, key=lambda host: host.cores)
    if ranks_per_host > weakest.cores:
        cores = f"{weakest.cores} core{'s' if weakest.cores > 1 else ''}"
        problem = f"{ranks_per_host} ranks per host, but host {weakest.name} has {cores}"
        raise PlatformError(where, problem, "Give at most the cores, or a host file, which may go beyond")
    if nranks > room:
        hosts = "1 host" if len(platform.hosts) == 1 else f"{len(platform.hosts)} hosts"
        problem = f"{nranks} ranks do not fit: {hosts} with {ranks_per_host} each"
        most = number_of(room, "rank")
        remedy = f"Give at most {most}" + (
            f", or up to {weakest.cores} on each host (--ranks-per-host)" if ranks_per_host < weakest.cores else ""
        )
        raise PlatformError(where, problem, remedy)
    return [[host.name for host in cluster.hosts for _ in range(ranks_per_host)] for cluster in platform.clusters]
