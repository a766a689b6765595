"""Measure which share of this machine's peak speed the kernels sustain.

Peak is the speed of a double-precision matrix product by numpy on one thread; each kernel does its arithmetic on one
rank.  The shares are kept in the cache folder, for ``--efficiency measured``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform as machine
import subprocess
import sys
from collections.abc import Sequence

from apps.catalog import Problem, app, app_names, problem, sized_problem
from apps.errors import KernelError
from apps.options import exit_status
from apps.spec import RunSpec, Target
from platforms.caching import cache_folder, write_atomically
from platforms.command import EXIT_STATUSES, CommandParser

_FILE = "efficiency.json"
_HOST_SPEED_FILE = "host-speed.json"
_RUNS = 3
_PRESET = "A"  # larger than the caches of today, and the class of the reference shares
# Enough to time, where an iteration is like another; other kernels run in full.
_ITERATIONS = {"lu": 20, "himeno": 20, "fem": 50}

_DGEMM = """
import time, numpy
n = 2000
a = numpy.random.default_rng(0).random((n, n))
a @ a
best = float("inf")
for _ in range(5):
    started = time.perf_counter()
    a @ a
    best = min(best, time.perf_counter() - started)
print(2 * n**3 / best)
"""


def dgemm_flops() -> float:
    """Flop/s of the best of five products of 2000 x 2000 matrices, in a process held to one thread."""
    one_thread = {
        name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    }
    done = subprocess.run(
        [sys.executable, "-c", _DGEMM], env={**os.environ, **one_thread}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def calibrated_problem(app_name: str) -> Problem | None:
    """What is timed: class A, or the kernel's own size; None for a program that is no benchmark."""
    kernel = app(app_name)
    if kernel.calibration_size is None:
        return problem(app_name, _PRESET) if _PRESET in kernel.classes else None
    told = kernel.iterations_parameter if app_name in _ITERATIONS else None
    some = {} if told is None else {told: _ITERATIONS[app_name]}
    return sized_problem(app_name, kernel.calibration_size, **some)


def kernel_flops(app_name: str) -> float:
    """Counted operations per second of the kernel's timed section on one rank, best of three.

    Operations are what the benchmark counts: flops, but for EP (random numbers) and IS (keys).
    """
    from apps.smpi import run_iterations
    from platforms.read import materialise
    from platforms.scenario import named_grid

    host = materialise(named_grid("grid1x1", speeds_flops=[1e9]))
    timed = calibrated_problem(app_name)
    if timed is None:
        raise KernelError(f"app {app_name}", "it is no benchmark that could be timed", "Choose another")
    target = Target(timed, host, (host.hosts[0].name,))
    spec = RunSpec(target, mode="verify", compute="none")
    iterations = _ITERATIONS.get(app_name, target.iterations)
    records = [run_iterations(spec, iterations) for _ in range(_RUNS)]
    return max(record.flops / record.timed_wall_s for record in records)


def measured_efficiency(app_name: str) -> float:
    """The share that ``python -m apps.calibrate`` found on this machine; raises KernelError before it was run."""
    path = cache_folder() / _FILE
    try:
        known = json.loads(path.read_text())
        share = float(known["efficiency"][app_name])
        if known["machine"] != _machine():
            reason = "was measured on another machine"
        elif 0 < share <= 1:
            return share
        else:
            reason = f"{path} says {share} for {app_name}"
    except FileNotFoundError:
        reason = "nothing was measured yet"
    except (ValueError, KeyError, TypeError):
        reason = f"{path} has no number for {app_name}"
    raise KernelError("--efficiency measured", reason, "Run python -m apps.calibrate first")


def host_speed_flops() -> float:
    """The speed of this computer on the scale on which platforms describe their hosts, flop/s of one core.

    Measured as a product of matrices at the first time, then kept.
    """
    path = cache_folder() / _HOST_SPEED_FILE
    try:
        known = json.loads(path.read_text())
        speed = float(known["dgemm_flops"])
        if known["machine"] == _machine() and speed > 0:
            return speed
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    speed = dgemm_flops()
    write_atomically(path, json.dumps({"machine": _machine(), "dgemm_flops": speed}).encode())
    return speed


def _machine() -> str:
    return f"{machine.node()} {machine.machine()}"


def _run() -> int:
    peak = dgemm_flops()
    print(f"dgemm {peak / 1e9:.1f} Gflop/s on one thread")
    shares = {}
    for name in (name for name in app_names() if calibrated_problem(name) is not None):
        speed = kernel_flops(name)
        shares[name] = speed / peak
        reference = app(name).reference_efficiency
        print(f"{name:5} {speed / 1e9:.3g} Gop/s, {shares[name]:.2g} of dgemm (reference {reference})")
    path = cache_folder() / _FILE
    content = {"machine": _machine(), "dgemm_flops": peak, "efficiency": shares}
    write_atomically(path, json.dumps(content, indent=1).encode())
    print(f"kept in {path}, for --efficiency measured")
    return 0


def build_parser() -> argparse.ArgumentParser:
    return CommandParser(
        prog="python -m apps.calibrate",
        description="Measure which share of its peak speed this machine sustains with the kernels.",
        epilog=EXIT_STATUSES,
    )


def main(argv: Sequence[str] | None = None) -> int:
    build_parser().parse_args(argv)
    return exit_status(_run)


if __name__ == "__main__":
    sys.exit(main())
