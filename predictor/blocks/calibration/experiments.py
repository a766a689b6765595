"""The micro-benchmarks of a calibration: which blocks, sizes and numbers of processes are measured on a platform."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from apps.blockprobe.measure import BlockPlan, Disk, Experiment
from platforms.placement import block
from platforms.platform import Platform
from predictor.blocks.model import COLLECTIVES
from predictor.dpgraph.collectives import SELECTOR, all_to_all_algorithm
from predictor.dpgraph.survey import sizes_bytes

MOST_PROCESSES = 64
OPERATIONS = 11e6  # of a computation block, as in the paper's Figure 3a; here flop
IDLE_S = 0.01
SIZES_BYTES = tuple(2**power for power in range(25))  # 1 B to 16 MB
LARGEST_BYTES = SIZES_BYTES[-1]
PROCESSES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Never fitted to: between the sizes and numbers above.
HELD_OUT_SIZES_BYTES = tuple(3 * 2**power for power in range(0, 23, 2))
HELD_OUT_PROCESSES = (5, 10, 20, 40)
_THINNED_ABOVE = 32  # processes from which an all-to-all has every second size only: it sends P (P - 1) messages
_KNOWN_SELECTORS = (SELECTOR, "ompi")  # whose all-to-all is known; others exchange pairwise in places
_LEAST_THREADS = 8
_MOST_THREAD_COUNTS = 40
_THREADS_BEYOND_CORES = 4  # at least so many above twice the cores


@dataclass(frozen=True)
class Sample:
    """What one experiment is for."""

    block: str  # of COMMUNICATION, "compute", "idle" or "send", how long MPI_Send takes
    size_bytes: float  # d of Table 1, as predictor/blocks/model.py has it; compute: operations of a thread; idle: s
    processes: int  # of compute: threads of the node; of idle 0
    where: str  # p2p and send: "near", within a cluster, or "far"; compute and idle: the cluster; else ""
    use: str  # "fit": of every formula; "lines": the dense sizes of point-to-point lines; "check": held out


@dataclass(frozen=True)
class Experiments:
    """Experiments and what they are for, side by side."""

    plan: BlockPlan
    samples: tuple[Sample, ...]


def experiments(
    platform: Platform,
    *,
    disks: tuple[Disk, ...] = (),
    most_processes: int = MOST_PROCESSES,
    options: tuple[tuple[str, str], ...] = (),
) -> Experiments:
    """All of a calibration of a platform whose hosts have these disks.

    P processes are placed on P hosts by the mapping ``block``.  Root and master are the first.  Blocks of scatter and
    gather double up to a buffer of 16 MB; those of all-to-all up to 16 MB each, every second size beyond 32 processes,
    and not where SMPI would stop for want of an algorithm.  Held-out samples lie between the others.
    """
    pairs = [*_computation(platform)]
    if len(platform.hosts) > 1:
        pairs += [*_messages(platform), *_collectives(platform, most_processes, selector(platform, options))]
    pairs += _disks(platform, disks)
    samples, made = zip(*pairs, strict=True)
    return Experiments(BlockPlan(platform, made, options), samples)


def selector(platform: Platform, options: tuple[tuple[str, str], ...]) -> str:
    """Which of SMPI's sets of algorithms for collectives a run takes."""
    return (dict(platform.options) | dict(options)).get("smpi/coll-selector", SELECTOR)


def message_pairs(platform: Platform) -> dict[str, tuple[str, str]]:
    """Two hosts of one cluster ("near") and of two clusters ("far"), as far as there are such."""
    found = {}
    inside = [cluster for cluster in platform.clusters if len(cluster.hosts) > 1]
    if inside:
        found["near"] = (inside[0].hosts[0].name, inside[0].hosts[1].name)
    if len(platform.clusters) > 1:
        found["far"] = (platform.clusters[0].hosts[0].name, platform.clusters[1].hosts[0].name)
    return found


def thread_counts(cores: int) -> list[int]:
    """1 to beyond twice the cores; thinned where those are many, but not next to the number of cores."""
    most = max(_LEAST_THREADS, 2 * cores + _THREADS_BEYOND_CORES)
    if most <= _MOST_THREAD_COUNTS:
        return list(range(1, most + 1))
    spread = np.linspace(1, most, _MOST_THREAD_COUNTS - 2).round().astype(int)
    return sorted({*map(int, spread), cores, cores + 1})


Pair = tuple[Sample, Experiment]


def _computation(platform: Platform) -> Iterator[Pair]:
    for cluster in platform.clusters:
        for threads in thread_counts(cluster.cores):
            sample = Sample("compute", OPERATIONS, threads, cluster.name, "fit")
            yield sample, Experiment("compute", (cluster.hosts[0].name,) * threads, OPERATIONS)
        if cluster.hosts[0].power is not None:
            yield Sample("idle", IDLE_S, 0, cluster.name, "fit"), Experiment("idle", (cluster.hosts[0].name,), IDLE_S)


def _messages(platform: Platform) -> Iterator[Pair]:
    dense = sorted({*sizes_bytes(), *SIZES_BYTES})
    pairs = message_pairs(platform)
    for where, hosts in pairs.items():
        for use, sizes in (("lines", dense), ("fit", SIZES_BYTES), ("check", HELD_OUT_SIZES_BYTES)):
            for size in sizes:
                yield Sample("p2p", size, 2, where, use), Experiment("p2p", hosts, size)
    where, hosts = list(pairs.items())[-1]
    for size in dense:
        yield Sample("send", size, 2, where, "lines"), Experiment("send", hosts, size)


def _collectives(platform: Platform, most_processes: int, chosen: str) -> Iterator[Pair]:
    most = min(most_processes, len(platform.hosts))
    for use, counts, sizes in (
        ("fit", PROCESSES, SIZES_BYTES),
        ("check", HELD_OUT_PROCESSES, HELD_OUT_SIZES_BYTES),
    ):
        fitting = [count for count in counts if count <= most]
        if use == "fit" and most not in fitting and most > 1:
            fitting.append(most)
        for processes in fitting:
            hosts = block(platform, processes)
            for name in COLLECTIVES:
                for size in sizes if name != "barrier" else (0,):
                    if _is_measured(name, size, processes, chosen):
                        whole = size * processes if name in ("scatter", "gather") else size
                        yield Sample(name, whole, processes, "", use), Experiment(name, hosts, size)


def _is_measured(name: str, block_bytes: int, processes: int, chosen: str) -> bool:
    if name in ("scatter", "gather"):
        return bool(block_bytes * processes <= LARGEST_BYTES)
    if name != "alltoall":
        return True
    pairwise = chosen not in _KNOWN_SELECTORS or all_to_all_algorithm(processes, block_bytes) == "pairwise"
    if pairwise and processes & (processes - 1):
        return False
    return processes <= _THINNED_ABOVE or block_bytes.bit_length() % 2 == 1


def _disks(platform: Platform, disks: tuple[Disk, ...]) -> Iterator[Pair]:
    """Of one disk: a network disk, used by the first host that is not its own; else the first host's own."""
    for disk in disks[:1]:
        others = [host.name for host in platform.hosts if host.name != disk.host]
        hosts = (others[0] if others else disk.host,)
        for name in ("disk_read", "disk_write"):
            for use, sizes in (("fit", SIZES_BYTES), ("check", HELD_OUT_SIZES_BYTES)):
                for size in sizes:
                    yield Sample(name, size, 1, "", use), Experiment(name, hosts, size, disk)
