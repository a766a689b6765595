"""The links of a grid and the paths over them, for the router."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from apps.emulate.settings import FIFO, MTU_BYTES, QUEUE_BYTES, TICK_S, WINDOW_BYTES
from platforms.grids.grid import Grid

FRONT = "front"  # name of the node in which the command runs
_NETWORK = "198.18.0."  # for benchmarks of networks; the addresses exist inside the grid only


@dataclass(frozen=True)
class EmulatedLink:
    """One direction of a link, or both if they share it: a first-come, first-served queue."""

    name: str
    rate_bit_s: float
    delay_s: float  # one way


@dataclass(frozen=True)
class EmulatedLinks:
    """The links of a grid and, for each pair of hosts, the numbers of the links on the path, in order."""

    hosts: tuple[str, ...]
    links: tuple[EmulatedLink, ...]
    paths: dict[tuple[str, str], tuple[int, ...]]

    def delay_s(self, source: str, destination: str) -> float:
        """Return the sum of the delays on the path from one host to another, s."""
        return sum(self.links[number].delay_s for number in self.paths[source, destination])

    def rate_bit_s(self, source: str, destination: str) -> float:
        """Return the rate of the slowest link on the path from one host to another, bit/s."""
        return min(self.links[number].rate_bit_s for number in self.paths[source, destination])


_FRONT_LINK = EmulatedLink("front link", 1e9, 10e-6)


def emulated_links(grid: Grid) -> EmulatedLinks:
    """Return the links of a grid and its paths: those of the simulated platform, by the same names.

    The two directions of a node's link are two links, as are those of a duplex wide-area link; a backbone and any
    other wide-area link are one link for both directions.
    """
    hosts = tuple(host for cluster in grid.clusters for host in cluster.host_names)
    numbers: dict[str, int] = {}
    links: list[EmulatedLink] = []
    paths = {}
    for route in grid.routes(list(permutations(hosts, 2))):
        for link in route.links:
            if link.name not in numbers:
                numbers[link.name] = len(links)
                links.append(EmulatedLink(link.name, 8 * link.bandwidth_Bps, link.latency_s))
        paths[route.source, route.destination] = tuple(numbers[link.name] for link in route.links)
    return EmulatedLinks(hosts, tuple(links), paths)


def description(grid: Grid, processor: int, queues: str = FIFO) -> str:
    """Return the description of a grid for the emulator; apps/emulate/grid/grid.h describes the format.

    Args:
        grid: The grid.
        processor: Number of the processor of router and ranks.
        queues: Order in which the first link of a packet, that of its node, serves connections.
    """
    emulated = emulated_links(grid)
    slots = {host: cluster.cores for cluster in grid.clusters for host in cluster.host_names}
    lines = [f"mtu {MTU_BYTES}", f"window {WINDOW_BYTES}", f"queue {QUEUE_BYTES}", f"tick {TICK_S!r}"]
    lines += [f"cpu {processor}", f"node {FRONT} {_NETWORK}1 0"]
    lines += [f"node {host} {_NETWORK}{number} {slots[host]}" for number, host in enumerate(emulated.hosts, 2)]
    devices = {path[0] for path in emulated.paths.values()}
    lines += [_link(link, queues if number in devices else FIFO) for number, link in enumerate(emulated.links)]
    lines.append(_link(_FRONT_LINK, FIFO))
    node = {host: number for number, host in enumerate(emulated.hosts, 1)}
    for number in node.values():
        lines += [f"path 0 {number} {len(emulated.links)}", f"path {number} 0 {len(emulated.links)}"]
    for (source, destination), path in emulated.paths.items():
        lines.append(f"path {node[source]} {node[destination]} {' '.join(map(str, path))}")
    return "\n".join(lines) + "\n"


def _link(link: EmulatedLink, order: str) -> str:
    return f"link {link.name.replace(' ', '_')} {link.rate_bit_s!r} {link.delay_s!r} {order}"
