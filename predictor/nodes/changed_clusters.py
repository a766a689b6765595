"""Platforms of which some clusters have other hosts: another speed, or other watts.

Clusters whose nodes sustain unlike shares of their speed: ``--efficiency 0.09,xeon=0.053``, or measured ones.

A kernel sustains another share of the peak speed on each kind of CPU.  Runs have one share for all hosts, so a cluster
that sustains another one gets as much less (or more) speed: the times of computation, and what every predictor sees of
them, are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from apps.programs.problem import Problem
from apps.spec.checks import check_efficiency
from apps.spec.choices import PLATFORM_EFFICIENCY
from apps.spec.settings import resolve_efficiency
from platforms.errors import PlatformError, UserError, known_names
from platforms.grids.xml import number_text, written_root
from platforms.model.platform import Platform, Power
from platforms.read.read import kept_file, read_platform
from predictor.nodes.own_measurements import read_measured

if TYPE_CHECKING:
    from lxml.etree import _Element


Change = Callable[["_Element"], None]  # of an element <cluster> or <host>, in place
_PROPERTY = "wattage_per_state"
_SPEED = re.compile(r"([0-9.eE+-]+)(.*)")  # such as 3.6Gf: a number and a unit


def with_clusters(platform: Platform, changes: Mapping[str, Change], *, name: str) -> Platform:
    """Return the platform with changed elements of clusters, by their names; the clusters stay the same sets of hosts.

    Args:
        platform: The platform, of which every name is a cluster.
        changes: What changes the <cluster>, or each <host>, of a cluster in the platform's file.
        name: Name of the result in tables.

    Raises:
        PlatformError: The platform is no XML file, or no element of it has the hosts.
    """
    # Imported here for a quick start: it is slow to import.
    from lxml import etree

    where = f"platform {platform.name}"
    if platform.path.suffix != ".xml":
        raise PlatformError(where, "its hosts are not in an XML file", "Use one, or leave the option out")
    root = etree.parse(str(platform.path)).getroot()
    for cluster in platform.clusters:
        if cluster.name not in changes:
            continue
        hosts = {host.name for host in cluster.hosts}
        elements = [one for one in root.iter("cluster") if one.get("id") == cluster.name]
        elements = elements or [one for one in root.iter("host") if one.get("id") in hosts]
        if not elements:
            raise PlatformError(where, f"no element has the hosts of {cluster.name}", "Leave the cluster out")
        for element in elements:
            changes[cluster.name](element)
    changed = read_platform(kept_file(written_root(root)), name)
    clusters = tuple(
        replace(cluster, hosts=tuple(changed.host(host.name) for host in cluster.hosts))
        for cluster in platform.clusters
    )
    return replace(changed, clusters=clusters, network=platform.network)


def parse_watts(text: str, clusters: int) -> tuple[Power, ...]:
    """Return the power of a node of each cluster from ``IDLE:FULL,...``.

    Raises:
        UserError: The text is not that, or has another number of clusters.

    >>> parse_watts("60:115,50:74", 2)[1].full_w
    74.0
    """
    where, remedy = f"--watts {text}", "Give IDLE:FULL of a node of every cluster, such as 60:115,50:74"
    try:
        pairs = [tuple(map(float, part.split(":"))) for part in text.split(",")]
    except ValueError:
        raise UserError(where, "not pairs of numbers", remedy) from None
    if len(pairs) != clusters:
        raise UserError(where, f"{len(pairs)} pairs for {clusters} clusters", remedy)
    for pair in pairs:
        if len(pair) != 2 or not 0 <= pair[0] <= pair[1] < float("inf"):
            raise UserError(where, "not 0 <= IDLE <= FULL", remedy)
    return tuple(Power(idle_w, full_w, epsilon_w=idle_w) for idle_w, full_w in pairs)


def powered_platform(platform: Platform, text: str) -> Platform:
    """Return the platform with these watts, at each of its frequencies.

    Raises:
        UserError: As parse_watts, or the platform is no XML file.
    """
    powers = parse_watts(text, len(platform.clusters))
    changes = {
        cluster.name: partial(_set, power=power) for cluster, power in zip(platform.clusters, powers, strict=True)
    }
    return with_clusters(platform, changes, name=platform.name)


def _set(element: _Element, *, power: Power) -> None:
    # Imported here for a quick start: it is slow to import.
    from lxml import etree

    states = element.get("speed", "").count(",") + 1
    numbers = ":".join(map(number_text, (power.idle_w, power.epsilon_w, power.full_w)))
    found = [one for one in element.findall("prop") if one.get("id") == _PROPERTY]
    for prop in found or [etree.SubElement(element, "prop", id=_PROPERTY)]:
        prop.set("value", ",".join([numbers] * states))


@dataclass(frozen=True)
class Shares:
    """Shares of their speed that hosts sustain."""

    base: str  # of all clusters that are not named: as in Settings.efficiency
    clusters: Mapping[str, float] = field(default_factory=dict)  # by name of the cluster, in (0, 1]


def measured_shares(path: str, app: str, platform: Platform) -> Shares:
    """Return the shares that runs of one process on one node of each cluster have shown, as medians.

    The file is as for --measurements, with the column work_flops.  Clusters without such a run keep the reference.

    Raises:
        UserError: The file is wrong, or no run tells a share.
    """
    runs = read_measured(path, app, len(platform.clusters)).measurements
    clusters = {}
    for i, cluster in enumerate(platform.clusters):
        alone = (runs.sub_cluster == i) & (runs.total == 1) & ~np.isnan(runs.work_flops)
        if alone.any():
            rate_flops = float(np.median(runs.work_flops[alone] / runs.time_s[alone]))
            clusters[cluster.name] = rate_flops / cluster.speed_flops
            check_efficiency(clusters[cluster.name], f"--efficiency {path}, {cluster.name}")
    if not clusters:
        problem = "no run of one process has a value of work_flops"
        raise UserError(f"--efficiency {path}", problem, "Measure each cluster with --write-measurements")
    return Shares("reference", clusters)


def asked_shares(text: str, app: str, platform: Platform) -> Shares:
    """Return the shares of ``--efficiency``, which may name a file of measured runs.

    Raises:
        UserError: As parse_shares and measured_shares.
    """
    return measured_shares(text, app, platform) if _is_file(text) else parse_shares(text)


def base_efficiency(text: str) -> str:
    """Return the efficiency of runs, which single clusters have beside their own."""
    return "reference" if _is_file(text) else parse_shares(text).base


def _is_file(text: str) -> bool:
    return text.lower().endswith(".csv")


def parse_shares(text: str) -> Shares:
    """Parse ``E``, ``E,CLUSTER=E,...`` or ``CLUSTER=E,...``.

    Raises:
        UserError: A part is no share, or a cluster has two.

    >>> parse_shares("0.09,xeon=0.053")
    Shares(base='0.09', clusters={'xeon': 0.053})
    """
    base, clusters = "reference", {}
    for number, part in enumerate(text.split(",")):
        name, equals, value = part.strip().rpartition("=")
        if not equals and number == 0:
            base = value.lower()
            continue
        where = f"--efficiency {text}"
        if not equals or name in clusters:
            problem = f"{part!r} is not CLUSTER=SHARE" if not equals else f"{name} is named twice"
            raise UserError(where, problem, "Write for example 0.09,xeon=0.053")
        try:
            clusters[name] = float(value)
        except ValueError:
            raise UserError(where, f"{value!r} is not a number", "Give a share in (0, 1]") from None
        check_efficiency(clusters[name], f"{where}, {name}")
    return Shares(base, clusters)


def sustained_platform(platform: Platform, shares: Shares, problem: Problem) -> Platform:
    """Return the platform with the speeds of the named clusters in proportion to their shares over the base's.

    Raises:
        UserError: A cluster is not on the platform, the base is not one number, or the file has no speeds to change.
    """
    if not shares.clusters:
        return platform
    where = f"--efficiency {shares.base}"
    if shares.base == PLATFORM_EFFICIENCY:
        raise UserError(where, "it has the shares of all hosts already", "Give a number or reference, or no clusters")
    base = resolve_efficiency(shares.base, problem)
    known = {cluster.name: cluster for cluster in platform.clusters}
    for name in shares.clusters:
        if name not in known:
            raise UserError(f"--efficiency {name}=...", "no such cluster", known_names(name, known))
    factors = {name: share / base for name, share in shares.clusters.items()}
    text = ", ".join(f"{name} sustains {share:g}" for name, share in shares.clusters.items())
    changes = {name: partial(_set_speed, factor=factor) for name, factor in factors.items()}
    return with_clusters(platform, changes, name=f"{platform.name} ({text})")


def _set_speed(element: _Element, *, factor: float) -> None:
    element.set("speed", ",".join(_faster(one, factor) for one in element.get("speed", "").split(",")))


def _faster(speed: str, factor: float) -> str:
    """Return a speed of a platform file times a factor.

    >>> _faster("3.6Gf", 0.5)
    '1.8Gf'
    """
    match = _SPEED.fullmatch(speed.strip())
    assert match is not None  # SimGrid has loaded the file
    return f"{number_text(float(match[1]) * factor)}{match[2]}"
