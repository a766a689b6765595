"""Time of a machine for the longest path of a run (apps/traffic/path.py)."""

from __future__ import annotations

from dataclasses import dataclass

from apps.traffic.path import Path


@dataclass(frozen=True)
class Speeds:
    """A machine: what one core computes, and what one node moves."""

    core_flops: float  # l_c
    memory_Bps: float  # b_m, of a node; inf: memory never limits
    network_Bps: float  # b_cl, of the link of a node, in each direction
    latency_s: float  # of a small message between two nodes
    inside_Bps: float = float("inf")  # of every single message within a node
    inside_is_network: bool = False  # True: messages within a node cross its link, with its latency and bandwidth

    def compute_s(self, path: Path) -> float:
        """Return the time of a path's operations, s."""
        return path.operations / self.core_flops

    def memory_s(self, path: Path) -> float:
        """Return the time for which cores wait for their node's memory, s."""
        return path.memory_bytes / self.memory_Bps

    def exchange_s(self, path: Path) -> float:
        """Return the time of a path's messages, s, with their latency."""
        inside_s = (
            path.inside_bytes / self.network_Bps if self.inside_is_network else path.copied_bytes / self.inside_Bps
        )
        return path.link_bytes / self.network_Bps + inside_s + self._waiting_s(path)

    def _waiting_s(self, path: Path) -> float:
        """Return the part of the messages' time that is latency, s."""
        inside = path.inside_latencies if self.inside_is_network else 0.0
        return (path.latencies + inside) * self.latency_s

    def time_s(self, path: Path) -> float:
        """Return the time of a whole path, s.

        Two nodes that compute 1e9 operations on each of their cores and then send 1 Mbyte each way:

        >>> one = Path(operations=1e9, link_bytes=1e6, large_messages=1)
        >>> round(Speeds(1e9, float("inf"), 1e9, latency_s=1e-6).time_s(one), 9)
        1.001003
        """
        return self.compute_s(path) + self.memory_s(path) + self.exchange_s(path)
