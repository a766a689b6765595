"""STREAM's triad on one to all cores of a machine's nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from apps.errors import KernelError, SimulationError
from apps.machines.launch import Launched, alone_on, launch, printed_json, tool_stamps
from apps.machines.machine_file import Machine
from apps.measuring.engine import same_host
from apps.probes.machine.measure import machine_program, program_hash
from apps.store.codec import as_fields, from_fields
from apps.store.identity import identity_hash
from apps.store.store import Store
from apps.stream.measure import REPEATS, NodeMemory, Triad, check_memory
from platforms.terminal.progress import doing

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
