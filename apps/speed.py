"""Measure the share of this machine's peak speed that the kernels sustain.

Peak is the speed of a double-precision matrix product by numpy on one thread; each kernel does its arithmetic on one
rank.  The shares are kept in the cache folder, for ``--efficiency measured``.  With ``--memory`` the bandwidth of the
memory is measured, here or on a machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apps.errors import KernelError
from apps.machines.machine_file import read_machine
from apps.options.exit_status import exit_status
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import Problem, problem, shortened
from apps.spec.machine_speed import dgemm_flops, keep_efficiencies
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.stream.measure import NodeMemory, memory_of_this_computer
from platforms.command.command import Command, Reply
from platforms.command.request import Request, option
from platforms.errors import UserError
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines

_RUNS = 3
_PRESET = "A"  # larger than present caches; the reference shares are of this class too


def calibrated_problem(kernel_name: str) -> Problem | None:
    """Return the problem to time: class A, or the kernel's calibration size; None for a kernel with neither."""
    kernel = named_kernel(kernel_name)
    if kernel.calibration_size is None:
        return problem(kernel_name, _PRESET) if _PRESET in kernel.classes else None
    return shortened(kernel, kernel.calibration_size, kernel.calibration_iterations)


def kernel_flops(kernel_name: str) -> float:
    """Return the counted operations per second of the kernel's timed section on one rank, best of three.

    Operations are those that the benchmark counts: random numbers for EP, keys for IS, flops for all others.

    Raises:
        KernelError: The kernel has no problem to time.
    """
    # Imported here because they are slow to import.
    from apps.runs.engines import run_iterations
    from platforms.grids.scenario import named_grid
    from platforms.read.read import materialise

    host = materialise(named_grid("grid1x1", speeds_flops=[1e9]))
    timed = calibrated_problem(kernel_name)
    if timed is None:
        raise KernelError(f"app {kernel_name}", "it has no problem to be timed", "Choose another")
    target = Target(timed, host, (host.hosts[0].name,))
    spec = RunSpec(target, mode="verify", compute="none")
    iterations = named_kernel(kernel_name).calibration_iterations or target.iterations
    records = [run_iterations(spec, iterations) for _ in range(_RUNS)]
    return max(record.flops / record.timed_wall_s for record in records)


@dataclass(frozen=True, kw_only=True)
class SpeedRequest(Request):
    """Request of ``gridval program speed``."""

    memory: bool = option(
        False,
        help="instead of the kernels measure the memory bandwidth, by STREAM's triad on one to all cores, for gridval "
        "plan cores --memory; run it on a node of the cluster, or give --machine",
    )
    machine: str | None = option(
        None,
        "FILE.toml",
        "with --memory: measure the first node of every cluster of this machine (docs/programs/machines.md); what is "
        "measured is kept in the store",
    )


def _lines(node: NodeMemory) -> list[str]:
    """Return the bandwidths of a node as text."""
    rows = [["processes", "GB/s"], *([str(one.processes), f"{one.bandwidth_Bps / 1e9:.4g}"] for one in node.triads)]
    times = f", {node.array_bytes / node.cache_bytes:.2g} times the last caches" if node.cache_bytes else ""
    said = f"STREAM's triad, the best of {len(node.triads[-1].times_s)} repeats, arrays of {node.array_bytes / 1e9:.3g}"
    return [
        *table_lines(rows), "", *prose_lines(f"{said} GB{times}"),
        *([f"caution: {node.caution}"] if node.caution else []),
        f"gridval plan cores --memory {node.bandwidth_Bps / 1e9:.4g}",
    ]  # fmt: skip


def _value(node: NodeMemory) -> dict[str, Any]:
    return {
        "processes": [one.processes for one in node.triads],
        "bandwidth_Bps": [one.bandwidth_Bps for one in node.triads],
        "array_bytes": node.array_bytes,
        "cache_bytes": node.cache_bytes,
    }


def _memory(request: SpeedRequest) -> Reply:
    """Return the memory bandwidth of this computer, or of the node types of a machine."""
    if request.machine is None:
        node = memory_of_this_computer()
        said, value = _lines(node), _value(node)
        return Reply(value, lambda: "\n".join(said), lambda: value)
    # Imported here because they are slow to import.
    from apps.store.store import Store
    from apps.stream.on_machine import memory_of_machine

    machine = read_machine(request.machine)
    with Store() as store:
        nodes = memory_of_machine(machine, store)
    said = [line for name, node in nodes.items() for line in (f"{name}, measured on {node.host}:", *_lines(node), "")]
    value = {"clusters": {name: {"host": node.host, **_value(node)} for name, node in nodes.items()}}
    return Reply(value, lambda: "\n".join(said[:-1]), lambda: value)


def _run(request: SpeedRequest) -> int | Reply:
    if request.memory:
        return _memory(request)
    if request.machine is not None:
        raise UserError(f"--machine {request.machine}", "has no effect without --memory", "Add --memory")
    peak = dgemm_flops()
    print(f"dgemm {peak / 1e9:.1f} Gflop/s on one thread")
    shares = {}
    for name in (name for name in kernel_names() if calibrated_problem(name) is not None):
        speed = kernel_flops(name)
        shares[name] = speed / peak
        reference = named_kernel(name).reference_efficiency
        print(f"{name:5} {speed / 1e9:.3g} Gop/s, {shares[name]:.2g} of dgemm (reference {reference})")
    print(f"kept in {keep_efficiencies(peak, shares)}, for --efficiency measured")
    return 0


COMMAND = Command(
    "program speed",
    SpeedRequest,
    _run,
    "Measure the share of this machine's peak speed that the kernels sustain.",
    status=exit_status,
)
main = COMMAND.main
