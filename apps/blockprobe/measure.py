"""Times of computation and communication blocks on a platform, in simulation."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from apps.energy import counted, plugin_options
from apps.launch import environment
from apps.netprobe.measure import Measurement, Plan, measure
from apps.process import run_bounded
from apps.spec import ENGINE_OPTIONS, check_host_names, check_options
from apps.verdict import final_record
from platforms.compiling import compile_once
from platforms.platform import Platform
from platforms.process import die_with_parent
from platforms.repairs import loaded_first, simgrid_identity
from platforms.scratch import scratch_folder
from platforms.simgrid import check_simgrid

MPI_BLOCKS = ("compute", "idle", "p2p", "send", "bcast", "scatter", "gather", "alltoall", "barrier")
DISK_BLOCKS = ("disk_read", "disk_write")
_HERE = Path(__file__).parent
_COMMON = _HERE.parent / "common"
_MPI_SOURCES = (_HERE / "blockprobe.c", _COMMON / "energy.c", _COMMON / "json.c")
_DISK_SOURCE = _HERE / "diskprobe.cpp"
_HEADERS = tuple(_COMMON / name for name in ("checked.h", "energy.h", "json.h"))


@dataclass(frozen=True)
class Disk:
    """A disk of a host of the platform."""

    host: str
    name: str
    read_Bps: float
    write_Bps: float


@dataclass(frozen=True)
class Experiment:
    """One block.

    ``hosts``: of the processes, in rank order, the root first; a host may stand there several times.  p2p and send have
    two.  ``amount``: flop of each process for compute; seconds for idle, in which they do nothing; else bytes: of the
    message or vector, of the block between two processes for scatter, gather and alltoall (MPI's sendcount), of the
    file block for disks; 0 for a barrier.
    ``disk``: of disk_read and disk_write alone, whose only host reads or writes it.
    """

    block: str  # of MPI_BLOCKS or DISK_BLOCKS
    hosts: tuple[str, ...]
    amount: float = 0.0
    disk: Disk | None = None

    def __post_init__(self) -> None:
        if (self.disk is not None) != (self.block in DISK_BLOCKS):
            raise ValueError(f"{self.block} {'without' if self.disk is None else 'with'} a disk")


@dataclass(frozen=True)
class BlockPlan:
    """Experiments, one after the other, each alone on the platform."""

    platform: Platform
    experiments: tuple[Experiment, ...]
    options: tuple[tuple[str, str], ...] = ()  # SimGrid's --cfg

    def identity(self) -> dict[str, Any]:
        """What decides the result."""
        content = json.dumps([_as_text(one) for one in self.experiments])
        return {
            "platform_hash": self.platform.content_hash,
            "block_experiments": hashlib.sha256(content.encode()).hexdigest(),
            "options": dict(self.options),
            "program_hash": _program_hash(),
            "simgrid": simgrid_identity(),
        }


def measure_blocks(plan: BlockPlan, *, time_limit_s: float | None = None) -> Measurement:
    """The time of each experiment, s, as a tuple of one; from the common start to the end of its last process.

    And the energy of compute and idle, J, of their first process's host, as SimGrid's plugin host_energy counts it;
    None where the platform gives that host no watts, and for all other blocks.  A disk's time to the first byte is its
    property read_latency_s or write_latency_s (docs/platforms/systems.md).
    ``node_s`` of the result: hosts of an experiment times its time (twice that for p2p, whose time is half a round
    trip).  Experiments begin as soon as the one before has ended.  Raises KernelError for options that do not fit,
    SimulationError where it does not succeed.
    """
    check_simgrid()
    check_options(plan.options, plan.platform, ENGINE_OPTIONS)
    hosts = dict.fromkeys(host for one in plan.experiments for host in one.hosts)
    for host in hosts:
        plan.platform.host(host)
    check_host_names(hosts)
    times_s = [0.0] * len(plan.experiments)
    energies_j: list[float | None] = [None] * len(plan.experiments)
    wall_s = 0.0
    for blocks, run in ((MPI_BLOCKS, _run_mpi), (DISK_BLOCKS, _run_disks)):
        places = [i for i, one in enumerate(plan.experiments) if one.block in blocks]
        if places:
            output, took_s = run(plan, [plan.experiments[i] for i in places], time_limit_s)
            wall_s += took_s
            joules = output.get("energies_j", [None] * len(places))
            for i, time_s, energy_j in zip(places, output["times_s"], joules, strict=True):
                times_s[i], energies_j[i] = time_s, energy_j
    node_s = sum(map(_node_seconds, plan.experiments, times_s))
    return Measurement(tuple((time_s,) for time_s in times_s), node_s, wall_s, tuple(energies_j))


def carry_out(plan: Plan | BlockPlan, *, time_limit_s: float | None = None) -> Measurement:
    """The result of any plan.  Raises as ``measure``; ``time_limit_s`` is of the wall time of each simulation."""
    if isinstance(plan, BlockPlan):
        return measure_blocks(plan, time_limit_s=time_limit_s)
    return measure(plan, time_limit_s=time_limit_s)


def disks_of(platform: Platform) -> tuple[Disk, ...]:
    """The disks of a platform, in its order of hosts."""
    with scratch_folder("s4u") as folder:
        output, _ = _disk_probe(platform, (), (), folder, None)
    return tuple(Disk(one["host"], one["disk"], one["read_Bps"], one["write_Bps"]) for one in output["disks"])


def _as_text(one: Experiment) -> list[Any]:
    return [one.block, list(one.hosts), one.amount, None if one.disk is None else [one.disk.host, one.disk.name]]


def _node_seconds(one: Experiment, time_s: float) -> float:
    hosts = set(one.hosts) | ({one.disk.host} if one.disk is not None else set())
    return len(hosts) * time_s * (2 if one.block in ("p2p", "send") else 1)


@cache
def _program_hash() -> str:
    digest = hashlib.sha256()
    for path in (*_MPI_SOURCES, _DISK_SOURCE, *_HEADERS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _options(plan: BlockPlan) -> list[str]:
    return [f"--cfg={key}:{value}" for key, value in {**ENGINE_OPTIONS, **dict(plan.options)}.items()]


def _run_mpi(
    plan: BlockPlan, experiments: Sequence[Experiment], time_limit_s: float | None
) -> tuple[dict[str, Any], float]:
    """What the program says of MPI's blocks, and the wall time of simulating them."""
    program = compile_once(
        "blockprobe", _MPI_SOURCES, compiler=["smpicc"], flags=["-O2", "-std=gnu11"], headers=_HEADERS
    )
    energy = tuple(name for name in counted(plan.platform) if name == "hosts")
    with scratch_folder("smpi") as folder:
        (folder / "blockprobe").symlink_to(program)
        hosts, lines = mpi_plan(experiments)
        (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        (folder / "plan").write_text("".join(f"{line}\n" for line in lines))
        guard = [*die_with_parent(), *loaded_first(folder)]
        command = [
            "smpirun",
            *(["-wrapper", shlex.join(guard)] if guard else []),
            *("-np", str(len(hosts)), "-hostfile", "hosts"),
            *("-platform", str(plan.platform.path), "-no-privatize"),
            *_options(plan),
            *plugin_options(energy),
            *("./blockprobe", "plan", *(["energy"] if energy else [])),
        ]
        done = run_bounded(command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder))
        output = final_record(done, f"measuring the blocks of {plan.platform.name}")
    return output, done.wall_s


def mpi_plan(experiments: Sequence[Experiment]) -> tuple[list[str], list[str]]:
    """The host of every rank of the program, and the lines of its plan."""
    most: Counter[str] = Counter()
    for one in experiments:
        most |= Counter(one.hosts)  # the larger count of each
    ranks: dict[tuple[str, int], int] = {}
    hosts: list[str] = []
    for host, count in most.items():
        for turn in range(count):
            ranks[host, turn] = len(hosts)
            hosts.append(host)
    groups = {group: number for number, group in enumerate(dict.fromkeys(one.hosts for one in experiments))}
    lines = [f"groups {len(groups)} experiments {len(experiments)}"]
    for group in groups:
        turns: Counter[str] = Counter()
        members = []
        for host in group:
            members.append(ranks[host, turns[host]])
            turns[host] += 1
        lines.append(" ".join(map(str, [len(members), *members])))
    lines += [f"{one.block} {groups[one.hosts]} {one.amount:.17g}" for one in experiments]
    return hosts, lines


def _disk_line(one: Experiment) -> str:
    """Of the program's plan."""
    assert one.disk is not None  # see Experiment
    return f"{one.block.removeprefix('disk_')} {one.hosts[0]} {one.disk.host} {one.disk.name} {one.amount:.17g}"


def _run_disks(
    plan: BlockPlan, experiments: Sequence[Experiment], time_limit_s: float | None
) -> tuple[dict[str, Any], float]:
    """What the program says of disk blocks, and the wall time of simulating them."""
    lines = [_disk_line(one) for one in experiments]
    with scratch_folder("s4u") as folder:
        return _disk_probe(plan.platform, lines, _options(plan), folder, time_limit_s)


def _disk_probe(
    platform: Platform, lines: Sequence[str], options: Sequence[str], folder: Path, time_limit_s: float | None
) -> tuple[dict[str, Any], float]:
    flags = ["-O1", "-std=gnu++17"]
    program = compile_once("diskprobe", [_DISK_SOURCE], compiler=["g++"], flags=flags, libraries=["-lsimgrid"])
    (folder / "plan").write_text("".join(f"{line}\n" for line in lines))
    words = [*loaded_first(folder), str(program), str(platform.path), *_kept(options)]
    command = ["sh", "-c", '"$@" < plan', "sh", *words]
    done = run_bounded(
        command, folder=folder, time_limit_s=time_limit_s, environment={**os.environ, "TMPDIR": str(folder)}
    )
    return final_record(done, f"measuring the disks of {platform.name}"), done.wall_s


def _kept(options: Sequence[str]) -> list[str]:
    """S4U knows no options of SMPI's processes, but those of its network model."""
    return [option for option in options if not option.startswith("--cfg=smpi/simulate")]
