"""Times of computation and communication blocks on a platform, in simulation."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, cast

from apps.child.process import run_bounded
from apps.child.run_folder import environment
from apps.child.verdict import final_record
from apps.machines.launch import tool_stamps
from apps.machines.machine_file import Machine
from apps.probes.network.measure import HEADERS as NETWORK_HEADERS
from apps.probes.network.measure import REAL_UNDER, SIMULATED_UNDER
from apps.probes.plan import Measurement, check_shape
from apps.probes.simulated import check_ready, run_simulated
from apps.results.energy import counted
from apps.spec.choices import RealMachine
from apps.spec.engine_options import ENGINE_OPTIONS, check_options
from platforms.addons import provided
from platforms.files.scratch import scratch_folder
from platforms.model.platform import Change, Platform
from platforms.read.content import loadable
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.repairs import loaded_first, simgrid_identity

MPI_BLOCKS = ("compute", "idle", "p2p", "send", "bcast", "scatter", "gather", "alltoall", "barrier")
DISK_BLOCKS = ("disk_read", "disk_write")
ON_ONE_NODE = ("compute", "idle")
_HERE = Path(__file__).parent
_COMMON = _HERE.parents[1] / "common"
_MPI_SOURCES = (
    *(_HERE / name for name in ("blockprobe.c", "plan.c")), SIMULATED_UNDER,
    *(_COMMON / name for name in ("energy.c", "json.c")),
)  # fmt: skip
_REAL_SOURCES = (*(_HERE / name for name in ("realblocks.c", "plan.c")), *REAL_UNDER)
_DISK_SOURCE = _HERE / "diskprobe.cpp"
_HEADERS = (_HERE / "plan.h", *NETWORK_HEADERS, *(_COMMON / name for name in ("energy.h", "json.h", "work.h")))


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

    ``hosts`` are the hosts of the processes in rank order, the root first; a host may appear several times.  p2p and
    send have two hosts.

    ``amount`` is the flops of each process for compute, and the seconds without activity for idle.  Otherwise it is
    bytes: of the message or vector; of the block between two processes for scatter, gather and alltoall (MPI's
    sendcount); of the file block for disks; 0 for a barrier.

    ``disk`` is given for disk_read and disk_write only; their single host reads or writes it.
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
    machine: RealMachine | None = None  # the real machine that carries it out; None: it is simulated
    measured: ClassVar[str] = "blocks"

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes of the platform."""
        return self.platform.changes

    def under(self, options: tuple[tuple[str, str], ...], machine: RealMachine | None) -> BlockPlan:
        """Return the same experiments under these options, or on this machine."""
        return replace(self, options=options, machine=machine)

    def identity(self) -> dict[str, Any]:
        """Return the inputs that determine the result, as JSON values."""
        content = json.dumps([_as_text(experiment) for experiment in self.experiments])
        if self.machine is not None:
            return self._identity_on(cast(Machine, self.machine), content)
        return {
            "platform_hash": self.platform.content_hash,
            "block_experiments": hashlib.sha256(content.encode()).hexdigest(),
            "options": dict(self.options),
            "program_hash": _program_hash((*_MPI_SOURCES, _DISK_SOURCE)),
            "simgrid": simgrid_identity(),
        }

    def _identity_on(self, machine: Machine, content: str) -> dict[str, Any]:
        return {
            "source": "measurement",
            "machine": machine.content_hash,
            "block_experiments": hashlib.sha256(content.encode()).hexdigest(),
            "program_hash": _program_hash(_REAL_SOURCES),
            "tools": tool_stamps(machine),
        }

    def check(self, measured: Measurement) -> None:
        """Raise ValueError if a result that was read from a file is not one of this plan."""
        check_shape(measured, [1] * len(self.experiments), energies=len(self.experiments))

    def carry_out(self, *, time_limit_s: float | None = None, stop: threading.Event | None = None) -> Measurement:
        """Carry out the plan, in simulation or on its machine; see apps/probes/plan.py."""
        if self.machine is None:
            return measure_blocks(self, time_limit_s=time_limit_s)
        on_machine = provided("apps.measuring.blocks:measure_blocks_on_machine")
        measurement: Measurement = on_machine(self, self.machine, time_limit_s=time_limit_s, stop=stop)
        return measurement


