"""The platform of a machine: hosts by cluster with nominal speeds, and a nominal network; this computer as a machine.

Predictions need the hosts, and measure the network.  A simulation of the machine should take a calibrated platform
instead, which ``check_hosts`` compares with the machine.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from apps.errors import KernelError
from apps.machines.machine_file import PROGRAM, Compilers, Launcher, Limits, Machine, MachineCluster, Wire
from apps.programs.own_program import UserProgram
from platforms.errors import PlatformError
from platforms.grids.xml import HEADER, number_text
from platforms.model.platform import Platform
from platforms.read.read import kept_file, read_platform
from platforms.wording import number_of

if TYPE_CHECKING:
    from lxml import etree


HOST = "localhost"
_RANKS_PER_CORE = 64  # waiting ranks yield the processor; more of them take long to start, and memory for each
_WIRE = Wire(1.25e9, 1e-5)  # no recording depends on it


def this_computer(program: UserProgram, nranks: int, *, speed_flops: float, wall_s: float | None = None) -> Machine:
    """Return this computer as the machine on which a program is recorded.

    Ranks may share cores, because their computation is timed in processor time of their threads.

    Args:
        program: A program of an ordinary MPI.
        nranks: Number of its ranks.
        speed_flops: Speed of a core, flop/s, which converts computation times to flops.
        wall_s: Limit of the wall time of a run; None: the default without a file.

    Raises:
        KernelError: There are too many ranks.
        UserError: The launcher or the compiler of the program's MPI is missing.
    """
    native = program.native
    assert native is not None  # read_program has found it
    cores = os.cpu_count() or 1
    most = _RANKS_PER_CORE * cores
    if nranks > most:
        problem = f"it has to run once with {number_of(nranks, 'rank')}, and this computer takes at most {most}"
        remedy = "Take fewer ranks, or record it on your cluster (docs/programs/traces.md)"
        raise KernelError(f"--program {program.path}", problem, remedy)
    command = str(native.launcher)
    launcher = Launcher((command, *native.family.options, PROGRAM), version=(command, "--version"))
    limits = Limits(ranks=most) if wall_s is None else Limits(ranks=most, wall_s=wall_s)
    return Machine(
        name=HOST,
        launcher=launcher,
        compilers=Compilers(str(native.compiler)),
        clusters=(MachineCluster("here", (HOST,), cores, speed_flops),),
        network=_WIRE,
        between_clusters=_WIRE,
        environment=_environment(),
        limits=limits,
        path=Path(program.path),
    )


def _environment() -> tuple[tuple[str, str], ...]:
    """Return the variables of every rank: it computes in one thread, unless the user has set another number.

    Compiled modules written by a script would change the folder that it reads.
    """
    threads = () if "OMP_NUM_THREADS" in os.environ else (("OMP_NUM_THREADS", "1"),)
    return (*threads, ("PYTHONDONTWRITEBYTECODE", "1"), ("RECORDER_CLOCK", "thread"))


NOMINAL = "nominal"  # the network's name in tables


def machine_platform(machine: Machine) -> Platform:
    """Return the platform of a machine; its XML file is kept in the cache folder."""
    return replace(read_platform(kept_file(_xml(machine)), machine.name), network=NOMINAL)


def check_hosts(machine: Machine, platform: Platform) -> None:
    """Check that a platform has every host of the machine under the same name.

    Raises:
        PlatformError: A host is missing.
    """
    missing = [host for host in machine.hosts if host not in platform]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        problem = f"platform {platform.name} has no host {missing[0]!r}{more} of machine {machine.name}"
        remedy = f"Its hosts, such as {platform.hosts[0].name!r}, need the names in {machine.path}"
        raise PlatformError(f"--platform {platform.path}", problem, remedy)


def _xml(machine: Machine) -> bytes:
    """Return the platform file: one switch per cluster, and one router between the clusters."""
    # Imported here because it is slow to import.
    from lxml import etree

    root = etree.Element("platform", version="4.1")
    world = etree.SubElement(root, "zone", id="machine", routing="Full")
    for cluster in machine.clusters:
        zone = etree.SubElement(world, "zone", id=cluster.name, routing="Dijkstra")
        for host in cluster.hosts:
            speed = f"{number_text(cluster.speed_flops / 1e9)}Gf"
            etree.SubElement(zone, "host", id=host, speed=speed, core=str(cluster.cores))
        etree.SubElement(zone, "router", id=_switch(cluster))
        for host in cluster.hosts:
            _link(zone, f"{host}-link", machine.network, hops=2)
        for host in cluster.hosts:
            for source, destination, direction in ((host, _switch(cluster), "UP"), (_switch(cluster), host, "DOWN")):
                route = etree.SubElement(zone, "route", src=source, dst=destination, symmetrical="NO")
                etree.SubElement(route, "link_ctn", id=f"{host}-link", direction=direction)
    _between(machine, world)
    return HEADER + etree.tostring(root, pretty_print=True)


def _between(machine: Machine, world: etree._Element) -> None:
    from lxml import etree  # imported here because it is slow to import

    for cluster in machine.clusters if len(machine.clusters) > 1 else ():
        _link(world, f"{cluster.name}-uplink", _rest(machine), hops=2)
    for number, first in enumerate(machine.clusters):
        for second in machine.clusters[number + 1 :]:
            for source, destination in ((first, second), (second, first)):
                route = etree.SubElement(
                    world, "zoneRoute", src=source.name, dst=destination.name, gw_src=_switch(source),
                    gw_dst=_switch(destination), symmetrical="NO",
                )  # fmt: skip
                etree.SubElement(route, "link_ctn", id=f"{source.name}-uplink", direction="UP")
                etree.SubElement(route, "link_ctn", id=f"{destination.name}-uplink", direction="DOWN")


def _rest(machine: Machine) -> Wire:
    """Return the part of the path between clusters that excludes the paths to the switches."""
    latency_s = max(0.0, machine.between_clusters.latency_s - machine.network.latency_s)
    return Wire(machine.between_clusters.bandwidth_Bps, latency_s)


def _switch(cluster: MachineCluster) -> str:
    return f"{cluster.name}-switch"


def _link(zone: etree._Element, name: str, wire: Wire, *, hops: int) -> None:
    """Add a link with its share of the latency of a path over ``hops`` links."""
    from lxml import etree  # imported here because it is slow to import

    etree.SubElement(
        zone, "link", id=name, sharing_policy="SPLITDUPLEX",
        bandwidth=f"{number_text(wire.bandwidth_Bps * 8 / 1e9)}Gbps",
        latency=f"{number_text(wire.latency_s / hops * 1e6)}us",
    )  # fmt: skip
