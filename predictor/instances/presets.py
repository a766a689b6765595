"""Cloud instances: their nodes, and their networks by lines between measured times of messages.

Between two neighbouring sizes of the rows with use ``preset``, the time of a message is the line through both; SMPI
takes it as a factor of the latency and one of the bandwidth.  No factor of the bandwidth is above 1, so that the time
of small messages, where bandwidth does not matter, may be up to the size over the bandwidth off.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from platforms.errors import UserError, known_names
from platforms.files.checked_toml import read_checked
from platforms.files.commented_csv import commented_rows
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.prices.price import named_tables, text_of

_FOLDER = Path(__file__).parent
_KEYS = {
    "": ("instances",),
    "instances": ("title", "cores", "speed_gflops", "date", "bandwidth_gbyte_s"),
}
_NOT_LIMITING_BPS = 1e13


@dataclass(frozen=True)
class Message:
    """A measured time of a message."""

    cluster_nodes: int
    size_bytes: int
    time_s: float


@dataclass(frozen=True)
class Segment:
    """Messages from a size on: their time is ``latency_s + size / bandwidth_Bps``."""

    from_bytes: int
    latency_s: float
    bandwidth_Bps: float


@dataclass(frozen=True)
class Preset:
    """A cloud instance."""

    name: str
    title: str
    cores: int
    speed_flops: float  # of one core, peak
    day: str  # of the measurements
    bandwidth_Bps: float  # of a node with many messages on the way
    used: tuple[Message, ...]  # by size
    held_out: tuple[Message, ...]  # other sizes and clusters

    @property
    def latency_s(self) -> float:
        """Time of the smallest message."""
        return self.used[0].time_s

    @property
    def segments(self) -> list[Segment]:
        """Return the lines between the measured times."""
        made = []
        for first, second in pairwise(self.used):
            step = second.size_bytes - first.size_bytes
            per_byte = max((second.time_s - first.time_s) / step, 1 / self.bandwidth_Bps)
            latency_s = max(first.time_s - first.size_bytes * per_byte, 0.0)
            made.append(Segment(first.size_bytes, latency_s, 1 / per_byte))
        return made

    def message_s(self, size_bytes: int) -> float:
        """Return the time of a message on an idle network."""
        segment = [one for one in self.segments if one.from_bytes <= size_bytes][-1]
        return segment.latency_s + size_bytes / segment.bandwidth_Bps

    def held_out_errors_pct(self) -> list[float]:
        """Return the absolute errors of the messages that the preset does not rest on."""
        return [100 * abs(self.message_s(one.size_bytes) / one.time_s - 1) for one in self.held_out]

    def grid(self, nodes: int) -> Grid:
        """Return a cluster of these instances.

        Raises:
            PlatformError: There are too many nodes.
        """
        factors = {
            "smpi/lat-factor": ";".join(
                f"{one.from_bytes}:{one.latency_s / self.latency_s:.9g}" for one in self.segments
            ),
            "smpi/bw-factor": ";".join(
                f"{one.from_bytes}:{one.bandwidth_Bps / self.bandwidth_Bps:.9g}" for one in self.segments
            ),
            "network/TCP-gamma": "0",
            "network/crosstraffic": "no",
        }
        node, backbone = Wire(self.bandwidth_Bps, self.latency_s / 2), Wire(_NOT_LIMITING_BPS, 0.0)
        cluster = GridCluster("cloud", nodes, self.speed_flops, node, backbone, self.cores)
        return Grid(f"{self.name} x {nodes}", self.name, (cluster,), "mesh", (), tuple(factors.items()))


@cache
def presets() -> dict[str, Preset]:
    """Return the instances by name."""
    used: dict[str, list[Message]] = {}
    held_out: dict[str, list[Message]] = {}
    for row in commented_rows(_FOLDER / "messages.csv"):
        message = Message(int(row["cluster_nodes"]), int(row["size_bytes"]), float(row["latency_us"]) / 1e6)
        (used if row["use"] == "preset" else held_out).setdefault(row["instance"], []).append(message)
    file = read_checked(_FOLDER / "instances.toml", _KEYS, "file of instances")
    return {
        name: Preset(
            name, entry.text("title"), entry.integer("cores"), entry.number("speed_gflops") * 1e9,
            text_of("date", entry) or "", entry.number("bandwidth_gbyte_s") * 1e9,
            tuple(sorted(used[name], key=lambda one: one.size_bytes)), tuple(held_out[name]),
        )
        for name, entry in named_tables(file, _KEYS, "instances").items()
    }  # fmt: skip


def preset(name: str, option: str = "--instances") -> Preset:
    """Return an instance by its name, which ``option`` gives.

    Raises:
        UserError: There is none of this name.
    """
    if name not in presets():
        raise UserError(f"{option} {name}", "no such instance", known_names(name, presets()))
    return presets()[name]