def measure_blocks(plan: BlockPlan, *, time_limit_s: float | None = None) -> Measurement:
    """Carry out a plan in simulation and return its times and energies.

    ``times_s`` of the result holds one time per experiment, s: from the common start to the end of the last process.
    A disk's time to the first byte is its property read_latency_s or write_latency_s
    (docs/platforms/platform-files.md).

    ``energies_j`` holds the energy of compute and idle, J: that of the first process's host, as SimGrid's plugin
    host_energy counts it.  It is None if the platform gives that host no watts, and for all other blocks.

    ``node_s`` is the sum over the experiments of hosts times the time for which they are held.  For p2p and send this
    is the whole round trip, longer than the time in ``times_s``.  Each experiment begins as soon as the one before has
    ended.

    Raises:
        KernelError: The options do not fit, or a host cannot be used.
        SimulationError: A simulation does not succeed.
    """
    check_options(plan.options, plan.platform, ENGINE_OPTIONS)
    check_ready(plan.platform, dict.fromkeys(host for experiment in plan.experiments for host in experiment.hosts))
    times_s, held_s = [0.0] * len(plan.experiments), [0.0] * len(plan.experiments)
    energies_j: list[float | None] = [None] * len(plan.experiments)
    wall_s = 0.0
    for blocks, run in ((MPI_BLOCKS, _run_mpi), (DISK_BLOCKS, _run_disks)):
        places = [i for i, experiment in enumerate(plan.experiments) if experiment.block in blocks]
        if places:
            output, took_s = run(plan, [plan.experiments[i] for i in places], time_limit_s)
            wall_s += took_s
            joules = output.get("energies_j", [None] * len(places))
            held = output.get("held_s", output["times_s"])  # a disk is held for the time of its block
            for i, *measurements in zip(places, output["times_s"], held, joules, strict=True):
                times_s[i], held_s[i], energies_j[i] = measurements
    node_s = sum(map(node_seconds, plan.experiments, held_s))
    return Measurement(tuple((time_s,) for time_s in times_s), node_s, wall_s, tuple(energies_j))


def real_blocks(machine: Machine) -> Path:
    """Return the program that carries out plans under the machine's MPI."""
    return compile_once(
        "realblocks", _REAL_SOURCES, compiler=[machine.compilers.c], flags=["-O2", "-std=gnu11", "-pthread"],
        libraries=["-ldl"], headers=_HEADERS, folder=machine.compiled_folder,
    )  # fmt: skip


def disks_of(platform: Platform) -> tuple[Disk, ...]:
    """Return the disks of a platform, in the order of its hosts."""
    with scratch_folder("s4u") as folder:
        output, _ = _disk_probe(platform, (), (), folder, None)
    return tuple(Disk(row["host"], row["disk"], row["read_Bps"], row["write_Bps"]) for row in output["disks"])


def _as_text(experiment: Experiment) -> list[Any]:
    return [
        experiment.block,
        list(experiment.hosts),
        experiment.amount,
        None if experiment.disk is None else [experiment.disk.host, experiment.disk.name],
    ]


def node_seconds(experiment: Experiment, held_s: float) -> float:
    """Return the hosts of an experiment times the time for which they are held."""
    hosts = set(experiment.hosts) | ({experiment.disk.host} if experiment.disk is not None else set())
    return len(hosts) * held_s


