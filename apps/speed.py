"""Measure the share of this machine's peak speed that the kernels sustain.

Peak is the speed of a double-precision matrix product by numpy on one thread; each kernel does its arithmetic on one
rank.  The shares are kept in the cache folder, for ``--efficiency measured``.  With ``--memory`` the bandwidth of the
memory is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.errors import KernelError
from apps.options.exit_status import exit_status
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import Problem, problem, shortened
from apps.spec.machine_speed import dgemm_flops, keep_efficiencies
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.stream.measure import TIMES_CACHES, memory_of_this_computer
from platforms.command.command import Command, Reply
from platforms.command.request import Request, option
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
        "plan cores --memory; run it on a node of the cluster",
    )


def _memory() -> Reply:
    """Return the memory bandwidth of this computer."""
    measured, caches = memory_of_this_computer()
    whole = measured[-1]
    array_bytes = 8 * whole.elements * whole.processes
    rows = [["processes", "GB/s"], *([str(one.processes), f"{one.bandwidth_Bps / 1e9:.4g}"] for one in measured)]
    said = [
        *table_lines(rows),
        "",
        *prose_lines(
            f"STREAM's triad, the best of {len(whole.times_s)} repeats, arrays of {array_bytes / 1e9:.3g} GB"
            + (f", {array_bytes / caches:.2g} times the last caches" if caches else "")
        ),
    ]
    if caches == 0:
        said.append("caution: the system does not say how large its caches are: it may be their bandwidth")
    elif array_bytes < TIMES_CACHES * caches:
        said.append("caution: less than 4 times the caches, which the free memory does not allow: it may be too high")
    said.append(f"gridval plan cores --memory {whole.bandwidth_Bps / 1e9:.4g}")
    value = {
        "processes": [one.processes for one in measured],
        "bandwidth_Bps": [one.bandwidth_Bps for one in measured],
        "array_bytes": array_bytes,
        "cache_bytes": caches,
    }
    return Reply(value, lambda: "\n".join(said), lambda: value)


def _run(request: SpeedRequest) -> int | Reply:
    if request.memory:
        return _memory()
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
