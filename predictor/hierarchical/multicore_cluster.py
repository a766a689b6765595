"""Machines of the model: speed of a core, bandwidths of memory and network, numbers of cores and nodes.

A machine is one of the paper's table, a scenario or system file (docs/platforms/platform-files.md) of equal
nodes on one network, or a machine file of the user's (docs/planning/cores.md).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.errors import PlatformError, UserError, nearest
from platforms.files.checked_toml import CheckedTable, read_checked, read_toml
from platforms.files.commented_csv import commented_rows

if TYPE_CHECKING:
    from platforms.grids.grid import Grid, Wire
    from platforms.system.model import System

BATCH_SYSTEMS = ("slurm", "moab")
_GIGA = 10**9
LATENCY_S = 3e-6  # where none is given: from node to node through a switch of this project's network infiniband
_MOST_LATENCY_US = 1e9
_KEYS = {
    "": (
        *("name", "source", "core_gflops", "memory_gbyte_s", "network_gbyte_s", "latency_us"),
        *("cores_per_node", "nodes", "batch"),
    ),
}
_OF_PLATFORMS = ("clusters", "lan", "wan")  # keys that distinguish scenario and system files from machine files
# Range of speeds and bandwidths, Gflop/s and Gbyte/s; it covers all computers and keeps times in the range of floats.
_LEAST, _MOST = 1e-9, 1e9


@dataclass(frozen=True)
class MulticoreCluster:
    """The paper's multi-core cluster-computer, p nodes of q cores; exact numbers keep derived values exact."""

    name: str
    core_flops: Fraction  # l_c, flop/s
    memory_Bps: Fraction | None  # b_m, byte/s, of a node; None: memory never limits
    network_Bps: Fraction  # b_cl, byte/s, between two nodes
    cores: int  # cores per node, the largest q
    nodes: int  # the largest p
    batch: str = "slurm"  # of BATCH_SYSTEMS
    printed_a_star: Fraction | None = None  # a* in the paper's table, flop/byte
    printed_v: Fraction | None = None  # v in the paper's table
    latency_s: float = LATENCY_S  # of a small message between two nodes
    is_peak: bool = False  # True: core_flops is from a scenario or system file, not measured by DGEMM

    @property
    def a_star(self) -> Fraction:
        """The machine's a* = l_c / b_m, flop/byte; 0 where memory never limits."""
        return Fraction(0) if self.memory_Bps is None else self.core_flops / self.memory_Bps

    @property
    def v(self) -> Fraction | None:
        """The ratio b_cl / b_m; None where memory never limits."""
        return None if self.memory_Bps is None else self.network_Bps / self.memory_Bps

    @property
    def known_v(self) -> Fraction:
        """The ratio v = b_cl / b_m.

        Raises:
            UserError: Memory never limits, so v is not known.
        """
        if self.v is None:
            raise no_v(self)
        return self.v

    @property
    def network_balance(self) -> Fraction:
        """The ratio l_c / b_cl = a* / v, flop/byte."""
        return self.core_flops / self.network_Bps


def no_v(system: MulticoreCluster) -> UserError:
    """Return the error of a machine without v where an equation needs v."""
    return UserError(f"system {system.name!r}", "eq. (5) as printed needs v = b_cl / b_m", "Give its memory")


@dataclass(frozen=True)
class PrintedRow:
    """A row of the hardware table, for comparison."""

    system: MulticoreCluster
    a_star: str  # as printed
    v: str
    processor: str


@cache
def hardware_table() -> tuple[PrintedRow, ...]:
    """Return the paper's hardware table, in its order."""
    machines = {row["system"]: row for row in rows("machines.csv")}
    return tuple(
        PrintedRow(
            MulticoreCluster(
                row["system"],
                Fraction(row["l_c_gflops"]) * _GIGA,
                Fraction(row["b_m_gbyte_s"]) * _GIGA,
                Fraction(row["b_cl_gbyte_s"]) * _GIGA,
                int(row["q"]),
                int(machines[row["system"]]["nodes"]),
                machines[row["system"]]["batch"],
                Fraction(row["a_star"]),
                Fraction(row["v"]),
                float(machines[row["system"]]["latency_us"]) * 1e-6,
            ),
            row["a_star"],
            row["v"],
            f"{row['processor']}, {row['clock_ghz']} GHz",
        )
        for row in rows("systems.csv")
    )