@cache
def _program_hash(sources: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in (*sources, *_HEADERS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _options(plan: BlockPlan) -> list[str]:
    return [f"--cfg={key}:{value}" for key, value in {**ENGINE_OPTIONS, **dict(plan.options)}.items()]


def _run_mpi(
    plan: BlockPlan, experiments: Sequence[Experiment], time_limit_s: float | None
) -> tuple[dict[str, Any], float]:
    """Simulate the MPI blocks; return the output of the program and the wall time, s."""
    program = compile_once(
        "blockprobe", _MPI_SOURCES, compiler=["smpicc"], flags=["-O2", "-std=gnu11"], headers=_HEADERS
    )
    energy = tuple(name for name in counted(plan.platform) if name == "hosts")
    hosts, lines = mpi_plan(experiments)
    done = run_simulated(
        program,
        ["plan", *(["energy"] if energy else [])],
        hosts,
        plan.platform,
        files={"plan": "".join(f"{line}\n" for line in lines)},
        options=plan.options,
        energy=energy,
        time_limit_s=time_limit_s,
    )
    return final_record(done, f"measuring the blocks of {plan.platform.name}"), done.wall_s


def mpi_plan(experiments: Sequence[Experiment]) -> tuple[list[str], list[str]]:
    """Return the host of every rank of the program, and the lines of its plan."""
    most: Counter[str] = Counter()
    for experiment in experiments:
        most |= Counter(experiment.hosts)  # the larger count of each
    ranks: dict[tuple[str, int], int] = {}
    hosts: list[str] = []
    for host, count in most.items():
        for turn in range(count):
            ranks[host, turn] = len(hosts)
            hosts.append(host)
    groups = {
        group: number for number, group in enumerate(dict.fromkeys(experiment.hosts for experiment in experiments))
    }
    lines = [f"groups {len(groups)} experiments {len(experiments)}"]
    for group in groups:
        turns: Counter[str] = Counter()
        members = []
        for host in group:
            members.append(ranks[host, turns[host]])
            turns[host] += 1
        lines.append(" ".join(map(str, [len(members), *members])))
    lines += [f"{experiment.block} {groups[experiment.hosts]} {experiment.amount:.17g}" for experiment in experiments]
    return hosts, lines


def _disk_line(experiment: Experiment) -> str:
    """Return the line of the program's plan for a disk block."""
    disk, direction = experiment.disk, experiment.block.removeprefix("disk_")
    assert disk is not None  # see Experiment
    return f"{direction} {experiment.hosts[0]} {disk.host} {disk.name} {experiment.amount:.17g}"


def _run_disks(
    plan: BlockPlan, experiments: Sequence[Experiment], time_limit_s: float | None
) -> tuple[dict[str, Any], float]:
    """Simulate the disk blocks; return the output of the program and the wall time, s."""
    lines = [_disk_line(experiment) for experiment in experiments]
    with scratch_folder("s4u") as folder:
        return _disk_probe(plan.platform, lines, _options(plan), folder, time_limit_s)


def _disk_probe(
    platform: Platform, lines: Sequence[str], options: Sequence[str], folder: Path, time_limit_s: float | None
) -> tuple[dict[str, Any], float]:
    flags = ["-O1", "-std=gnu++17"]
    program = compile_once("diskprobe", [_DISK_SOURCE], compiler=["g++"], flags=flags, libraries=["-lsimgrid"])
    (folder / "plan").write_text("".join(f"{line}\n" for line in lines))
    words = [*loaded_first(folder), str(program), str(loadable(platform)), *_kept(options)]
    command = ["sh", "-c", '"$@" < plan', "sh", *words]
    done = run_bounded(command, folder=folder, time_limit_s=time_limit_s, environment=environment(folder))
    return final_record(done, f"measuring the disks of {platform.name}"), done.wall_s


def _kept(options: Sequence[str]) -> list[str]:
    """Return the options that S4U knows: it knows those of SMPI's network model, but not those of its processes."""
    return [option for option in options if not option.startswith("--cfg=smpi/simulate")]
