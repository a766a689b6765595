"""Run STREAM's triad on one to all cores of this computer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import UserError
from platforms.simgrid.compiling import compile_once
from platforms.terminal.progress import doing

BYTES_PER_ELEMENT = 24  # two doubles are read and one is written; the line that the write fetches does not count
_SOURCE = Path(__file__).with_name("triad.c")
_FLAGS = ("-O3", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
_REPEATS = 10
TIMES_CACHES = 4  # STREAM's rule: each array is at least so many times as large as all last caches together
_LEAST_ELEMENTS = 10_000_000
_LARGEST_SHARE = 4  # of the available memory a quarter may be used
_PATIENCE_S = 600.0
_CACHES = Path("/sys/devices/system/cpu")


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


def counts(cores: int) -> list[int]:
    """Return the numbers of processes to measure: powers of two, and all cores.

    >>> counts(6)
    [1, 2, 4, 6]
    """
    return [*(1 << place for place in range(cores.bit_length()) if 1 << place < cores), cores]


def cache_bytes(folder: Path = _CACHES) -> int:
    """Return the bytes of all last-level caches together; 0: the system does not say."""
    found: dict[tuple[int, str], int] = {}
    for index in folder.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, shared = int((index / "level").read_text()), (index / "shared_cpu_list").read_text().strip()
            size = (index / "size").read_text().strip()
            found[level, shared] = int(size[:-1]) * {"K": 1 << 10, "M": 1 << 20}[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    last = max((level for level, _ in found), default=0)
    return sum(size for (level, _), size in found.items() if level == last)


def available_bytes() -> int:
    """Return the bytes of memory that programs may still use."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def elements_in_all(caches: int, available: int) -> int:
    """Return the number of elements of an array of all processes together.

    Raises:
        UserError: The memory that is free does not hold arrays of the least size.
    """
    most = available // _LARGEST_SHARE // BYTES_PER_ELEMENT
    if most < _LEAST_ELEMENTS:
        needed = _LEAST_ELEMENTS * BYTES_PER_ELEMENT * _LARGEST_SHARE / 1e9
        raise UserError("program speed --memory", f"less than {needed:.2g} GB of memory are free", "End other programs")
    return min(max(_LEAST_ELEMENTS, TIMES_CACHES * caches // 8), most)


def triads(processes: Sequence[int], elements: int, *, repeats: int = _REPEATS) -> list[Triad]:
    """Return the measured triads of each number of processes.

    Args:
        processes: Numbers of processes.
        elements: Of an array of all processes together.
        repeats: How often each is timed.

    Raises:
        UserError: There is no C compiler, or the program fails.
    """
    program = compile_once("triad", [_SOURCE], compiler=["gcc"], flags=_FLAGS, libraries=["-lpthread"])
    made = []
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


def memory_of_this_computer() -> tuple[list[Triad], int]:
    """Return the triads of one to all cores that this process may use, and the bytes of the last caches.

    Raises:
        UserError: As ``triads`` and ``elements_in_all``.
    """
    caches = cache_bytes()
    return triads(counts(len(os.sched_getaffinity(0))), elements_in_all(caches, available_bytes())), caches
