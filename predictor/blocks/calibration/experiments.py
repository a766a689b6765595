"""The micro-benchmarks of a calibration: blocks, sizes and numbers of processes to be measured on a platform."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from apps.probes.blocks.measure import BlockPlan, Disk, Experiment
from apps.traffic.collectives import SELECTOR, all_to_all_algorithm
from platforms.model.placement import block
from platforms.model.platform import Platform
from predictor.blocks.names import COLLECTIVES
from predictor.network.lines import sizes_bytes

MOST_PROCESSES = 64
OPERATIONS = 11e6  # flops of a computation block, as in the paper's Figure 3a
IDLE_S = 0.01
SIZES_BYTES = tuple(2**power for power in range(25))  # 1 B to 16 MB
LARGEST_BYTES = SIZES_BYTES[-1]
PROCESSES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Held out from all fits; they lie between the sizes and numbers above.
HELD_OUT_SIZES_BYTES = tuple(3 * 2**power for power in range(0, 23, 2))
HELD_OUT_PROCESSES = (5, 10, 20, 40)
_THINNED_ABOVE = 32  # above it, all-to-alls are measured for every second size: they send P (P - 1) messages
_KNOWN_SELECTORS = (SELECTOR, "ompi")  # selectors with known all-to-alls; others may use the pairwise exchange
_LEAST_THREADS = 8
_MOST_THREAD_COUNTS = 40
_THREADS_BEYOND_CORES = 4  # threads measured above twice the number of cores


@dataclass(frozen=True)
class Sample:
    """The purpose of one experiment."""

    block: str  # a name in COMMUNICATION, "compute", "idle", or "send" (the duration of MPI_Send)
    size_bytes: float  # d of Table 1, as in predictor/blocks/model.py; compute: operations of a thread; idle: s
    processes: int  # compute: threads of the node; idle: 0
    where: str  # p2p and send: "near" (within a cluster) or "far"; compute and idle: the cluster; otherwise ""
    use: str  # "fit": all formulas; "lines": dense sizes for point-to-point lines; "check": held out


@dataclass(frozen=True)
class Experiments:
    """A plan of experiments, and the purpose of each."""

    plan: BlockPlan
    samples: tuple[Sample, ...]


def experiments(
    platform: Platform,
    *,
    disks: tuple[Disk, ...] = (),
    most_processes: int = MOST_PROCESSES,
    options: tuple[tuple[str, str], ...] = (),
) -> Experiments:
    """Return all experiments of a calibration.

    P processes are placed on P hosts by the mapping ``block``; the first is the root.  Blocks of scatter and gather
    double up to a buffer of 16 MB, those of all-to-all up to 16 MB each.  Above 32 processes, all-to-alls are measured
    for every second size only.  All-to-alls for which SMPI has no algorithm and would stop are left out.  Held-out
    samples lie between the others.

    Args:
        platform: The platform to be calibrated.
        disks: Disks of its hosts.
        most_processes: Most processes of a collective.
        options: SimGrid's --cfg options, as pairs of key and value.
    """
    pairs = [*_computation(platform)]
    if len(platform.hosts) > 1:
        pairs += [*_messages(platform), *_collectives(platform, most_processes, selector(platform, options))]
    pairs += _disks(platform, disks)
    samples, made = zip(*pairs, strict=True)
    return Experiments(BlockPlan(platform, made, options), samples)


def selector(platform: Platform, options: tuple[tuple[str, str], ...]) -> str:
    """Return the name of SMPI's set of collective algorithms (smpi/coll-selector) under these options."""
    return (dict(platform.options) | dict(options)).get("smpi/coll-selector", SELECTOR)


def message_pairs(platform: Platform) -> dict[str, tuple[str, str]]:
    """Return two hosts of one cluster ("near") and two hosts of two clusters ("far"), if the platform has them."""
    pairs = {}
    inside = [cluster for cluster in platform.clusters if len(cluster.hosts) > 1]
    if inside:
        pairs["near"] = (inside[0].hosts[0].name, inside[0].hosts[1].name)
    if len(platform.clusters) > 1:
        pairs["far"] = (platform.clusters[0].hosts[0].name, platform.clusters[1].hosts[0].name)
    return pairs


def thread_counts(cores: int) -> list[int]:
    """Return numbers of threads from 1 to above twice the cores, thinned for many cores except around their number."""
    most = max(_LEAST_THREADS, 2 * cores + _THREADS_BEYOND_CORES)
    if most <= _MOST_THREAD_COUNTS:
        return list(range(1, most + 1))
    spread = np.linspace(1, most, _MOST_THREAD_COUNTS - 2).round().astype(int)
    return sorted({*map(int, spread), cores, cores + 1})


Pair = tuple[Sample, Experiment]


def _computation(platform: Platform) -> Iterator[Pair]:
    for cluster in platform.clusters:
        for threads in thread_counts(cluster.cores):
            sample = Sample("compute", OPERATIONS, threads, where=cluster.name, use="fit")
            yield sample, Experiment("compute", (cluster.hosts[0].name,) * threads, OPERATIONS)
        if cluster.hosts[0].power is not None:
            sample = Sample("idle", IDLE_S, 0, where=cluster.name, use="fit")
            yield sample, Experiment("idle", (cluster.hosts[0].name,), IDLE_S)


def _messages(platform: Platform) -> Iterator[Pair]:
    dense = sorted({*sizes_bytes(), *SIZES_BYTES})
    pairs = message_pairs(platform)
    for where, hosts in pairs.items():
        for use, sizes in (("lines", dense), ("fit", SIZES_BYTES), ("check", HELD_OUT_SIZES_BYTES)):
            for size in sizes:
                yield Sample("p2p", size, 2, where=where, use=use), Experiment("p2p", hosts, size)
    where, hosts = list(pairs.items())[-1]
    for size in dense:
        yield Sample("send", size, 2, where=where, use="lines"), Experiment("send", hosts, size)


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
                        sample = Sample(name, whole, processes, where="", use=use)
                        yield sample, Experiment(name, hosts, size)


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
    """Yield the experiments of the first disk, used by the first other host, or by its own host if there is none."""
    for disk in disks[:1]:
        others = [host.name for host in platform.hosts if host.name != disk.host]
        hosts = (others[0] if others else disk.host,)
        for name in ("disk_read", "disk_write"):
            for use, sizes in (("fit", SIZES_BYTES), ("check", HELD_OUT_SIZES_BYTES)):
                for size in sizes:
                    yield Sample(name, size, 1, where="", use=use), Experiment(name, hosts, size, disk)