def table_cluster(name: str) -> MulticoreCluster | None:
    """Return the machine of the paper's table, or None; capitals, spaces and hyphens in the name do not matter."""
    return next((row.system for row in hardware_table() if _plain(row.system.name) == _plain(name)), None)


def paper_cluster(name: str) -> MulticoreCluster:
    """Return the machine of the paper's table with exactly this name."""
    return next(row.system for row in hardware_table() if row.system.name == name)


def read_cluster(
    name: str, *, memory_gbyte_s: float | None = None, efficiency: float | None = None
) -> MulticoreCluster:
    """Read a machine of the paper's table, a scenario of the project, or a TOML file.

    The file is a scenario, a system of levels, or a machine file of the form::

        name = "new cluster"         # default: the file's name
        source = "DGEMM, STREAM and a ping-pong of March"     # for readers
        core_gflops = 33             # l_c, of one core
        memory_gbyte_s = 89          # b_m, of a node: STREAM with all cores
        network_gbyte_s = 3          # b_cl, between two nodes: MPI bandwidth of large messages
        latency_us = 1.5             # of a small MPI message between two nodes; default 3
        cores_per_node = 16
        nodes = 476
        batch = "slurm"              # or "moab"; default slurm

    Args:
        name: Name of the machine or scenario, or path of the file.
        memory_gbyte_s: Memory bandwidth of a node, in place of that of a scenario or a system of levels; ``inf``:
            memory never limits.
        efficiency: Share of the speed of a scenario's or system's core that DGEMM sustains; None: all of it.

    Raises:
        PlatformError: The machine is not known, a value is wrong, or an option does not fit the kind of machine.
    """
    is_file = name.endswith(".toml") or os.path.isfile(name)
    known = None if is_file else table_cluster(name)
    if known is not None or (is_file and not _is_of_platforms(Path(name))):
        for option, value in (("--memory", memory_gbyte_s), ("--efficiency", efficiency)):
            if value is not None:
                problem, remedy = "goes with a scenario or system file, other machines have theirs", "Leave it out"
                raise PlatformError(f"{option} {value:g}", problem, remedy)
        return known or _from_file(Path(name))
    return _sustained(_of_platforms(name, is_file, _memory_Bps(memory_gbyte_s)), efficiency)


def _memory_Bps(gbyte_s: float | None) -> Fraction | float | None:
    """Return the bandwidth of --memory, byte/s, or None; inf means that memory never limits."""
    if gbyte_s is None or gbyte_s == float("inf"):
        return gbyte_s
    if not gbyte_s > 0:
        raise PlatformError(f"--memory {gbyte_s:g}", "not a positive number", "Give GB/s of a node")
    if not _LEAST <= gbyte_s <= _MOST:
        problem = "not a bandwidth of memory"
        raise PlatformError(f"--memory {gbyte_s:g}", problem, f"Give {_LEAST:g} to {_MOST:g} GB/s, or inf")
    return Fraction(str(gbyte_s)) * _GIGA


def _sustained(machine: MulticoreCluster, efficiency: float | None) -> MulticoreCluster:
    if efficiency is None:
        return machine
    if not _LEAST <= efficiency <= 1:
        raise PlatformError(f"--efficiency {efficiency:g}", "not a share", "Give at most 1, such as 0.9")
    return replace(machine, core_flops=machine.core_flops * Fraction(str(efficiency)), is_peak=False)


def _of_platforms(name: str, is_file: bool, memory_Bps: Fraction | float | None) -> MulticoreCluster:
    """Read a scenario by name or file, or a file of a system of levels."""
    # Imported here for a quick start: they are slow to import.
    from platforms.grids.scenario import NAMED, is_system_file, named_grid, read_grid
    from platforms.system.description import read_system

    if is_file and is_system_file(name):
        return _from_levels(read_system(name), memory_Bps)
    if not is_file and name not in NAMED:
        table = [row.system.name for row in hardware_table()]
        others = [name for name in NAMED if table_cluster(name) is None]  # the machines of the table are also scenarios
        remedy = f"{nearest(name, [*table, *others], limit=12)}, or give a TOML file"
        raise PlatformError(f"system {name!r}", "no such machine", remedy)
    return _from_grid(read_grid(name) if is_file else named_grid(name), memory_Bps)


