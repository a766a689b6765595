"""Speed of this computer: the efficiency of kernels, and the speed of a core on the platform's scale."""

from __future__ import annotations

import json
import os
import platform as machine
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from apps.errors import OptionError
from platforms.files.caching import cache_folder, write_atomically

_FILE = "efficiency.json"
_HOST_SPEED_FILE = "host-speed.json"
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
    """Return the flop/s of the best of five products of 2000 x 2000 matrices, in a process with one thread."""
    one_thread = {
        name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    }
    done = subprocess.run(
        [sys.executable, "-c", _DGEMM], env={**os.environ, **one_thread}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def keep_efficiencies(peak_flops: float, shares: Mapping[str, float]) -> Path:
    """Keep the shares of this machine's peak speed that the kernels sustain, by name, and return the file."""
    path = cache_folder() / _FILE
    content = {"machine": _machine(), "dgemm_flops": peak_flops, "efficiency": dict(shares)}
    write_atomically(path, json.dumps(content, indent=1).encode())
    return path


def measured_efficiency(kernel_name: str) -> float:
    """Return the share of the peak speed that ``gridval program speed`` found on this machine.

    Raises:
        OptionError: The command was not run on this machine, or did not time the kernel.
    """
    path = cache_folder() / _FILE
    try:
        known = json.loads(path.read_text())
        share = float(known["efficiency"][kernel_name])
        if known["machine"] != _machine():
            reason = "was measured on another machine"
        elif 0 < share <= 1:
            return share
        else:
            reason = f"{path} says {share} for {kernel_name}"
    except FileNotFoundError:
        reason = "nothing was measured yet"
    except (ValueError, KeyError, TypeError):
        reason = f"{path} has no number for {kernel_name}"
    raise OptionError("--efficiency measured", reason, "Run gridval program speed first")


def host_speed_flops() -> float:
    """Return the speed of one core of this computer on the scale of the platforms' hosts, flop/s.

    The first call measures it as the speed of a product of matrices; later calls take the kept value.
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


@cache
def processor_model() -> str:
    """Return the name of this computer's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else machine.processor() or machine.machine()


def _machine() -> str:
    return f"{machine.node()} {machine.machine()}"
