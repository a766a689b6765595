"""STREAM's triad on one to all cores of this computer, and on the nodes of a machine."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.errors import KernelError, SimulationError
from apps.machines.launch import Launched, alone_on, launch, printed_json, tool_stamps
from apps.machines.machine_file import Machine
from apps.measuring.engine import same_host
from apps.probes.machine.measure import machine_program, program_hash
from apps.store.codec import as_fields, from_fields
from apps.store.identity import identity_hash
from apps.store.store import Store
from platforms.errors import UserError
from platforms.simgrid.compiling import compile_once
from platforms.terminal.progress import doing

# As in triad.h.
BYTES_PER_ELEMENT = 24  # two doubles are read and one is written; the line that the write fetches does not count
_SOURCE = Path(__file__).with_name("triad.c")
_FLAGS = ("-O3", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
REPEATS = 10
TIMES_CACHES = 4  # STREAM's rule: each array is at least so many times as large as all last caches together
LEAST_ELEMENTS = 10_000_000
LARGEST_SHARE = 4  # of the available memory a quarter may be used
_PATIENCE_S = 600.0


@dataclass(frozen=True)
class Triad:
    """Triads of some processes at the same time."""

    processes: int
    elements: int  # of each array of a process
    times_s: tuple[float, ...]  # of each repeat, from the first begin to the last end

    @property
    def bandwidth_Bps(self) -> float:
        """Bytes per second of all processes together, in the quickest repeat, as STREAM counts them."""
        return BYTES_PER_ELEMENT * self.elements * self.processes / min(self.times_s)


@dataclass(frozen=True)
class NodeMemory:
    """Triads of one to all cores of a node."""

    host: str
    cache_bytes: int  # of all last caches; 0: the system does not say
    triads: tuple[Triad, ...]

    @property
    def bandwidth_Bps(self) -> float:
        """Bytes per second with all cores."""
        return self.triads[-1].bandwidth_Bps

    @property
    def array_bytes(self) -> int:
        """Bytes of an array of all processes together."""
        return 8 * self.triads[-1].elements * self.triads[-1].processes

    @property
    def caution(self) -> str:
        """Reason for a bandwidth that may be too high; empty: none."""
        if self.cache_bytes == 0:
            return "the system does not say how large its caches are: it may be their bandwidth"
        if self.array_bytes < TIMES_CACHES * self.cache_bytes - 8 * self.triads[-1].processes:
            return "less than 4 times the caches, which the free memory does not allow: it may be too high"
        return ""


def counts(cores: int) -> list[int]:
    """Return the numbers of processes to measure: powers of two, and all cores.

    >>> counts(6)
    [1, 2, 4, 6]
    """
    return [*(1 << place for place in range(cores.bit_length()) if 1 << place < cores), cores]


def sizes(folder: Path | None = None, available: int | None = None) -> tuple[int, int]:
    """Return the bytes of all last-level caches together, and the elements of an array of all processes together.

    Args:
        folder: In place of the system's folder of processors; 0 bytes: it does not say.
        available: In place of the free memory, bytes.

    Raises:
        UserError: The memory that is free does not hold arrays of the least size.
    """
    words = [] if folder is None or available is None else [str(folder), str(available)]
    done = subprocess.run([_program(), "sizes", *words], capture_output=True, text=True, check=True)
    caches, elements = map(int, done.stdout.split())
    check_memory("this computer", elements)
    return caches, elements


def check_memory(where: str, elements: float) -> None:
    """Raise UserError if there is no room for the arrays: ``elements`` is 0."""
    if not elements:
        needed = LEAST_ELEMENTS * BYTES_PER_ELEMENT * LARGEST_SHARE / 1e9
        raise UserError(where, f"less than {needed:.2g} GB of memory are free", "End other programs")


def _program() -> Path:
    return compile_once(
        "triad", [_SOURCE], compiler=["gcc"], flags=_FLAGS, libraries=["-lpthread"], headers=[_SOURCE.with_suffix(".h")]
    )


def triads(processes: Sequence[int], elements: int, *, repeats: int = REPEATS) -> list[Triad]:
    """Return the measured triads of each number of processes.

    Args:
        processes: Numbers of processes.
        elements: Of an array of all processes together.
        repeats: How often each is timed.

    Raises:
        UserError: There is no C compiler, or the program fails.
    """
    program, made = _program(), []
    for count in processes:
        each = max(elements // count, 1)
        with doing(f"triad of {count} processes"):
            try:
                done = subprocess.run(
                    [program, str(count), str(each), str(repeats)], capture_output=True, text=True, timeout=_PATIENCE_S
                )
            except subprocess.TimeoutExpired as err:
                raise UserError(
                    "program speed --memory", f"no end after {_PATIENCE_S:g} s", "Try an idle node"
                ) from err
        *times, last = done.stdout.split() or [""]
        if done.returncode != 0 or last != "ok" or len(times) != repeats:
            reason = "not enough memory" if done.returncode == 3 else f"the triad ended with status {done.returncode}"
            raise UserError("program speed --memory", reason, "Try an idle node")
        made.append(Triad(count, each, tuple(map(float, times))))
    return made


def memory_of_this_computer() -> NodeMemory:
    """Return the triads of one to all cores that this process may use.

    Raises:
        UserError: As ``triads`` and ``sizes``.
    """
    caches, elements = sizes()
    return NodeMemory(socket.gethostname(), caches, tuple(triads(counts(len(os.sched_getaffinity(0))), elements)))


_LIMIT_S = 600.0


def memory_of_machine(
    machine: Machine, store: Store | None, *, clusters: Collection[str] | None = None, elements: int = 0
) -> Mapping[str, NodeMemory]:
    """Return the triads of the first node of every cluster, which are kept in the store as each is measured.

    Args:
        machine: The machine; a node has as many processes as cores, within its limit of ranks.
        store: Where they are kept; None: nowhere.
        clusters: Names of those to measure; None: all.
        elements: Of an array of all processes of a node together; 0: four times its caches, within its free memory.

    Raises:
        KernelError: The ranks ran on another host.
        UserError: A compiler or the launcher is missing, or a node has too little memory.
        SimulationError: The program does not succeed.
    """
    return {
        cluster.name: _memory_of_node(
            machine, cluster.hosts[0], min(cluster.cores, machine.limits.ranks), store, elements
        )
        for cluster in machine.clusters
        if clusters is None or cluster.name in clusters
    }


def _memory_of_node(machine: Machine, host: str, processes: int, store: Store | None, elements: int) -> NodeMemory:
    """Return the triads of a node from the store, or measure them now."""
    identity = {
        "source": "measurement",
        "machine": machine.content_hash,
        "host": [host],
        "experiments": f"triads of {processes} processes, {elements} elements, {REPEATS} repeats",
        "program_hash": program_hash(),
        "tools": tool_stamps(machine),
    }
    key = identity_hash(identity)
    known = store.get("probe", key) if store is not None else None
    if known is not None and store is not None:
        try:
            return from_fields(NodeMemory, known)
        except ValueError as err:
            store.refuse("probe", key, str(err))
    program = machine_program(machine.compilers.c, machine.compilers.flags, machine.compiled_folder)
    words = [str(program), f"triads={REPEATS}", f"elements={elements}"]
    with doing(f"triads on {host} of {machine.name}"), alone_on(machine):
        done = launch(machine, words, [host] * processes, time_limit_s=_LIMIT_S)
    made = _read(machine, host, done)
    if store is not None:
        store.put("probe", key, identity, as_fields(made), summary=f"triads on {host}")
    return made


def _read(machine: Machine, host: str, done: Launched) -> NodeMemory:
    printed = printed_json(done) if done.succeeded else None
    if printed is None:
        raise SimulationError(f"measuring the memory of machine {machine.name}: {done.why}", done.stderr)
    node = printed["node"]
    if not same_host(host, node) and any(same_host(other, node) for other in machine.hosts):
        problem = f"ranks for {host} ran on {node}: the launcher ignores its host file"
        raise KernelError(f"machine {machine.name}", problem, "The launcher has to place ranks by {hostfile}")
    check_memory(f"machine {machine.name}, {host}", len(printed["triads"]))
    triads = (Triad(row["processes"], row["elements"], tuple(row["times_s"])) for row in printed["triads"])
    return NodeMemory(host, printed["cache_bytes"], tuple(triads))