def _from_grid(grid: Grid, memory_Bps: Fraction | float | None) -> MulticoreCluster:
    """Return the machine of a scenario of equal nodes on one network; raise PlatformError for another scenario."""
    where = f"system {grid.name!r}"
    first = grid.clusters[0]
    if len(grid.clusters) > 1:
        problem = f"{len(grid.clusters)} clusters, but the model's nodes are equal and on one network"
        raise PlatformError(where, problem, "Take a scenario of one cluster")
    if memory_Bps is None:
        memory_Bps = first.memory_Bps
    latency_s = 2 * first.node.latency_s + first.backbone.latency_s
    cluster = _peak(grid.name, first.speed_flops, memory_Bps, first.node, first.cores, first.nodes)
    return replace(cluster, latency_s=latency_s)


def _from_levels(system: System, memory_Bps: Fraction | float | None) -> MulticoreCluster:
    """Return the machine of a system with one LAN of equal nodes with cores; raise PlatformError for another system."""
    where = f"system {system.name!r}"
    if len(system.groups) > 1:
        problem = f"{len(system.groups)} groups of units, but the model's nodes are equal and on one network"
        raise PlatformError(where, problem, "Take a system of one LAN with one group of nodes")
    (group,) = system.groups
    if group.unit.kind != "cpu":
        raise PlatformError(where, f"its units are {group.unit.kind}s, but the model's have cores", "Take CPUs")
    cluster = _peak(
        system.name, group.unit.speed_flops, memory_Bps, group.node.link, group.unit.cores, group.node.count
    )  # fmt: skip
    return replace(cluster, latency_s=2 * group.node.link.latency_s)


def _peak(
    name: str, core_flops: float, memory_Bps: Fraction | float | None, link: Wire, cores: int, nodes: int
) -> MulticoreCluster:
    if memory_Bps is None:
        problem = "it says nothing of the bandwidth of a node's memory"
        remedy = "Give --memory GB/S of a node, or --memory inf where it never limits"
        raise PlatformError(f"system {name!r}", problem, remedy)
    memory = None if memory_Bps == float("inf") else Fraction(memory_Bps)
    return MulticoreCluster(
        name, Fraction(core_flops), memory, Fraction(link.bandwidth_Bps), cores, nodes, is_peak=True
    )  # fmt: skip


def _is_of_platforms(path: Path) -> bool:
    return not set(_OF_PLATFORMS).isdisjoint(read_toml(path, "machine file"))


def _from_file(path: Path) -> MulticoreCluster:
    entry = read_checked(path, _KEYS, "machine file")
    entry.text("source", "")
    batch = entry.text("batch", "slurm")
    if batch not in BATCH_SYSTEMS:
        raise PlatformError(entry.of("batch"), f"no batch system {batch!r}", f"Known: {', '.join(BATCH_SYSTEMS)}")
    memory = _finite_or_none(entry, "memory_gbyte_s")
    return MulticoreCluster(
        entry.text("name", path.stem),
        _finite(entry, "core_gflops") * _GIGA,
        None if memory is None else memory * _GIGA,
        _finite(entry, "network_gbyte_s") * _GIGA,
        _count(entry, "cores_per_node", 10_000),
        _count(entry, "nodes", 1_000_000),
        batch,
        latency_s=_latency_s(entry),
    )


def _latency_s(entry: CheckedTable) -> float:
    if not entry.has("latency_us"):
        return LATENCY_S
    value = entry.number("latency_us")
    if not 0 <= value <= _MOST_LATENCY_US:
        raise PlatformError(
            entry.of("latency_us"), f"latency_us = {value:g} is no latency", "Give microseconds, such as 3"
        )
    return value * 1e-6


def _finite_or_none(entry: CheckedTable, key: str) -> Fraction | None:
    """Return the value of a key, or None for inf."""
    return None if entry.number(key) == float("inf") else _finite(entry, key)


def _finite(entry: CheckedTable, key: str) -> Fraction:
    value = entry.number(key)
    if not 0 < value < float("inf"):
        raise PlatformError(entry.of(key), f"{key} = {value:g} is not a positive number", "Correct the value")
    if not _LEAST <= value <= _MOST:
        raise PlatformError(
            entry.of(key), f"{key} = {value:g} is not from {_LEAST:g} to {_MOST:g}", "Correct the value"
        )
    return Fraction(str(value))  # exactly the decimal number in the file


def _count(entry: CheckedTable, key: str, most: int) -> int:
    value = entry.integer(key)
    if not 1 <= value <= most:
        raise PlatformError(entry.of(key), f"{key} = {value} is not a number from 1 to {most}", "Correct the value")
    return value


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).casefold()


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file in this folder; lines that begin with # give its source."""
    return commented_rows(Path(__file__).with_name(name))
